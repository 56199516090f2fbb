import { Bytes } from '../base/platform.ts'
import { isHighSurrogate } from '../json/characters.ts'

/**
 * Turns what a stream of one channel gives, bytes or text, into bytes. A text that ends in half a surrogate pair
 * keeps that half back for the next one; nothing overtakes it.
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
      // Bytes after half a pair: the half stays alone.
      if (typeof written !== 'string') return half ? Bytes.concat([Bytes.from(take()), written]) : written
      const text = take() + written
      if (!isHighSurrogate(text.charCodeAt(text.length - 1))) return Bytes.from(text)
      half = text.slice(-1)
      return Bytes.from(text.slice(0, -1))
    },
    /** The half that is left when nothing more comes, as the replacement character. */
    rest: (): Uint8Array | undefined => (half ? Bytes.from(take()) : undefined),
  }
}
