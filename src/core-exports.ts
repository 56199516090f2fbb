// Exports of every entry: faults, and the building blocks of stages.
export {
  type Breakage,
  type Change,
  type Code,
  codes,
  type FailedAttempt,
  Fault,
  type FaultDetails,
  type Note,
  type SchemaError,
} from './base/fault.ts'
export { drive, type Intake, join, type Sink, type Stage } from './base/stage.ts'
export type { Frame, FrameKind } from './frames/frame.ts'
export type { FrameOptions } from './frames/frames.ts'
export type { BytesChunk, Channel, Chunk, ExitChunk } from './text/chunk.ts'
