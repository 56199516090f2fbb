// agent-sluice/engines: the engines, and what a file with one needs (docs/new-engine.md).
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
} from './engines/all-engines.ts'
export { auto } from './engines/auto.ts'
export { engines } from './engines/engines-by-name.ts'
export { type Cost, costOf } from './events/cost.ts'
export {
  asText,
  type CallFacts,
  type Engine,
  type EngineCut,
  type EngineFrame,
  type EngineReader,
  type ErrorFacts,
  type FailureTable,
  isRecord,
  type LastTurn,
  type MessageFacts,
  type Picker,
  type ReaderOptions,
  type RunFacts,
  type Say,
  type StatusFacts,
  type ToolTable,
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
