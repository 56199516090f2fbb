import { defined } from '../base/check-options.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { AgentEvent, CompletionData, MessageData, ToolData } from '../events/event.ts'
import { endPhrase, isGood, outcomeOf } from '../events/run-outcome.ts'
import { eventPlace, type TextEnd, type TextSink } from './open-items.ts'
import { type CallEnd, type Emitters, ProtocolWalk } from './protocol-walk.ts'
import { failureText } from './tool-text.ts'

/** `providerMetadata` of one part (a text, a call): facts the AI SDK has no field for, as `{ sluice: … }`. */
export interface AiSdkMetadata {
  readonly sluice: Readonly<Record<string, unknown>>
}

/** `messageMetadata`, the metadata of the whole message: facts about the run. */
export interface AiSdkMessageMetadata {
  readonly run_id: string
  readonly engine: string
  readonly session_id?: string
  readonly model?: string
  /** At the end: how the run ended, in one word. */
  readonly outcome?: string
  readonly tokens?: unknown
  readonly cost?: unknown
}

/** The chunks of an AI SDK UI message stream (v1) for a run, which versions 6 and 7 support. */
export type AiSdkChunk =
  | Readonly<
      | { type: 'start'; messageId: string; messageMetadata: AiSdkMessageMetadata }
      | { type: 'start-step' | 'finish-step' }
      | ({ type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string } & WithMetadata)
      | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
      | ({ type: 'tool-input-start'; toolCallId: string; toolName: string } & ProviderExecuted)
      | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
      | ({
          type: 'tool-input-available'
          toolCallId: string
          toolName: string
          input: unknown
        } & ProviderExecuted &
          WithMetadata)
      | ({ type: 'tool-output-available'; toolCallId: string; output: unknown } & ProviderExecuted &
          WithMetadata)
      | ({ type: 'tool-output-error'; toolCallId: string; errorText: string } & ProviderExecuted &
          WithMetadata)
      | { type: 'finish'; finishReason: 'stop' | 'error' | 'other'; messageMetadata: AiSdkMessageMetadata }
      | { type: 'message-metadata'; messageMetadata: AiSdkMessageMetadata }
      | { type: 'abort'; reason: string }
      | { type: 'error'; errorText: string }
    >
  | AiSdkData

/** Facts that the protocol has no field for. */
interface WithMetadata {
  readonly providerMetadata?: AiSdkMetadata
}

/** The agent has run its tools itself: the client has nothing to do. */
interface ProviderExecuted {
  readonly dynamic: true
  readonly providerExecuted: true
}

/** A record without its own chunk is sent as data; a transient one only goes to `onData`. */
export interface AiSdkData {
  readonly type: `data-${'user' | 'payload' | 'artifact' | 'diagnostic' | 'status' | 'result' | 'end' | 'raw'}`
  readonly id: string
  readonly data: unknown
  readonly transient?: true
}

const called = { dynamic: true, providerExecuted: true } as const

/**
 * The stage of `aiSdk()`: events as the chunks of one AI SDK message, which `useChat` shows while it grows.
 * The attempts of a run are the steps of the message. `finish`, followed by `error` if the run failed, comes
 * when the events end, because another attempt may follow before; if it was stopped, `abort` comes instead.
 *
 * @example
 * const chunks = drive(aiSdkStage(), [event]) // [{ type: 'start', … }, { type: 'start-step' }, …]
 */
export function aiSdkStage(): Stage<AgentEvent, AiSdkChunk> {
  return (next) => new AiSdkSink(next)
}

/** Turns the events of a stream into the chunks of one message. */
class AiSdkSink implements Sink<AgentEvent> {
  readonly #next: Sink<AiSdkChunk>
  /** A call is remembered by the id that was sent. */
  readonly #walk = new ProtocolWalk<string>(this.#emitters())
  #about: AiSdkMessageMetadata | undefined
  /** The last event of the attempt whose step is open. */
  #step: AgentEvent | undefined
  #ended: CompletionData | undefined

  constructor(next: Sink<AiSdkChunk>) {
    this.#next = next
  }

