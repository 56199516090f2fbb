// Storing, printing and serving events: the part that the root exports.

export { type JournalOptions, journal } from './disk/journal.ts'
export type { RunInfo } from './serve/run-info.ts'
export { serve } from './serve/serve.ts'
export type { Served, ServeOptions } from './serve/serve-options.ts'
export { jsonl } from './streams/jsonl.ts'
export { type SseMessage, type SseOptions, sse } from './streams/sse.ts'
