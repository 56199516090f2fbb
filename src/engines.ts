// agent-sluice/engines: what a file with an engine needs (docs/new-engine.md).
// A separate entry, because the root already exports an engine named `text`.
export { type Cost, costOf } from './events/cost.ts'
export {
  type Call,
  type Cut as EngineCut,
  type Engine,
  type EngineFrame,
  type ErrorFacts,
  type FailureTable,
  isRecord,
  type LastTurn,
  type Limits,
  type Picker,
  type Reader,
  type RunFacts,
  type Say,
  type Speaker,
  type StatusFacts,
  type ToolTable,
  text,
} from './events/engine.ts'
export type {
  Wire,
  WireChoice,
  WireRecord,
  WireResult,
  WireStart,
  WireState,
  WireStep,
} from './events/talk-wire.ts'
export { type Tokens, tokensOf } from './events/tokens.ts'
