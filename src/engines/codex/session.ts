import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { tokenCounter } from '../../events/tokens.ts'
import { callReader } from './calls.ts'
import { errorText } from './change.ts'
import { codexTokens } from './tokens.ts'

type Line = Record<string, unknown>

/**
 * Codex rollouts (`sessions/YYYY/MM/DD/rollout-*.jsonl` in its home): `{timestamp, type, payload}` per line.
 * Each text is recorded twice, as an event and as a `response_item`: texts are read from the events, calls
 * from both.
 */
export const codexSession: Engine = {
  name: 'codex',
  parser: 'codex_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session file: rollout-*.jsonl; 0.166, 0.142, 0.74',
  shape: ({ value }) => isRollout(value),
  open() {
    const read = rolloutReader()
    return { read: ({ value }, say) => isRollout(value) && read(value, value.payload, say) }
  },
}

const lineTypes = new Set([
  ...['session_meta', 'turn_context', 'event_msg', 'response_item', 'compacted'],
  ...['token_usage_record', 'world_state', 'thread_settings_applied'],
])

function isRollout(value: unknown): value is Line & { payload: Line } {
  if (!isRecord(value) || typeof value['timestamp'] !== 'string' || !isRecord(value['payload'])) return false
  const type = text(value['type']) ?? ''
  if (type === 'event_msg' || type === 'response_item') return typeof value['payload']['type'] === 'string'
  return lineTypes.has(type)
}

/** Events that repeat another line, or are not about the conversation. */
const silent = new Set([
  ...['thread_settings_applied', 'exec_command_begin', 'exec_command_end', 'mcp_tool_call_begin'],
  ...['mcp_tool_call_end', 'web_search_begin', 'web_search_end', 'patch_apply_begin', 'thread_name_updated'],
  ...['agent_reasoning_raw_content', 'agent_reasoning_section_break', 'turn_diff', 'view_image_tool_call'],
])

function rolloutReader() {
  const calls = callReader()
  let known = false
  let model: string | undefined
  /** The file records where turns begin (0.142 and later); before, prompts mark them. */
  let tasks = false
  /** Which kind of record has the messages of this turn, and which has the prompt: only that kind is read. */
  let teller: 'event' | 'item' | undefined
  let asker: 'event' | 'item' | undefined
  /**
   * The tokens of the thread. 0.74 starts again from 0 when it is resumed, and writes null until it has a
   * count.
   */
  let counter = tokenCounter()
  let uncounted = false
  /** The last count. 0.166 writes each of them twice, older versions some. */
  let counted = ''

  const begin = (say: Say): true => {
    teller = undefined
    asker = undefined
    say.begun()
    say.status('turn_started')
    return true
  }

  const tells = (kind: 'event' | 'item'): boolean => {
    teller ??= kind
    return teller === kind
  }

  const asked = (kind: 'event' | 'item', prompt: string, say: Say): true => {
    asker ??= kind
    if (asker === kind && prompt !== '') say.user(prompt)
    return true
  }

  const count = (usage: unknown, last: unknown, say: Say): true => {
    const tokens = codexTokens(usage)
    const key = JSON.stringify(tokens)
    const again = uncounted && JSON.stringify(codexTokens(last)) === key
    uncounted = false
    if (again) counter = tokenCounter()
    else if (key === counted) return true
    counted = key
    say.status('token_count', { usage, tokens: tokens && counter.soFar(tokens) })
    return true
  }

  const complete = (payload: Line, say: Say): true => {
    if (payload['error']) {
      say.status('turn_failed')
      say.error(errorText(payload['error']), 'fatal')
      return true
    }
    // In 0.142 a failed turn ends with the same record, only without a last message. So without one the end
    // is unknown.
    const answered = typeof payload['last_agent_message'] === 'string'
    say.status(answered ? 'turn_completed' : 'turn_over')
    if (answered) say.ended('task_complete')
    return true
  }

  const item = (item: Line, say: Say): boolean => {
    switch (item['type']) {
      case 'UserMessage':
        return asked('item', joined(item['content']), say)
      case 'AgentMessage':
        if (tells('item')) say.message(text(item['id']), joined(item['content']))
        return true
      case 'Reasoning':
        if (tells('item'))
          for (const part of strings(item['summary_text'])) say.reasoning(text(item['id']), part)
        return true
      default:
        if (calls.item(item, say)) return true
        say.unknownType(`item ${String(item['type'])}`)
        return false
    }
  }

  const event = (payload: Line, say: Say): boolean => {
    switch (payload['type']) {
      case 'task_started':
        tasks = true
        return begin(say)
      case 'user_message':
        // Old versions have the instructions and the environment here too, each with its kind.
        if ((payload['kind'] ?? 'plain') !== 'plain') return true
        if (!tasks) begin(say)
        return asked('event', text(payload['message']) ?? '', say)
      case 'task_complete':
        return complete(payload, say)
      case 'turn_aborted': {
        const reason = text(payload['reason']) ?? 'aborted'
        say.status('turn_failed', { reason })
        say.error(`the turn was ${reason}`, 'fatal')
        return true
      }
      case 'item_completed':
        return isRecord(payload['item']) && item(payload['item'], say)
      case 'agent_message':
        if (tells('event')) say.message(undefined, text(payload['message']) ?? '')
        return true
      case 'agent_reasoning':
        if (tells('event')) say.reasoning(undefined, text(payload['text']) ?? '')
        return true
      case 'patch_apply_end':
        calls.patch(payload, say)
        return true
      case 'token_count':
        uncounted ||= payload['info'] === null
        if (!isRecord(payload['info'])) return true
        return count(payload['info']['total_token_usage'], payload['info']['last_token_usage'], say)
      case 'context_compacted':
        say.status('compacted')
        return true
      case 'error':
      case 'stream_error':
        say.error(errorText(payload), 'warning')
        return true
      default:
        if (silent.has(String(payload['type']))) return true
        say.unknownType(`event ${String(payload['type'])}`)
        return false
    }
  }

  return (line: Line, payload: Line, say: Say): boolean => {
    say.fields(line, 'timestamp ordinal type payload metadata')
    switch (line['type']) {
      case 'session_meta':
        // A fork has the head of its origin too.
        if (!known)
          say.session(payload['id'], {
            cwd: text(payload['cwd']),
            engine_version: text(payload['cli_version']),
          })
        known = true
        return true
      case 'turn_context':
        if (typeof payload['model'] === 'string' && payload['model'] !== model) {
          model = payload['model']
          say.status('configured', { model })
        }
        return true
      case 'event_msg':
        return event(payload, say)
      case 'response_item':
        return calls.read(payload, say)
      case 'token_usage_record':
        // It comes before the event, which is missing if the run was killed.
        return count(payload['thread_token_usage'], payload['usage'], say)
      default:
        return true
    }
  }
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function joined(content: unknown): string {
  if (!Array.isArray(content)) return text(content) ?? ''
  return content.map((part) => (isRecord(part) && text(part['text'])) || '').join('')
}
