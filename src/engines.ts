/** What the file of an engine needs (docs/new-engine.md). The root has an engine that is called `text`, so this is a door of its own. */
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
