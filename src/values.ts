// agent-sluice/values: payloads out of text and bytes, without a JSON Schema validator.
export {
  type Breakage,
  type Change,
  type Code,
  codes,
  Fault,
  type FaultDetails,
  type Note,
  type SchemaError,
} from './base/fault.ts'
export { drive, join, type Sink, type Stage } from './base/stage.ts'
export type { BytesChunk, Channel, Chunk, ExitChunk } from './frames/chunk.ts'
export type { Frame, FrameKind } from './frames/frame.ts'
export { type FrameOptions, frameStage } from './frames/frames.ts'
export { frames } from './streams/frames.ts'
export { values } from './streams/values.ts'
export type { ProtoKeys } from './values/ladder/proto.ts'
export type { Bad, Comment, Good, Outcome, RepairLevel } from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { Pick } from './values/pick.ts'
export type { Schema, Value } from './values/schema/schema.ts'
export {
  type Normalizer,
  type OutcomeOptions,
  outcomeStage,
  type ValuesOptions,
  valueStage,
} from './values/values.ts'
