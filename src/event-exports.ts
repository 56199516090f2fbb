// Engines, events and conversations, without streams.
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
export type { Tokens } from './events/tokens.ts'
