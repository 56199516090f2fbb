import { Bytes } from '../base/platform.ts'
import { characterStart } from '../text/decode.ts'
import { LastBytes } from '../text/last-bytes.ts'
import type { CommentText } from './outcome.ts'

/** Keeps the first bytes of an input, in case no payload is found and it has to be shown as a comment. */
export interface UnmatchedText {
  add(bytes: Uint8Array): void
  /** Drops the bytes: a payload was found. */
  drop(): void
  comment(): CommentText
  /** The bytes that were kept. */
  bytes(): Bytes
  /** How many bytes were added, kept or not. */
  size(): number
  /** The last of them as text, also after a payload was found. */
  tail(): string
}

/**
 * Keeps `keep` bytes, or `maxComment` if that is more; a comment has at most `maxComment` bytes. The buffer
 * doubles as it grows, so adding single bytes is cheap.
 */
export function unmatchedText(maxComment: number, keep = maxComment): UnmatchedText {
  const max = Math.max(maxComment, keep)
  let kept: Bytes | undefined = Bytes.alloc(0)
  let length = 0
  let size = 0
  const tail = new LastBytes(TAIL)
  return {
    add(bytes) {
      size += bytes.length
      tail.add(bytes, 0, bytes.length)
      if (!kept || length >= max) return
      const take = Math.min(bytes.length, max - length)
      if (length + take > kept.length) {
        const grown = Bytes.allocUnsafe(Math.min(max, Math.max(2 * kept.length, length + take, 1024)))
        kept.copy(grown, 0, 0, length)
        kept = grown
      }
      kept.set(take === bytes.length ? bytes : bytes.subarray(0, take), length)
      length += take
    },
    drop() {
      kept = undefined
    },
    comment() {
      const shown = kept ? Math.min(length, maxComment) : 0
      const truncated = size > shown
      const to = truncated && kept ? characterStart(kept, shown) : shown
      return { text: kept?.toString('utf8', 0, to) ?? '', truncated, from: 0, to }
    },
    bytes() {
      return kept?.subarray(0, length) ?? Bytes.alloc(0)
    },
    size() {
      return size
    },
    tail: () => tail.text('utf8'),
  }
}

/** Enough for a bracket, what precedes it, and blanks. */
const TAIL = 64
