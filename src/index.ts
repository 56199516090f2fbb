// agent-sluice: what most programs need. The rest is in the other entries (docs/runtimes.md).
export { ask, type DeepPartial, type Snapshot } from './ask/ask.ts'
export type { Answer, AskOptions, AskRequest, AttemptInfo, Call as AskCall } from './ask/options.ts'
export { type Failure, type RetryPrompt, retryInChinese, retryInEnglish } from './ask/retry-prompt.ts'
export type { Progress, SnapshotOptions, Snapshots } from './ask/snapshots.ts'
export * from './core-exports.ts'
export {
  type Cache,
  type CachedRun,
  type CacheEntry,
  type FileCacheOptions,
  fileCache,
} from './disk/cache.ts'
export type { JournalOptions } from './disk/journal.ts'
export type { EngineName } from './engines/engine-name.ts'
export * from './event-exports.ts'
export type { Problem, ProblemKind } from './events/problems.ts'
export type { MirrorOptions, MirrorProgress } from './nats/mirror.ts'
export type { NatsOptions, NatsTls } from './nats/nats-client.ts'
export type { NatsLedger, NatsLedgerOptions } from './nats/nats-ledger.ts'
export type { ShipOptions, ShipProgress } from './nats/ship.ts'
export type { SubscribeOptions } from './nats/subscribe.ts'
export type { SpawnLike } from './process/process.ts'
export type { ChildLike } from './process/supervise.ts'
export type { Meta, StopReason } from './run/meta.ts'
export { type ReplayOptions, replay } from './run/replay.ts'
export { type Resumed, resume } from './run/resume.ts'
export { type ReplyOptions, reply, run } from './run/run.ts'
export type { RunLimits } from './run/run-limits.ts'
export type { Run, RunCommand, RunEnd, RunOptions } from './run/run-options.ts'
export type { RequestAnswer } from './run/talk.ts'
export type { ExportFormat, RunExportOptions } from './serve/export.ts'
export type { RunInfo } from './serve/run-info.ts'
export type { Served, ServeOptions } from './serve/serve-options.ts'
export { chat } from './streams/events.ts'
export { events } from './streams/events-by-name.ts'
export type { Flow, FlowOptions, Items } from './streams/flow.ts'
export { jsonl } from './streams/jsonl.ts'
export { type LineReader, lineReader } from './streams/line-reader.ts'
export { type SseMessage, type SseOptions, sse } from './streams/sse.ts'
export {
  type Exit,
  type FetchedBody,
  type PlainSource,
  type TapOptions,
  type TapSources,
  tap,
} from './streams/tap.ts'
export { frames, values } from './streams/values.ts'
export type { ProtoKeys } from './values/attempt.ts'
export type {
  Bad as BadOutcome,
  Comment as CommentText,
  Good as GoodOutcome,
  Outcome,
  RepairLevel,
} from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { Pick as PickRule } from './values/pick.ts'
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
export type { Schema, Value } from './values/schema/schema.ts'
export type { Normalizer, OutcomeOptions, ValuesOptions } from './values/values.ts'
export type { Scalar, Where } from './values/where/conditions.ts'
export type { Dropped } from './values/where/where.ts'
export type { AgUiBase, AgUiEvent, AgUiInterrupt, AgUiOptions, AgUiUsage } from './views/ag-ui.ts'
export type { AiSdkChunk, AiSdkData, AiSdkMessageMetadata, AiSdkMetadata } from './views/ai-sdk.ts'
export type {
  JsonValue,
  LanguageModelFacts,
  LanguageModelOptions,
  LanguageModelPart,
  LanguageModelResult,
  LanguageModelUsage,
} from './views/language-model.ts'
export type { MarkdownOptions } from './views/markdown/markdown.ts'
export type { OtelAttributes, OtelContext, OtelOptions, OtelSpan, OtelTracer } from './views/otel.ts'
export type { Hidden, RedactOptions, Redactor } from './views/redact/redact.ts'
export type { RunSummary } from './views/summary.ts'
export type { FailedCall, Why } from './views/why.ts'
export type { Adapter } from './work/adapter.ts'
export type { Delivery, WorkAudit } from './work/audit.ts'
export type { Work } from './work/finish.ts'
export type { Ledger, LedgerEntry } from './work/ledger.ts'
export type { WorkOrder } from './work/order.ts'
export type { Outbox, Post, PostKey } from './work/outbox.ts'
export type { Claim, Repaired, Status, WorkResult } from './work/result.ts'
export type { Found as FoundResult } from './work/result-file.ts'
export type {
  Evidence as WorkEvidence,
  Settled,
  Source as EvidenceSource,
  Step as SettleStep,
  Verdict,
  WorkExit,
} from './work/settle.ts'
export type { WorkOptions } from './work/work.ts'
