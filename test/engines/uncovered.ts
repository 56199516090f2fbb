import type { AgentEvent } from '../../src/events/event.ts'
import type { Channel } from '../../src/text/chunk.ts'

/** The position of the first byte of a channel that no event refers to; -1 if there is none. */
export function uncovered(events: readonly AgentEvent[], stream: Channel, size: number): number {
  const covered = new Uint8Array(size)
  for (const { raw_ref } of events) {
    // A document may be read before the end of its line.
    if (raw_ref?.stream === stream) covered.fill(1, raw_ref.byte_from, raw_ref.byte_to + 1)
  }
  return covered.indexOf(0)
}
