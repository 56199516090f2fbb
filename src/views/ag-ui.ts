import { defined, type OptionTable, readOptions } from '../base/check-options.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type {
  AgentEvent,
  CompletionData,
  EventOf,
  MessageData,
  ResultData,
  ToolData,
} from '../events/event.ts'
import { endPhrase, outcomeOf } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import { jsonValue } from '../json/strict.ts'
import { isHighSurrogate } from '../text/characters.ts'
import { eventPlace, OpenCalls, type OpenText, type TextEnd } from './open-items.ts'
import { type CallEnd, type Emitters, ProtocolWalk } from './protocol-walk.ts'
import { outputText } from './tool-text.ts'

/** Fields that every event of AG-UI can have. */
export interface AgUiBase {
  /** Milliseconds since 1970. */
  readonly timestamp?: number
  /** The complete record that this was made from; if several events were made from one, the first has it. */
  readonly rawEvent?: AgentEvent
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

/** Something that a run waits for, from outside. */
export interface AgUiInterrupt {
  readonly id: string
  /** `permission` or `question`. */
  readonly reason: string
  readonly message?: string
  readonly toolCallId?: string
  /** The whole request, under the key `agent-sluice`. */
  readonly metadata?: AgUiBase['metadata']
}

/** The events of AG-UI 1.0 that a run becomes. */
export type AgUiEvent = AgUiBase &
  Readonly<
    | { type: 'RUN_STARTED'; threadId: string; runId: string; protocolVersion: string }
    | {
        type: 'RUN_FINISHED'
        threadId: string
        runId: string
        result?: unknown
        outcome: Readonly<
          { type: 'success' | 'cancelled' } | { type: 'interrupt'; interrupts: readonly AgUiInterrupt[] }
        >
        usage?: readonly AgUiUsage[]
      }
    | { type: 'RUN_ERROR'; message: string; code: string; usage?: readonly AgUiUsage[] }
    | { type: 'TEXT_MESSAGE_START'; messageId: string; role: 'assistant' | 'user' }
    | { type: 'TEXT_MESSAGE_CONTENT'; messageId: string; delta: string }
    | { type: 'TEXT_MESSAGE_END'; messageId: string }
    | { type: 'REASONING_START' | 'REASONING_END'; messageId: string }
    | { type: 'REASONING_MESSAGE_START'; messageId: string; role: 'reasoning' }
    | { type: 'REASONING_MESSAGE_CONTENT'; messageId: string; delta: string }
    | { type: 'REASONING_MESSAGE_END'; messageId: string }
    | { type: 'TOOL_CALL_START'; toolCallId: string; toolCallName: string }
    | { type: 'TOOL_CALL_ARGS'; toolCallId: string; delta: string }
    | { type: 'TOOL_CALL_END'; toolCallId: string }
    | { type: 'TOOL_CALL_RESULT'; messageId: string; toolCallId: string; content: string; role: 'tool' }
    | {
        type: 'SUBAGENT_STARTED'
        subagentRunId: string
        name: string
        parentSubagentRunId?: string
        parentToolCallId?: string
      }
    | { type: 'SUBAGENT_FINISHED'; subagentRunId: string }
    | { type: 'SUBAGENT_ERROR'; subagentRunId: string; message: string }
    | { type: 'CUSTOM'; name: string; value: unknown }
    | { type: 'RAW'; event: AgentEvent; source: string }
  >

/** The options of `agUi()`. */
export interface AgUiOptions {
  /**
   * Whether each of our events is included, as `rawEvent` of the AG-UI event made of it. Without them the
   * stream is about half as long.
   * @default true
   */
  readonly raw?: boolean | undefined
}

export const AG_UI_OPTIONS = { raw: { default: true } } as const satisfies OptionTable<AgUiOptions>

/** Clients refuse a message of more than 10 MB, so long texts are sent in parts of this many characters. */
const MAX_DELTA = 1 << 20
const MAX_SUBAGENTS = 4096

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
export function agUiStage(options: AgUiOptions = {}): Stage<AgentEvent, AgUiEvent> {
  const { raw } = readOptions('agUiStage', options, 'agUiStage({ raw: false })', AG_UI_OPTIONS)
  return (next) => new AgUiSink(next, raw)
}

/** Turns the events of a stream into those of AG-UI. */
class AgUiSink implements Sink<AgentEvent> {
  readonly #next: Sink<AgUiEvent>
  readonly #withRaw: boolean
  readonly #walk = new ProtocolWalk<OpenCall>(this.#emitters())
  /** By the call that started them. */
  #subagents = new Map<string, Subagent>()
  /** What the agent asks, and nobody has answered. */
  readonly #asked = new OpenCalls<AgUiInterrupt>()
  #result: ResultData | undefined
  #model: string | undefined
  /** The current run of AG-UI. */
  #run: { readonly threadId: string; readonly runId: string } | undefined
  #timestamp: number | undefined
  #last: AgentEvent | undefined
  /** The record that is in no event yet. */
  #raw: AgentEvent | undefined

