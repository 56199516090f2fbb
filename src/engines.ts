// agent-sluice/engines: what the file of an engine needs (docs/new-engine.md).
// It is an entry of its own because the root already has an engine named `text`.
export {
  type Call,
  type Cut,
  type EngineFrame,
  isRecord,
  type Limits,
  type Picker,
  type Profile,
  type Reader,
  type RunFacts,
  type Say,
  type Speaker,
  type StatusFacts,
  text,
} from './events/profile.ts'
export { type Tokens, tokensOf } from './events/tokens.ts'
