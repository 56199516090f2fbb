import { clip } from '../../base/fault.ts'
import { deedOf } from '../../events/call-words.ts'
import { costOf } from '../../events/cost.ts'
import {
  type Engine,
  type EngineFrame,
  isLenient,
  type ReaderOptions,
  type RequestFacts,
  type Say,
} from '../../events/engine.ts'
import type { RequestOption } from '../../events/event.ts'
import { memory } from '../../events/memory.ts'
import { fits, Rec } from '../../events/record.ts'
import { questionsIn, usualDenial } from '../calls.ts'
import { claudeDenial } from '../claude/claude.ts'
import { codexDenial } from '../codex/shared.ts'
import { wordsOf } from '../content-blocks.ts'
import { geminiDenial } from '../gemini/stream.ts'
import { opencodeDenial } from '../opencode.ts'
import { qwenDenial } from '../qwen.ts'
import { rows } from '../record-table.ts'
import { ToolCalls, titleOf } from './tool.ts'
import { AcpTurns, chunkReader, innerChunks, stops } from './turn.ts'

/** Agents of the Agent Client Protocol pass on the words of their own tools. */
const anyDenial: Pick<RegExp, 'test'> = {
  test: (words) =>
    [claudeDenial, codexDenial, geminiDenial, opencodeDenial, qwenDenial, usualDenial].some((one) =>
      one.test(words),
    ),
}

/**
 * The Agent Client Protocol, version 1 (`gemini --acp`, `opencode acp`, …): JSON-RPC, one record per line.
 * Only the agent's half is on its stdout: without stdin, what the client asked and allowed is unknown.
 */
export const acp: Engine = {
  name: 'acp',
  parser: 'acp_jsonrpc',
  cut: { stdout: 'records', pty: 'records', stdin: 'records' },
  about: 'Agent Client Protocol 1 on stdio; gemini, qwen, opencode, kilo, copilot, nanocoder, codex-acp',
  denials: anyDenial,
  shape: ({ value }) => isOwn(value),
  open(limits) {
    const run = newRun(limits)
    return {
      read: (frame, say) => readLine(frame, say, run),
      sent: (frame, say) => readSent(Rec.of(frame.value, VERSION), say, run),
      end(say) {
        run.chunks.endPrompt(say)
        run.inner.end(say)
      },
    }
  },
}

const VERSION = 'jsonrpc=2.0'
// Plain words, not templates: a bundler keeps a template that nobody uses.
const UPDATE = 'jsonrpc=2.0 method=session/update params.sessionId:text params.update.sessionUpdate:text'
const PERMISSION =
  'jsonrpc=2.0 method=session/request_permission params.sessionId:text params.toolCall:record'
/** What they have at least, if the caller has named the engine. */
const LEAST_UPDATE = 'method=session/update params.update.sessionUpdate:text'
const LEAST_PERMISSION = 'method=session/request_permission params.toolCall:record'

const own = [
  // MCP has `initialize`, too, but its versions are dates.
  'jsonrpc=2.0 result.protocolVersion:number result.agentCapabilities|result.agentInfo:record',
  UPDATE,
  PERMISSION,
]

/** `lenient`: without the version of JSON-RPC. */
function isOwn(value: unknown, lenient = false): boolean {
  if (own.some((conditions) => fits(value, lenient ? conditions.replace(VERSION, '') : conditions)))
    return true
  const reason = Rec.of(value, lenient ? '' : VERSION)?.text('result.stopReason')
  return reason !== undefined && Object.hasOwn(stops, reason)
}

/** Requests to the client, and what Qwen Code adds to the protocol. */
const quiet = new Set([
  ...['fs/read_text_file', 'fs/write_text_file', 'terminal/create', 'terminal/output'],
  ...['terminal/wait_for_exit', 'terminal/kill', 'terminal/release'],
  ...['craft/drainMidTurnQueue', 'qwen/notify/session/prompt-suggestion'],
])

function newRun(limits: ReaderOptions) {
  const chunks = chunkReader(limits)
  const tools = new ToolCalls()
  return {
    limits,
    chunks,
    tools,
    /** The sessions of the client; of a log without its half also the first one, and one with a history. */
    own: memory<true>(() => 0),
    hasOwn: false,
    /** What is said in other sessions: those of subagents. */
    inner: innerChunks(limits),
    turn: new AcpTurns(chunks, tools),
    /**
     * Sessions that were created or loaded in this run. Any other session that begins with a user message is
     * being loaded: it replays an old conversation.
     */
    made: memory<true>(() => 0),
    loading: undefined as string | undefined,
    /** `session/load` was answered before any history: the session that follows is not being loaded. */
    loaded: false,
    history: lateHistory(),
    /** Sessions that were new: what they have cost is this run's. */
    opened: memory<true>(() => 0),
    /** What the client has asked and the agent has not answered, by id; only if what was sent is read. */
    asked: memory<string>((method) => method.length),
    heard: false,
    /** A record that only this protocol has was seen: MCP and LSP are JSON-RPC, too. */
    known: false,
  }
}

