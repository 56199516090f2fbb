import { type Engine, type EngineFrame, isLenient, type Say } from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import type { Program } from '../command-line.ts'
import { errorText } from '../error-text.ts'
import { rows } from '../record-table.ts'
import { CodexServer, isNotification, isServerLine, isServerShape } from './app-server.ts'
import { OldRun, oldLines } from './exec-0-42.ts'
import {
  codexDenial,
  codexTokens,
  mcpName,
  type Phase,
  readCommand,
  readFileChange,
  sayCall,
  tools,
} from './shared.ts'
import { codexWire } from './wire.ts'

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

export const codexProgram: Program = {
  names: 'codex @openai/codex',
  headless: 'exec e',
  records: '--json --experimental-json app-server mcp-server proto',
  add: '--json',
  blind: 'cost',
  wire: codexWire,
  talks: 'codex app-server',
  command: {
    verb: 'exec e',
    flags:
      '--json --experimental-json --oss --full-auto --dangerously-bypass-approvals-and-sandbox --yolo --search --skip-git-repo-check --include-plan-tool',
    values:
      '-m --model -c --config -s --sandbox -p --profile -C --cd --add-dir --enable --disable --local-provider --output-schema -o --output-last-message --color -a --ask-for-approval',
    lists: '-i --image',
    session: '--last --all',
    alone: '--ephemeral',
    words: (words) =>
      words[0] === 'resume' ? words.slice(words.length > 2 || UUID.test(words[1] ?? '') ? 2 : 1) : words,
    // Some of them are refused after `resume`.
    next: (options, session) => [...options, 'resume', session, '-'],
  },
}

/**
 * Codex (`codex exec --json`, `codex app-server`). Four dialects, distinguished by shape: today's `thread.*`,
 * `turn.*`, `item.*`; `session.created` with `item_type` (0.42, experimental); `{id, msg: {type}}` after a
 * config line (0.42); the app-server's JSON-RPC.
 */
export const codex: Engine = {
  name: 'codex',
  parser: 'codex_ndjson',
  cut: { stdout: 'records', pty: 'records', stdin: sentTo },
  about: 'codex exec --json; 0.166, 0.98, 0.42 (both of its dialects); codex app-server; 0.166',
  failures: [
    // The stream breaks off for this reason, too, and then it is not the network's.
    ['other', /max_output_tokens/],
    ['denied', /(?:approval|sandbox) (?:was )?denied/i],
    ['auth', /codex login|refresh(?:ing)? (?:the )?(?:access )?token/i],
  ],
  tools,
  denials: codexDenial,
  shape({ value }) {
    const line = Rec.of(value)
    return line !== undefined && (isLine(line) || fits(line.values, OLD_LINE) || isServerShape(line))
  },
  open(limits) {
    const old = new OldRun()
    const server = new CodexServer()
    /** A record of the dialect was seen, so one of another type is a new type. */
    let known = false
    let served = false

    /** Reads a line of another dialect; undefined if it is of none. */
    const readOther = (line: Rec, lenient: boolean, say: Say): boolean | 'kept' | undefined => {
      if (line.has('msg') && fits(line.values, lenient ? 'msg.type:text' : OLD_LINE))
        return oldLines.read(line, say, old)
      // The server of older versions, and `codex mcp`, wrap those records.
      const wrapped = line.text('method')?.startsWith('codex/event') ? line.record('params') : undefined
      if (lenient && wrapped && fits(wrapped.values, 'msg.type:text')) return oldLines.read(wrapped, say, old)
      if (isServerLine(line, lenient)) {
        served ||= isServerShape(line) || (lenient && isNotification(line))
        // A refusal can be the first line of the server.
        return (served || fits(line.values, '#2 id error:record')) && server.read(line, say)
      }
      if (fits(line.values, lenient ? 'workdir|provider:text !type' : 'workdir:text provider:text')) {
        old.config = { model: line.text('model'), cwd: line.text('workdir') }
        say.status('configured', old.config)
        return true
      }
      // It is the second line. Other programs write prompts, too.
      if (old.config && fits(line.values, '#1 prompt:text')) {
        say.user(line.text('prompt') ?? '')
        return true
      }
      return undefined
    }

    return {
      sent: ({ value }, say) => server.sent(Rec.of(value), say),
      read(frame, say) {
        const line = Rec.of(frame.value)
        if (!line) return false
        const lenient = isLenient(frame, limits)
        // Nearly every line is of today's dialect: only its lines have a type and none of these.
        const isOther = !line.has('type') || line.has('msg') || line.has('method') || line.has('workdir')
        const other = isOther ? readOther(line, lenient, say) : undefined
        if (other !== undefined) return other
        known ||= isLine(line)
        // Other engines have a `type: "error"` with more in it.
        const read =
          known || fits(line.values, '#2 type=error message:text') || (lenient && lines.hasLeast(line, false))
        return read && line.text('type') !== undefined && lines.read(line, say, undefined)
      },
    }
  },
}

