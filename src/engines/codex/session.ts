import type { Engine, Say } from '../../events/engine.ts'
import { fits, type Rec } from '../../events/record.ts'
import { tokenCounter } from '../../events/tokens.ts'
import { codexDenial } from '../denials.ts'
import { rows, table } from '../table.ts'
import { Calls, responses } from './calls.ts'
import { codexTokens, errorText, tools } from './shared.ts'

/** What is known of a rollout so far. */
class Rollout {
  readonly calls = new Calls()
  known = false
  model: string | undefined
  /** The file records where turns begin (0.142 and later); before, prompts mark them. */
  tasks = false
  /** Which kind of record has the messages of this turn, and which has the prompt: only that kind is read. */
  #teller: 'event' | 'item' | undefined
  #asker: 'event' | 'item' | undefined
  /**
   * The tokens of the thread. 0.74 starts again from 0 when it is resumed, and writes null until it has a
   * count.
   */
  #counter = tokenCounter()
  uncounted = false
  /** The last count. 0.166 writes each of them twice, older versions some. */
  #counted = ''

  begin(say: Say): void {
    this.#teller = undefined
    this.#asker = undefined
    say.begun()
    say.status('turn_started')
  }

  tells(kind: 'event' | 'item'): boolean {
    this.#teller ??= kind
    return this.#teller === kind
  }

  asked(kind: 'event' | 'item', prompt: string, say: Say): void {
    this.#asker ??= kind
    if (this.#asker === kind && prompt !== '') say.user(prompt)
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
 * Each text is recorded twice, as an event and as a `response_item`: texts are read from the events, calls
 * from both.
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
    event_msg: (payload, say, rollout) => events.read(payload, say, rollout),
    response_item: (payload, say, rollout) => responses.read(payload, say, rollout.calls),
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
    'thread_settings_applied exec_command_begin exec_command_end mcp_tool_call_begin mcp_tool_call_end ' +
    'web_search_begin web_search_end patch_apply_begin thread_name_updated agent_reasoning_raw_content ' +
    'agent_reasoning_section_break turn_diff view_image_tool_call',
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
        if (!rollout.tasks) rollout.begin(say)
        rollout.asked('event', event.text('message') ?? '', say)
      },
    },
    task_complete(event, say) {
      if (event.at('error')) {
        say.status('turn_failed')
        say.error(errorText(event.at('error')), 'fatal')
        return
      }
      // In 0.142 a failed turn ends with the same record, only without a last message. So without one the end
      // is unknown.
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
        const words = event.words('message')
        if (words !== undefined && rollout.tells('event')) say.message(undefined, words)
      },
    },
    agent_reasoning: {
      fields: 'text:text',
      read(event, say, rollout) {
        const words = event.words('text')
        if (words !== undefined && rollout.tells('event')) say.reasoning(undefined, words)
      },
    },
    patch_apply_end: (event, say, { calls }) =>
      calls.patched(event.text('call_id') ?? '', event, event.at('success') === false, say),
    token_count(event, say, rollout) {
      const info = event.record('info')
      rollout.uncounted ||= event.at('info') === null
      if (info) rollout.count(info.at('total_token_usage'), info.at('last_token_usage'), say)
    },
    context_compacted: (_, say) => say.status('compacted'),
    'error, stream_error': (event, say) => say.error(errorText(event.values), 'warning'),
  },
})

const ITEM = '* id:text status=inProgress|in_progress|completed|failed|declined'

/** The items of 0.166. */
const items = /* @__PURE__ */ rows<Rollout>({
  called: 'item',
  on: {
    UserMessage: (item, say, rollout) => rollout.asked('item', contentOf(item), say),
    AgentMessage(item, say, rollout) {
      if (rollout.tells('item')) say.message(item.text('id'), contentOf(item))
    },
    Reasoning(item, say, rollout) {
      if (!rollout.tells('item')) return
      for (const part of item.list('summary_text'))
        if (typeof part === 'string') say.reasoning(item.text('id'), part)
    },
    'CommandExecution, McpToolCall, FileChange': {
      fields: ITEM,
      read: (item, say, { calls }) => calls.item(item, say),
    },
  },
})

function contentOf(item: Rec): string {
  if (!Array.isArray(item.at('content'))) return item.text('content') ?? ''
  return item
    .records('content')
    .map((part) => part.text('text') ?? '')
    .join('')
}
