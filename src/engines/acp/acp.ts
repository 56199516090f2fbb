import {
  type Engine,
  type EngineFrame,
  isRecord,
  type Limits,
  type Reader,
  type Say,
  text,
} from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { chunkReader } from './chunks.ts'
import { record, toolReader } from './tool.ts'
import { stops, turnReader } from './turn.ts'

type Rpc = Record<string, unknown>

/**
 * The Agent Client Protocol, version 1 (`gemini --acp`, `opencode acp`, …): JSON-RPC, one record per line.
 * Only the agent's half is on its stdout, so what the client asked and allowed is unknown.
 */
export const acp: Engine = {
  name: 'acp',
  parser: 'acp_jsonrpc',
  cut: { stdout: 'records', pty: 'records' },
  about: 'Agent Client Protocol 1 on stdio; gemini, qwen, opencode, kilo, copilot, nanocoder, codex-acp',
  shape: ({ value }) => isOwn(value),
  open,
}

function isRpc(value: unknown): value is Rpc {
  return isRecord(value) && value['jsonrpc'] === '2.0'
}

function isOwn(value: unknown): boolean {
  return isRpc(value) && (isAnswer(record(value['result'])) || isSessions(value))
}

/** MCP has `initialize`, too, but its versions are dates. */
function isAnswer({ protocolVersion, agentCapabilities, agentInfo, stopReason }: Rpc): boolean {
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

/** Updates about the session, not about what the agent says or does, with their fields. */
const settings: Readonly<Record<string, string>> = {
  available_commands_update: 'sessionUpdate availableCommands _meta',
  current_mode_update: 'sessionUpdate currentModeId _meta',
  config_option_update: 'sessionUpdate configOptions _meta',
  session_info_update: 'sessionUpdate title updatedAt _meta',
}

/** Requests to the client, and what Qwen Code adds to the protocol. */
const quiet = new Set([
  'fs/read_text_file',
  'fs/write_text_file',
  'terminal/create',
  'terminal/output',
  'terminal/wait_for_exit',
  'terminal/kill',
  'terminal/release',
  'craft/drainMidTurnQueue',
  'qwen/notify/session/prompt-suggestion',
])

function open(limits: Limits): Reader {
  const chunks = chunkReader(limits)
  const tools = toolReader()
  const turn = turnReader(chunks)
  /**
   * Sessions that were created or loaded in this run. Any other session that begins with a user message is
   * being loaded: it replays an old conversation.
   */
  const made = memory<true>(() => 0)
  let loading: string | undefined
  /** A record that only this protocol has was seen: MCP and LSP are JSON-RPC, too. */
  let known = false

  const readUpdate = (session: string, update: Rpc, frame: EngineFrame, say: Say): boolean | 'kept' => {
    const kind = text(update['sessionUpdate']) ?? ''
    if (Object.hasOwn(settings, kind)) {
      say.fields(update, settings[kind]!)
      say.status(kind)
      turn.codex(record(record(update['_meta'])['codex']), say)
      return true
    }
    if (kind !== 'agent_message_chunk') chunks.endMessage(say)
    if (kind === 'user_message_chunk' && !made.get(session)) loading = session
    // What was said and done before this run is neither its answer nor its end.
    if (loading === session) {
      chunks.endGathered(say, frame)
      return true
    }
    switch (kind) {
      case 'user_message_chunk':
        say.fields(update, 'sessionUpdate content messageId _meta')
        return chunks.gather(kind, session, update, frame, say)
      case 'agent_message_chunk': {
        say.fields(update, 'sessionUpdate content messageId _meta')
        if (record(update['content'])['text'] !== '') turn.work(say)
        chunks.addMessage(session, update, say)
        // Qwen Code ends each answer of the model with an empty chunk.
        const { usage } = record(update['_meta'])
        if (usage === undefined) return true
        chunks.endMessage(say)
        turn.step(usage, say)
        return true
      }
      case 'agent_thought_chunk':
        say.fields(update, 'sessionUpdate content messageId _meta')
        turn.work(say)
        return chunks.gather(kind, session, update, frame, say)
      case 'tool_call':
      case 'tool_call_update':
        say.fields(
          update,
          'sessionUpdate toolCallId title name kind status content locations rawInput rawOutput _meta',
        )
        turn.work(say, text(update['toolCallId']) ?? '')
        return tools.read(update, frame.text.length, turn.agent(), say)
      case 'plan':
        say.fields(update, 'sessionUpdate entries _meta')
        turn.work(say)
        say.status('plan', { stats: update['entries'] })
        return true
      case 'usage_update': {
        say.fields(update, 'sessionUpdate used size cost _meta')
        const { used, size, cost } = update
        say.status('usage_update', { stats: { used, size, cost } })
        return true
      }
      default:
        say.unknownType(`update ${kind}`)
        return false
    }
  }

  const readPermission = (params: Rpc, size: number, say: Say): boolean => {
    const call = record(params['toolCall'])
    chunks.endMessage(say)
    turn.work(say, '')
    tools.asked(call, size, say)
    turn.ask(call, say)
    return true
  }

  const readResult = (result: unknown, say: Say): boolean => {
    // From here on the session belongs to this run. Some agents repeat each prompt as a user message.
    if (loading !== undefined) made.set(loading, true)
    loading = undefined
    // The answer to session/load, session/set_mode and others may be null or empty.
    if (!isRecord(result)) return result === null
    if (typeof result['stopReason'] === 'string') {
      say.fields(result, 'stopReason usage userMessageId _meta')
      turn.stop(result, say)
      return true
    }
    if (typeof result['protocolVersion'] === 'number') {
      say.fields(result, 'protocolVersion agentCapabilities agentInfo authMethods _meta')
      turn.initialized(record(result['agentInfo']), say)
      return true
    }
    say.fields(result, 'sessionId modes models configOptions sessions nextCursor _meta')
    const session = text(result['sessionId'])
    if (session === undefined) return true
    made.set(session, true)
    const model = modelOf(result)
    turn.session(session, say, model)
    turn.opened()
    say.status('session_opened', model === undefined ? {} : { model })
    return true
  }

  return {
    read(frame, say) {
      const { value } = frame
      const { method, params, result, error } = record(value)
      const { sessionId, update } = record(params)
      const kind = method === 'session/update' ? record(update)['sessionUpdate'] : undefined
      if (kind !== chunks.gathering()) chunks.endGathered(say, frame)
      known ||= isOwn(value)
      // Also if the lines before it are lost: the next user message is a prompt, not history.
      const opened = text(record(result)['sessionId'])
      if (opened !== undefined && isRpc(value)) made.set(opened, true)
      if (!known || !isRpc(value)) return false
      say.fields(value, 'jsonrpc id method params result error')
      if (isSessions(value)) {
        say.fields(record(params), 'sessionId update toolCall options _meta')
        turn.session(sessionId, say)
        return kind === undefined
          ? readPermission(record(params), frame.text.length, say)
          : readUpdate(String(sessionId), record(update), frame, say)
      }
      if (method === undefined && error !== undefined) {
        loading = undefined
        turn.failed(error, say)
        return true
      }
      if (method === undefined && result !== undefined) return readResult(result, say)
      // Names that begin with `_` are extensions of each agent.
      if (typeof method === 'string' && (quiet.has(method) || method.startsWith('_'))) return true
      say.unknownType(String(method))
      return false
    },
    end: (say) => chunks.endGathered(say),
  }
}

/** The model of a session: a field in some agents, an option in others. */
function modelOf({ models, configOptions }: Rpc): string | undefined {
  const options: unknown[] = Array.isArray(configOptions) ? configOptions : []
  const option = options.find((one) => record(one)['id'] === 'model')
  return text(record(models)['currentModelId']) ?? text(record(option)['currentValue'])
}
