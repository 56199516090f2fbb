import { clip } from '../../base/fault.ts'
import { isRecord, readToolKind, type Say, type TurnEnd } from '../../events/engine.ts'
import type { ToolKind } from '../../events/event.ts'
import { memory } from '../../events/memory.ts'
import { fits, type Rec } from '../../events/record.ts'
import { unifiedDiff } from '../calls.ts'

type Change = readonly ['created' | 'modified' | 'deleted', string]

/** What is known of a call. Its updates are patches: a field that is missing has not changed. */
interface KnownCall {
  readonly name: string
  /** The subagent that calls it. */
  readonly parent: string | undefined
  readonly kind: ToolKind
  /** The user was asked to allow it. */
  readonly asked: boolean
  /** What it gets, or the change that it would make, until it ends; `late` if it came after the beginning. */
  readonly input: { readonly value: unknown; readonly size: number; readonly late: boolean } | undefined
  /** Terminal output so far. */
  readonly shown: string
  readonly changes: { readonly list: readonly Change[]; readonly size: number }
  readonly over: boolean
}

/** Where a record about a call comes from; `size` is its length. */
interface Origin {
  readonly size: number
  readonly agent: string
  readonly parent: string | undefined
}

interface Ending extends KnownCall {
  /** The user did not allow it. */
  readonly refused: boolean
}

/** Characters of an input or an output to remember until the end of the call; the records have all of it. */
const MAX_KEPT = 1 << 16

const MAX_TITLE = 300
/** Calls that may wait for a permission at the same time. */
const MAX_ASKED = 4096

const NONE = { list: [], size: 0 }

