// agent-sluice/views: the events of a run in other formats.
export { drive, join } from './base/stage.ts'
export * from './core-exports.ts'
export { type Problem, type ProblemKind, problemOf } from './events/problems.ts'
export type { ReadableItems } from './streams/flow.ts'
export { type Flow, type FlowOptions, flow } from './streams/flow.ts'
export { agUiSse, aiSdkHeaders, aiSdkSse } from './streams/view-sse.ts'
export { agUi, aiSdk, languageModel, markdown, otel, redact } from './streams/views.ts'
export {
  type AgUiBase,
  type AgUiEvent,
  type AgUiInterrupt,
  type AgUiOptions,
  type AgUiUsage,
  agUiStage,
} from './views/ag-ui.ts'
export {
  type AiSdkChunk,
  type AiSdkData,
  type AiSdkMessageMetadata,
  type AiSdkMetadata,
  aiSdkStage,
} from './views/ai-sdk.ts'
export {
  type JsonValue,
  type LanguageModelFacts,
  type LanguageModelOptions,
  type LanguageModelPart,
  type LanguageModelResult,
  type LanguageModelUsage,
  languageModelResult,
  languageModelStage,
} from './views/language-model.ts'
export { type MarkdownOptions, markdownStage } from './views/markdown/markdown.ts'
export {
  type OtelAttributes,
  type OtelContext,
  type OtelOptions,
  type OtelSpan,
  type OtelTracer,
  otelStage,
} from './views/otel.ts'
export {
  type HiddenSecrets,
  type RedactOptions,
  type Redactor,
  redactor,
} from './views/redact/redact.ts'
export { redactStage } from './views/redact/redact-stage.ts'
export { type RunSummary, summary } from './views/summary.ts'
export { type FailedCall, type WhyReport, why } from './views/why.ts'
