import { checkOptions } from '../base/check-options.ts'
import type { Intake, Sink, Stage } from '../base/stage.ts'
import { checkEngine, guarded } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import { type AgentEvent, eventsOnly } from '../events/event.ts'
import { type EventOptions, eventStage } from '../events/event-stage.ts'
import type { Frame } from '../frames/frame.ts'
import { FRAME_OPTIONS, type FrameOptions, scanStage, TURN } from '../frames/frames.ts'
import { chunkIntake, eventIntake } from '../text/chunk.ts'
import type { Outcome } from '../values/outcome.ts'
import type { Schema, SchemaOutput } from '../values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../values/values.ts'
import { type AgUiEvent, type AgUiOptions, agUiStage } from '../views/ag-ui.ts'
import { type AiSdkChunk, aiSdkStage } from '../views/ai-sdk.ts'
import { type Chat, type ChatOptions, chatStage } from '../views/chat.ts'

/** Results that may wait for the reader before a source must wait. */
const MAX_WAITING = 64
/** Bytes that are fed at once, which bounds the number of results of one portion. */
const PORTION = 16 * 1024

/**
 * What `pipeThrough` takes: bytes or text in, results out.
 *
 * @example
 * const flow: WebFlow<Frame> = frames({ lines: true })
 */
export interface WebFlow<Out> {
  readonly readable: ReadableStream<Out>
  readonly writable: WritableStream<unknown>
}

/**
 * A stage as a Web stream. A plain TransformStream cannot wait for room while it works on one chunk, so one
 * megabyte of small records would all be queued: this one feeds a chunk in portions and waits between them.
 */
export function webFlow<In, Out>(stage: Stage<In, Out>, intake: Intake<In>): WebFlow<Out> {
  let out!: ReadableStreamDefaultController<Out>
  let roomy: (() => void) | undefined
  let left = false
  const room = async (): Promise<void> => {
    while (!left && (out.desiredSize ?? 0) <= 0)
      await new Promise<void>((resolve) => {
        roomy = resolve
      })
  }
  const wake = () => {
    roomy?.()
    roomy = undefined
  }

  const sink: Sink<In> = stage({
    write: (value) => {
      if (!left) out.enqueue(value)
    },
    end() {},
  })

  /** Continues what the stage left undone because one turn was used up. */
  const finishTurn = async (): Promise<void> => {
    while (!left && sink.more?.()) await room()
  }

  const feed = async (input: In): Promise<void> => {
    const size = intake.size(input)
    if (size === 0) sink.write(input)
    for (let from = 0; from < size && !left; from += PORTION) {
      await room()
      sink.write(intake.portion(input, from, Math.min(size, from + PORTION)))
      await finishTurn()
    }
  }

  /** Reports an error to both sides: a reader that does not get it would wait forever. */
  const orFail = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      out.error(error)
      throw error
    }
  }

  const readable = new ReadableStream<Out>(
    {
      start(controller) {
        out = controller
      },
      pull: wake,
      cancel() {
        left = true
        wake()
      },
    },
    { highWaterMark: MAX_WAITING },
  )
  const writable = new WritableStream<unknown>({
    async write(written, controller) {
      await orFail(async () => feed(intake.take(written)))
      // Nothing more is wanted, so the source must end, too.
      if (left) controller.error(new DOMException('the reader has left', 'AbortError'))
    },
    close: () =>
      orFail(async () => {
        const rest = intake.rest?.()
        if (rest !== undefined) await feed(rest)
        sink.end()
        await finishTurn()
        if (!left) out.close()
      }),
    abort(reason) {
      left = true
      wake()
      out.error(reason)
    },
  })
  return { readable, writable }
}

/**
 * `frames()` of the Node entry, for `pipeThrough`.
 *
 * @example
 * for await (const frame of response.body.pipeThrough(frames({ lines: true }))) console.log(frame.kind)
 */
export function frames(options: FrameOptions = {}): WebFlow<Frame> {
  checkOptions('frames', options, 'frames({ lines: true })', FRAME_OPTIONS)
  return webFlow(scanStage({ ...options, turn: TURN }), chunkIntake())
}

/**
 * `values()` of the Node entry, for `pipeThrough`. A JSON Schema has to be wrapped with `jsonSchema()`.
 *
 * @example
 * for await (const outcome of response.body.pipeThrough(values({ lines: true }))) if (outcome.ok)
 * console.log(outcome.value)
 */
export function values<S extends Schema | undefined = undefined>(
  options: Omit<ValuesOptions<S>, 'signal'> = {},
): WebFlow<Outcome<SchemaOutput<S>>> {
  return webFlow(valueStage(options, TURN), chunkIntake())
}

/**
 * `events()` of the Node entry, for `pipeThrough`. There is no file system, so links out of `dir` cannot be
 * followed.
 *
 * @example
 * for await (const event of response.body.pipeThrough(events(codex))) console.log(event.type)
 */
export function events(engine: Engine | Picker, options: EventOptions = {}): WebFlow<AgentEvent> {
  checkEngine('events', engine)
  return webFlow(eventStage(guarded(engine), options), eventIntake())
}

/**
 * `chat()` of the Node entry, for `pipeThrough`.
 *
 * @example
 * const conversation = response.body.pipeThrough(events(auto)).pipeThrough(chat())
 */
export function chat(options: ChatOptions = {}): WebFlow<Chat> {
  return webFlow(chatStage(options), eventsOnly('chat')())
}

/**
 * `agUi()` of `agent-sluice/views`, for `pipeThrough`.
 *
 * @example
 * for await (const event of response.body.pipeThrough(events(codex)).pipeThrough(agUi()))
 * console.log(event.type)
 */
export function agUi(options: AgUiOptions = {}): WebFlow<AgUiEvent> {
  return webFlow(agUiStage(options), eventsOnly('agUi')())
}

/**
 * `aiSdk()` of `agent-sluice/views`, for `pipeThrough`: a stream that `readUIMessageStream` takes as it is.
 *
 * @example
 * const stream = response.body.pipeThrough(events(codex)).pipeThrough(aiSdk())
 */
export function aiSdk(): WebFlow<AiSdkChunk> {
  return webFlow(aiSdkStage(), eventsOnly('aiSdk')())
}
