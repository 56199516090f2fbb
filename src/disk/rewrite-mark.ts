import fs from 'node:fs'

const NOTHING = Buffer.alloc(0)

/**
 * The last bytes before the furthest position read in a file: if the file has other bytes there now, or has
 * become shorter, it was rewritten.
 *
 * @example
 * const mark = new Mark(64)
 * mark.reach(0, bytes)
 * if (!mark.holds(fd)) startAgain()
 */
export class Mark {
  /** The furthest position read. */
  at = 0
  readonly #size: number
  #bytes = NOTHING

  constructor(size: number) {
    this.#size = size
  }

  /** Records that these bytes were read at this position. */
  reach(from: number, bytes: Buffer): void {
    const to = from + bytes.length
    if (to <= this.at) return
    // The remembered bytes continue where these begin; after a gap they are useless.
    const known = from > this.at ? 0 : Math.max(0, this.#bytes.length - (this.at - from))
    const whole = bytes.length >= this.#size ? bytes : Buffer.concat([this.#bytes.subarray(0, known), bytes])
    // A copy: a view would keep the whole block alive.
    this.#bytes = Buffer.from(whole.subarray(-this.#size))
    this.at = to
  }

  /** Whether the file still has these bytes there. */
  holds(fd: number): boolean {
    if (this.at === 0) return true
    const here = Buffer.alloc(this.#bytes.length)
    const read = fs.readSync(fd, here, 0, here.length, this.at - here.length)
    return read === here.length && here.equals(this.#bytes)
  }

  reset(): void {
    this.at = 0
    this.#bytes = NOTHING
  }
}
