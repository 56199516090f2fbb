import { checkOptions } from '../base/check-options.ts'
import type { Frame } from '../frames/frame.ts'
import { FRAME_OPTIONS, type FrameOptions, scanStage, TURN } from '../frames/frames.ts'
import { chunkIntake } from '../text/chunk.ts'
import type { Outcome } from '../values/outcome.ts'
import type { Schema, SchemaOutput } from '../values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../values/values.ts'
import { type Flow, flow } from './flow.ts'

/**
 * Finds the payloads in the output of an agent, while it streams, and emits one outcome for each: the value,
 * parsed, repaired if necessary and checked by the schema, or the reason why there is none. An input without
 * any payload gives one outcome, NO_MATCH with the start of the input as a comment, or EMPTY.
 *
 * Of a stream of Chunks it reads one channel: stdout or PTY, whichever arrives first. stderr is never read.
 *
 * @example
 * for await (const outcome of child.stdout.pipe(values({ tag: 'json', pick: 'last', schema: Report }))) {
 *   if (outcome.ok) console.log(outcome.value)
 *   else console.warn(outcome.fault.code)
 * }
 */
export function values<S extends Schema | undefined = undefined>(
  options: ValuesOptions<S> = {},
): Flow<Outcome<SchemaOutput<S>>> {
  return flow(valueStage(options, TURN), { signal: options.signal, intake: chunkIntake })
}

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
  return flow(scanStage({ ...options, turn: TURN }), { signal: options.signal, intake: chunkIntake })
}