/** Reads `tool_call`, `tool_call_update` and the call of a permission request. */
export class ToolCalls {
  readonly #known = memory<KnownCall>(
    ({ name, input, shown, changes }) => name.length + (input?.size ?? 0) + shown.length + changes.size,
  )

  /** Calls that the user was asked about, and that did not go on since. */
  readonly #asked = new Set<string>()
  /** Calls of Copilot that run a subagent: until they are over, the agent itself says nothing. */
  readonly #subagents = new Set<string>()

  /** The call whose subagent is speaking. */
  subagent(): string | undefined {
    return this.#subagents.values().next().value
  }

  /** A call begins, or is shown again because the user must allow it. Returns its name. */
  asked(call: Rec, origin: Origin, say: Say): string {
    const id = call.text('toolCallId')
    if (id === undefined) return nameOf(call)
    if (this.#asked.size < MAX_ASKED) this.#asked.add(id)
    const known = { ...this.#merge(id, call, origin, say), asked: true }
    this.#known.set(id, known)
    return known.name
  }

  /** What a call that waits for a permission would get; in codex-acp only the call itself shows it. */
  inputOf(call: Rec, agent: string): unknown {
    const known = this.#known.get(call.text('toolCallId') ?? '')
    const input = inputOf(call.at('rawInput')) ?? diffsOf(call) ?? known?.input?.value
    if (input !== undefined) return input
    const paths = call.records('locations').flatMap((place) => place.text('path') ?? [])
    if (paths.length > 0) return { changes: paths.map((path) => ({ path })) }
    // Gemini CLI has the command as the title, and its own words about it elsewhere.
    const isCommand = agent === 'gemini-cli' && call.at('kind') === 'execute'
    return isCommand && call.has('title') ? { command: call.text('title') } : undefined
  }

  /** At the end of a turn, ends the calls that were not allowed: Gemini CLI says no more about them. */
  endAsked({ answers }: TurnEnd, good: boolean, say: Say): void {
    for (const id of this.#asked) {
      const known = this.#known.get(id)
      const chosen = answers.get(id)
      if (!known || known.over || chosen?.startsWith('allow')) continue
      const { name, kind, parent } = known
      this.#known.set(id, { ...known, input: undefined, shown: '', changes: NONE, over: true })
      const denied = good || chosen !== undefined
      say.call('failed', {
        id,
        name,
        kind,
        parent,
        denied,
        error: denied ? 'the call was not allowed' : 'the turn was cancelled',
      })
    }
    this.#asked.clear()
    this.#subagents.clear()
  }

  /** Reads one update; false if it is not understood. */
  read(update: Rec, origin: Origin, say: Say): boolean {
    const { agent, parent } = origin
    const id = update.text('toolCallId')
    const status = update.text('status')
    if (id === undefined) return false
    const first = update.at('sessionUpdate') === 'tool_call'
    const call = this.#known.get(id)
    // The end is reported once; an id that begins again is another call.
    if (call?.over && !first) return true
    let refused = false
    if (status !== undefined && status !== 'pending') {
      this.#asked.delete(id)
      refused = say.settles({ call: id })
    }
    if (status === 'completed' || status === 'failed') {
      this.#end(id, { ...this.#merge(id, update, origin, say), refused }, update, exitOf(update, agent), say)
      return true
    }
    if (first || call) this.#merge(id, update, origin, say)
    if (first && agent === 'Copilot' && isSubagent(update) && this.#subagents.size < MAX_ASKED)
      this.#subagents.add(id)
    if (!first) say.status('tool_call_update', { reason: status, parent })
    if (status === undefined || status === 'pending' || status === 'in_progress') return true
    say.unknownType(`tool status ${status}`)
    return false
  }

  /** Merges an update; an unknown call begins. */
  #merge(id: string, update: Rec, { size, parent }: Origin, say: Say): KnownCall {
    const before = this.#known.get(id)
    const call = before?.over ? undefined : before
    const name = call?.name ?? nameOf(update)
    const input = inputOf(update.at('rawInput'))
    const said = readToolKind(update.text('kind') ?? call?.kind ?? 'other')
    const isAgent =
      said === 'other' && (call?.kind === 'think' || subagentTools.has(name) || isSubagent(update))
    const kind = isAgent ? 'think' : said
    if (!call) say.call('started', { id, name, kind, input: input ?? titleOf(update), parent })
    const value = input ?? (call?.input ? undefined : diffsOf(update))
    const late = call !== undefined && input !== undefined
    const merged: KnownCall = {
      name,
      parent,
      kind,
      asked: call?.asked ?? false,
      input: value !== undefined && size <= MAX_KEPT ? { value, size, late } : call?.input,
      shown: shownBy(update, call?.shown ?? ''),
      changes: changesOf(update) ?? call?.changes ?? NONE,
      over: false,
    }
    this.#known.set(id, merged)
    return merged
  }

  #end(id: string, known: Ending, update: Rec, exit_code: number | undefined, say: Say): void {
    const { name, kind, changes, parent } = known
    const shown = update.records('content').map((entry) => textIn(entry) ?? '')
    const words = shown.join('') || known.shown || undefined
    const raw = update.at('rawOutput') ?? undefined
    const call = {
      id,
      name,
      kind,
      input: known.input?.late ? known.input.value : undefined,
      exit_code,
      parent,
    }
    this.#known.set(id, { ...known, input: undefined, shown: '', changes: NONE, over: true })
    this.#subagents.delete(id)
    if (update.at('status') === 'completed' && (exit_code ?? 0) === 0) {
      say.call('completed', { ...call, output: raw ?? words })
      // The protocol has the text before and after; some agents also send a diff of the file.
      const diff =
        unifiedDiff(update.at('rawOutput.fileDiff')) ?? unifiedDiff(update.at('rawOutput.metadata.diff'))
      for (const [change, path] of changes.list)
        say.artifact(change, path, changes.list.length === 1 ? diff : undefined)
    } else if (exit_code !== undefined) say.call('failed', { ...call, output: raw ?? words })
    else {
      const error = update.text('rawOutput.error rawOutput.message') ?? words
      say.call('failed', { ...call, output: raw, error, denied: isDenied(update, known) || undefined })
    }
  }
}