type Run = ReturnType<typeof newRun>

/** Where an update or a request belongs. */
interface Place {
  readonly run: Run
  readonly session: string
  /** The session, if it is a subagent's. */
  readonly parent: string | undefined
  readonly chunks: ReturnType<typeof chunkReader>
  readonly frame: EngineFrame
}

function opens(session: string, run: Run): undefined {
  run.own.set(session, true)
  run.hasOwn = true
}

function parentIn(session: string, kind: string | undefined, run: Run): string | undefined {
  if (run.own.get(session)) return undefined
  const isLoaded = !run.heard && (run.loaded || kind === 'user_message_chunk')
  return run.hasOwn && !isLoaded ? session : opens(session, run)
}

function readLine(frame: EngineFrame, say: Say, run: Run): boolean | 'kept' {
  const { turn, made } = run
  const lenient = isLenient(frame, run.limits)
  const isUpdate = fits(frame.value, lenient ? LEAST_UPDATE : UPDATE)
  const asks = fits(frame.value, lenient ? LEAST_PERMISSION : PERMISSION)
  run.known ||= isOwn(frame.value, lenient) || (lenient && (isUpdate || asks))
  const line = Rec.of(frame.value, lenient && run.known ? '' : VERSION)
  const kind = line && isUpdate ? line.text('params.update.sessionUpdate') : undefined
  const id = isUpdate || asks ? line?.text('params.sessionId') : undefined
  const parent = id === undefined ? undefined : parentIn(id, kind, run)
  const chunks = parent === undefined ? run.chunks : run.inner.of(parent, say)
  if (kind !== 'user_message_chunk') chunks.endPrompt(say, frame)
  if (kind !== 'agent_thought_chunk') chunks.endThought(say)
  // Also if the lines before it are lost: the next user message is a prompt, not history.
  const opened = line?.text('result.sessionId')
  if (opened !== undefined) made.set(opened, true)
  if (opened !== undefined) opens(opened, run)
  if (!run.known || !line) return false
  say.fields(line.values, 'jsonrpc id method params result error')
  const params = line.record('params')
  if (params && (kind !== undefined || asks)) {
    say.fields(params.values, 'sessionId update toolCall options _meta')
    const session = parent ?? turn.session(params.at('sessionId'), say)
    const place = { run, session, parent, chunks, frame }
    if (kind === undefined) return readPermission(line.at('id'), params, say, place)
    return readUpdate(params.record('update')!, say, place)
  }
  const method = line.at('method')
  if (method === undefined && (line.has('error') || line.has('result'))) return readAnswer(line, say, run)
  if (method === '$/cancel_request') {
    say.settles({ request: line.at('params.requestId') })
    return true
  }
  // Names that begin with `_` are extensions of each agent.
  if (typeof method === 'string' && (quiet.has(method) || method.startsWith('_'))) return true
  say.unknownType(String(method))
  return false
}

function readSent(line: Rec | undefined, say: Say, run: Run): boolean | 'kept' {
  if (!line) return false
  run.heard = true
  const method = line.text('method')
  if (method !== undefined && line.has('id')) run.asked.set(JSON.stringify(line.at('id')), method)
  if (method === 'session/cancel') say.sent('interrupt')
  const session = line.text('params.sessionId')
  if (session !== undefined && /^session\/(?:prompt|load|resume)$/.test(method ?? '')) opens(session, run)
  // The answers to requests of the agent; those about files and terminals wait for nobody.
  if (!line.has('method') && line.has('id'))
    return say.sent('answer', line.at('id'), line.text('result.outcome.optionId'))
  // A file or an image in it is not shown.
  const prompt = method === 'session/prompt' ? wordsOf(line.list('params.prompt'), '') : ''
  return prompt === '' || say.sent('prompt', prompt)
}

function readUpdate(update: Rec, say: Say, place: Place): boolean | 'kept' {
  const { run, session, parent, chunks, frame } = place
  const { made, turn, history } = run
  const kind = update.at('sessionUpdate')
  if (parent !== undefined) {
    // The settings of a subagent are not told, and its prompt is no message of the user.
    if (settings.rowOf(update) || kind === 'user_message_chunk') return true
    if (kind !== 'agent_message_chunk') chunks.endMessage(say)
    return updates.read(update, say, place)
  }
  if (run.loaded && !made.get(session)) {
    made.set(session, true)
    history.loaded(session)
    run.loaded = false
  }
  const old = turn.agent === 'gemini-cli' && history.has(session, update)
  if (settings.rowOf(update)) return settings.read(update, say, run)
  if (kind !== 'agent_message_chunk') chunks.endMessage(say)
  if (kind === 'user_message_chunk' && !made.get(session)) run.loading = session
  // What was said and done before this run is neither its answer nor its end.
  if (run.loading === session || old) {
    chunks.endPrompt(say, frame)
    return true
  }
  return updates.read(update, say, place)
}

