import type { Intake } from '../base/stage.ts'
import { type Chunk, chunkIntake } from '../text/chunk.ts'

/** Bare bytes are stdout, and no other channel follows, so they need no dedupe. */
export function eventIntake(): Intake<Chunk> {
  const chunks = chunkIntake()
  let first = true
  return {
    ...chunks,
    take(written) {
      const chunk = chunks.take(written)
      const bare = typeof written === 'string' || written instanceof Uint8Array
      const alone = first && bare && chunk.channel !== 'exit'
      first = false
      return alone ? { ...chunk, channels: ['stdout'] } : chunk
    },
  }
}
