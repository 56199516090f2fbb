import { Bytes } from '../base/platform.ts'
import { isHighSurrogate } from './characters.ts'

/**
 * Turns what a stream of one channel emits, bytes or text, into bytes. If a text ends in half a surrogate
 * pair, that half is kept for the next one; nothing overtakes it.
 */
export function encoder() {
  let half = ''
  const take = (): string => {
    const kept = half
    half = ''
    return kept
  }
  return {
    bytes(written: Uint8Array | string): Uint8Array {
      // Bytes follow half a pair: the other half will not come.
      if (typeof written !== 'string') return half ? Bytes.concat([Bytes.from(take()), written]) : written
      const text = take() + written
      if (!isHighSurrogate(text.charCodeAt(text.length - 1))) return Bytes.from(text)
      half = text.slice(-1)
      return Bytes.from(text.slice(0, -1))
    },
    /** At the end: the half that is left, as a replacement character. */
    rest: (): Uint8Array | undefined => (half ? Bytes.from(take()) : undefined),
  }
}
