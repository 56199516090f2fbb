import type { Engine, Picker } from '../events/engine.ts'
import type { Event } from '../events/event.ts'
import { type EventOptions, eventStage } from '../events/event-stage.ts'
import { guarded } from '../events/guard.ts'
import type { Frame } from '../frames/frame.ts'
import { type FrameOptions, frameStage, TURN } from '../frames/frames.ts'
import { chunkIntake, eventIntake } from '../text/chunk.ts'
import type { Outcome } from '../values/outcome.ts'
import type { Schema, Value } from '../values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../values/values.ts'
import { type AgUiEvent, type AgUiOptions, agUiStage } from '../views/ag-ui.ts'
import { type AiSdkChunk, aiSdkStage } from '../views/ai-sdk.ts'
import { type Chat, type ChatOptions, chatStage } from '../views/chat.ts'
import { eventsOnly } from './events-only.ts'
import { type WebFlow, webFlow } from './web.ts'

/**
 * `frames()` of the Node entry, for `pipeThrough`.
 *
 * @example
 * for await (const frame of response.body.pipeThrough(frames({ lines: true }))) console.log(frame.kind)
 */
export function frames(options: FrameOptions = {}): WebFlow<Frame> {
  return webFlow(frameStage({ ...options, turn: TURN }), chunkIntake())
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
): WebFlow<Outcome<Value<S>>> {
  return webFlow(valueStage(options, TURN), chunkIntake())
}

/**
 * `events()` of the Node entry, for `pipeThrough`. There is no file system, so links out of `dir` cannot be
 * followed.
 *
 * @example
 * for await (const event of response.body.pipeThrough(events(codex))) console.log(event.type)
 */
export function events(engine: Engine | Picker, options: EventOptions = {}): WebFlow<Event> {
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
