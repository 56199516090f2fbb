// Engines, events and conversations: what events and web export.

export { claude, codex, copilot, gemini, iflow, opencode, qwen } from './engines/all-engines.ts'
export { auto } from './engines/auto.ts'
export { engines } from './engines/engines-by-name.ts'
export type { FsDiff } from './events/artifacts.ts'
export type { Cost } from './events/cost.ts'
export type {
  CallFacts,
  Engine,
  EngineCut,
  EngineFrame,
  EngineReader,
  ErrorFacts,
  FailureTable,
  LastTurn,
  MessageFacts,
  Picker,
  ReaderOptions,
  RequestFacts,
  RunFacts,
  Say,
  StatusFacts,
  ToolTable,
  TurnEnd,
} from './events/engine.ts'
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
export type { OutcomeEvidence, RunOutcome } from './events/run-outcome.ts'
export type {
  Wire,
  WireChoice,
  WireRecord,
  WireResult,
  WireStart,
  WireState,
  WireStep,
} from './events/talk-wire.ts'
export type { Tokens, TokensAndCost } from './events/tokens.ts'
export type { SentBy, ToldOrder } from './text/chunk.ts'
export type { Chat, ChatData, ChatEnd, ChatOf, ChatOptions, ChatType, ConversationEnd } from './views/chat.ts'