  #emitters(): Emitters<string> {
    return {
      message: {
        ...this.#said('text'),
        end: (event, { id }, how) => {
          this.#say({ type: 'text-end', id, ...metadata(endFacts(event, how)) })
          // Cast: only a final message ends so.
          if (how === 'final') this.#payload(event, event.data as MessageData)
        },
      },
      thought: {
        ...this.#said('reasoning'),
        end: (event, { id }, how) => {
          const { incomplete, superseded } = endFacts(event, how)
          this.#say({ type: 'reasoning-end', id, ...metadata({ incomplete, superseded }) })
        },
      },
      input: {
        start: (event, { id }) => this.#startInput(id, event.data as ToolData), // cast: a piece has its name
        send: (_, { id }, inputTextDelta) =>
          this.#say({ type: 'tool-input-delta', toolCallId: id, inputTextDelta }),
        end() {},
      },
      call: (event, data) => this.#startCall(event, data),
      result: (event, toolCallId) => this.#endCall(event, toolCallId),
      other: (event) => this.#other(event),
    }
  }

  /** How a message or a thought begins and goes on. */
  #said(kind: 'text' | 'reasoning'): Pick<TextSink, 'start' | 'send'> {
    return {
      start: (_, { id, parent }) =>
        this.#say({ type: `${kind}-start`, id, ...metadata({ parent_call_id: parent }) }),
      send: (_, { id }, delta) => this.#say({ type: `${kind}-delta`, id, delta }),
    }
  }

  write(event: AgentEvent) {
    if (this.#step?.attempt_number !== event.attempt_number) {
      this.#endStep()
      this.#begin(event)
    }
    this.#step = event
    const { session_id } = event.correlation
    if (session_id !== undefined && this.#about) this.#about = { ...this.#about, session_id }
    this.#walk.take(event)
  }

  #other(event: AgentEvent) {
    switch (event.type) {
      case 'user.message':
        return this.#keep(event, 'data-user')
      case 'artifact.created':
      case 'artifact.modified':
      case 'artifact.deleted':
        return this.#keep(event, 'data-artifact')
      case 'diagnostic.parser.warning':
      case 'diagnostic.engine.error':
        return this.#keep(event, 'data-diagnostic')
      case 'lifecycle.run.result':
        return this.#keep(event, 'data-result')
      case 'lifecycle.run.status': {
        const { model, tokens, usage, request, request_id } = event.data
        if (model !== undefined && this.#about) this.#about = { ...this.#about, model }
        const asked = request !== undefined || request_id !== undefined
        const reported = asked || tokens !== undefined || usage !== undefined
        return reported ? this.#keep(event, 'data-status') : this.#mention(event, 'data-status')
      }
      case 'lifecycle.completion.state':
        this.#keep(event, 'data-end')
        this.#ended = event.data
        return this.#endStep()
      case 'raw.stdout':
      case 'raw.stderr':
      case 'raw.pty':
      case 'raw.stdin':
        return this.#mention(event, 'data-raw')
    }
  }

  end(): void {
    this.#endStep()
    this.#finish()
    this.#next.end()
  }

  #say(chunk: AiSdkChunk): void {
    this.#next.write(chunk)
  }

  #keep(event: AgentEvent, type: AiSdkData['type'], data: unknown = event): void {
    this.#say({ type, id: eventPlace(event), data })
  }

  #mention(event: AgentEvent, type: AiSdkData['type']): void {
    this.#say({ type, id: eventPlace(event), data: event, transient: true })
  }

  #begin(event: AgentEvent): void {
    const first = this.#about === undefined
    const { session_id } = event.correlation
    this.#about = {
      ...this.#about,
      run_id: event.run_id,
      engine: event.source.engine,
      ...(session_id !== undefined && { session_id }),
    }
    if (first) this.#say({ type: 'start', messageId: event.run_id, messageMetadata: this.#about })
    this.#say({ type: 'start-step' })
    this.#ended = undefined
  }

  #payload(event: AgentEvent, { message_id, structured_payload, repair_level }: MessageData): void {
    if (structured_payload !== undefined)
      this.#keep(event, 'data-payload', { message_id, structured_payload, repair_level })
  }

  #startInput(toolCallId: string, { name }: Pick<ToolData, 'name'>): void {
    this.#say({ type: 'tool-input-start', toolCallId, toolName: name, ...called })
  }

  #startCall(event: AgentEvent, data: ToolData): string {
    const known = this.#walk.inputs.take(data.call_id)
    const toolCallId = known?.id ?? this.#walk.unique(data.call_id, event)
    if (!known) this.#startInput(toolCallId, data)
    const tool = { toolCallId, toolName: data.name, ...called }
    const { parent_call_id, input = null } = data
    this.#say({ type: 'tool-input-available', ...tool, input, ...metadata({ parent_call_id }) })
    return toolCallId
  }

  #endCall(event: CallEnd, toolCallId: string): void {
    const { data } = event
    const { exit_code, error, duration_ms, output = null } = data
    if (event.type === 'tool.call.completed')
      this.#say({
        type: 'tool-output-available',
        toolCallId,
        output,
        ...called,
        ...metadata({ exit_code, duration_ms }),
      })
    else
      this.#say({
        type: 'tool-output-error',
        toolCallId,
        errorText: failureText(data),
        ...called,
        ...metadata({ exit_code, duration_ms, error, output: data.output }),
      })
  }

  /** Ends the attempt, and everything it left open. */
  #endStep(): void {
    if (!this.#step) return
    this.#walk.endAll(this.#step)
    this.#step = undefined
    this.#say({ type: 'finish-step' })
  }

  #finish(): void {
    if (!this.#about) return
    const ended = this.#ended
    const outcome = ended && outcomeOf(ended)
    const messageMetadata = {
      ...this.#about,
      ...(outcome && { outcome }),
      ...(ended?.tokens && { tokens: ended.tokens }),
      ...(ended?.cost && { cost: ended.cost }),
    }
    if (outcome === 'cancelled') {
      this.#say({ type: 'message-metadata', messageMetadata })
      this.#say({ type: 'abort', reason: ended?.evidence.stopped ?? outcome })
      return
    }
    const good = isGood(outcome) || outcome === 'needs_input'
    const finishReason = good ? 'stop' : outcome === 'failed' ? 'error' : 'other'
    this.#say({ type: 'finish', finishReason, messageMetadata })
    // Last, because `useChat` stops there.
    if (outcome === 'failed')
      this.#say({
        type: 'error',
        errorText: ended?.problem ?? ended?.evidence.failure ?? endPhrase(outcome, ended?.failure_class),
      })
  }
}

function endFacts(event: AgentEvent, how: TextEnd): Readonly<Record<string, unknown>> {
  if (how === 'superseded') return { superseded: true }
  if (how === 'left') return { incomplete: true }
  // Cast: only a final message ends so.
  const { incomplete, parent_call_id, repair_level } = event.data as MessageData
  return { incomplete, parent_call_id, repair_level }
}

function metadata(facts: Readonly<Record<string, unknown>>): { providerMetadata?: AiSdkMetadata } {
  const sluice = defined(facts)
  return Object.keys(sluice).length > 0 ? { providerMetadata: { sluice } } : {}
}
