import { isRecord, type Say, text } from '../../events/engine.ts'
import { durationOf } from '../duration.ts'
import { wholeFile } from './patch-text.ts'

const changeOf = { add: 'created', update: 'modified', delete: 'deleted' } as const

/** The files an item or a patch changed. */
export function readChanges(changes: unknown, say: Say): void {
  for (const change of Array.isArray(changes) ? changes : []) {
    if (!isRecord(change) || typeof change['path'] !== 'string') continue
    // The app-server has the kind in an object, together with the new path of a moved file.
    const of = isRecord(change['kind']) ? change['kind'] : {}
    const kind = text(change['kind']) ?? text(of['type']) ?? ''
    const moved = text(of['move_path'])
    if (moved !== undefined) {
      say.artifact('deleted', change['path'])
      say.artifact('created', moved)
      continue
    }
    say.artifact(
      Object.hasOwn(changeOf, kind) ? changeOf[kind as keyof typeof changeOf] : 'modified',
      change['path'],
      diffOf(kind, change['diff']),
    )
  }
}

/**
 * A file and how it changes. `diff` is in the format of Codex: for a file that is added or deleted, the
 * file's text.
 */
export interface Change {
  readonly path: string
  readonly kind: string | undefined
  readonly diff?: string
}

/** Characters of the diffs of one patch to keep: it is remembered until it is applied. */
const MAX_DIFFS = 262_144

/** Changes by path, as a list: `{path: {type, …}}`, or `{path: {add: {…}}}` in 0.42. */
export function changesByPath(changes: unknown): Change[] {
  let room = MAX_DIFFS
  return Object.entries(isRecord(changes) ? changes : {}).map(([path, given]) => {
    const change = isRecord(given) ? given : {}
    const kind = text(change['type']) ?? Object.keys(change)[0]
    const inner = kind === undefined ? undefined : change[kind]
    const of = isRecord(inner) ? inner : change
    const diff = text(of['unified_diff']) ?? text(of['content'])
    if (diff === undefined || diff.length > room) return { path, kind }
    room -= diff.length
    return { path, kind, diff }
  })
}

/**
 * The diff of a change as a unified diff. For a file that was added or deleted, Codex sends the file's text.
 */
function diffOf(kind: string | undefined, reported: unknown): string | undefined {
  if (kind === 'add') return wholeFile('+', reported)
  if (kind === 'delete') return wholeFile('-', reported)
  return text(reported) || undefined
}

/** Milliseconds of a duration in seconds and nanoseconds. */
export function durationOfParts(value: unknown): number | undefined {
  if (!isRecord(value)) return undefined
  const { secs, nanos } = value
  if (typeof secs !== 'number' || typeof nanos !== 'number') return undefined
  return durationOf(Math.round(secs * 1000 + nanos / 1e6))
}

/** The message of an error, which is a string or an object. */
export function errorText(error: unknown): string {
  if (typeof error === 'string') return error
  return (isRecord(error) ? text(error['message']) : undefined) ?? 'an error without a message'
}
