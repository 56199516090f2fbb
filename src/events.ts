// agent-sluice/events: events and conversations from the output of agents.
export { drive, join } from './base/stage.ts'
export * from './core-exports.ts'
export {
  acp,
  amp,
  cline,
  continue as continueCli,
  cursor,
  droid,
  grok,
  kilo,
  nanocoder,
  pi,
  text,
} from './engines/all-engines.ts'
export * from './event-exports.ts'
export { isEvent } from './events/event.ts'
export { eventStage } from './events/event-stage.ts'
export { outcomeOf, outcomeWords } from './events/run-outcome.ts'
export { frameStage } from './frames/frames.ts'
export { chat, events } from './streams/events.ts'
export type { ReadableItems } from './streams/flow.ts'
export { type Flow, type FlowOptions, flow } from './streams/flow.ts'
export type { FetchedBody, PlainSource } from './streams/tap.ts'
export { type ProcessExit, type TapOptions, type TapSources, tap } from './streams/tap.ts'
export { chatStage } from './views/chat.ts'
