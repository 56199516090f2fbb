import { clip } from '../../base/fault.ts'
import { isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { unifiedDiff } from '../calls.ts'
import { textOf } from './chunks.ts'

type Update = Record<string, unknown>
type Change = readonly ['created' | 'modified' | 'deleted', string]

/** What is known of a call. Its updates are patches: a field that is missing has not changed. */
interface Known {
  readonly name: string
  /** The input, if it arrived after the call had begun. */
  readonly late: { readonly input: unknown; readonly size: number } | undefined
  /** Terminal output so far. */
  readonly shown: string
  readonly changes: { readonly list: readonly Change[]; readonly size: number }
  readonly over: boolean
}

/** Characters of an input or an output to remember until the end of the call; the records have all of it. */
const MAX_KEPT = 1 << 16

const MAX_TITLE = 300

const NONE = { list: [], size: 0 }

/** Reads `tool_call`, `tool_call_update` and the call of a permission request. */
export function toolReader() {
  const known = memory<Known>(
    ({ name, late, shown, changes }) => name.length + (late?.size ?? 0) + shown.length + changes.size,
  )

  /** Merges an update; an unknown call begins. `size` is the length of the record. */
  const merge = (id: string, update: Update, size: number, say: Say): Known => {
    const before = known.get(id)
    const call = before?.over ? undefined : before
    const name = call?.name ?? nameOf(update)
    const input = inputOf(update['rawInput'])
    if (!call) say.started({ id, name, input: input ?? titleOf(update) })
    const merged: Known = {
      name,
      late: call && input !== undefined && size <= MAX_KEPT ? { input, size } : call?.late,
      shown: shownBy(update, call?.shown ?? ''),
      changes: changesOf(update) ?? call?.changes ?? NONE,
      over: false,
    }
    known.set(id, merged)
    return merged
  }

  const end = (
    id: string,
    { name, late, shown, changes }: Known,
    update: Update,
    agent: string,
    say: Say,
  ) => {
    const exit_code = exitOf(update, agent)
    const words = contentText(update['content']) || shown
    const raw = update['rawOutput'] ?? undefined
    const call = { id, name, input: late?.input, exit_code }
    known.set(id, { name, late: undefined, shown: '', changes: NONE, over: true })
    if (update['status'] === 'completed' && (exit_code ?? 0) === 0) {
      say.completed({ ...call, output: raw ?? (words || undefined) })
      // The protocol has the text before and after; some agents also send a diff of the file.
      const diff = changes.list.length === 1 ? diffIn(record(raw)) : undefined
      for (const [change, path] of changes.list) say.artifact(change, path, diff)
    } else if (exit_code !== undefined) say.failed({ ...call, output: raw ?? (words || undefined) })
    else say.failed({ ...call, output: raw, error: text(record(raw)['error']) ?? (words || undefined) })
  }

  return {
    /** A call begins, or is shown again because the user must allow it. */
    asked(call: Update, size: number, say: Say): void {
      const id = text(call['toolCallId'])
      if (id !== undefined) merge(id, call, size, say)
    },
    /** Reads one update; false if it is not understood. */
    read(update: Update, size: number, agent: string, say: Say): boolean {
      const id = text(update['toolCallId'])
      const status = text(update['status'])
      if (id === undefined) return false
      const first = update['sessionUpdate'] === 'tool_call'
      const call = known.get(id)
      // The end is reported once; an id that begins again is another call.
      if (call?.over && !first) return true
      if (status === 'completed' || status === 'failed') {
        end(id, merge(id, update, size, say), update, agent, say)
        return true
      }
      if (first || call) merge(id, update, size, say)
      if (!first) say.status('tool_call_update', status === undefined ? {} : { reason: status })
      if (status === undefined || status === 'pending' || status === 'in_progress') return true
      say.unknownType(`tool status ${status}`)
      return false
    },
  }
}

/** The tool's own name if the agent sends it, else the kind of tool. */
function nameOf(update: Update): string {
  const kind = text(update['kind'])
  return (
    text(update['name']) ??
    text(record(update['_meta'])['toolName']) ??
    meta(update, 'claudeCode', 'toolName') ??
    (kind === 'other' ? undefined : kind) ??
    titleOf(update)?.title ??
    'tool'
  )
}

/** An empty input means nothing: it comes with a later update. */
function inputOf(rawInput: unknown): unknown {
  const empty = rawInput === null || (isRecord(rawInput) && Object.keys(rawInput).length === 0)
  return empty ? undefined : rawInput
}

/** The title of a call, for agents that send no input. */
export function titleOf(update: Update): { readonly title: string } | undefined {
  const title = text(update['title'])
  return title === undefined ? undefined : { title: clip(title, MAX_TITLE) }
}

/**
 * `completed` alone proves nothing: several agents complete a command that failed, but report its exit code.
 */
function exitOf(update: Update, agent: string): number | undefined {
  const raw = update['rawOutput']
  const output = record(raw)
  const terminal = record(record(update['_meta'])['terminal_exit'])
  const codes = [
    terminal['exit_code'],
    record(output['metadata'])['exit'],
    output['exitCode'],
    output['exit_code'],
  ]
  const code = codes.find((one) => typeof one === 'number')
  if (typeof code === 'number' && Number.isInteger(code)) return code
  // It is before the command's own output, so the command cannot forge it.
  const mark = 'EXIT_CODE: '
  if (agent !== 'nanocoder' || typeof raw !== 'string' || !raw.startsWith(mark)) return undefined
  const reported = Number.parseInt(raw.slice(mark.length, mark.length + 8), 10)
  return Number.isNaN(reported) ? undefined : reported
}

/**
 * The files that the diffs of a call change, or the one that OpenCode says it wrote; undefined if there is
 * none.
 */
function changesOf(update: Update): Known['changes'] | undefined {
  const changes: Change[] = []
  for (const entry of Array.isArray(update['content']) ? update['content'] : []) {
    if (!isRecord(entry) || entry['type'] !== 'diff' || typeof entry['path'] !== 'string') continue
    const kind = record(entry['_meta'])['kind']
    const change =
      kind === 'delete' ? 'deleted' : kind === 'add' || !entry['oldText'] ? 'created' : 'modified'
    changes.push([change, entry['path']])
  }
  const { filepath, exists } = record(record(update['rawOutput'])['metadata'])
  if (changes.length === 0 && typeof filepath === 'string' && typeof exists === 'boolean')
    changes.push([exists ? 'modified' : 'created', filepath])
  if (changes.length === 0) return undefined
  return { list: changes, size: changes.reduce((sum, [, path]) => sum + path.length, 0) }
}

function diffIn({ fileDiff, metadata }: Update): string | undefined {
  return unifiedDiff(fileDiff) ?? unifiedDiff(record(metadata)['diff'])
}

/** Terminal output of a call, bounded. */
function shownBy(update: Update, before: string): string {
  if (before.length >= MAX_KEPT) return before
  return before + (meta(update, 'terminal_output_delta', 'data') ?? '').slice(0, MAX_KEPT - before.length)
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((entry) => textOf(record(entry)['content']) ?? '').join('')
}

function meta(update: Update, name: string, key: string): string | undefined {
  return text(record(record(update['_meta'])[name])[key])
}

export function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
