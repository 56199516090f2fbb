import type { CallFacts, Engine, Say } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { durationOf, fits, Rec } from '../../events/record.ts'
import { tokenCounter } from '../../events/tokens.ts'
import { jsonIn } from '../calls.ts'
import { wordsOf } from '../content-blocks.ts'
import { errorText } from '../error-text.ts'
import { rows, table } from '../record-table.ts'
import {
  changesByPath,
  codexDenial,
  codexTokens,
  commandOf,
  durationOfParts,
  endOf,
  mcpName,
  sayChanges,
  tools,
} from './shared.ts'

/** The kinds of records that have the texts: an event, its newer form as an item, what the API was sent. */
type Kind = 'event' | 'item' | 'response'

/** What is known of a rollout so far. */
class Rollout {
  readonly calls = new Calls()
  known = false
  model: string | undefined
  /** The file records where turns begin (0.142 and later); before, prompts mark them. */
  tasks = false
  /** Which kind of record has the messages of this turn, and which has the prompt: only that kind is read. */
  #teller: Kind | undefined
  #asker: Kind | undefined
  /** The file has events: then its prompts are there, too. */
  events = false
  /** The last prompt of a `response_item`: an event may repeat it. */
  #prompt: string | undefined
  /** The tokens of the thread; 0.74 begins at 0 when it is resumed, and writes null before. */
  #counter = tokenCounter()
  uncounted = false
  /** The last count. 0.166 writes each of them twice, older versions some. */
  #counted = ''

  begin(say: Say): void {
    this.#teller = undefined
    this.#asker = undefined
    say.turn('begins')
    say.status('turn_started')
  }

  tells(kind: Kind): boolean {
    this.#teller ??= kind
    return this.#teller === kind
  }

