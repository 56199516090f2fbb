import { Bytes } from '../base/platform.ts'
import type { Comment } from './outcome.ts'

/** Keeps the first bytes of an input, in case no payload is found and it has to be shown as a comment. */
export interface UnmatchedText {
  add(bytes: Uint8Array): void
  /** Lets the bytes go: a payload was found. */
  drop(): void
  comment(): Comment
  /** What was kept. */
  bytes(): Bytes
  /** How many bytes were added, kept or not. */
  size(): number
}

/**
 * Keeps `keep` bytes, or `maxComment` if that is more; a comment has at most `maxComment` of them. It grows by doubling, so
 * single bytes cost nothing.
 */
export function unmatchedText(maxComment: number, keep = maxComment): UnmatchedText {
  const max = Math.max(maxComment, keep)
  let kept: Bytes | undefined = Bytes.alloc(0)
  let length = 0
  let size = 0
  return {
    add(bytes) {
      size += bytes.length
      if (!kept || length >= max) return
      const take = Math.min(bytes.length, max - length)
      if (length + take > kept.length) {
        const grown = Bytes.allocUnsafe(Math.min(max, Math.max(2 * kept.length, length + take, 1024)))
        kept.copy(grown, 0, 0, length)
        kept = grown
      }
      kept.set(bytes.subarray(0, take), length)
      length += take
    },
    drop() {
      kept = undefined
    },
    comment() {
      const shown = Math.min(length, maxComment)
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
  }
}

/** Where the bytes may be cut at or before `end` without cutting a character. */
function characterStart(bytes: Bytes, end: number): number {
  let start = end
  while (start > 0 && start > end - 4 && (bytes[start - 1]! & 0xc0) === 0x80) start--
  // The lead byte says how many belong to it; a whole character at the end stays.
  const lead = bytes[start - 1] ?? 0
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start - 1 + width <= end ? end : start - 1
}
