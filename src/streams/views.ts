import { checkOptions } from '../base/check-options.ts'
import type { Sink } from '../base/stage.ts'
import { type AgentEvent, eventsOnly } from '../events/event.ts'
import { AG_UI_OPTIONS, type AgUiEvent, type AgUiOptions, agUiStage } from '../views/ag-ui.ts'
import { type AiSdkChunk, aiSdkStage } from '../views/ai-sdk.ts'
import {
  LANGUAGE_MODEL_OPTIONS,
  type LanguageModelOptions,
  type LanguageModelPart,
  languageModelStage,
} from '../views/language-model.ts'
import { MARKDOWN_OPTIONS, type MarkdownOptions, markdownStage } from '../views/markdown/markdown.ts'
import { type OtelOptions, type OtelTracer, otelStage } from '../views/otel.ts'
import { checkRedacting, type RedactOptions, type Redactor } from '../views/redact/redact.ts'
import { redactStage } from '../views/redact/redact-stage.ts'
import { type Flow, flow } from './flow.ts'

interface Abortable {
  /** Aborting it destroys the flow. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Turns events into those of AG-UI 1.0. Each record is included, as `rawEvent` of the first event that is
 * made of it.
 *
 * @example
 * for await (const event of run('codex', ['exec', '--json', 'fix the test']).pipe(agUi()))
 * console.log(event.type)
 */
export function agUi(options: AgUiOptions & Abortable = {}): Flow<AgUiEvent> {
  checkOptions('agUi', options, 'agUi({ raw: false })', AG_UI_OPTIONS)
  return flow(agUiStage(options), { signal: options.signal, intake: eventsOnly('agUi') })
}

/**
 * Turns events into the chunks of an AI SDK UI message stream, which `useChat` and `readUIMessageStream`
 * accept.
 *
 * @example
 * for await (const chunk of run('codex', ['exec', '--json', 'fix the test']).pipe(aiSdk()))
 * console.log(chunk.type)
 */
export function aiSdk(options: Abortable = {}): Flow<AiSdkChunk> {
  checkOptions('aiSdk', options, 'aiSdk({ signal })', {})
  return flow(aiSdkStage(), { signal: options.signal, intake: eventsOnly('aiSdk') })
}

/**
 * Turns events into what a language model of the AI SDK streams, so that a provider can have an agent CLI as
 * its model. `examples/ai-provider.ts` is such a provider.
 *
 * @example
 * for await (const part of run('codex', ['exec', '--json', 'fix the test']).pipe(languageModel()))
 * console.log(part.type)
 */
export function languageModel(options: LanguageModelOptions & Abortable = {}): Flow<LanguageModelPart> {
  const example = "languageModel({ text: 'result' })"
  checkOptions('languageModel', options, example, LANGUAGE_MODEL_OPTIONS)
  const { signal, ...rest } = options
  return flow(languageModelStage(rest), { signal, intake: eventsOnly('languageModel') })
}

/**
 * Passes events on and makes OpenTelemetry spans of them: one for each attempt, and a child for each tool
 * call. The tracer is yours, and decides where its spans go. If the flow is destroyed, its spans are ended.
 *
 * @example
 * const traced = run('codex', ['exec', '--json', 'fix the test']).pipe(otel(trace.getTracer('my-app')))
 * for await (const event of traced) console.log(event.type)
 */
export function otel(tracer: OtelTracer, options: OtelOptions & Abortable = {}): Flow<AgentEvent> {
  const stage = otelStage(tracer, options)
  let spans: Sink<AgentEvent> | undefined
  const made = flow<AgentEvent, AgentEvent>(
    (next) => {
      spans = stage(next)
      return spans
    },
    { signal: options.signal, intake: eventsOnly('otel') },
  )
  // Destroyed before its end: end the open spans here. After an end none are open.
  made.once('close', () => spans?.end())
  return made
}

/**
 * A run as Markdown that reads well in an issue, as one text at its end; see `markdownStage`.
 *
 * @example
 * await pipeline(replay('.audit/latest'), redact(), markdown(), stream)
 */
export function markdown(options: MarkdownOptions & Abortable = {}): Flow<string> {
  checkOptions('markdown', options, 'markdown({ maxLength: 60_000 })', MARKDOWN_OPTIONS)
  return flow(markdownStage(options), { signal: options.signal, intake: eventsOnly('markdown') })
}

/**
 * Hides keys, tokens and passwords in events; see `redactStage` for how. Pass a `redactor` to find out how
 * many were hidden.
 *
 * @example
 * await pipeline(replay('.audit/latest'), redact(), jsonl(), stream)
 */
export function redact(options: (RedactOptions & Abortable) | Redactor = {}): Flow<AgentEvent> {
  checkRedacting('redact', options)
  const intake = eventsOnly<AgentEvent>('redact')
  if ('event' in options) return flow(redactStage(options), { intake })
  const { signal, ...rest } = options
  return flow(redactStage(rest), { signal, intake })
}
