import { isAscii } from '../base/platform.ts'
import { decode } from './decode.ts'
import type { Tape } from './tape.ts'

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
    if (from >= this.#to && follows && from >= this.#foreignTo && to - from <= WINDOW / 2) this.#open(from)
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

  /**
   * The start of the block with the first non-ASCII byte; there is one in the range. By halving, because each
   * check is a call.
   */
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
