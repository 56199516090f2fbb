import { type Engine, isRecord, type Limits, type Reader, type Say, text } from '../events/engine.ts'
import type { Tokens } from '../events/tokens.ts'
import { durationOf } from './duration.ts'
import { tokenParts } from './token-parts.ts'
import { unifiedDiff } from './unified-diff.ts'

type Line = Record<string, unknown>

/**
 * Cursor (`cursor-agent -p --output-format stream-json | json`), with or without `--stream-partial-output`.
 * Claude Code's envelope with its own content: no ids of messages, `thinking` and `tool_call` lines.
 */
export const cursor: Engine = {
  name: 'cursor',
  parser: 'cursor_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'cursor-agent -p --output-format stream-json or json; read from public recordings, not run',
  shape: ({ value }) => isCursor(value),
  open: openRun,
}

/** Read from public recordings of one version: less certain than our own recordings. */
const CONFIDENCE = 0.8

/** A line that only Cursor writes. What it shares with Claude Code has a `uuid` there. */
function isCursor(value: unknown): boolean {
  if (!isRecord(value) || typeof value['session_id'] !== 'string' || 'uuid' in value) return false
  const { type, subtype } = value
  switch (type) {
    case 'system':
      return 'apiKeySource' in value && 'permissionMode' in value && !('mcp_servers' in value)
    case 'thinking':
      return subtype === 'delta' || subtype === 'completed'
    case 'tool_call':
      return typeof value['call_id'] === 'string' && isRecord(value['tool_call'])
    case 'result':
      return typeof value['request_id'] === 'string' && !('num_turns' in value)
    default:
      return false
  }
}

/** A line of Claude Code, whose envelope Cursor uses. */
function isClaude(line: Line): boolean {
  return 'uuid' in line || 'parent_tool_use_id' in line
}

function openRun({ maxFrame }: Limits): Reader {
  let own = false
  let thoughts = ''
  /** The message whose pieces are arriving, and its text so far. */
  let open: string | undefined
  let pieces = ''
  /** The last message that arrived in pieces: a line that only repeats it is not another message. */
  let last: string | undefined
  let answered = false

  const think = (say: Say): void => {
    if (thoughts !== '') say.reasoning(undefined, thoughts)
    thoughts = ''
  }

  const close = (say: Say, whole?: string): void => {
    if (open === undefined) return
    say.message(open, whole)
    last = whole ?? pieces
    open = undefined
    pieces = ''
  }

  const assistant = (line: Line, say: Say): boolean => {
    say.fields(line, 'type message session_id model_call_id timestamp_ms')
    const words = textOf(line['message'])
    if (words === undefined) return false
    answered = true
    // With --stream-partial-output, pieces have only the time. The whole text follows, with both fields or
    // neither, and may contain the text before it.
    if ('timestamp_ms' in line && !('model_call_id' in line)) {
      open ??= say.newId()
      if (pieces.length < maxFrame) pieces += words
      say.delta(open, words)
    } else if (open !== undefined) close(say, words.endsWith(pieces) ? pieces : words)
    else if (last === undefined || !words.endsWith(last)) say.message(undefined, words)
    return true
  }

  const result = (line: Line, say: Say): boolean => {
    say.fields(
      line,
      'type subtype is_error duration_ms duration_api_ms result session_id request_id usage timestamp_ms',
    )
    const answer = text(line['result']) ?? ''
    const failed = line['is_error'] === true || line['subtype'] !== 'success'
    // It joins all texts; it is the answer only if nothing else was said (json mode).
    if (!answered && !failed && answer !== '') say.message(undefined, answer)
    const { usage } = line
    const tokens = isRecord(usage) ? tokensIn(usage) : undefined
    say.status('result', { reason: text(line['subtype']) ?? 'unknown', usage, tokens })
    if (failed) say.error(text(line['error']) ?? (answer || 'the run failed'), 'fatal')
    else say.ended('result success')
    last = undefined
    answered = false
    return true
  }

  const read = (line: Line, say: Say): boolean => {
    const { type, subtype } = line
    if (type !== 'thinking') think(say)
    if (type !== 'assistant') close(say)
    switch (type) {
      case 'system':
        if (subtype !== 'init') break
        say.begun()
        say.status('turn_started', typeof line['model'] === 'string' ? { model: line['model'] } : {})
        return true
      case 'user': {
        const words = textOf(line['message'])
        if (words) say.user(words)
        return true
      }
      case 'thinking':
        if (subtype === 'completed') think(say)
        else if (thoughts.length < maxFrame) thoughts += text(line['text']) ?? ''
        return true
      case 'assistant':
        return assistant(line, say)
      case 'tool_call':
        say.fields(line, 'type subtype call_id tool_call model_call_id session_id timestamp_ms')
        return isRecord(line['tool_call']) && readCall(line, line['tool_call'], say)
      case 'result':
        return result(line, say)
    }
    say.unknownType(typeof subtype === 'string' ? `${String(type)} ${subtype}` : String(type))
    return false
  }

  return {
    read({ value }, say) {
      if (!isRecord(value) || !(isCursor(value) || (own && !isClaude(value)))) return false
      own = true
      say.confidence(CONFIDENCE)
      say.session(value['session_id'], { model: text(value['model']), cwd: text(value['cwd']) })
      return read(value, say)
    },
    end: think,
  }
}

