// agent-sluice/events: events and conversations out of the output of agents.
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
export { chat } from './streams/chat.ts'
export { events } from './streams/events.ts'
export { type Exit, type TapOptions, type TapSources, tap } from './streams/tap.ts'
