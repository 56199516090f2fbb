// agent-sluice/values: payloads from text and bytes, without a JSON Schema validator.
export * from './core-exports.ts'
export * from './stream-exports.ts'
export { frames } from './streams/frames.ts'
export { values } from './streams/values.ts'
export * from './value-exports.ts'
export * from './value-stages.ts'
