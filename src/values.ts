// agent-sluice/values: payloads from text and bytes, without a JSON Schema validator.
export type { DeepPartial } from './ask/ask.ts'
export { type SnapshotOptions, type SnapshotProgress, type Snapshots, snapshots } from './ask/snapshots.ts'
export { drive, join } from './base/stage.ts'
export * from './core-exports.ts'
export { frameStage } from './frames/frames.ts'
export type { ReadableItems } from './streams/flow.ts'
export { type Flow, type FlowOptions, flow } from './streams/flow.ts'
export { frames, values } from './streams/values.ts'
export type { ProtoKeys } from './values/attempt.ts'
export type {
  BadOutcome,
  CommentText,
  GoodOutcome,
  Outcome,
  RepairLevel,
} from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { PickRule } from './values/pick.ts'
export type { Schema, SchemaOutput } from './values/schema/schema.ts'
export {
  type Normalizer,
  type OutcomeOptions,
  outcomeStage,
  type ValuesOptions,
  valueStage,
} from './values/values.ts'
export type { JsonScalar, Where } from './values/where/conditions.ts'
export type { DroppedLines } from './values/where/where.ts'
