// Storing, printing and serving events: the part that the root exports.
export type { RunInfo } from './serve/run-info.ts'
export { serve } from './serve/serve.ts'
export type { Served, ServeOptions } from './serve/serve-options.ts'
export { type JournalOptions, journal } from './sinks/journal.ts'
export { jsonl } from './sinks/jsonl.ts'
export { type SseMessage, type SseOptions, sse } from './sinks/sse.ts'
