import { type Engine, isRecord, type RunFacts, type Say, text } from '../../events/engine.ts'
import { isRefusal, isServerLine, isServerShape, serverReader } from './app-server.ts'
import { errorText, readChanges } from './change.ts'
import { oldReader } from './old.ts'
import { codexTokens } from './tokens.ts'

type Item = Record<string, unknown>

/**
 * Codex (`codex exec --json`, `codex app-server`). Four dialects, distinguished by shape: today's `thread.*`,
 * `turn.*`, `item.*`; `session.created` with `item_type` (0.42, experimental); `{id, msg: {type}}` after a
 * config line (0.42); the app-server's JSON-RPC.
 */
export const codex: Engine = {
  name: 'codex',
  parser: 'codex_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'codex exec --json; 0.166, 0.98, 0.42 (both of its dialects); codex app-server; 0.166',
  shape: ({ value }) => isRecord(value) && (isLine(value) || isOldLine(value) || isServerShape(value)),
  open() {
    const readOld = oldReader()
    const readServer = serverReader()
    /** A record of the dialect was seen, so one of another type is a new type. */
    let known = false
    let served = false
    /** The first line of 0.42; a session may come later. */
    let config: RunFacts | undefined
    return {
      read({ value }, say) {
        if (!isRecord(value)) return false
        if (isOldLine(value)) return readOld(value.msg, value.id, config ?? {}, say)
        served ||= isServerShape(value)
        if (isServerLine(value)) return (served || isRefusal(value)) && readServer(value, say)
        if (isConfig(value)) {
          config = { model: text(value['model']), cwd: text(value['workdir']) }
          say.status('configured', config)
          return true
        }
        // It is the second line. Other programs write prompts, too.
        if (config && isPrompt(value)) {
          say.user(value['prompt'])
          return true
        }
        known ||= isLine(value)
        return (known || isError(value)) && typeof value['type'] === 'string' && readLine(value, say)
      },
    }
  },
}

/** Other programs have turns and items, too: the fields required here are in every line of Codex. */
function isLine(value: Item): boolean {
  switch (value['type']) {
    case 'thread.started':
      return typeof value['thread_id'] === 'string'
    case 'session.created':
      return typeof value['session_id'] === 'string'
    case 'turn.started':
      return Object.keys(value).length === 1
    case 'turn.completed':
      return isRecord(value['usage'])
    case 'turn.failed':
      return isRecord(value['error'])
    case 'item.started':
    case 'item.updated':
    case 'item.completed':
      return (
        isRecord(value['item']) && typeof (value['item']['type'] ?? value['item']['item_type']) === 'string'
      )
    default:
      return false
  }
}

/** Other engines have a `type: "error"` with more in it. */
function isError(value: Item): boolean {
  return value['type'] === 'error' && typeof value['message'] === 'string' && Object.keys(value).length === 2
}

function isOldLine(value: Item): value is Item & { id: string; msg: Item } {
  return typeof value['id'] === 'string' && isRecord(value['msg']) && typeof value['msg']['type'] === 'string'
}

function isConfig(value: Item): boolean {
  return typeof value['workdir'] === 'string' && typeof value['provider'] === 'string'
}

function isPrompt(value: Item): value is { prompt: string } {
  return typeof value['prompt'] === 'string' && Object.keys(value).length === 1
}

function readLine(line: Item, say: Say): boolean {
  const type = text(line['type']) ?? ''
  switch (type) {
    case 'thread.started':
    case 'session.created':
      say.fields(line, 'type thread_id session_id')
      say.session(line['thread_id'] ?? line['session_id'])
      return true
    case 'turn.started':
      say.fields(line, 'type')
      say.begun()
      say.status('turn_started')
      return true
    case 'turn.completed':
      say.fields(line, 'type usage')
      // The usage counts the thread, not the turn.
      say.status('turn_completed', { usage: line['usage'], tokensSoFar: codexTokens(line['usage']) })
      say.ended(type)
      return true
    case 'turn.failed':
      say.fields(line, 'type error')
      say.status('turn_failed')
      say.error(errorText(line['error']), 'fatal')
      return true
    case 'error':
      // Mostly transient ("Reconnecting... 2/5"): only turn.failed and the exit code are fatal.
      say.fields(line, 'type message')
      readError(errorText(line), say)
      return true
    case 'item.started':
    case 'item.updated':
    case 'item.completed':
      say.fields(line, 'type item')
      return isRecord(line['item']) && readItem(type, line['item'], say)
    default:
      say.unknownType(type)
      return false
  }
}

function readItem(phase: string, item: Item, say: Say): boolean {
  const id = text(item['id'])
  const type = text(item['type']) ?? text(item['item_type']) ?? ''
  const done = phase === 'item.completed'
  switch (type) {
    case 'agent_message':
    case 'assistant_message':
      say.fields(item, 'id type item_type text phase')
      if (done) say.message(id, text(item['text']) ?? '')
      return true
    case 'reasoning':
      say.fields(item, 'id type item_type text')
      if (done) say.reasoning(id, text(item['text']) ?? '')
      return true
    case 'error':
      say.fields(item, 'id type item_type message')
      say.error(errorText(item), 'warning')
      return true
    case 'command_execution':
      say.fields(item, 'id type item_type command aggregated_output exit_code status')
      readCall(phase, item, 'command_execution', { command: item['command'] }, item['aggregated_output'], say)
      return true
    case 'mcp_tool_call':
      say.fields(item, 'id type item_type server tool arguments result error status')
      readCall(phase, item, `${item['server']}.${item['tool']}`, item['arguments'], item['result'], say)
      return true
    case 'web_search':
      // The line has two `id` keys; JSON.parse keeps the last one, on start and end alike.
      say.fields(item, 'id type item_type query action results')
      readCall(phase, item, 'web_search', { query: item['query'] }, item['results'], say)
      return true
    case 'collab_tool_call':
      say.fields(item, 'id type tool sender_thread_id receiver_thread_ids prompt agents_states status')
      readCall(
        phase,
        item,
        text(item['tool']) ?? 'collab_tool_call',
        { prompt: item['prompt'], receiver_thread_ids: item['receiver_thread_ids'] },
        item['agents_states'],
        say,
      )
      return true
    case 'file_change':
      say.fields(item, 'id type item_type changes status')
      readCall(phase, item, 'file_change', { changes: item['changes'] }, undefined, say)
      if (done && item['status'] !== 'failed') readChanges(item['changes'], say)
      return true
    case 'todo_list':
      say.fields(item, 'id type item_type items')
      readCall(phase, item, 'todo_list', { items: item['items'] }, undefined, say)
      return true
    default:
      say.unknownType(`item ${type}`)
      return false
  }
}

/** Codex reports when it reconnects. */
function readError(message: string, say: Say): void {
  if (/^Reconnecting/.test(message)) say.error(message, 'warning', { retryable: true })
  else say.error(message, 'error')
}

function readCall(phase: string, item: Item, name: string, input: unknown, output: unknown, say: Say): void {
  const id = text(item['id']) ?? ''
  if (phase === 'item.started') say.started({ id, name, input })
  if (phase !== 'item.completed') return
  const exit_code = typeof item['exit_code'] === 'number' ? item['exit_code'] : undefined
  const error = item['error'] ? errorText(item['error']) : undefined
  const bad = item['status'] === 'failed' || item['status'] === 'declined' || (exit_code ?? 0) !== 0
  const ended = { id, name, input, output: output ?? undefined, exit_code, error }
  if (bad || error !== undefined) say.failed(ended)
  else say.completed(ended)
}
