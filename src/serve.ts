// agent-sluice/serve: stores, prints, streams and shows events.
export * from './core-exports.ts'
export * from './serve-exports.ts'
export { sseMessage } from './sinks/sse.ts'
export * from './stream-exports.ts'