  constructor(next: Sink<AgUiEvent>, withRaw: boolean) {
    this.#next = next
    this.#withRaw = withRaw
  }

  #emitters(): Emitters<OpenCall> {
    return {
      message: {
        start: (event, { id: messageId, parent }) => {
          const who = this.#speaker(event, parent)
          this.#say({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...who })
        },
        send: (event, { id: messageId, parent }, text) => {
          const content = { type: 'TEXT_MESSAGE_CONTENT', messageId } as const
          this.#sayParts(text, (delta) => ({ ...content, delta, ...this.#speaker(event, parent) }))
        },
        end: (event, open, how) => this.#endText(event, open, how),
      },
      thought: {
        start: (_, { id: messageId }) => {
          this.#say({ type: 'REASONING_START', messageId })
          this.#say({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
        },
        send: (_, { id: messageId }, text) =>
          this.#sayParts(text, (delta) => ({ type: 'REASONING_MESSAGE_CONTENT', messageId, delta })),
        end: (_, { id: messageId }, how) => {
          const say = (end: AgUiEvent) => (how === 'final' ? this.#say(end) : this.#add(end))
          say({ type: 'REASONING_MESSAGE_END', messageId })
          say({ type: 'REASONING_END', messageId })
        },
      },
      input: {
        start: (event, { id: toolCallId, parent }) => {
          const who = this.#speaker(event, parent)
          const { name: toolCallName } = event.data as ToolData // cast: a piece of an input has its name, too
          this.#say({ type: 'TOOL_CALL_START', toolCallId, toolCallName, ...who })
        },
        send: (event, { id: toolCallId, parent }, text) => {
          const args = { type: 'TOOL_CALL_ARGS', toolCallId } as const
          this.#sayParts(text, (delta) => ({ ...args, delta, ...this.#speaker(event, parent) }))
        },
        end: (event, { id: toolCallId, parent }, how) => {
          const end = { type: 'TOOL_CALL_END', toolCallId, ...this.#speaker(event, parent) } as const
          if (how === 'final') this.#say(end)
          else this.#add(how === 'left' ? end : { ...end, metadata: note({ superseded: true }) })
        },
      },
      call: (event, data) => this.#startCall(event, data),
      result: (event, call) => this.#endCall(event, call),
      other: (event) => this.#other(event),
    }
  }

  write(event: AgentEvent) {
    this.#last = event
    this.#raw = event
    const ms = Date.parse(event.ts)
    this.#timestamp = Number.isNaN(ms) ? undefined : ms
    if (!this.#run) this.#begin(event)
    this.#walk.take(event)
  }

  #other(event: AgentEvent) {
    switch (event.type) {
      case 'user.message':
        return this.#user(event)
      case 'raw.stdout':
      case 'raw.stderr':
      case 'raw.pty':
      case 'raw.stdin':
        return this.#add({ type: 'RAW', event, source: event.type })
      case 'lifecycle.completion.state':
        return this.#finish(event, event.data)
      case 'lifecycle.run.result':
        this.#result = event.data
        break
      case 'lifecycle.run.status':
        this.#model = event.data.model ?? this.#model
        this.#ask(event.data)
    }
    // Also an empty delta, which clients of AG-UI before 1.0 refuse.
    this.#custom(event)
  }

  end(): void {
    if (this.#run && this.#last) {
      this.#closeAll(this.#last)
      this.#add({ type: 'RUN_ERROR', message: 'the events ended before the run did', code: 'NO_END' })
    }
    this.#next.end()
  }

  /** Emits an event made from the record itself. */
  #say(event: AgUiEvent): void {
    const rawEvent = this.#raw
    this.#raw = undefined
    this.#add(rawEvent && this.#withRaw ? { ...event, rawEvent } : event)
  }

