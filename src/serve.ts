// agent-sluice/serve: events are kept, printed, streamed and shown.
export * from './core-exports.ts'
export * from './serve-exports.ts'
export { sseMessage } from './sinks/sse.ts'
export * from './stream-exports.ts'
