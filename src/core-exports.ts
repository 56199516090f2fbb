// Exports of every entry: faults, and what flows through the stages.
export {
  type Breakage,
  type Code,
  codes,
  type FailedAttempt,
  Fault,
  type FaultDetails,
  type Note,
  type RepairChange,
  type SchemaError,
} from './base/fault.ts'
export type { Intake, Sink, Stage } from './base/stage.ts'
export type { Frame, FrameKind } from './frames/frame.ts'
export type { FrameOptions } from './frames/frames.ts'
export type { BytesChunk, Channel, Chunk, ExitChunk } from './text/chunk.ts'
