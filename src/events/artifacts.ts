import { quote, runCodes } from '../base/fault.ts'
import type { Range, Writer } from './write.ts'

/** Which files a run created, modified and deleted, as paths relative to its directory. */
export interface FsDiff {
  readonly created?: readonly string[] | undefined
  readonly modified?: readonly string[] | undefined
  readonly deleted?: readonly string[] | undefined
  /** The whole change of each file, where it is known: it takes the place of the engine's. */
  readonly diffs?: ReadonlyMap<string, string> | undefined
}

type Change = 'created' | 'modified' | 'deleted'

interface ArtifactOptions {
  readonly writer: Writer
  readonly warn: (code: 'ARTIFACT_REJECTED' | 'ARTIFACT_MISSING', message: string) => void
  /** The run directory, if known. */
  readonly dir: string | undefined
  readonly fsDiff: FsDiff | (() => FsDiff | undefined) | undefined
  /** False if the path is a link that leads out of the run directory. */
  readonly inside: (path: string) => boolean
}

/** Limits of remembered claims, and of refusals reported one by one. */
const MAX_CLAIMS = 65_536
const MAX_TOLD = 100
/** Characters of one diff, and of all diffs together. */
const MAX_DIFF = 65_536
const MAX_DIFFS = 4_194_304

/**
 * Merges what the engine claims to have changed with what the file system shows, each path once. If
 * there is a diff of the file system, it decides: a claim it does not confirm is only a warning.
 */
export function artifacts(options: ArtifactOptions) {
  const { writer, dir, inside } = options
  const claims = new Map<string, { change: Change; range: Range | undefined; diff: string | undefined }>()
  let held = 0
  let reported = 0

  const tell = (code: 'ARTIFACT_REJECTED' | 'ARTIFACT_MISSING', message: string) => {
    if (++reported <= MAX_TOLD) options.warn(code, message)
  }

  /** The path inside the run directory; undefined if it is refused or left out. */
  const accept = (path: string): string | undefined => {
    const judged = judgePath(path, dir)
    if (judged.ok === undefined) {
      if (judged.why !== undefined) tell('ARTIFACT_REJECTED', `${quote(path, 80)}: ${judged.why}`)
      return undefined
    }
    if (inside(judged.ok)) return judged.ok
    tell('ARTIFACT_REJECTED', `${quote(path, 80)}: a link that leads out of the run directory`)
    return undefined
  }

  const emit = (change: Change, path: string, diffs?: FsDiff['diffs']) => {
    const { range, diff } = claims.get(path) ?? {}
    const whole = diffs?.get(path)?.slice(0, Math.min(MAX_DIFF, MAX_DIFFS - held))
    held += whole?.length ?? 0
    const shown = whole ? { diff: whole, whole: true as const } : diff === undefined ? {} : { diff }
    writer.about(range, true)
    writer.write(`artifact.${change}`, { path, ...shown }, 0.95)
  }

  /** The diff of the directory, if there is a usable one; without it the engine's claims count. */
  const compared = (): FsDiff | undefined => {
    let why: string
    try {
      const diff: unknown = typeof options.fsDiff === 'function' ? options.fsDiff() : options.fsDiff
      if (diff === undefined || isDiff(diff)) return diff
      if (diff instanceof Promise) diff.catch(() => {})
      why = 'it must return {created, modified, deleted} synchronously'
    } catch (error) {
      why = error instanceof Error ? error.message : String(error)
    }
    options.warn('ARTIFACT_REJECTED', `fsDiff cannot be used: ${quote(why, 120)}`)
    return undefined
  }

  return {
    claim(change: Change, path: string, diff?: string) {
      const accepted = accept(path)
      if (accepted === undefined || claims.size >= MAX_CLAIMS) return
      const before = claims.get(accepted)
      // A file that was created and then changed in one run was created.
      const merged = before?.change === 'created' && change === 'modified' ? 'created' : change
      held -= before?.diff?.length ?? 0
      const shown = diff?.slice(0, Math.min(MAX_DIFF, MAX_DIFFS - held)) || undefined
      held += shown?.length ?? 0
      claims.set(accepted, { change: merged, range: writer.place(), diff: shown })
    },
    end() {
      writer.about(undefined)
      const diff = compared()
      if (!diff) {
        for (const [path, { change }] of claims) emit(change, path)
        writer.about(undefined)
        return
      }
      const seen = new Set<string>()
      for (const change of ['created', 'modified', 'deleted'] as const) {
        for (const path of diff[change] ?? []) {
          const accepted = accept(String(path))
          if (accepted === undefined || seen.has(accepted)) continue
          seen.add(accepted)
          emit(change, accepted, diff.diffs)
          writer.about(undefined)
        }
      }
      for (const [path, { change }] of claims) {
        // A file that was created and deleted again leaves no trace, so none is missing.
        if (!seen.has(path) && change !== 'deleted')
          tell('ARTIFACT_MISSING', `${runCodes.ARTIFACT_MISSING}: ${quote(path, 80)}`)
      }
      if (reported > MAX_TOLD)
        options.warn('ARTIFACT_REJECTED', `${reported - MAX_TOLD} more paths were refused or missing`)
    },
  }
}

function isDiff(value: unknown): value is FsDiff {
  if (typeof value !== 'object' || value === null || value instanceof Promise) return false
  const { created, modified, deleted } = value as Record<string, unknown>
  return [created, modified, deleted].every((paths) => paths === undefined || Array.isArray(paths))
}

/** Invisible characters that make two names differ. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu

/**
 * Decides whether a path may be emitted: relative, or inside `dir`, and never outside it. `.audit` is left
 * out silently; a name that only looks like it is refused.
 */
export function judgePath(path: string, dir: string | undefined): { ok?: string; why?: string } {
  if (path === '' || path.length > 4096) return { why: 'an empty or very long path' }
  if (/[\u0000-\u001f\u007f]/.test(path)) return { why: 'a control character' }
  const root = dir === undefined ? undefined : withoutEnd(dir.replaceAll('\\', '/'))
  let rest = path.replaceAll('\\', '/')
  if (root && rest.startsWith(`${root}/`)) rest = rest.slice(root.length + 1)
  else if (rest.startsWith('/') || /^[A-Za-z]:/.test(rest))
    return { why: 'an absolute path outside the run directory' }
  const parts = rest.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) return { why: 'it leaves the run directory' }
  const [top] = parts
  if (top === undefined) return { why: 'the run directory itself' }
  if (top === '.audit') return {}
  if (top.normalize('NFKC').replace(invisible, '').toLowerCase() === '.audit')
    return { why: 'it looks like .audit' }
  return { ok: parts.join('/') }
}

/** Removes trailing slashes. A loop, because the directory may come from a recorded file of any content. */
function withoutEnd(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}
