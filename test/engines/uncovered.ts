import type { AgentEvent } from '../../src/events/event.ts'
import type { Channel } from '../../src/text/chunk.ts'

/**
 * The position of the first byte of a channel that no event refers to; -1 if there is none. Gemini tells a
 * document before the end of its line, which nothing tells: those bytes may follow a bracket.
 */
export function uncovered(
  events: readonly AgentEvent[],
  stream: Channel,
  output: Uint8Array | string,
): number {
  const bytes = Buffer.from(output as string) // cast: it takes both, but not their union
  const covered = new Uint8Array(bytes.length)
  for (const { raw_ref, source } of events) {
    if (raw_ref?.stream !== stream) continue
    covered.fill(1, raw_ref.byte_from, raw_ref.byte_to)
    if (source.engine !== 'gemini' || bytes[raw_ref.byte_to - 1] !== 0x7d) continue
    const end = bytes.toString('latin1', raw_ref.byte_to, raw_ref.byte_to + 2)
    covered.fill(1, raw_ref.byte_to, raw_ref.byte_to + (end === '\r\n' ? 2 : end[0] === '\n' ? 1 : 0))
  }
  return covered.indexOf(0)
}
