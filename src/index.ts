export { type Code, codes, Fault, type FaultDetails, type Note, type SchemaError } from './base/fault.ts'
export { type Flow, type FlowOptions, flow, type Intake } from './base/flow.ts'
export { drive, join, type Sink, type Stage } from './base/stage.ts'
export {
  type Chat,
  type ChatData,
  type ChatEnd,
  type ChatOf,
  type ChatOptions,
  type ChatType,
  chat,
  chatStage,
} from './chat/chat.ts'
export { auto } from './engines/auto.ts'
export { engines } from './engines/engines.ts'
export { claude, codex, gemini, iflow, opencode, qwen, text } from './engines/index.ts'
export type { FsDiff } from './events/artifacts.ts'
export {
  type CompletionData,
  type EndReason,
  type EndState,
  type Event,
  type EventData,
  type EventOf,
  type EventType,
  isEvent,
  type RawRef,
  type ResultData,
  type Severity,
} from './events/event.ts'
export { type EventOptions, eventStage, events } from './events/events.ts'
export type { Call, Cut, EngineFrame, Picker, Profile, Reader, Say, Speaker } from './events/profile.ts'
export type { BytesChunk, Channel, Chunk, ExitChunk } from './frames/chunk.ts'
export type { Frame, FrameKind } from './frames/frame.ts'
export { type FrameOptions, frameStage, frames } from './frames/frames.ts'
export { type Exit, type TapOptions, type TapSources, tap } from './frames/tap.ts'
export { type JsonSchema, jsonSchema } from './values/json-schema.ts'
export type { Bad, Comment, Good, Outcome, RepairLevel } from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { Pick } from './values/pick.ts'
export type { ProtoKeys } from './values/proto.ts'
export type { Schema, Value } from './values/schema.ts'
export { type Normalizer, type ValuesOptions, valueStage, values } from './values/values.ts'