  asked(kind: Kind, prompt: string, say: Say): void {
    this.#asker ??= kind
    if (this.#asker === kind && prompt !== '') say.user(prompt)
  }

  /** A prompt that marks where a turn begins, if no other record does. */
  prompted(kind: Kind, prompt: string, say: Say): void {
    const again = kind === 'event' && this.#prompt !== undefined && this.#prompt === prompt
    this.#prompt = kind === 'response' ? prompt : undefined
    if (again) return
    if (!this.tasks) this.begin(say)
    this.asked(kind, prompt, say)
  }

  count(usage: unknown, last: unknown, say: Say): void {
    const tokens = codexTokens(usage)
    const key = JSON.stringify(tokens)
    const again = this.uncounted && JSON.stringify(codexTokens(last)) === key
    this.uncounted = false
    if (again) this.#counter = tokenCounter()
    else if (key === this.#counted) return
    this.#counted = key
    say.status('token_count', { usage, tokens: tokens && this.#counter.soFar(tokens) })
  }
}

const plainTypes = new Set<string | undefined>([
  ...['session_meta', 'turn_context', 'compacted', 'token_usage_record', 'world_state'],
  'thread_settings_applied',
])

function isRollout(line: Rec): boolean {
  if (!fits(line.values, 'timestamp:text payload:record')) return false
  if (fits(line.values, 'type=event_msg|response_item')) return line.text('payload.type') !== undefined
  return plainTypes.has(line.text('type'))
}

/**
 * Codex rollouts (`sessions/YYYY/MM/DD/rollout-*.jsonl` in its home): `{timestamp, type, payload}` per line.
 * Each text is recorded twice: texts are read from the events, calls also from `response_item`.
 */
export const codexSession: Engine = /* @__PURE__ */ table({
  name: 'codex',
  parser: 'codex_session',
  growing: true,
  tools,
  denials: codexDenial,
  cut: { stdout: 'records' },
  about: 'session file: rollout-*.jsonl; 0.166, 0.142, 0.74',
  shape: isRollout,
  later: isRollout,
  least: 'payload:record',
  state: () => new Rollout(),
  each: (line, say) => say.fields(line.values, 'timestamp ordinal type payload metadata'),
  of: 'payload',
  quiet: 'compacted world_state thread_settings_applied',
  on: {
    session_meta(payload, say, rollout) {
      // A fork has the head of its origin too.
      if (!rollout.known) {
        const facts = { cwd: payload.text('cwd'), engine_version: payload.text('cli_version') }
        say.session(payload.at('id'), facts)
      }
      rollout.known = true
    },
    turn_context(payload, say, rollout) {
      const model = payload.text('model')
      if (model === undefined || model === rollout.model) return
      rollout.model = model
      say.status('configured', { model })
    },
    event_msg(payload, say, rollout) {
      rollout.events = true
      return events.read(payload, say, rollout)
    },
    response_item: (payload, say, rollout) => responses.read(payload, say, rollout),
    // It comes before the event, which is missing if the run was killed.
    token_usage_record: (payload, say, rollout) =>
      rollout.count(payload.at('thread_token_usage'), payload.at('usage'), say),
  },
})

const events = /* @__PURE__ */ rows<Rollout>({
  called: 'event',
  fields: '*',
  // They repeat another line, or are not about the conversation.
  quiet:
    'thread_settings_applied web_search_begin web_search_end patch_apply_begin thread_name_updated agent_reasoning_raw_content ' +
    'agent_reasoning_section_break turn_diff view_image_tool_call image_generation_end thread_goal_updated undo_completed ' +
    'sub_agent_activity guardian_assessment entered_review_mode exited_review_mode dynamic_tool_call_request ' +
    'dynamic_tool_call_response collab_agent_spawn_end collab_agent_interaction_end collab_waiting_end collab_close_end',
  on: {
    task_started(_, say, rollout) {
      rollout.tasks = true
      rollout.begin(say)
    },
    user_message: {
      fields: 'message:text',
      read(event, say, rollout) {
        // Old versions have the instructions and the environment here too, each with its kind.
        if ((event.at('kind') ?? 'plain') !== 'plain') return
        rollout.prompted('event', event.text('message') ?? '', say)
      },
    },
    task_complete(event, say) {
      if (event.at('error')) {
        say.status('turn_failed')
        say.error(errorText(event.at('error')), 'fatal')
        return
      }
      // In 0.142 a failed turn ends with this record, too, only without a last message: then it is unknown.
      const answered = event.text('last_agent_message') !== undefined
      say.status(answered ? 'turn_completed' : 'turn_over')
      if (answered) say.ended('task_complete')
    },
    turn_aborted(event, say) {
      const reason = event.text('reason') ?? 'aborted'
      say.status('turn_failed', { reason })
      say.error(`the turn was ${reason}`, 'fatal')
    },
    item_completed(event, say, rollout) {
      const item = event.record('item')
      return item !== undefined && items.read(item, say, rollout)
    },
    agent_message: {
      fields: 'message:text',
      read(event, say, rollout) {
        const words = event.text('message')
        if (words !== undefined && rollout.tells('event')) say.message(undefined, words)
      },
    },
    agent_reasoning: {
      fields: 'text:text',
      read(event, say, rollout) {
        const words = event.text('text')
        if (words !== undefined && rollout.tells('event')) say.reasoning(undefined, words)
      },
    },
    patch_apply_end: {
      fields: 'call_id:text success:flag',
      read: (event, say, { calls }) =>
        calls.patched(event.text('call_id') ?? '', event, event.at('success') !== true, say),
    },
    exec_command_begin: (event, say, { calls }) =>
      calls.begin(
        { id: idOf(event), name: 'command_execution', input: { command: event.at('command') } },
        say,
      ),
    exec_command_end: (event, say, { calls }) => calls.command(event, say),
    mcp_tool_call_begin: (event, say, { calls }) => calls.begin(mcpCall(event), say),
    mcp_tool_call_end: (event, say, { calls }) => calls.mcp(event, say),
    token_count(event, say, rollout) {
      const info = event.record('info')
      rollout.uncounted ||= event.at('info') === null
      if (info) rollout.count(info.at('total_token_usage'), info.at('last_token_usage'), say)
    },
    context_compacted: (_, say) => say.status('compacted'),
    error: (event, say) => say.error(errorText(event.values), 'warning'),
    stream_error: (event, say) => say.error(errorText(event.values), 'warning', { retryable: true }),
  },
})

const ITEM = '* id:text status=inProgress|in_progress|completed|failed|declined'

/** The items of 0.166. */
const items = /* @__PURE__ */ rows<Rollout>({
  called: 'item',
  quiet: 'Extension',
  on: {
    UserMessage: (item, say, rollout) => rollout.asked('item', wordsOf(item.at('content'), ''), say),
    AgentMessage(item, say, rollout) {
      if (rollout.tells('item')) say.message(item.text('id'), wordsOf(item.at('content'), ''))
    },
    Reasoning(item, say, rollout) {
      if (!rollout.tells('item')) return
      for (const part of item.list('summary_text'))
        if (typeof part === 'string') say.reasoning(item.text('id'), part)
    },
    // As on the wire of the app-server.
    Plan: (item, say) =>
      say.call('completed', { id: item.text('id') ?? '', name: 'plan', output: item.at('text') }),
    'CommandExecution, McpToolCall, FileChange, CollabAgentToolCall': {
      fields: ITEM,
      read: (item, say, { calls }) => calls.item(item, say),
    },
  },
})

/** Functions that run a command; on stdout all of them are `command_execution`. */
const commands = new Set(['exec_command', 'shell', 'shell_command', 'local_shell', 'container.exec'])

function toolOf(item: Rec): Pick<CallFacts, 'name' | 'input' | 'output'> {
  switch (item.at('type')) {
    case 'CommandExecution':
      return commandOf(item)
    case 'CollabAgentToolCall':
      return { name: item.text('tool') ?? 'collab', input: { prompt: item.at('prompt') } }
    default:
      return { name: mcpName(item), input: item.at('arguments'), output: item.at('result') }
  }
}

/**
 * The calls of a rollout. A `response_item` has their start. Their end is recorded up to twice: by the
 * output that the model got, and by an event or an item that has the exit code. The first of them counts.
 */
class Calls {
  readonly #open = memory<string>((name) => name.length)
  readonly #ended = memory<true>(() => 0)

  start(payload: Rec, input: unknown, say: Say): void {
    // Its `id` is that of the record.
    this.begin(
      { id: payload.text('call_id') ?? '', name: nameOf(payload.text('name') ?? 'local_shell'), input },
      say,
    )
  }

  /** Reports that a call begins, once. */
  begin(call: CallFacts, say: Say): void {
    if (call.id !== '' && (this.#open.get(call.id) !== undefined || this.#ended.get(call.id))) return
    this.#open.set(call.id, call.name)
    say.call('started', call)
  }

  /** The event of a command that ended. */
  command(event: Rec, say: Say): void {
    const exit_code = event.number('exit_code')
    const output = event.at('aggregated_output stdout')
    const duration_ms = durationOfParts(event.at('duration'))
    const call = { id: idOf(event), name: 'command_execution', output, exit_code, duration_ms }
    if (exit_code !== undefined) this.#end(call, exit_code !== 0, say)
  }

  /** The event of a tool of an MCP server that ended. */
  mcp(event: Rec, say: Say): void {
    const error = event.text('result.Err')
    const output = event.at('result.Ok')
    const failed = error !== undefined || event.at('result.Ok.is_error result.Ok.isError') === true
    const duration_ms = durationOfParts(event.at('duration'))
    if (event.record('result')) this.#end({ ...mcpCall(event), output, error, duration_ms }, failed, say)
  }

  /** Reports the end of a call, once. True if this was the first. */
  #end(given: CallFacts, failed: boolean, say: Say): boolean {
    const call = { ...given, id: this.#endsAt(given.id) }
    this.#open.take(call.id)
    if (this.#ended.get(call.id)) return false
    if (call.id !== '') this.#ended.set(call.id, true)
    say.call(failed ? 'failed' : 'completed', call)
    return true
  }

  /** An end without an id is that of the only call that is open. */
  #endsAt(id: string): string {
    const [only, other] = id === '' ? this.#open.entries() : []
    return only && !other ? only[0] : id
  }

  /** The output that the model got. */
  output(payload: Rec, say: Say): void {
    const id = this.#endsAt(payload.text('call_id') ?? '')
    const name = this.#open.get(id) ?? (id === '' || this.#ended.get(id) ? undefined : 'tool')
    const told = name === undefined ? undefined : readOutput(payload, name)
    if (name === undefined || told === undefined) return
    this.#end({ id, name, ...told }, told.error !== undefined || (told.exit_code ?? 0) !== 0, say)
  }

  /** The item of a call that ended (0.166). */
  item(item: Rec, say: Say): void {
    const tool = toolOf(item)
    const { call, failed, unclear } = endOf(item, tool)
    if (unclear && !failed) return
    if (item.at('type') === 'FileChange') this.patched(call.id, item, failed, say)
    else this.#end(call, failed, say)
  }

  /** A patch was applied, or not: an item, or a `patch_apply_end` (0.142). */
  patched(id: string, payload: Rec, failed: boolean, say: Say): void {
    const changes = changesByPath(payload.record('changes'))
    const call = {
      id,
      name: 'file_change',
      // As on stdout, without the written text, which can be long.
      input: { changes: changes.map(({ path, kind }) => ({ path, kind })) },
      output: payload.at('stdout') ?? undefined,
      error: failed ? payload.text('stderr') : undefined,
    }
    if (this.#end(call, failed, say) && !failed) sayChanges(changes, say)
  }
}

/** User messages that the engine writes. */
const NOT_TYPED =
  /^(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|user_shell_command|subagent_notification|skill)\b|# AGENTS\.md instructions)/

/** The `response_item` records. Texts are mostly recorded as events too, and then read there. */
const responses = /* @__PURE__ */ rows<Rollout>({
  called: 'response_item',
  quiet:
    'ghost_snapshot web_search_call compaction image_generation_call tool_search_call tool_search_output agent_message',
  on: {
    message(payload, say, rollout) {
      const words = wordsOf(payload.at('content'), '')
      const role = payload.at('role')
      if (role === 'user' && words !== '' && !rollout.events && !NOT_TYPED.test(words.slice(0, 80)))
        rollout.prompted('response', words, say)
      if (role === 'assistant' && words !== '' && rollout.tells('response')) say.message(undefined, words)
    },
    reasoning(payload, say, rollout) {
      const words = wordsOf(payload.at('summary'), '\n\n')
      if (words !== '' && rollout.tells('response')) say.reasoning(undefined, words)
    },
    function_call: (payload, say, { calls }) => calls.start(payload, inputOf(payload), say),
    custom_tool_call: (payload, say, { calls }) => calls.start(payload, payload.at('input'), say),
    local_shell_call: (payload, say, { calls }) => calls.start(payload, payload.at('action'), say),
    'function_call_output, custom_tool_call_output': (payload, say, { calls }) => calls.output(payload, say),
  },
})

const idOf = (payload: Rec): string => payload.text('call_id id') ?? ''

function mcpCall(event: Rec): CallFacts {
  const invocation = event.record('invocation')
  const name = invocation ? mcpName(invocation) : 'mcp'
  return { id: idOf(event), name, input: invocation?.at('arguments') }
}

/** The name that `codex exec --json` uses for a function: `mcp__docs__find` is `docs.find` there. */
function nameOf(name: string): string {
  if (commands.has(name)) return 'command_execution'
  return name === 'apply_patch' ? 'file_change' : name.replace(/^mcp__(.+?)__/, '$1.')
}

/** The arguments of a function, with the command where stdout has it. */
function inputOf(payload: Rec): unknown {
  const given = jsonIn(payload.at('arguments'))
  const input = Rec.of(given)
  return input && commands.has(payload.text('name') ?? '') ? { command: input.at('command cmd') } : given
}

/** Maximum length of the head that Codex puts before the output of a command. */
const MAX_HEAD = 400
const exitWords = ['Process exited with code ', 'Exit code: ']
const WALL_TIME = 'Wall time: '
const RUNNING = 'Process running with session ID '

/**
 * What the output of a call contains: JSON with the exit code (0.74), or text with it (0.142). Nothing if the
 * command is still running. An output without a head is of a call that never started, or was refused.
 */
function readOutput(
  payload: Rec,
  name: string,
): Pick<CallFacts, 'output' | 'exit_code' | 'error' | 'duration_ms'> | undefined {
  const words = payload.record('output') ? payload.at('output.content') : payload.at('output')
  const isCommand = name === 'command_execution' || name === 'file_change'
  if (!isCommand && name !== 'tool') return { output: words }
  const json = Rec.of(jsonIn(words), 'metadata.exit_code:number')
  if (json) {
    const duration_ms = milliseconds(json.number('metadata.duration_seconds'))
    return { output: json.at('output'), exit_code: json.number('metadata.exit_code'), duration_ms }
  }
  const said = typeof words === 'string' ? words : ''
  const at = said.indexOf('Output:\n')
  const head = said.slice(0, at >= 0 && at < MAX_HEAD ? at : MAX_HEAD).split('\n')
  const exit = head.flatMap((line) => codeIn(line)).at(0)
  if (exit !== undefined) {
    const duration_ms = head.map(wallTime).find((time) => time !== undefined)
    return { output: at >= 0 ? said.slice(at + 'Output:\n'.length) : said, exit_code: exit, duration_ms }
  }
  if (head.some((line) => line.startsWith(RUNNING))) return undefined
  return isCommand ? { output: words, error: said } : { output: words }
}

/** The exit code in a line of the head. */
function codeIn(line: string): number[] {
  const words = exitWords.find((start) => line.startsWith(start))
  const code =
    words === undefined || line.length === words.length ? Number.NaN : Number(line.slice(words.length))
  return Number.isInteger(code) ? [code] : []
}

/** The duration in a line of the head. */
function wallTime(line: string): number | undefined {
  if (!line.startsWith(WALL_TIME) || !line.endsWith(' seconds')) return undefined
  return milliseconds(Number(line.slice(WALL_TIME.length, -' seconds'.length)))
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : durationOf(Math.round(seconds * 1000))
}