  /** Emits a text in parts that are short enough. */
  #sayParts(text: string, make: (delta: string) => AgUiEvent): void {
    for (const delta of parts(text)) this.#say(make(delta))
  }

  /** Emits an event that the protocol requires in addition. */
  #add(event: AgUiEvent): void {
    const timestamp = this.#timestamp
    this.#next.write(timestamp === undefined ? event : { ...event, timestamp })
  }

  #custom(event: AgentEvent): void {
    this.#say({ type: 'CUSTOM', name: event.type, value: event.data })
  }

  #begin(event: AgentEvent): void {
    const { run_id, attempt_number } = event
    this.#run = {
      threadId: event.correlation.session_id ?? run_id,
      runId: attempt_number === 1 ? run_id : `${run_id}#${attempt_number}`,
    }
    this.#add({ type: 'RUN_STARTED', ...this.#run, protocolVersion: '1.0' })
  }

  /** The speaker, as a field; a subagent is announced before its first event. */
  #speaker(event: AgentEvent, parent: string | undefined): { readonly subagentRunId?: string } {
    if (parent === undefined) return {}
    const known = this.#subagents.get(parent)
    if (known) return { subagentRunId: known.id }
    // The speaker may always be left out.
    if (this.#subagents.size >= MAX_SUBAGENTS) return {}
    const call = this.#walk.calls.find(parent)
    const id = call?.id ?? this.#walk.unique(parent, event)
    this.#subagents.set(parent, { id, open: true })
    const above = call?.parent === undefined ? undefined : this.#subagents.get(call.parent)
    this.#add({
      type: 'SUBAGENT_STARTED',
      subagentRunId: id,
      name: call?.name ?? 'subagent',
      ...(above && { parentSubagentRunId: above.id }),
      ...(call && { parentToolCallId: call.id }),
    })
    return { subagentRunId: id }
  }

  #closeSubagent(subagent: Subagent | undefined, failed?: string): void {
    if (!subagent?.open) return
    subagent.open = false
    const subagentRunId = subagent.id
    if (failed === undefined) this.#add({ type: 'SUBAGENT_FINISHED', subagentRunId })
    else this.#add({ type: 'SUBAGENT_ERROR', subagentRunId, message: failed })
  }

  #endText(event: AgentEvent, { id: messageId, parent }: OpenText, how: TextEnd) {
    const end = { type: 'TEXT_MESSAGE_END', messageId, ...this.#speaker(event, parent) } as const
    if (how === 'left') return this.#add(end)
    if (how === 'superseded') return this.#add({ ...end, metadata: note({ superseded: true }) })
    // Cast: only a final message ends so.
    const { message_id: _, text: __, ...more } = event.data as MessageData
    this.#say(Object.keys(more).length > 0 ? { ...end, metadata: note(more) } : end)
  }

  #user(event: EventOf<'user.message'>): void {
    const messageId = this.#walk.unique(`user-${eventPlace(event)}`, event)
    this.#say({ type: 'TEXT_MESSAGE_START', messageId, role: 'user' })
    this.#sayParts(event.data.text, (delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta }))
    this.#say({ type: 'TEXT_MESSAGE_END', messageId })
  }

  #startCall(event: AgentEvent, { call_id: of, name, input, parent_call_id: parent }: ToolData): OpenCall {
    const { inputs } = this.#walk
    const whole = input === undefined ? '' : JSON.stringify(input)
    const sent = inputs.sent(of)
    // The model may write its JSON with blanks, and other text as it is.
    const isSame = sent !== undefined && (sent === input || JSON.stringify(jsonValue(sent)) === whole)
    return { id: inputs.final(event, { of, text: isSame ? sent : whole, parent }), name, parent }
  }

  #endCall(event: CallEnd, call: OpenCall): void {
    const { data } = event
    const failed = event.type === 'tool.call.failed'
    const { exit_code, error, duration_ms } = data
    this.#closeSubagent(this.#subagents.get(data.call_id), failed ? (error ?? 'failed') : undefined)
    this.#say({
      type: 'TOOL_CALL_RESULT',
      messageId: this.#walk.unique(`${call.id}-result`, event),
      toolCallId: call.id,
      content: outputText(data),
      role: 'tool',
      ...this.#speaker(event, call.parent),
      metadata: note({ failed, exit_code, error, duration_ms }),
    })
  }

  /** A request is open, or settled. One that ended with the run is what the run waits for. */
  #ask({ request, request_id, by }: EventOf<'lifecycle.run.status'>['data']): void {
    if (request_id !== undefined && by !== 'end') this.#asked.end(request_id)
    if (!request) return
    const { id, kind, title, call_id = '' } = request
    const call = this.#walk.calls.find(call_id)
    this.#asked.start(id, {
      id,
      reason: kind,
      message: title,
      ...(call && { toolCallId: call.id }),
      metadata: note({ request }),
    })
  }

  /** Closes everything that is open: a run must not end before that. */
  #closeAll(event: AgentEvent): void {
    this.#walk.endAll(event)
    for (const subagent of this.#subagents.values()) this.#closeSubagent(subagent)
    this.#subagents = new Map()
  }

  #finish(event: AgentEvent, data: CompletionData): void {
    this.#closeAll(event)
    const usage = usageOf(data.tokens, this.#model)
    const outcome = outcomeOf(data)
    const metadata = note({ outcome })
    if (outcome === 'failed' || outcome === 'unknown') {
      const message = data.problem ?? data.evidence?.failure ?? endPhrase(outcome, data.failure_class)
      this.#say({ type: 'RUN_ERROR', message, code: data.reason_code, ...usage, metadata })
    } else {
      const value = this.#result?.status === 'success' ? (this.#result.value ?? undefined) : undefined
      const ended = {
        ...this.#run!,
        outcome: outcomeIn(data, this.#asked.all()),
        ...usage,
        metadata,
      } as const
      this.#say({ type: 'RUN_FINISHED', ...ended, ...(value !== undefined && { result: value }) })
    }
    this.#asked.takeAll()
    this.#result = undefined
    this.#run = undefined
  }
}

/** Why a run ended that did not fail, with the names of AG-UI. */
function outcomeIn(data: CompletionData, asked: readonly AgUiInterrupt[]) {
  if (outcomeOf(data) === 'cancelled') return { type: 'cancelled' } as const
  const { request } = data.evidence ?? {}
  if (data.reason_code !== 'REQUEST_OPEN' || request === undefined) return { type: 'success' } as const
  // A question tool has no request of its own.
  const interrupts = asked.length > 0 ? asked : [{ id: request, reason: 'question', message: request }]
  return { type: 'interrupt', interrupts } as const
}

function note(facts: Readonly<Record<string, unknown>>): AgUiBase['metadata'] & object {
  return { 'agent-sluice': defined(facts) }
}

function usageOf(tokens: Tokens | undefined, model: string | undefined): { usage?: readonly AgUiUsage[] } {
  if (!tokens) return {}
  const { input: inputTokens, output: outputTokens, cached, reasoning } = tokens
  const counts = { inputTokens, outputTokens, cachedInputTokens: cached, reasoningTokens: reasoning }
  return { usage: [defined({ model, ...counts })] }
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
