// agent-sluice/views: the events of a run in other formats.
export * from './core-exports.ts'
export * from './stream-exports.ts'
export { markdown } from './streams/markdown.ts'
export { redact } from './streams/redact.ts'
export * from './view-exports.ts'
