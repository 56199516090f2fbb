import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { durationOf } from '../../events/record.ts'
import { calls, sayChange } from '../calls.ts'
import { geminiTokens } from '../gemini/tokens.ts'
import { turns } from '../session-turns.ts'

type Line = Record<string, unknown>

/**
 * Qwen Code's session files (`projects/<dir>/chats/<session>.jsonl` in its home). Lines like Claude Code's
 * with messages like Gemini's. They record no end, and only failures of single requests: how a run ended
 * stays unknown.
 */
export const qwenSession: Engine = {
  name: 'qwen',
  parser: 'qwen_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session file: projects/*/chats/*.jsonl; 0.24, 0.15, 0.7',
  shape: ({ value }) => isLine(value) && parts(value) !== undefined,
  open() {
    const read = sessionReader()
    return { read: ({ value }, say) => isLine(value) && read(value, say) }
  },
}

function isLine(value: unknown): value is Line {
  return (
    isRecord(value) &&
    typeof value['uuid'] === 'string' &&
    typeof value['sessionId'] === 'string' &&
    (typeof value['parentUuid'] === 'string' || value['parentUuid'] === null) &&
    (value['type'] === 'system' || parts(value) !== undefined)
  )
}

function parts(line: Line): readonly unknown[] | undefined {
  const { message } = line
  return isRecord(message) && Array.isArray(message['parts']) ? message['parts'] : undefined
}

/** Records that are not part of the conversation. */
const silent = new Set([
  ...['ui_telemetry', 'attribution_snapshot', 'slash_command', 'at_command', 'file_history_snapshot'],
  ...['custom_title', 'session_title', 'rewind', 'notification'],
])

const lineFields =
  'uuid parentUuid sessionId timestamp type subtype provenance cwd version gitBranch model message usageMetadata ' +
  'toolCallResult systemPayload contextWindowSize'

function sessionReader() {
  const begun = calls()
  const turn = turns()
  /** Durations of calls: recorded before their results, and with an id only in 0.24. */
  const took = memory<number>(() => 0)
  let model: string | undefined

  const prompt = (line: Line, say: Say): true => {
    turn.begin(say)
    const words = (parts(line) ?? []).flatMap((part) => (isRecord(part) && text(part['text'])) || [])
    const own = line['provenance'] === undefined || line['provenance'] === 'real_user'
    if (own && words.length > 0) say.user(words.join(''))
    return true
  }

  const assistant = (line: Line, say: Say): true => {
    const id = text(line['uuid']) ?? ''
    if (typeof line['model'] === 'string' && line['model'] !== model) {
      model = line['model']
      say.status('configured', { model })
    }
    let blocks = 0
    const blockId = () => (blocks++ === 0 ? id : `${id}.${blocks - 1}`)
    for (const part of parts(line) ?? []) {
      if (!isRecord(part)) continue
      const { functionCall } = part
      const words = text(part['text'])
      if (isRecord(functionCall)) {
        const call = { id: text(functionCall['id']) ?? '', name: text(functionCall['name']) ?? 'tool' }
        begun.begun(call.id, call.name, functionCall['args'])
        say.started({ ...call, input: functionCall['args'] })
      } else if (words && part['thought'] === true) say.reasoning(blockId(), words)
      else if (words) say.message(blockId(), words)
      else if (words === undefined) say.unknownType(`part ${Object.keys(part).join(' ').slice(0, 40)}`)
    }
    return true
  }

  const result = (line: Line, say: Say): true => {
    const reported = isRecord(line['toolCallResult']) ? line['toolCallResult'] : {}
    const shown = reported['resultDisplay']
    for (const part of parts(line) ?? []) {
      if (!isRecord(part) || !isRecord(part['functionResponse'])) continue
      const { id, name, response } = part['functionResponse']
      const known = begun.ended(text(id) ?? '')
      const answer = isRecord(response) ? response : {}
      const error = text(answer['error'])
      const exit = isRecord(shown) && typeof shown['exitCode'] === 'number' ? shown['exitCode'] : undefined
      const call = {
        id: text(id) ?? '',
        name: known?.name ?? text(name) ?? 'tool',
        exit_code: exit,
        duration_ms: took.take(text(id) ?? ''),
      }
      if (error !== undefined || (reported['status'] !== undefined && reported['status'] !== 'success')) {
        say.failed({ ...call, output: answer['output'], error: error ?? text(shown) })
        continue
      }
      say.completed({ ...call, output: answer['output'] })
      sayChange(call.name, known?.path, shown, say)
    }
    return true
  }

  const request = (event: Line, say: Say): void => {
    const { input_token_count, output_token_count, cached_content_token_count, total_token_count } = event
    const { thoughts_token_count, tool_token_count } = event
    const tokens = geminiTokens({
      input: input_token_count,
      output: output_token_count,
      cached: cached_content_token_count,
      thoughts: thoughts_token_count,
      tool: tool_token_count,
      total: total_token_count,
    })
    // The event contains the whole answer, too.
    const counts = Object.entries(event).filter(([key]) => key.endsWith('_token_count'))
    if (tokens) say.status('usage', { usage: Object.fromEntries(counts), tokens })
  }

  const system = (line: Line, say: Say): boolean => {
    const subtype = text(line['subtype']) ?? ''
    const payload = isRecord(line['systemPayload']) ? line['systemPayload'] : {}
    const event = isRecord(payload['uiEvent']) ? payload['uiEvent'] : {}
    const call = text(event['call_id'])
    const duration = durationOf(event['duration_ms'])
    if (call !== undefined && duration !== undefined) took.set(call, duration)
    // One per request, including those of subagents, which have no assistant line.
    if (event['event.name'] === 'qwen-code.api_response') request(event, say)
    // One per attempt. The file does not say whether it was the last one.
    if (event['event.name'] === 'qwen-code.api_error')
      say.error(text(event['error_message']) ?? text(event['error']) ?? 'a request failed', 'error')
    if (subtype === 'chat_compression') say.status('compacted')
    else if (!silent.has(subtype)) {
      say.unknownType(`system ${subtype}`)
      return false
    }
    return true
  }

  return (line: Line, say: Say): boolean => {
    say.fields(line, lineFields)
    say.session(line['sessionId'], { cwd: text(line['cwd']), engine_version: text(line['version']) })
    switch (line['type']) {
      case 'user':
        return prompt(line, say)
      case 'assistant':
        return assistant(line, say)
      case 'tool_result':
        return result(line, say)
      case 'system':
        return system(line, say)
      default:
        say.unknownType(String(line['type']))
        return false
    }
  }
}
