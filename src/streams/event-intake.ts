import type { Intake } from '../base/stage.ts'
import { type Chunk, chunkIntake } from '../frames/chunk.ts'

/** Bare bytes are stdout, and nothing else will come: who writes them need not pay for dedupe. */
export function eventIntake(): Intake<Chunk> {
  const door = chunkIntake()
  let first = true
  return {
    ...door,
    take(written) {
      const chunk = door.take(written)
      const bare = typeof written === 'string' || written instanceof Uint8Array
      const alone = first && bare && chunk.channel !== 'exit'
      first = false
      return alone ? { ...chunk, channels: ['stdout'] } : chunk
    },
  }
}
