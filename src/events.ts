// agent-sluice/events: events and conversations from the output of agents.
export * from './core-exports.ts'
export * from './event-exports.ts'
export * from './event-stages.ts'
export * from './stream-exports.ts'
export { chat } from './streams/chat.ts'
export { events } from './streams/events.ts'
export { type Exit, type TapOptions, type TapSources, tap } from './streams/tap.ts'
export type { FetchedBody, PlainSource } from './streams/tap-source.ts'
