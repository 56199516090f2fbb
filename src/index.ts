export type { Answer, AskRequest, Call as AskCall } from './ask/answer.ts'
export { ask } from './ask/ask.ts'
export type { DeepPartial, Snapshot } from './ask/attempts.ts'
export type { AskOptions, AttemptInfo } from './ask/options.ts'
export { type Failure, type RetryPrompt, retryInChinese, retryInEnglish } from './ask/retry-prompt.ts'
export { type Progress, type SnapshotOptions, type Snapshots, snapshots } from './ask/snapshots.ts'
export {
  type Breakage,
  type Change,
  type Code,
  codes,
  type FailedAttempt,
  Fault,
  type FaultDetails,
  type Note,
  type SchemaError,
} from './base/fault.ts'
export { drive, type Intake, join, type Sink, type Stage } from './base/stage.ts'
export {
  type Chat,
  type ChatData,
  type ChatEnd,
  type ChatOf,
  type ChatOptions,
  type ChatType,
  chatStage,
} from './chat/chat.ts'
export { auto } from './engines/auto.ts'
export { engines } from './engines/engines.ts'
export {
  acp,
  amp,
  claude,
  cline,
  codex,
  continue as continueCli,
  copilot,
  cursor,
  droid,
  gemini,
  grok,
  iflow,
  kilo,
  nanocoder,
  opencode,
  pi,
  qwen,
  text,
} from './engines/index.ts'
export type { FsDiff } from './events/artifacts.ts'
export {
  type CompletionData,
  type EndReason,
  type EndState,
  type Event,
  type EventData,
  type EventOf,
  type EventType,
  type Evidence,
  isEvent,
  type RawRef,
  type ResultData,
  type Severity,
} from './events/event.ts'
export { type EventOptions, eventStage } from './events/event-stage.ts'
export type {
  Call,
  Cut,
  EngineFrame,
  Limits,
  Picker,
  Profile,
  Reader,
  RunFacts,
  Say,
  Speaker,
  StatusFacts,
} from './events/profile.ts'
export { type OutcomeEvidence, outcomeOf, outcomeWords, type RunOutcome } from './events/run-outcome.ts'
export { type Tokens, tokensOf } from './events/tokens.ts'
export type { BytesChunk, Channel, Chunk, ExitChunk } from './frames/chunk.ts'
export type { Frame, FrameKind } from './frames/frame.ts'
export { type FrameOptions, frameStage } from './frames/frames.ts'
export type { Meta, StopReason } from './run/meta.ts'
export { type ReplayOptions, replay } from './run/replay.ts'
export { type Resumed, resume } from './run/resume.ts'
export { type Run, type RunCommand, type RunEnd, type RunOptions, run } from './run/run.ts'
export { type Served, type ServeOptions, serve } from './serve/server.ts'
export type { Cache, CachedRun, CacheEntry } from './sinks/cache.ts'
export { type FileCacheOptions, fileCache } from './sinks/file-cache.ts'
export { type JournalOptions, journal } from './sinks/journal.ts'
export { jsonl } from './sinks/jsonl.ts'
export { type SseMessage, type SseOptions, sse, sseMessage } from './sinks/sse.ts'
export { chat } from './streams/chat.ts'
export { events } from './streams/events.ts'
export { type Flow, type FlowOptions, flow } from './streams/flow.ts'
export { frames } from './streams/frames.ts'
export type { Items } from './streams/items.ts'
export { type Exit, type TapOptions, type TapSources, tap } from './streams/tap.ts'
export type { FetchedBody, PlainSource } from './streams/tap-source.ts'
export { values } from './streams/values.ts'
export type { ProtoKeys } from './values/ladder/proto.ts'
export type { Bad, Comment, Good, Outcome, RepairLevel } from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { Pick } from './values/pick.ts'
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
export type { Schema, Value } from './values/schema/schema.ts'
export {
  type Normalizer,
  type OutcomeOptions,
  outcomeStage,
  type ValuesOptions,
  valueStage,
} from './values/values.ts'
export { type Adapter, adapters, findAdapter } from './work/adapter.ts'
export type { Delivery, WorkAudit } from './work/audit.ts'
export { brief } from './work/brief.ts'
export { commentTemplate } from './work/comment.ts'
export type { Found } from './work/file.ts'
export type { Work } from './work/finish.ts'
export { activate, type Ledger, type LedgerEntry, ledger } from './work/ledger.ts'
export { readOrder, type WorkOrder } from './work/order.ts'
export { type Outbox, outbox, type Post, type PostKey } from './work/outbox.ts'
export type { Repaired } from './work/repaired.ts'
export type { Claim, Status, WorkResult } from './work/result.ts'
export {
  type Evidence as WorkEvidence,
  type Settled,
  type Source,
  type Step,
  settle,
  type Verdict,
  type WorkExit,
} from './work/settle.ts'
export { type WorkOptions, work } from './work/work.ts'
