// agent-sluice/ask: asks a model until its answer parses.
export { retryInChinese, retryInEnglish } from './ask/retry-prompt.ts'
export * from './ask-exports.ts'
export * from './cache-exports.ts'
export * from './core-exports.ts'
export * from './value-exports.ts'