function textOf(message: unknown): string | undefined {
  const content = isRecord(message) ? message['content'] : undefined
  if (!Array.isArray(content)) return text(content)
  return content.map((block) => (isRecord(block) ? (text(block['text']) ?? '') : '')).join('')
}

/** The tool is the only key of `tool_call`; how it ended is the only key of `result`. */
function readCall(line: Line, call: Line, say: Say): boolean {
  const name = Object.keys(call).find((key) => isRecord(call[key]))
  if (name === undefined) return false
  const body = call[name] as Line
  const id = text(line['call_id']) ?? ''
  const input = body['args'] ?? body['arguments']
  const tool = { id, name: name === 'function' ? (text(body['name']) ?? name) : name, input }
  if (line['subtype'] === 'started') {
    say.started(tool)
    return true
  }
  if (line['subtype'] !== 'completed') return false
  const results = isRecord(body['result']) ? body['result'] : {}
  const good = results['success']
  const bad = Object.keys(results).find((key) => isRecord(results[key]) || typeof results[key] === 'string')
  if (good === undefined && bad !== undefined) {
    const output = results[bad]
    say.failed({ ...tool, output, error: reason(bad, output), duration_ms: timeOf(output) })
    return true
  }
  const exit = isRecord(good) ? good['exitCode'] : undefined
  const exit_code = typeof exit === 'number' ? exit : undefined
  const ended = { ...tool, output: good ?? body['result'], exit_code, duration_ms: timeOf(good) }
  if ((exit_code ?? 0) !== 0) {
    say.failed(ended)
    return true
  }
  say.completed(ended)
  const path =
    text(isRecord(good) ? good['path'] : undefined) ?? text(isRecord(input) ? input['path'] : undefined)
  const change = changes.get(name)
  const diff = isRecord(good) ? unifiedDiff(good['diffString']) : undefined
  if (good !== undefined && path !== undefined && change !== undefined) say.artifact(change, path, diff)
  return true
}

/** How long a command ran; other tools do not report it. */
function timeOf(result: unknown): number | undefined {
  return isRecord(result) ? durationOf(result['executionTime']) : undefined
}

/** Whether the input includes cached tokens was not observed: with a cache it is left out. */
function tokensIn({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: Line): Tokens | undefined {
  return tokenParts({
    input: inputTokens,
    output: outputTokens,
    cacheRead: cacheReadTokens,
    cacheWrite: cacheWriteTokens,
  })
}

const changes: ReadonlyMap<string, 'created' | 'modified' | 'deleted'> = new Map([
  ['writeToolCall', 'created'],
  ['editToolCall', 'modified'],
  ['deleteToolCall', 'deleted'],
])

function reason(kind: string, reported: unknown): string {
  if (!isRecord(reported)) return text(reported) || kind
  const words = [
    reported['error'],
    reported['errorMessage'],
    reported['message'],
    reported['reason'],
    reported['stderr'],
  ]
  return words.find((word): word is string => typeof word === 'string' && word !== '') ?? kind
}
