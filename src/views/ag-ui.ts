import { type OptionTable, readOptions } from '../base/check-options.ts'
import type { Stage } from '../base/stage.ts'
import type { CompletionData, Event, EventOf, MessageData, ResultData, ToolData } from '../events/event.ts'
import { outcomeOf, outcomeWords } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import { isHighSurrogate } from '../text/characters.ts'
import { type OpenText, OpenTexts } from './open-texts.ts'
import { outputText } from './tool-text.ts'
import { uniqueIds } from './unique-ids.ts'

/** Fields that every event of AG-UI can have. */
export interface AgUiBase {
  /** Milliseconds since 1970. */
  readonly timestamp?: number
  /** The complete record that this was made from; if several events were made from one, the first has it. */
  readonly rawEvent?: Event
  /** Facts the protocol has no field for, under the key `agent-sluice`. */
  readonly metadata?: { readonly 'agent-sluice': Readonly<Record<string, unknown>> }
  /** The subagent that writes or calls. */
  readonly subagentRunId?: string
}

/** Token counts with the names of AG-UI. */
export interface AgUiUsage {
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cachedInputTokens?: number
  readonly reasoningTokens?: number
}

/** The events of AG-UI 1.0 that a run becomes. */
export type AgUiEvent = AgUiBase &
  (
    | {
        readonly type: 'RUN_STARTED'
        readonly threadId: string
        readonly runId: string
        readonly protocolVersion: string
      }
    | {
        readonly type: 'RUN_FINISHED'
        readonly threadId: string
        readonly runId: string
        readonly result?: unknown
        readonly outcome: { readonly type: 'success' | 'cancelled' }
        readonly usage?: readonly AgUiUsage[]
      }
    | {
        readonly type: 'RUN_ERROR'
        readonly message: string
        readonly code: string
        readonly usage?: readonly AgUiUsage[]
      }
    | {
        readonly type: 'TEXT_MESSAGE_START'
        readonly messageId: string
        readonly role: 'assistant' | 'user'
      }
    | { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
    | { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string }
    | { readonly type: 'REASONING_START' | 'REASONING_END'; readonly messageId: string }
    | { readonly type: 'REASONING_MESSAGE_START'; readonly messageId: string; readonly role: 'reasoning' }
    | { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
    | { readonly type: 'REASONING_MESSAGE_END'; readonly messageId: string }
    | { readonly type: 'TOOL_CALL_START'; readonly toolCallId: string; readonly toolCallName: string }
    | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
    | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
    | {
        readonly type: 'TOOL_CALL_RESULT'
        readonly messageId: string
        readonly toolCallId: string
        readonly content: string
        readonly role: 'tool'
      }
    | {
        readonly type: 'SUBAGENT_STARTED'
        readonly subagentRunId: string
        readonly name: string
        readonly parentSubagentRunId?: string
        readonly parentToolCallId?: string
      }
    | { readonly type: 'SUBAGENT_FINISHED'; readonly subagentRunId: string }
    | { readonly type: 'SUBAGENT_ERROR'; readonly subagentRunId: string; readonly message: string }
    | { readonly type: 'CUSTOM'; readonly name: string; readonly value: unknown }
    | { readonly type: 'RAW'; readonly event: Event; readonly source: string }
  )

export interface AgUiOptions {
  /**
   * Whether each record is included, as `rawEvent`. Without it the stream is about half as long.
   * @default true
   */
  readonly raw?: boolean | undefined
}

export const AG_UI_OPTIONS = { raw: { default: true } } as const satisfies OptionTable<AgUiOptions>

/** Clients refuse a message of more than 10 MB, so long texts are sent in parts of this many characters. */
const MAX_DELTA = 1 << 20
/** Limit of the open calls and subagents to remember. */
const MAX_OPEN = 4096

/** A call whose end was not reported. */
interface OpenCall {
  readonly id: string
  readonly name: string
  /** The call of the subagent that called it. */
  readonly parent: string | undefined
}

interface Subagent {
  readonly id: string
  open: boolean
}

/**
 * The stage of `agUi()`: events as AG-UI 1.0 events. Every attempt is a run of AG-UI. What the protocol has
 * no event for is `CUSTOM`, or `RAW` for lines that were not understood.
 *
 * @example
 * const shown = drive(agUiStage(), [event]) // [{ type: 'RUN_STARTED', … }, …]
 */
export function agUiStage(options: AgUiOptions = {}): Stage<Event, AgUiEvent> {
  const { raw: withRaw } = readOptions('agUiStage', options, 'agUiStage({ raw: false })', AG_UI_OPTIONS)
  return (next) => {
    const unique = uniqueIds()
    let texts = new OpenTexts()
    let calls = new Map<string, OpenCall>()
    let subagents = new Map<string, Subagent>()
    let result: ResultData | undefined
    let model: string | undefined
    /** The current run of AG-UI. */
    let run: { readonly threadId: string; readonly runId: string } | undefined
    let timestamp: number | undefined
    /** The record that is in no event yet. */
    let raw: Event | undefined

    /** Emits an event made from the record itself. */
    const say = (event: AgUiEvent) => {
      const carried = raw
      raw = undefined
      add(carried && withRaw ? { ...event, rawEvent: carried } : event)
    }
    /** Emits an event that the protocol requires in addition. */
    const add = (event: AgUiEvent) => next.write(timestamp === undefined ? event : { ...event, timestamp })

    const place = ({ attempt_number, seq }: Event) => `${attempt_number}.${seq}`

    const begin = (event: Event) => {
      const { run_id, attempt_number } = event
      run = {
        threadId: event.correlation.session_id ?? run_id,
        runId: attempt_number === 1 ? run_id : `${run_id}#${attempt_number}`,
      }
      add({ type: 'RUN_STARTED', ...run, protocolVersion: '1.0' })
    }

    /** The speaker, as a field; a subagent is announced before its first event. */
    const speaker = (event: Event, parent: string | undefined): { readonly subagentRunId?: string } => {
      if (parent === undefined) return {}
      const known = subagents.get(parent)
      if (known) return { subagentRunId: known.id }
      // The speaker may always be left out.
      if (subagents.size >= MAX_OPEN) return {}
      const call = calls.get(parent)
      const id = call?.id ?? unique(parent, place(event))
      subagents.set(parent, { id, open: true })
      const above = call?.parent === undefined ? undefined : subagents.get(call.parent)
      add({
        type: 'SUBAGENT_STARTED',
        subagentRunId: id,
        name: call?.name ?? 'subagent',
        ...(above && { parentSubagentRunId: above.id }),
        ...(call && { parentToolCallId: call.id }),
      })
      return { subagentRunId: id }
    }
    const closeSubagent = (subagent: Subagent | undefined, failed?: string) => {
      if (!subagent?.open) return
      subagent.open = false
      const subagentRunId = subagent.id
      if (failed === undefined) add({ type: 'SUBAGENT_FINISHED', subagentRunId })
      else add({ type: 'SUBAGENT_ERROR', subagentRunId, message: failed })
    }

    const closeText = (event: Event, open: OpenText) =>
      add({ type: 'TEXT_MESSAGE_END', messageId: open.id, ...speaker(event, open.parent) })

    const startText = (event: Event, data: MessageData): OpenText => {
      const who = speaker(event, data.parent_call_id)
      const { open, oldest } = texts.start(data, unique(data.message_id, place(event)))
      if (oldest) closeText(event, oldest)
      say({ type: 'TEXT_MESSAGE_START', messageId: open.id, role: 'assistant', ...who })
      return open
    }
    const sendText = (event: Event, open: OpenText, text: string) => {
      const who = speaker(event, open.parent)
      for (const delta of parts(text))
        say({ type: 'TEXT_MESSAGE_CONTENT', messageId: open.id, delta, ...who })
    }

    const delta = (event: EventOf<'agent.message.delta'>) => {
      const { data } = event
      // Clients of AG-UI before 1.0 refuse an empty delta.
      if (data.text === '') return custom(event)
      const open = texts.find(data.message_id) ?? startText(event, data)
      sendText(event, open, data.text)
      texts.add(open, data.text)
    }

    const final = (event: EventOf<'agent.message.final'>) => {
      const { data } = event
      let reported = texts.complete(data)
      if (reported?.contradicts) {
        const { id, parent } = reported.open
        const metadata = note({ superseded: true })
        add({ type: 'TEXT_MESSAGE_END', messageId: id, ...speaker(event, parent), metadata })
        reported = undefined
      }
      if (!reported) {
        startText(event, data)
        reported = texts.complete(data)!
      }
      const { open, rest } = reported
      sendText(event, open, rest)
      const { message_id: _, text: __, ...more } = data
      say({
        type: 'TEXT_MESSAGE_END',
        messageId: open.id,
        ...speaker(event, open.parent),
        ...(Object.keys(more).length > 0 && { metadata: note(more) }),
      })
    }

    const user = (event: EventOf<'user.message'>) => {
      const messageId = unique(`user-${place(event)}`, place(event))
      say({ type: 'TEXT_MESSAGE_START', messageId, role: 'user' })
      for (const delta of parts(event.data.text)) say({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })
      say({ type: 'TEXT_MESSAGE_END', messageId })
    }

    const reasoning = (event: EventOf<'agent.reasoning.summary'>) => {
      const messageId = unique(event.data.message_id, place(event))
      say({ type: 'REASONING_START', messageId })
      say({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
      for (const delta of parts(event.data.text)) say({ type: 'REASONING_MESSAGE_CONTENT', messageId, delta })
      say({ type: 'REASONING_MESSAGE_END', messageId })
      say({ type: 'REASONING_END', messageId })
    }

    const startCall = (event: Event, data: ToolData): OpenCall => {
      const who = speaker(event, data.parent_call_id)
      const id = unique(data.call_id, place(event))
      const call: OpenCall = { id, name: data.name, parent: data.parent_call_id }
      const [oldest] = calls.size >= MAX_OPEN ? calls.keys() : []
      if (oldest !== undefined) calls.delete(oldest)
      calls.set(data.call_id, call)
      say({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: data.name, ...who })
      const input = data.input === undefined ? '' : JSON.stringify(data.input)
      for (const delta of parts(input)) say({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta, ...who })
      say({ type: 'TOOL_CALL_END', toolCallId: id, ...who })
      return call
    }

    const endCall = (event: EventOf<'tool.call.completed' | 'tool.call.failed'>) => {
      const { data } = event
      // Some engines report only the end of a call.
      const call = calls.get(data.call_id) ?? startCall(event, data)
      calls.delete(data.call_id)
      const failed = event.type === 'tool.call.failed'
      const { exit_code, error, duration_ms } = data
      closeSubagent(subagents.get(data.call_id), failed ? (error ?? 'failed') : undefined)
      say({
        type: 'TOOL_CALL_RESULT',
        messageId: unique(`${call.id}-result`, place(event)),
        toolCallId: call.id,
        content: outputText(data),
        role: 'tool',
        ...speaker(event, call.parent),
        metadata: note({ failed, exit_code, error, duration_ms }),
      })
    }

    const custom = (event: Event) => say({ type: 'CUSTOM', name: event.type, value: event.data })

    /** Closes everything that is open: a run must not end before that. */
    const closeAll = (event: Event) => {
      for (const open of texts.takeAll()) closeText(event, open)
      for (const subagent of subagents.values()) closeSubagent(subagent)
      texts = new OpenTexts()
      calls = new Map()
      subagents = new Map()
    }

    const finish = (event: Event, data: CompletionData) => {
      closeAll(event)
      const usage = usageOf(data.tokens, model)
      const outcome = outcomeOf(data)
      const metadata = note({ outcome })
      if (outcome === 'failed' || outcome === 'unknown') {
        const message = data.evidence?.failure ?? outcomeWords[outcome]
        say({ type: 'RUN_ERROR', message, code: data.reason_code, ...usage, metadata })
      } else {
        const value = result?.status === 'success' ? (result.value ?? undefined) : undefined
        const type = outcome === 'cancelled' ? 'cancelled' : 'success'
        const ended = { ...run!, outcome: { type }, ...usage, metadata } as const
        say({ type: 'RUN_FINISHED', ...ended, ...(value !== undefined && { result: value }) })
      }
      result = undefined
      run = undefined
    }

    let last: Event | undefined
    return {
      write(event) {
        last = event
        raw = event
        const ms = Date.parse(event.ts)
        timestamp = Number.isNaN(ms) ? undefined : ms
        if (!run) begin(event)
        switch (event.type) {
          case 'agent.message.delta':
            return delta(event)
          case 'agent.message.final':
            return final(event)
          case 'user.message':
            return user(event)
          case 'agent.reasoning.summary':
            return reasoning(event)
          case 'tool.call.started':
            return void startCall(event, event.data)
          case 'tool.call.completed':
          case 'tool.call.failed':
            return endCall(event)
          case 'raw.stdout':
          case 'raw.stderr':
          case 'raw.pty':
            return add({ type: 'RAW', event, source: event.type })
          case 'lifecycle.completion.state':
            return finish(event, event.data)
          case 'lifecycle.run.result':
            result = event.data
            return custom(event)
          case 'lifecycle.run.status':
            model = event.data.model ?? model
            return custom(event)
          default:
            return custom(event)
        }
      },
      end() {
        if (run && last) {
          closeAll(last)
          raw = undefined
          add({ type: 'RUN_ERROR', message: 'the events ended before the run did', code: 'NO_END' })
        }
        next.end()
      },
    }
  }
}

function note(facts: Readonly<Record<string, unknown>>): AgUiBase['metadata'] & object {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  return { 'agent-sluice': Object.fromEntries(known) }
}

function usageOf(tokens: Tokens | undefined, model: string | undefined): { usage?: readonly AgUiUsage[] } {
  if (!tokens) return {}
  const { input, output, cached, reasoning } = tokens
  return {
    usage: [
      {
        ...(model !== undefined && { model }),
        ...(input !== undefined && { inputTokens: input }),
        ...(output !== undefined && { outputTokens: output }),
        ...(cached !== undefined && { cachedInputTokens: cached }),
        ...(reasoning !== undefined && { reasoningTokens: reasoning }),
      },
    ],
  }
}

/** Splits a text into parts that are short enough; none for an empty text. No character is cut in two. */
function* parts(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + MAX_DELTA)
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--
    yield text.slice(from, to)
    from = to
  }
}
