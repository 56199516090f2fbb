import { checkOptions } from '../base/check-options.ts'
import type { Frame } from '../frames/frame.ts'
import { FRAME_OPTIONS, type FrameOptions, frameStage, TURN } from '../frames/frames.ts'
import { chunkIntake } from '../text/chunk.ts'
import { type Flow, flow } from './flow.ts'

/**
 * Cuts bytes into frames: `<json>` blocks, fenced blocks, NDJSON lines, bare objects, and the text between
 * them. The frames of a channel cover it completely, however it is split into chunks.
 *
 * @example
 * for await (const frame of child.stdout.pipe(frames({ lines: true }))) {
 *   if (frame.kind === 'line') console.log(frame.from, frame.text)
 * }
 */
export function frames(
  options: FrameOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<Frame> {
  checkOptions('frames', options, 'frames({ lines: true })', FRAME_OPTIONS)
  return flow(frameStage({ ...options, turn: TURN }), { signal: options.signal, intake: chunkIntake })
}
