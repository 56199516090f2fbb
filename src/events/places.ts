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
  readonly #text: string
  readonly #from: number
  readonly #kept: readonly Kept[]
  #units = 0
  /** Cleaned bytes before `#units`, and before the run in hand. */
  #bytes = 0
  #before = 0
  #run = 0

  /** `text` is the decoded bytes of all the runs; `from` is where the line begins in its channel. */
  constructor(text: string, from: number, kept: readonly Kept[]) {
    this.#text = text
    this.#from = from
    this.#kept = kept
  }

  /** One past the last byte of the first so many units. */
  endOf(units: number): number {
    if (units < this.#units) this.#units = this.#bytes = this.#before = this.#run = 0
    this.#bytes += Buffer.byteLength(this.#text.slice(this.#units, units))
    this.#units = units
    let run = this.#kept[this.#run]
    while (run && this.#bytes > this.#before + run.length) {
      this.#before += run.length
      run = this.#kept[++this.#run]
    }
    return this.#from + (run ? run.at + this.#bytes - this.#before : this.#bytes)
  }
}