/** Updates about the session, not about what the agent says or does. */
const settings = /* @__PURE__ */ rows<Run>({
  by: 'sessionUpdate',
  fields: 'sessionUpdate _meta',
  on: {
    available_commands_update: { fields: 'availableCommands', read: readSetting },
    current_mode_update: { fields: 'currentModeId', read: readSetting },
    config_option_update: { fields: 'configOptions', read: readSetting },
    session_info_update: { fields: 'title updatedAt', read: readSetting },
  },
})

function readSetting(update: Rec, say: Say, { turn }: Run): void {
  say.status(update.text('sessionUpdate')!)
  turn.codex(update, say)
}

const CHUNK = 'content:record content.type:text content.text:text messageId:text'

/** What the agent says or does in a session. */
const updates = /* @__PURE__ */ rows<Place>({
  by: 'sessionUpdate',
  called: 'update',
  fields: 'sessionUpdate _meta',
  on: {
    user_message_chunk: {
      fields: CHUNK,
      read: (update, say, { run, chunks, session, frame }) =>
        run.turn.notice(update) ? true : chunks.gatherPrompt(session, update, frame, say),
    },
    agent_message_chunk: {
      fields: CHUNK,
      read(update, say, { run: { tools, turn }, chunks, session, parent }) {
        const notice = turn.notice(update)
        if (notice) {
          chunks.endMessage(say)
          if (notice === 'warning') say.error(update.text('content.text')!.trim(), 'warning')
          return
        }
        if (update.at('content.text') !== '' && parent === undefined) {
          turn.work(say)
          say.settles()
        }
        chunks.addMessage(session, update, parent ?? tools.subagent(), say)
        // Qwen Code ends each answer of the model with an empty chunk.
        if (update.at('_meta.usage') === undefined) return
        chunks.endMessage(say)
        turn.step(update.record('_meta.usage'), parent, say)
      },
    },
    agent_thought_chunk: {
      fields: CHUNK,
      read(update, say, { run: { tools, turn }, chunks, session, parent }) {
        if (parent === undefined) turn.work(say)
        chunks.addThought(session, update, parent ?? tools.subagent(), say)
      },
    },
    'tool_call, tool_call_update': {
      fields:
        'toolCallId:text title:text name:text kind:text status=pending|in_progress|completed|failed|cancelled content:list locations rawInput rawOutput',
      read(update, say, { run: { tools, turn }, parent, frame }) {
        if (parent === undefined) turn.work(say, update.text('toolCallId') ?? '')
        return tools.read(update, { size: frame.text.length, agent: turn.agent, parent }, say)
      },
    },
    plan: {
      fields: 'entries',
      read(update, say, { run: { turn }, parent }) {
        if (parent === undefined) turn.work(say)
        say.status('plan', { stats: update.at('entries'), parent })
      },
    },
    usage_update: {
      fields: 'used size cost',
      read(update, say, { run, session, parent }) {
        const { used, size, cost } = update.values
        if (parent !== undefined) {
          say.status('usage_update', { stats: { used, size, cost }, parent })
          return
        }
        const cost_so_far = costOf(update.at('cost.amount'), update.at('cost.currency') ?? '')
        const fresh = run.opened.get(session) === true
        say.status('usage_update', { stats: { used, size, cost }, cost_so_far, fresh })
      },
    },
  },
})

function readPermission(id: unknown, params: Rec, say: Say, { run, chunks, parent, frame }: Place): true {
  const { turn, tools } = run
  const call = params.record('toolCall')!
  chunks.endMessage(say)
  if (parent === undefined) turn.work(say, '')
  const tool = tools.asked(call, { size: frame.text.length, agent: turn.agent, parent }, say)
  const input = tools.inputOf(call, turn.agent)
  say.asks({ id, signal: 'session/request_permission', ...askedIn(params, call, tool, input) })
  return true
}

/** The answer to a request of the client. One that answers nothing that was sent ends nothing. */
function readAnswer(line: Rec, say: Say, run: Run): boolean {
  const method = run.asked.take(JSON.stringify(line.at('id')) ?? '')
  if (run.heard && method === undefined) return false
  if (line.has('error')) {
    run.loading = undefined
    run.turn.failed(line, method, say)
    return true
  }
  // Without a reason it is not known why the turn is over, but it is.
  if (method === 'session/prompt' && line.text('result.stopReason') === undefined) {
    const message = 'the prompt was answered without a stopReason'
    run.turn.failed(new Rec({ error: { message } }), method, say)
    return true
  }
  const isOther = method !== undefined && method !== 'session/prompt' && line.has('result.stopReason')
  return !isOther && readResult(line.at('result'), say, run)
}

