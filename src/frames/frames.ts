import { type Flow, flow } from '../base/flow.ts'
import type { Stage } from '../base/stage.ts'
import { type Chunk, chunkIntake } from './chunk.ts'
import type { Frame } from './frame.ts'

/** What to cut. Every kind is on by default; what is not cut is text. */
export interface FrameOptions {
  /** Names of the tags whose blocks are cut; `[]` for none. @default ['json'] */
  readonly tags?: readonly string[] | undefined
  /** Cut CommonMark fenced blocks. @default true */
  readonly fences?: boolean | undefined
  /** Cut NDJSON lines. @default true */
  readonly lines?: boolean | undefined
  /** Cut bare objects and arrays of objects in prose. @default true */
  readonly objects?: boolean | undefined
  /** Skip `<think>` and `<thinking>` blocks. @default true */
  readonly think?: boolean | undefined
  /** Emit the ranges between payloads as text frames. @default true */
  readonly text?: boolean | undefined
  /** Bytes a frame may have before it is let go as text with FRAME_TOO_LONG. @default 16 MiB */
  readonly maxFrame?: number | undefined
}

export function frames(
  options: FrameOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<Frame> {
  return flow(frameStage(options), { signal: options.signal, intake: chunkIntake })
}

export function frameStage(_options: FrameOptions = {}): Stage<Chunk, Frame> {
  throw new Error('under way')
}