/** `codex exec` reads a prompt, the app-server its client's records: stdout tells them apart. */
function sentTo({ channel, value }: Pick<EngineFrame, 'channel' | 'value'>): 'records' | 'text' | undefined {
  const line = Rec.of(value)
  if (channel === 'stdin' || !line) return undefined
  return isServerLine(line) ? 'records' : 'text'
}

const OLD_LINE = 'id:text msg.type:text'

/** Other programs have turns and items, too: the fields required here are in every line of Codex. */
const lines = /* @__PURE__ */ rows<undefined>({
  fields: 'type',
  on: {
    'thread.started': { shape: 'thread_id:text', fields: 'thread_id:text session_id:text', read: saySession },
    'session.created': {
      shape: 'session_id:text',
      fields: 'thread_id:text session_id:text',
      read: saySession,
    },
    'turn.started': {
      shape: '#1',
      least: '#1',
      fields: '',
      read(_, say) {
        say.turn('begins')
        say.status('turn_started')
      },
    },
    'turn.completed': {
      shape: 'usage:record',
      least: '#1, usage:record',
      fields: 'usage:record',
      read(line, say) {
        const usage = line.at('usage')
        // The usage counts the thread, not the turn.
        say.status('turn_completed', { usage, tokens_so_far: codexTokens(usage) })
        say.ended('turn.completed')
      },
    },
    'turn.failed': {
      shape: 'error:record',
      fields: 'error error.message:text',
      read(line, say) {
        say.status('turn_failed')
        say.error(errorText(line.at('error')), 'fatal')
      },
    },
    error: {
      fields: 'message:text',
      common: true,
      read(line, say) {
        // Mostly transient ("Reconnecting... 2/5"): only turn.failed and the exit code are fatal.
        const message = errorText(line.values)
        if (message.startsWith('Reconnecting')) say.error(message, 'warning', { retryable: true })
        else say.error(message, 'error')
      },
    },
    'item.started, item.updated, item.completed': {
      shape: 'item:record item.type|item.item_type:text',
      least: 'item:record',
      fields: 'item:record',
      read(line, say) {
        const item = line.record('item')
        const phase = phases.get(line.text('type')) ?? 'updated'
        return item !== undefined && items.read(item, say, { phase })
      },
    },
  },
})

const phases = new Map<string | undefined, Phase['phase']>([
  ['item.started', 'started'],
  ['item.completed', 'completed'],
])

const isLine = (line: Rec): boolean => lines.shapeOf(line) === true

function saySession(line: Rec, say: Say): void {
  say.session(line.at('thread_id session_id'))
}

const items = /* @__PURE__ */ rows<Phase>({
  by: 'type item_type',
  called: 'item',
  fields: 'id:text type item_type status=in_progress|completed|failed|declined',
  on: {
    'agent_message, assistant_message': {
      fields: 'text:text phase',
      read(item, say, { phase }) {
        if (phase === 'completed') say.message(item.text('id'), item.text('text'))
      },
    },
    reasoning: {
      fields: 'text:text',
      read(item, say, { phase }) {
        const words = item.text('text')
        if (phase === 'completed' && words !== undefined) say.reasoning(item.text('id'), words)
      },
    },
    error: { fields: 'message:text', read: (item, say) => say.error(errorText(item.values), 'warning') },
    command_execution: { fields: 'command aggregated_output exit_code:number', read: readCommand },
    mcp_tool_call: {
      fields: 'server:text tool:text arguments result error',
      read(item, say, phase) {
        const [input, output] = [item.at('arguments'), item.at('result')]
        sayCall(item, { name: mcpName(item), input, output }, phase, say)
      },
    },
    web_search: {
      // The line has two `id` keys; JSON.parse keeps the last one, on start and end alike.
      fields: 'query action results',
      read(item, say, phase) {
        const input = { query: item.at('query') }
        sayCall(item, { name: 'web_search', input, output: item.at('results') }, phase, say)
      },
    },
    collab_tool_call: {
      fields: 'tool:text sender_thread_id receiver_thread_ids prompt agents_states',
      read(item, say, phase) {
        const input = { prompt: item.at('prompt'), receiver_thread_ids: item.at('receiver_thread_ids') }
        const name = item.text('tool') ?? 'collab_tool_call'
        sayCall(item, { name, input, output: item.at('agents_states') }, phase, say)
      },
    },
    file_change: { fields: 'changes:list', read: readFileChange },
    todo_list: {
      fields: 'items:list',
      read: (item, say, phase) => {
        sayCall(item, { name: 'todo_list', input: { items: item.at('items') } }, phase, say)
      },
    },
  },
})
