import { type Engine, isRecord, type Reader, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import type { Tokens } from '../../events/tokens.ts'
import { calls, unifiedDiff } from '../calls.ts'
import { tokenParts } from '../token-parts.ts'

type Line = Record<string, unknown>

/**
 * pi (`pi --mode json`). Messages have no ids, every text comes up to five times, and a failed run exits with
 * 0.
 */
export const pi: Engine = {
  name: 'pi',
  parser: 'pi_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'pi --mode json; 0.87, 0.73',
  shape: ({ value }) => isRecord(value) && isOwn(value),
  open: reader,
}

function isOwn(line: Line): boolean {
  // The first line, `session`, is the same in a session file: the lines after it decide.
  switch (line['type']) {
    case 'message_start':
    case 'message_end':
      return isMessage(line['message'])
    case 'message_update':
      return isRecord(line['assistantMessageEvent'])
    case 'tool_execution_start':
    case 'tool_execution_update':
    case 'tool_execution_end':
      return typeof line['toolCallId'] === 'string' && typeof line['toolName'] === 'string'
    default:
      return false
  }
}

/** The events of Anthropic's API have such names, too, but their messages have no time. */
function isMessage(value: unknown): boolean {
  return isRecord(value) && typeof value['role'] === 'string' && typeof value['timestamp'] === 'number'
}

function isSession(line: Line): boolean {
  return (
    line['type'] === 'session' &&
    typeof line['version'] === 'number' &&
    typeof line['id'] === 'string' &&
    'cwd' in line
  )
}

function reader(): Reader {
  const begun = calls()
  /** The messages whose pieces are arriving, by their index in the content. */
  let open = memory<string>((id) => id.length)
  /** Why the model stopped, and its error: the run failed only if no retry follows. */
  let stop: string | undefined
  let failure: string | undefined
  let lastModel: string | undefined
  /** A record that only pi writes was seen: many programs have agents and turns. */
  let known = false

  const fail = (say: Say, severity: 'warning' | 'fatal'): void => {
    if (failure !== undefined) say.error(failure, severity)
    failure = undefined
  }

  const piece = (line: Line, say: Say): boolean => {
    say.fields(line, 'type assistantMessageEvent usage message')
    const event = isRecord(line['assistantMessageEvent']) ? line['assistantMessageEvent'] : {}
    const part = text(event['delta'])
    if (event['type'] !== 'text_delta' || part === undefined) return true
    const place = String(event['contentIndex'])
    let id = open.get(place)
    if (id === undefined) {
      id = say.newId()
      for (const forgotten of open.set(place, id)) say.message(forgotten, undefined, { incomplete: true })
    }
    say.delta(id, part)
    return true
  }

  const spoken = (message: Line, say: Say): void => {
    say.fields(message, messageFields)
    const { usage } = message
    const tokens = tokensIn(usage)
    // The step ends with its tools: a run that is killed before that has still used the tokens.
    if (tokens) say.status('usage', { usage, tokens })
    stop = text(message['stopReason'])
    const broken = stop === 'error' || stop === 'aborted'
    if (broken) failure = text(message['errorMessage']) ?? `the model stopped: ${stop}`
    if (stop === 'length') say.truncated(stop)
    const content = Array.isArray(message['content']) ? message['content'] : []
    for (const [place, block] of content.entries()) {
      if (!isRecord(block)) continue
      const id = open.take(String(place))
      const words = text(block['text']) ?? ''
      if (block['type'] === 'thinking') say.reasoning(undefined, text(block['thinking']) ?? '')
      else if (block['type'] !== 'text') continue
      else if (id !== undefined || words !== '') say.message(id, words, broken ? { incomplete: broken } : {})
    }
  }

  const toolEnded = (line: Line, say: Say): void => {
    const id = text(line['toolCallId']) ?? ''
    const name = text(line['toolName']) ?? 'tool'
    const path = begun.ended(id)?.path
    const output = isRecord(line['result']) ? textOf(line['result']['content']) : undefined
    if (line['isError'] !== false) {
      const exit_code = name === 'bash' ? exitCode(output) : undefined
      say.failed({ id, name, output, exit_code, error: text(output) })
      return
    }
    say.completed({ id, name, output })
    if (path !== undefined && name === 'write') say.artifact('created', path)
    if (path !== undefined && name === 'edit') say.artifact('modified', path, patchIn(line['result']))
  }

  const read = (line: Line, say: Say): boolean => {
    const message = isRecord(line['message']) ? line['message'] : {}
    const isAssistant = message['role'] === 'assistant'
    const model = text(message['model'])
    switch (line['type']) {
      case 'session':
        if (!isSession(line)) return false
        say.fields(line, 'type version id timestamp cwd parentSession')
        say.session(line['id'], { cwd: text(line['cwd']) })
        return true
      case 'agent_start':
        say.fields(line, 'type')
        stop = undefined
        say.begun()
        say.status('turn_started')
        return true
      case 'turn_start':
        say.fields(line, 'type')
        say.status('step_start')
        return true
      case 'message_start':
        say.fields(line, 'type message')
        open = memory((id) => id.length)
        if (isAssistant && model !== undefined && model !== lastModel) say.status('model', { model })
        if (isAssistant) lastModel = model
        if (message['role'] === 'user') sayPrompt(message, say)
        return true
      case 'message_update':
        return piece(line, say)
      case 'message_end':
        say.fields(line, 'type message')
        if (isAssistant) spoken(message, say)
        return true
      case 'turn_end':
        say.fields(line, 'type message toolResults')
        say.status('step_finish', {
          reason: text(message['stopReason']) ?? 'unknown',
          usage: message['usage'],
        })
        return true
      case 'tool_execution_start': {
        say.fields(line, 'type toolCallId toolName args')
        const call = { id: text(line['toolCallId']) ?? '', name: text(line['toolName']) ?? 'tool' }
        const args = line['args']
        begun.begun(call.id, call.name, { file_path: isRecord(args) ? args['path'] : undefined })
        say.started({ ...call, input: args })
        return true
      }
      case 'tool_execution_end':
        say.fields(line, 'type toolCallId toolName result isError')
        toolEnded(line, say)
        return true
      case 'agent_end':
        say.fields(line, 'type messages willRetry')
        if (failure === undefined && stop !== undefined && line['willRetry'] !== true) say.ended('agent_end')
        // 0.73 does not report whether it retries.
        if (line['willRetry'] === false) fail(say, 'fatal')
        return true
      case 'auto_retry_start':
        say.fields(line, 'type attempt maxAttempts delayMs errorMessage')
        fail(say, 'warning')
        say.status('retry', { reason: `attempt ${line['attempt']} of ${line['maxAttempts']}` })
        return true
      case 'auto_retry_end':
        say.fields(line, 'type success attempt finalError')
        if (line['success'] === false) fail(say, 'fatal')
        return true
      case 'compaction_start':
      case 'compaction_end':
        say.status(line['type'], { reason: text(line['reason']) ?? 'unknown' })
        return true
      case 'tool_execution_update':
      case 'entry_appended':
      case 'agent_settled':
        return true
      default:
        say.unknownType(String(line['type']))
        return false
    }
  }

  return {
    read({ value }, say) {
      if (!isRecord(value) || typeof value['type'] !== 'string') return false
      known ||= isSession(value) || isOwn(value)
      return known && read(value, say)
    },
    end: (say) => fail(say, 'fatal'),
  }
}

const messageFields =
  'role content api provider model usage stopReason rawStopReason timestamp responseId responseModel errorMessage diagnostics'

/** The text of a content that has only text. */
function textOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content
  const words = content.map((block) => (isRecord(block) ? text(block['text']) : undefined))
  return words.includes(undefined) ? content : words.join('\n')
}

/** pi writes the exit code after the output of a failed command. */
function exitCode(output: unknown): number | undefined {
  const mark = 'Command exited with code '
  const at = typeof output === 'string' ? output.lastIndexOf(mark) : -1
  const code = at < 0 ? Number.NaN : Number((output as string).slice(at + mark.length))
  return Number.isInteger(code) ? code : undefined
}

/** The input excludes cached tokens; the output includes reasoning, as the total shows. */
export function tokensIn(usage: unknown): Tokens | undefined {
  if (!isRecord(usage)) return undefined
  const { input, output, cacheRead, cacheWrite, reasoning, totalTokens } = usage
  return tokenParts(
    { input, output, cacheRead, cacheWrite, reasoning, total: totalTokens },
    { cache: 'apart' },
  )
}

/** The diff of an edit. The field `diff` next to it is a drawing with line numbers. */
export function patchIn(result: unknown): string | undefined {
  const details = isRecord(result) ? result['details'] : undefined
  return isRecord(details) ? unifiedDiff(details['patch']) : undefined
}

export function sayPrompt({ content }: Line, say: Say): void {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : []
  const words = text(content) ?? blocks.flatMap((block) => text(block['text']) ?? []).join('\n')
  if (words !== '') say.user(words)
}
