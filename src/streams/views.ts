import { checkOptions } from '../base/check-options.ts'
import type { Sink } from '../base/stage.ts'
import type { Event } from '../events/event.ts'
import { type AgUiEvent, type AgUiOptions, agUiStage } from '../views/ag-ui.ts'
import { type AiSdkChunk, aiSdkStage } from '../views/ai-sdk.ts'
import { type OtelOptions, type OtelTracer, otelStage } from '../views/otel.ts'
import { type Flow, flow } from './flow.ts'

interface Abortable {
  /** Aborting it destroys the flow. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Turns events into those of AG-UI 1.0. Each record goes along whole, as `rawEvent` of the first event that is made of it.
 *
 * @example
 * for await (const event of run('codex', ['exec', '--json', 'fix the test']).pipe(agUi())) console.log(event.type)
 */
export function agUi(options: AgUiOptions & Abortable = {}): Flow<AgUiEvent> {
  checkOptions('agUi', options, 'agUi({ raw: false })', { raw: 1 })
  return flow(agUiStage(options), { signal: options.signal })
}

/**
 * Turns events into the chunks of an AI SDK UI message stream, which `useChat` and `readUIMessageStream` take.
 *
 * @example
 * for await (const chunk of run('codex', ['exec', '--json', 'fix the test']).pipe(aiSdk())) console.log(chunk.type)
 */
export function aiSdk(options: Abortable = {}): Flow<AiSdkChunk> {
  checkOptions('aiSdk', options, 'aiSdk({ signal })', {})
  return flow(aiSdkStage(), { signal: options.signal })
}

/**
 * Lets events pass and makes OpenTelemetry spans of them: one for each attempt, and one below it for each call of a tool. The tracer is
 * yours, and so is where its spans go. A flow that is destroyed ends its spans.
 *
 * @example
 * for await (const event of run('codex', ['exec', '--json', 'fix the test']).pipe(otel(trace.getTracer('my-app')))) console.log(event.type)
 */
export function otel(tracer: OtelTracer, options: OtelOptions & Abortable = {}): Flow<Event> {
  const stage = otelStage(tracer, options)
  let spans: Sink<Event> | undefined
  const made = flow<Event, Event>(
    (next) => {
      spans = stage(next)
      return spans
    },
    { signal: options.signal },
  )
  // Without an end: then what is open ends here. After an end nothing is open.
  made.once('close', () => spans?.end())
  return made
}
