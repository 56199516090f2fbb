import { memory } from '../events/memory.ts'
import {
  type EngineFrame,
  isRecord,
  type Limits,
  type Profile,
  type Reader,
  type Say,
  text,
} from '../events/profile.ts'
import { chunkReader } from './acp-chunks.ts'
import { record, toolReader } from './acp-tool.ts'

type Rpc = Record<string, unknown>

/**
 * The Agent Client Protocol, version 1 (`gemini --acp`, `opencode acp`, …): JSON-RPC, one record per line. Only the
 * agent's half is on its stdout, so what the client asked and allowed is not known.
 */
export const acp: Profile = {
  name: 'acp',
  parser: 'acp_jsonrpc',
  cut: { stdout: 'records', pty: 'records' },
  about: 'Agent Client Protocol 1 on stdio: gemini, qwen, opencode, kilo, copilot, nanocoder, codex-acp',
  shape: ({ value }) => isRpc(value) && (isAnswer(record(value['result'])) || isSessions(value)),
  open,
}

function isRpc(value: unknown): value is Rpc {
  return isRecord(value) && value['jsonrpc'] === '2.0'
}

/** MCP initializes, too, but its versions are dates. */
function isAnswer(result: Rpc): boolean {
  const { protocolVersion, agentCapabilities, agentInfo, stopReason } = result
  return (
    (typeof protocolVersion === 'number' && (isRecord(agentCapabilities) || isRecord(agentInfo))) ||
    (typeof stopReason === 'string' && Object.hasOwn(stops, stopReason))
  )
}

function isSessions({ method, params }: Rpc): boolean {
  const { sessionId, update, toolCall } = record(params)
  if (typeof sessionId !== 'string') return false
  return (
    (method === 'session/update' && typeof record(update)['sessionUpdate'] === 'string') ||
    (method === 'session/request_permission' && isRecord(toolCall))
  )
}

/** Why a turn can stop. All but the first and `max_tokens` are failures. */
const stops = {
  end_turn: '',
  max_tokens: '',
  max_turn_requests: 'the turn reached its limit of model requests',
  refusal: 'the agent refused to go on',
  cancelled: 'the turn was cancelled',
}

/** Updates about the session, not about what the agent says or does: their fields. */
const settings: Readonly<Record<string, string>> = {
  available_commands_update: 'sessionUpdate availableCommands _meta',
  current_mode_update: 'sessionUpdate currentModeId _meta',
  config_option_update: 'sessionUpdate configOptions _meta',
  session_info_update: 'sessionUpdate title updatedAt _meta',
}

/** Requests to the client, and what Qwen Code adds to the protocol. */
const quiet = new Set(
  `fs/read_text_file fs/write_text_file terminal/create terminal/output terminal/wait_for_exit terminal/kill
  terminal/release craft/drainMidTurnQueue qwen/notify/session/prompt-suggestion`.split(/\s+/),
)

