// agent-sluice: what most programs need. The rest is in the other entries (docs/runtimes.md).
import { plainSchema } from './values/schema/plain-schemas.ts'
import { acceptPlainSchemas } from './values/schema/schema.ts'

// `/json-schema` does so, too, with an ajv that bundlers see.
acceptPlainSchemas(plainSchema, 'unless another does')

export { ask, type DeepPartial, type Snapshot } from './ask/ask.ts'
export type { AskAnswer, AskAttempt, AskCall, AskOptions, AskRequest } from './ask/options.ts'
export type { FailedAnswer, RetryPrompt } from './ask/retry-prompt.ts'
export type { Duration } from './base/duration.ts'
export {
  type Breakage,
  type Code,
  type FailedAttempt,
  Fault,
  type FaultDetails,
  type Note,
  type RepairChange,
  type SchemaError,
} from './base/fault.ts'
export {
  type Cache,
  type CachedRun,
  type CacheEntry,
  type FileCacheOptions,
  fileCache,
} from './disk/cache.ts'
export { type JournalOptions, journal } from './disk/journal.ts'
export { auto } from './engines/auto.ts'
export type { EngineName } from './engines/engine-name.ts'
export type { FsDiff } from './events/artifacts.ts'
export type { Cost } from './events/cost.ts'
export type { Engine, Picker } from './events/engine.ts'
export type {
  AgentEvent,
  AgentRequest,
  CompletionData,
  EndReason,
  EndState,
  EventData,
  EventOf,
  EventType,
  EventWithRecord,
  Evidence,
  FailureClass,
  RawRef,
  RequestOption,
  RequestQuestion,
  ResultData,
  SettledBy,
  Severity,
  ToolKind,
} from './events/event.ts'
export type { EventOptions } from './events/event-stage.ts'
export type { RunOutcome } from './events/run-outcome.ts'
export type { Tokens } from './events/tokens.ts'
export type { Frame, FrameKind } from './frames/frame.ts'
export type { FrameOptions } from './frames/frames.ts'
export type { SpawnLike } from './process/process.ts'
export type { ChildLike } from './process/supervise.ts'
export type { StopReason } from './run/meta.ts'
export type { RecordedOptions } from './run/read-attempt.ts'
export { type ReplayOptions, replay } from './run/replay.ts'
export { type ResumeReport, resume } from './run/resume.ts'
export { reply, run } from './run/run.ts'
export type { Limits } from './run/run-limits.ts'
export type { ReplyOptions, Run, RunCommand, RunEnd, RunOptions } from './run/run-options.ts'
export type { RequestAnswer } from './run/talk.ts'
export { chat } from './streams/events.ts'
export { events } from './streams/events-by-name.ts'
export type { Flow, ReadableItems } from './streams/flow.ts'
export { jsonl } from './streams/jsonl.ts'
export { type LineReader, lineReader } from './streams/line-reader.ts'
export { type SseOptions, sse } from './streams/sse.ts'
export {
  type FetchedBody,
  type PlainSource,
  type ProcessExit,
  type TapOptions,
  type TapSources,
  type TapTextOptions,
  tap,
} from './streams/tap.ts'
export { frames, values } from './streams/values.ts'
export type { BytesChunk, Channel, Chunk, ExitChunk } from './text/chunk.ts'
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
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
export type { Schema, SchemaOutput } from './values/schema/schema.ts'
export type { Normalizer, ValuesOptions } from './values/values.ts'
export type { JsonScalar, Where } from './values/where/conditions.ts'
export type { DroppedLines } from './values/where/where.ts'
export type { Chat, ChatData, ChatEnd, ChatOptions, ChatType, ConversationEnd } from './views/chat.ts'