function readResult(given: unknown, say: Say, run: Run): boolean {
  const { made, turn } = run
  // From here on the session belongs to this run. Some agents repeat each prompt as a user message.
  const wasLoading = run.loading !== undefined
  if (run.loading !== undefined) {
    made.set(run.loading, true)
    run.history.loaded(run.loading)
  }
  run.loading = undefined
  const result = Rec.of(given)
  // The answer to session/load, session/set_mode and others may be null or empty.
  if (!result) return given === null
  if (result.text('stopReason') !== undefined) {
    run.inner.end(say)
    say.fields(result.values, 'stopReason usage:record userMessageId _meta')
    turn.stop(result, say)
  } else if (result.number('protocolVersion') !== undefined) {
    say.fields(result.values, 'protocolVersion agentCapabilities agentInfo:record authMethods _meta')
    turn.initialized(result, say)
  } else {
    say.fields(result.values, 'sessionId:text modes models configOptions sessions nextCursor _meta')
    const session = result.text('sessionId')
    if (session === undefined) {
      // Only the answer to `session/load` has these and no session.
      run.loaded ||= !wasLoading && (result.has('modes') || result.has('models'))
      return true
    }
    // The model is a field in some agents, an option in others.
    const option = result.records('configOptions').find((one) => one.at('id') === 'model')
    const model = result.text('models.currentModelId') ?? option?.text('currentValue')
    turn.session(session, say, model)
    turn.opened()
    run.opened.set(session, true)
    say.status('session_opened', { model })
  }
  return true
}

/**
 * Gemini CLI answers `session/load` before it has sent all of the old conversation: the rest arrives in the
 * new turn. It never repeats the prompt of a turn, so a user message begins the rest. Each old answer is one
 * chunk: the answer to the new prompt begins after that.
 */
function lateHistory() {
  let session: string | undefined
  /** The last update was of the old conversation: its user has asked, or was answered. */
  let state: 'asked' | 'answered' | undefined
  return {
    /** The session was loaded. */
    loaded(id: string): void {
      session = id
      state = undefined
    },
    /** Whether this update is about something that was said or done before. */
    has(of: string, update: Rec): boolean {
      if (of !== session) return false
      const kind = update.at('sessionUpdate')
      const status = update.at('status')
      if (kind === 'user_message_chunk') state = 'asked'
      else if (kind === 'agent_message_chunk') state = state === 'asked' ? 'answered' : undefined
      // Old calls are shown with their end; what other updates say belongs to no turn.
      else if (kind === 'tool_call' && status !== 'completed' && status !== 'failed') state = undefined
      else if (kind === 'tool_call' && state === 'answered') state = 'asked'
      else if (state === 'answered') state = undefined
      return state !== undefined
    },
  }
}

const MAX_REASON = 2000

/** What a permission request asks. `given` is what the call would get, if the agent shows it. */
function askedIn(params: Rec, call: Rec, tool: string, given: unknown): Omit<RequestFacts, 'id' | 'signal'> {
  const questions = questionsIn(call.at('rawInput.questions'))
  const options = params.records('options').map(optionOf)
  const call_id = call.text('toolCallId')
  const words = call.text('title')
  // Where only the title is shown, the person who allows it must see its end.
  const input = given ?? (words === undefined ? words : { title: words })
  const title = questions?.[0]?.question ?? (given === undefined ? titleOf(call)?.title : undefined)
  const deed = title ?? deedOf(tool, given)
  const reason = call.text('rawInput.description title') ?? ''
  const told = reason.toLowerCase().includes(deed.toLowerCase()) || deed.includes(reason)
  return {
    kind: questions ? 'question' : 'permission',
    tool,
    title: deed,
    ...(!questions && !told && { reason: clip(reason, MAX_REASON) }),
    ...(input !== undefined && { input }),
    ...(call_id !== undefined && { call_id }),
    // The protocol has no field for the answers to a question: it can only be turned down.
    options: questions ? options.filter(({ kind }) => !kind.startsWith('allow')) : options,
    ...(questions && { questions }),
  }
}

const kinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const

function optionOf(option: Rec): RequestOption {
  const id = option.text('optionId') ?? ''
  // An unknown kind must not look like a permission.
  const kind = kinds.find((known) => known === option.at('kind')) ?? 'cancel'
  return { id, kind, label: option.text('name') ?? id }
}
