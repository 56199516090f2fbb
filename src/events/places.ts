/** A run of bytes that was kept when escape sequences were taken out: where it stood, and how long it is. */
export interface Kept {
  readonly at: number
  readonly length: number
}

/**
 * Says where the characters of a cleaned line stood among its bytes. It remembers where it was asked last, so that
 * asking for one place after the other costs one walk over the line.
 */
export class Places {
  readonly #bytes: Uint8Array
  readonly #from: number
  readonly #kept: readonly Kept[]
  /** So many units of the text are in the bytes before `#at`. */
  #units = 0
  #at = 0
  /** The run in hand, and the kept bytes before it. */
  #run = 0
  #before = 0

  /** `bytes` are those of all the runs; `from` is where the line begins in its channel. */
  constructor(bytes: Uint8Array, from: number, kept: readonly Kept[]) {
    this.#bytes = bytes
    this.#from = from
    this.#kept = kept
  }

  /** One past the last byte of the first so many units. */
  endOf(units: number): number {
    if (units < this.#units) this.#units = this.#at = this.#before = this.#run = 0
    while (this.#units < units && this.#at < this.#bytes.length) {
      const length = characterLength(this.#bytes, this.#at)
      // Only what takes four bytes is a pair of units.
      this.#units += length === 4 ? 2 : 1
      this.#at += length
    }
    let run = this.#kept[this.#run]
    while (run && this.#at > this.#before + run.length) {
      this.#before += run.length
      run = this.#kept[++this.#run]
    }
    return this.#from + (run ? run.at + this.#at - this.#before : this.#at)
  }
}

/** Bytes of the character at `at`, or of what a decoder takes for one where it is no UTF-8. */
function characterLength(bytes: Uint8Array, at: number): number {
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
