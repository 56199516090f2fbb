import { characterLength } from './decode.ts'

/**
 * Maps the characters of a text to byte offsets in its channel, if something was left out between them. It
 * remembers its last position, so that rising queries cost one walk over the text.
 */
export class Places {
  readonly #bytes: Uint8Array
  readonly #runs: readonly number[]
  /** This many units of the text are in the bytes before `#byte`. */
  #units = 0
  #byte = 0

  /**
   * `bytes` are those of the text. `runs` are pairs: a byte of the text, and its offset in the channel; the
   * bytes up to the next pair follow it.
   */
  constructor(bytes: Uint8Array, runs: readonly number[]) {
    this.#bytes = bytes
    this.#runs = runs
  }

  /** The offset of the character at index `units`. */
  at(units: number): number {
    return this.#offsetOf(this.#bytesBefore(units))
  }

  /** One past the last byte of the first `units` units: what was left out after them does not count. */
  endOf(units: number): number {
    const before = this.#bytesBefore(units)
    return before === 0 ? this.#runs[1]! : this.#offsetOf(before - 1) + 1
  }

  #offsetOf(byte: number): number {
    const runs = this.#runs
    let low = 0
    let high = runs.length / 2
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (runs[2 * middle]! <= byte) low = middle
      else high = middle
    }
    return runs[2 * low + 1]! + byte - runs[2 * low]!
  }

  /** Number of bytes that the first `units` units were decoded from. */
  #bytesBefore(units: number): number {
    if (units < this.#units) this.#units = this.#byte = 0
    while (this.#byte < this.#bytes.length) {
      const length = characterLength(this.#bytes, this.#byte)
      // Only a character of four bytes is a surrogate pair.
      const next = this.#units + (length === 4 ? 2 : 1)
      if (next > units) break
      this.#units = next
      this.#byte += length
    }
    return this.#byte
  }
}
