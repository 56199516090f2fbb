// agent-sluice/serve: stores, prints, streams and shows events.
export * from './core-exports.ts'
export * from './serve-exports.ts'
export * from './stream-exports.ts'
export { sseMessage } from './streams/sse.ts'
