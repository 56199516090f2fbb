import { type Bytes, decodeForeign, isAscii, isUtf8 } from '../base/platform.ts'
import type { Tape } from './tape.ts'

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

/**
 * Decodes ranges of a tape. Most records are short, plain ASCII and follow each other directly: they are
 * decoded many at a time, as latin1, which is the fastest way, and returned as slices of that.
 *
 *     {"a":1}\n{"a":2}\n{"a":3}\n{"a":"é"}\n
 *              ^ from                ^ to     the window: ASCII only
 *
 * A slice keeps its window alive, so windows are small, and only made for consecutive records.
 */
export class Decoder {
  readonly #tape: Tape
  #window = ''
  #from = 0
  #to = 0
  /** The non-ASCII byte that ended the last window is before this position. */
  #foreignTo = 0
  /** Where the last range ended. */
  #last = 0

  constructor(tape: Tape) {
    this.#tape = tape
  }

  decode(from: number, to: number): string {
    const follows = from - this.#last <= 2
    this.#last = to
    // It pays only if the next record is in the buffer, too.
    const isFollowed = this.#tape.end - to > to - from
    if (from >= this.#to && follows && isFollowed && from >= this.#foreignTo && to - from <= WINDOW / 2)
      this.#open(from)
    if (this.isPlain(from, to)) return this.#window.slice(from - this.#from, to - this.#from)
    const { view, base } = this.#tape
    return decode(view, from - base, to - base)
  }

  /** True if the range is known to be ASCII. */
  isPlain(from: number, to: number): boolean {
    return from >= this.#from && to <= this.#to
  }

  #open(from: number): void {
    const { view, base, end } = this.#tape
    const stop = Math.min(end, from + WINDOW)
    let to = stop
    if (!this.#isAscii(from, stop)) {
      to = this.#isAscii(from, from + BLOCK) ? this.#plainEnd(from + BLOCK, stop) : from
      // Text in a language with accents has one in nearly every block: try no windows for a while.
      this.#foreignTo = to + (to === from ? WINDOW : BLOCK)
    }
    this.#window = to > from ? view.toString('latin1', from - base, to - base) : ''
    this.#from = from
    this.#to = to
  }

  /** The start of the block with the first non-ASCII byte. By halving: each check is a call. */
  #plainEnd(from: number, stop: number): number {
    let plain = from
    let blocks = Math.ceil((stop - from) / BLOCK)
    while (blocks > 1) {
      const half = blocks >> 1
      const middle = plain + half * BLOCK
      if (this.#isAscii(plain, middle)) {
        plain = middle
        blocks -= half
      } else blocks = half
    }
    return plain
  }

  #isAscii(from: number, to: number): boolean {
    const { view, base } = this.#tape
    return isAscii(view.subarray(from - base, to - base))
  }
}

const WINDOW = 4096
/** Precision of the search for the end of a window. */
const BLOCK = 256
