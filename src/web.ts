// agent-sluice/web: the core over Web Streams, for browsers and edge workers. Nothing of Node is in it.
export {
  type Breakage,
  type Change,
  type Code,
  codes,
  Fault,
  type FaultDetails,
  type Note,
  type SchemaError,
} from './base/fault.ts'
export { drive, join, type Sink, type Stage } from './base/stage.ts'
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
export type { WebFlow } from './streams/web.ts'
export { chat, events, frames, values } from './streams/web-doors.ts'
export type { ProtoKeys } from './values/ladder/proto.ts'
export type { Bad, Comment, Good, Outcome, RepairLevel } from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { Pick } from './values/pick.ts'
export type { Schema, Value } from './values/schema/schema.ts'
export {
  type Normalizer,
  type OutcomeOptions,
  outcomeStage,
  type ValuesOptions,
  valueStage,
} from './values/values.ts'