function open(limits: Limits): Reader {
  const chunks = chunkReader(limits)
  const tools = toolReader()
  /** Who the agent is, by its own word. */
  let agent = ''
  /** A turn has begun and not ended. The prompt itself is in the client's half. */
  let busy = false
  /** Calls that wait for a permission. */
  const asked = new Set<string>()
  /** Sessions that were made in this run. Another one that begins with the user's words is loaded: an old conversation comes again. */
  const made = memory<true>(() => 0)
  let loading: string | undefined

  /** The agent works: it waits for no permission any more, but for those of other calls. */
  const work = (say: Say, call?: string) => {
    const waited = asked.size > 0
    if (call === undefined) asked.clear()
    else asked.delete(call)
    if (busy && !(waited && asked.size === 0)) return
    say.begun()
    if (!busy) say.status('turn_started')
    busy = true
  }

  const fail = (words: string, say: Say) => {
    work(say)
    say.error(words, 'fatal')
  }

  const readUpdate = (session: string, update: Rpc, frame: EngineFrame, say: Say): boolean | 'kept' => {
    const kind = text(update['sessionUpdate']) ?? ''
    if (Object.hasOwn(settings, kind)) {
      say.fields(update, settings[kind]!)
      say.status(kind)
      readCodex(record(record(update['_meta'])['codex']), say)
      return true
    }
    if (kind !== 'agent_message_chunk') chunks.endMessage(say)
    if (kind === 'user_message_chunk' && !made.get(session)) loading = session
    // What was said and done before this run is neither its answer nor its end.
    if (loading === session) return true
    switch (kind) {
      case 'user_message_chunk':
        return true
      case 'agent_message_chunk': {
        say.fields(update, 'sessionUpdate content messageId _meta')
        if (record(update['content'])['text'] !== '') work(say)
        chunks.addMessage(session, update, say)
        // Qwen Code ends each answer of the model with an empty chunk.
        const { usage } = record(update['_meta'])
        if (usage === undefined) return true
        chunks.endMessage(say)
        say.status('step_finish', { usage })
        return true
      }
      case 'agent_thought_chunk':
        say.fields(update, 'sessionUpdate content messageId _meta')
        work(say)
        return chunks.addThought(session, update, frame, say)
      case 'tool_call':
      case 'tool_call_update':
        say.fields(
          update,
          'sessionUpdate toolCallId title name kind status content locations rawInput rawOutput _meta',
        )
        work(say, text(update['toolCallId']) ?? '')
        return tools.read(update, frame.text.length, agent, say)
      case 'plan':
        say.fields(update, 'sessionUpdate entries _meta')
        work(say)
        say.status('plan', { stats: update['entries'] })
        return true
      case 'usage_update': {
        const { sessionUpdate: _, ...stats } = update
        say.fields(update, 'sessionUpdate used size cost _meta')
        say.status('usage_update', { stats })
        return true
      }
      default:
        say.unknownType(`update ${kind}`)
        return false
    }
  }

  /** The Codex adapter ends a failed turn like any other, with the error as a message; but it passes on the state of the thread. */
  const readCodex = ({ threadStatus, error }: Rpc, say: Say) => {
    if (isRecord(error))
      say.error(text(error['message']) ?? '', error['willRetry'] === true ? 'warning' : 'error')
    if (record(threadStatus)['type'] === 'systemError')
      fail('the Codex thread is in the state systemError', say)
  }

  const readPermission = (params: Rpc, size: number, say: Say) => {
    say.fields(params, 'sessionId toolCall options _meta')
    const call = record(params['toolCall'])
    const title = text(call['title'])
    chunks.endMessage(say)
    work(say, '')
    tools.asked(call, size, say)
    if (asked.size < 4096) asked.add(text(call['toolCallId']) ?? '')
    say.status('permission_requested', title === undefined ? {} : { reason: title })
    say.ended('session/request_permission')
  }

  const readStop = (result: Rpc, say: Say): boolean => {
    say.fields(result, 'stopReason usage userMessageId _meta')
    const reason = text(result['stopReason']) ?? ''
    const usage = result['usage'] ?? record(record(result['_meta'])['quota'])['token_count']
    const good = reason === 'end_turn'
    const head = chunks.head()
    chunks.endMessage(say, good ? {} : { incomplete: true })
    work(say)
    busy = false
    say.status(good ? 'turn_completed' : 'turn_failed', { reason, ...(usage !== undefined && { usage }) })
    if (!Object.hasOwn(stops, reason)) {
      say.unknownType(`stopReason ${reason}`)
      return true
    }
    if (good) {
      say.ended(reason)
      // Copilot tells the tokens of every turn in which the model has answered.
      if (agent === 'Copilot' && usage === undefined && head.startsWith('Error: ')) say.error(head, 'fatal')
    } else if (reason === 'max_tokens') say.truncated(reason)
    else say.error(stops[reason as keyof typeof stops], 'fatal')
    return true
  }

  const readResult = (result: unknown, say: Say): boolean => {
    loading = undefined
    // The answer to session/load, session/set_mode and others may be null or empty.
    if (!isRecord(result)) return result === null
    if (typeof result['stopReason'] === 'string') return readStop(result, say)
    if (typeof result['protocolVersion'] === 'number') {
      say.fields(result, 'protocolVersion agentCapabilities agentInfo authMethods _meta')
      const { name, version } = record(result['agentInfo'])
      agent = text(name) ?? ''
      say.status('initialized', agent === '' ? {} : { reason: `${agent} ${text(version) ?? ''}`.trim() })
      return true
    }
    say.fields(result, 'sessionId modes models configOptions sessions nextCursor _meta')
    const session = text(result['sessionId'])
    if (session === undefined) return true
    made.set(session, true)
    say.session(session)
    const model = modelOf(result)
    say.status('session_opened', model === undefined ? {} : { model })
    return true
  }

  const readError = (error: unknown, say: Say) => {
    const { code, message, data } = record(error)
    const details = text(data) ?? text(record(data)['details']) ?? text(record(data)['message'])
    const words = `${text(message) ?? 'an error without a message'}${details === undefined ? '' : `: ${details}`} (${String(code)})`
    loading = undefined
    // Something the agent cannot do was asked for; it can prompt, so this is not about the turn.
    if (code === -32601) return say.error(words)
    chunks.endMessage(say, { incomplete: true })
    fail(words, say)
    say.status('turn_failed')
    busy = false
  }

  return {
    read(frame, say) {
      const { value } = frame
      const { method, params, result, error } = record(value)
      const { sessionId, update } = record(params)
      const kind = method === 'session/update' ? record(update)['sessionUpdate'] : undefined
      if (kind !== 'agent_thought_chunk') chunks.endThought(say, frame)
      if (!isRpc(value)) return false
      say.fields(value, 'jsonrpc id method params result error')
      if (isSessions(value)) {
        say.fields(record(params), 'sessionId update toolCall options _meta')
        say.session(sessionId)
        if (kind !== undefined) return readUpdate(String(sessionId), record(update), frame, say)
        readPermission(record(params), frame.text.length, say)
        return true
      }
      if (method === undefined && error !== undefined) {
        readError(error, say)
        return true
      }
      if (method === undefined && result !== undefined) return readResult(result, say)
      // Names that begin with `_` are each agent's own.
      if (typeof method === 'string' && (quiet.has(method) || method.startsWith('_'))) return true
      say.unknownType(String(method))
      return false
    },
    end: (say) => chunks.endThought(say),
  }
}

/** The model of a session: a field in some agents, an option in others. */
function modelOf({ models, configOptions }: Rpc): string | undefined {
  const options: unknown[] = Array.isArray(configOptions) ? configOptions : []
  const option = options.find((one) => record(one)['id'] === 'model')
  return text(record(models)['currentModelId']) ?? text(record(option)['currentValue'])
}