/** Copilot says so; Codex reports a terminal that never ran, of a command that it had asked for. */
function isDenied(update: Rec, { asked, refused }: Ending): boolean {
  if (refused || ['rejected', 'denied'].includes(update.text('rawOutput.code') ?? '')) return true
  return asked && update.at('_meta.terminal_exit.exit_code') === null
}

/** Tools that start another agent, or speak with one: the agents themselves call them `other`. */
const subagentTools = new Set([
  'agent',
  'task',
  'spawnAgent',
  'sendInput',
  'resumeAgent',
  'wait',
  'closeAgent',
])

function isSubagent(update: Rec): boolean {
  return fits(update.values, 'rawInput.prompt:text rawInput.agent_type|rawInput.subagent_type:text')
}

/** The tool's own name if the agent sends it, else the kind of tool. */
function nameOf(update: Rec): string {
  const kind = update.text('kind')
  return (
    update.text('name _meta.toolName _meta.claudeCode.toolName') ??
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

/** The changes that a call would make: Gemini CLI and codex-acp show only those. */
function diffsOf(call: Rec): { readonly changes: readonly object[] } | undefined {
  const diffs = call.records('content').filter((entry) => entry.at('type') === 'diff')
  const changes = diffs.map((entry) => {
    const { path, oldText, newText } = entry.values
    const kind = entry.text('_meta.kind')
    return { path, ...(kind !== undefined && { kind }), oldText, newText }
  })
  return changes.length > 0 ? { changes } : undefined
}

/** The title of a call, for agents that send no input. */
export function titleOf(update: Rec): { readonly title: string } | undefined {
  const title = update.text('title')
  return title === undefined ? undefined : { title: clip(title, MAX_TITLE) }
}

/** `completed` proves nothing: several agents complete a failed command, but report its exit code. */
function exitOf(update: Rec, agent: string): number | undefined {
  const code = update.number(
    '_meta.terminal_exit.exit_code rawOutput.metadata.exit rawOutput.exitCode rawOutput.exit_code',
  )
  if (Number.isInteger(code)) return code
  // It is before the command's own output, so the command cannot forge it.
  const mark = 'EXIT_CODE: '
  const raw = update.text('rawOutput')
  if (agent !== 'nanocoder' || !raw?.startsWith(mark)) return undefined
  const reported = Number.parseInt(raw.slice(mark.length, mark.length + 8), 10)
  return Number.isNaN(reported) ? undefined : reported
}

/** The files that the diffs of a call change, or the one that OpenCode says it wrote. */
function changesOf(update: Rec): KnownCall['changes'] | undefined {
  const list: Change[] = []
  for (const entry of update.records('content')) {
    const path = entry.text('path')
    if (entry.at('type') !== 'diff' || path === undefined) continue
    const kind = entry.at('_meta.kind')
    const created = kind === 'add' || !entry.at('oldText')
    list.push([kind === 'delete' ? 'deleted' : created ? 'created' : 'modified', path])
  }
  const written = update.text('rawOutput.metadata.filepath')
  const existed = update.flag('rawOutput.metadata.exists')
  if (list.length === 0 && written !== undefined && existed !== undefined)
    list.push([existed ? 'modified' : 'created', written])
  if (list.length === 0) return undefined
  return { list, size: list.reduce((sum, [, path]) => sum + path.length, 0) }
}

/** Terminal output of a call, bounded. */
function shownBy(update: Rec, before: string): string {
  if (before.length >= MAX_KEPT) return before
  return before + (update.text('_meta.terminal_output_delta.data') ?? '').slice(0, MAX_KEPT - before.length)
}

/** The text of a record's content; undefined for an image, a link and the like. */
export function textIn(record: Rec): string | undefined {
  return record.at('content.type') === 'text' ? record.text('content.text') : undefined
}
