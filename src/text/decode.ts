import { type Bytes, decodeForeign, isAscii, isUtf8 } from '../base/platform.ts'

/** Decodes one whole frame; never a chunk, because a chunk may end inside a character. */
export function decode(bytes: Bytes, from: number, to: number): string {
  if (to - from < LONG) return bytes.toString('utf8', from, to)
  const part = bytes.subarray(from, to)
  if (isAscii(part)) return part.toString('latin1')
  return isUtf8(part) ? decodeForeign(part) : part.toString('utf8')
}

/** From this length on it pays to inspect the bytes first and pick the fastest decoder. */
const LONG = 4096

/**
 * Position of the first byte that is not UTF-8, or -1. `text` is the decoded range: without a replacement
 * character in it there is nothing to search for.
 */
export function firstInvalid(text: string, bytes: Bytes, from: number, to: number): number {
  if (!text.includes('\ufffd') || isUtf8(bytes.subarray(from, to))) return -1
  let at = from
  while (at < to) {
    const length = wellFormedLength(bytes, at, to)
    if (length === 0) return at
    at += length
  }
  return -1
}

/** The length of the well-formed character at `at`, or 0. */
function wellFormedLength(bytes: Bytes, at: number, to: number): number {
  const lead = bytes[at] ?? 0
  const length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4
  if (length === 1) return 1
  return at + length <= to && isUtf8(bytes.subarray(at, at + length)) ? length : 0
}

/** Length of the character at `at`, or of what a decoder replaces as one where it is not UTF-8. */
export function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!
  const wanted = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
  for (let more = 1; more <= wanted; more++) {
    const byte = bytes[at + more] ?? 0
    const least = more > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
    const most = more > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
    if (byte < least || byte > most) return more
  }
  return 1 + wanted
}

/** The last position at or before `end` where the bytes can be cut without cutting a character. */
export function characterStart(bytes: Uint8Array, end: number): number {
  let start = end
  while (start > 0 && start > end - 4 && (bytes[start - 1]! & 0xc0) === 0x80) start--
  // The lead byte says how long its character is; a whole character at the end stays.
  const lead = bytes[start - 1] ?? 0
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start - 1 + width <= end ? end : start - 1
}
