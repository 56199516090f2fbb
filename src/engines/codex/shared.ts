import type { CallFacts, Say, ToolTable } from '../../events/engine.ts'
import { durationOf, Rec, recordsIn } from '../../events/record.ts'
import { type Tokens, tokensOf } from '../../events/tokens.ts'
import { wholeFile } from '../calls.ts'
import { errorText } from '../error-text.ts'
import { tokenParts } from '../token-parts.ts'

// What the dialects of Codex share. `codex exec` writes `exit_code`, the app-server `exitCode`.

export const tools: ToolTable = {
  read: 'image_view view_image',
  edit: 'file_change',
  search: 'web_search',
  execute: 'command_execution write_stdin',
  think:
    'todo_list update_plan plan spawn_agent spawnAgent send_input sendInput resume_agent resumeAgent wait close_agent closeAgent',
}

/** How the result of a call begins that was not allowed. */
export const codexDenial =
  /^(?:(?:exec command|command|patch) )?rejected\b|^exec_command failed.{0,80}Rejected\(/

/** Where an item is in its life, and the thread of the subagent that it belongs to. */
export interface Phase {
  readonly phase: 'started' | 'updated' | 'completed'
  /** The message or thought that it is, if its pieces came before it, or its own id. */
  readonly spoken?: string | undefined
  readonly parent?: string | undefined
}

/** Reports the call that an item is about; true if it has ended well. */
export function sayCall(
  item: Rec,
  tool: Pick<CallFacts, 'name' | 'input' | 'output'>,
  { phase, parent }: Phase,
  say: Say,
): boolean {
  const { name, input } = tool
  if (phase === 'started') say.call('started', { id: item.text('id') ?? '', name, input, parent })
  if (phase !== 'completed') return false
  const { call, failed, unclear } = endOf(item, { name, input, output: tool.output, parent })
  if (unclear && !failed) say.call('started', { id: call.id, name, input, parent })
  else say.call(failed ? 'failed' : 'completed', call)
  return !failed && !unclear
}

export function readCommand(item: Rec, say: Say, phase: Phase): void {
  sayCall(item, commandOf(item), phase, say)
}

export function commandOf(item: Rec): Pick<CallFacts, 'name' | 'input' | 'output'> {
  const output = item.at('aggregated_output aggregatedOutput')
  return { name: 'command_execution', input: { command: item.at('command') }, output }
}

export function readFileChange(item: Rec, say: Say, phase: Phase): void {
  const changes = item.at('changes')
  if (sayCall(item, { name: 'file_change', input: { changes } }, phase, say)) sayChanges(changes, say)
}

/** How the call of an item ended. */
export function endOf(
  item: Rec,
  { name, input, output, parent }: Pick<CallFacts, 'name' | 'input' | 'output' | 'parent'>,
): { readonly call: CallFacts; readonly failed: boolean; readonly unclear: boolean } {
  const exit_code = item.number('exit_code exitCode')
  const error = item.at('error') ? errorText(item.at('error')) : undefined
  const status = item.at('status')
  const refused = status === 'failed' || status === 'declined' || item.at('success') === false
  const duration_ms = item.duration('durationMs') ?? durationOfParts(item.at('duration'))
  const id = item.text('id') ?? ''
  const denied = status === 'declined' || undefined
  return {
    call: { id, name, input, parent, output: output ?? undefined, exit_code, error, duration_ms, denied },
    failed: refused || (exit_code ?? 0) !== 0 || error !== undefined,
    // A status or an exit code that cannot be read proves nothing.
    unclear:
      !(status === undefined || status === null || status === 'completed') ||
      (exit_code === undefined && (item.at('exit_code exitCode') ?? undefined) !== undefined),
  }
}

/** The name of a tool of an MCP server. */
export function mcpName(item: Rec): string {
  return `${item.at('server')}.${item.at('tool')}`
}

const changeOf = new Map<string, 'created' | 'modified' | 'deleted'>([
  ['add', 'created'],
  ['update', 'modified'],
  ['delete', 'deleted'],
])

/** Reports the files that an item or a patch changed. */
export function sayChanges(changes: unknown, say: Say): void {
  for (const change of recordsIn(Array.isArray(changes) ? changes : [])) {
    const path = change.text('path')
    if (path === undefined) continue
    // The app-server has the kind in an object, together with the new path of a moved file.
    const kind = change.text('kind kind.type') ?? ''
    const moved = change.text('kind.move_path')
    if (moved !== undefined) {
      say.artifact('deleted', path)
      say.artifact('created', moved)
    } else say.artifact(changeOf.get(kind) ?? 'modified', path, diffOf(kind, change))
  }
}

/** A file and how it changes. The `diff` of a file that is added or deleted is its text. */
export interface Change {
  readonly path: string
  readonly kind: string | undefined
  readonly diff?: string
}

/** Characters of the diffs of one patch to keep: it is remembered until it is applied. */
const MAX_DIFFS = 262_144

/** Changes by path, as a list: `{path: {type, …}}`, or `{path: {add: {…}}}` in 0.42. */
export function changesByPath(changes: Rec | undefined): Change[] {
  let room = MAX_DIFFS
  return Object.entries(changes?.values ?? {}).map(([path, given]) => {
    const change = Rec.of(given)
    const kind = change?.text('type') ?? Object.keys(change?.values ?? {})[0]
    const of = Rec.of(kind === undefined ? undefined : change?.values[kind]) ?? change
    const diff = of?.text('unified_diff content')
    if (diff === undefined || diff.length > room) return { path, kind }
    room -= diff.length
    return { path, kind, diff }
  })
}

/** The change as a unified diff. Of a file that was added or deleted, Codex sends the text. */
function diffOf(kind: string, change: Rec): string | undefined {
  const diff = change.text('diff') || undefined
  if (kind === 'add') return wholeFile('+', diff)
  return kind === 'delete' ? wholeFile('-', diff) : diff
}

/** Milliseconds of a duration in seconds and nanoseconds. */
export function durationOfParts(value: unknown): number | undefined {
  const parts = Rec.of(value, 'secs:number nanos:number')
  return parts && durationOf(Math.round(parts.number('secs')! * 1000 + parts.number('nanos')! / 1e6))
}

/** The tokens of a usage, of `codex exec` or the app-server, cached and reasoning ones included. */
export function codexTokens(value: unknown): Tokens | undefined {
  const usage = Rec.of(value)
  if (!usage) return undefined
  const parts = {
    input: usage.at('input_tokens inputTokens'),
    output: usage.at('output_tokens outputTokens'),
    cached: usage.at('cached_input_tokens cachedInputTokens'),
    cache_write: usage.at('cache_write_input_tokens cacheWriteInputTokens'),
    reasoning: usage.at('reasoning_output_tokens reasoningOutputTokens'),
  }
  return tokenParts(parts, { cache: 'within', reasoning: 'within' }) ?? tokensOf(parts)
}
