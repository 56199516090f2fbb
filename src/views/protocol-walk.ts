import type { AgentEvent, EventOf, MessageData, ToolData, ToolInputData } from '../events/event.ts'
import { finishCall, OpenCalls, OpenTexts, type TextOf, type TextSink, uniqueIds } from './open-items.ts'

/** The end of a call. */
export type CallEnd = EventOf<'tool.call.completed' | 'tool.call.failed'>

/** What a protocol says of each part of a run; `Call` is what it remembers of an open call. */
export interface Emitters<Call> {
  readonly message: TextSink
  readonly thought: TextSink
  /** The input of a call, while the model writes it. */
  readonly input: TextSink
  /** A call begins. */
  readonly call: (event: AgentEvent, data: ToolData) => Call
  readonly result: (event: CallEnd, call: Call) => void
  /** All other events, and pieces that add nothing to a text. */
  readonly other: (event: AgentEvent) => void
}

/**
 * The walk over a run for protocols that send texts in pieces: which texts and calls are open, and what each
 * event adds to them. A protocol is a table of emitters.
 */
export class ProtocolWalk<Call> {
  /** Makes the ids of engines unique in the whole stream. */
  readonly unique = uniqueIds()
  /** The inputs of calls that have not begun. */
  readonly inputs: OpenTexts
  readonly calls = new OpenCalls<Call>()
  readonly #messages: OpenTexts
  readonly #thoughts: OpenTexts
  readonly #emit: Emitters<Call>

  constructor(emit: Emitters<Call>) {
    this.#emit = emit
    this.#messages = new OpenTexts(this.unique, emit.message)
    this.#thoughts = new OpenTexts(this.unique, emit.thought)
    this.inputs = new OpenTexts(this.unique, emit.input)
  }

  take(event: AgentEvent): void {
    switch (event.type) {
      case 'agent.message.delta':
        this.#piece(this.#messages, event, textIn(event.data))
        break
      case 'agent.message.final':
        this.#messages.final(event, textIn(event.data))
        break
      case 'agent.reasoning.delta':
        this.#piece(this.#thoughts, event, textIn(event.data))
        break
      case 'agent.reasoning.summary':
        this.#thoughts.final(event, textIn(event.data))
        break
      case 'tool.call.input.delta':
        this.#piece(this.inputs, event, inputIn(event.data))
        break
      case 'tool.call.started':
        this.#begin(event, event.data)
        break
      case 'tool.call.completed':
      case 'tool.call.failed': {
        const begin = () => this.#begin(event, event.data)
        this.#emit.result(event, finishCall(this.calls, event.data.call_id, begin))
        break
      }
      default:
        this.#emit.other(event)
    }
  }

  /** Ends all that is open, because the attempt has ended. */
  endAll(event: AgentEvent): void {
    for (const open of [this.#thoughts, this.#messages, this.inputs]) open.endAll(event)
    this.calls.takeAll()
  }

  #piece(texts: OpenTexts, event: AgentEvent, piece: TextOf): void {
    // A piece of an input may come after its call has begun, with all of the input.
    const isLate = texts === this.inputs && this.calls.find(piece.of) !== undefined
    if (piece.text === '' || isLate) this.#emit.other(event)
    else texts.delta(event, piece)
  }

  #begin(event: AgentEvent, data: ToolData): Call {
    const call = this.#emit.call(event, data)
    this.calls.start(data.call_id, call)
    return call
  }
}

function textIn({ message_id, text, parent_call_id }: MessageData): TextOf {
  return { of: message_id, text, parent: parent_call_id }
}

function inputIn({ call_id, text, parent_call_id }: ToolInputData): TextOf {
  return { of: call_id, text, parent: parent_call_id }
}
