// agent-sluice/web: the core over Web Streams, for browsers and edge workers. It uses nothing of Node.
export { drive, join } from './base/stage.ts'
export * from './core-exports.ts'
export {
  acp,
  amp,
  cline,
  continue as continueCli,
  cursor,
  droid,
  grok,
  kilo,
  nanocoder,
  pi,
  text,
} from './engines/all-engines.ts'
export * from './event-exports.ts'
export { isEvent } from './events/event.ts'
export { eventStage } from './events/event-stage.ts'
export { outcomeOf, outcomeWords } from './events/run-outcome.ts'
export { frameStage } from './frames/frames.ts'
export { agUi, aiSdk, chat, events, frames, values, type WebFlow } from './streams/web.ts'
export type { ProtoKeys } from './values/attempt.ts'
export type {
  BadOutcome,
  CommentText,
  GoodOutcome,
  Outcome,
  RepairLevel,
} from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { PickRule } from './values/pick.ts'
export type { Schema, SchemaOutput } from './values/schema/schema.ts'
export {
  type Normalizer,
  type OutcomeOptions,
  outcomeStage,
  type ValuesOptions,
  valueStage,
} from './values/values.ts'
export type { JsonScalar, Where } from './values/where/conditions.ts'
export type { DroppedLines } from './values/where/where.ts'
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
export { chatStage } from './views/chat.ts'
