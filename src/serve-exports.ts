// Keeping, printing and serving events: what the root has of it.
export type { RunInfo } from './serve/run-info.ts'
export { type Served, type ServeOptions, serve } from './serve/server.ts'
export { type JournalOptions, journal } from './sinks/journal.ts'
export { jsonl } from './sinks/jsonl.ts'
export { type SseMessage, type SseOptions, sse } from './sinks/sse.ts'
