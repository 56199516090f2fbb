// agent-sluice/serve: stores, prints, streams and shows events.
export * from './core-exports.ts'
export { type JournalOptions, journal } from './disk/journal.ts'
export type { RunInfo } from './serve/run-info.ts'
export { serve } from './serve/serve.ts'
export type { Served, ServeOptions } from './serve/serve-options.ts'
export type { Flow, FlowOptions, Items } from './streams/flow.ts'
export { jsonl } from './streams/jsonl.ts'
export { type SseMessage, type SseOptions, sse, sseMessage } from './streams/sse.ts'
