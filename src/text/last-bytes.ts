import { Bytes } from '../base/platform.ts'

/** The last bytes of a channel, in a buffer that moves only when it is full: adding single bytes is cheap. */
export class LastBytes {
  readonly #size: number
  #bytes: Bytes | undefined
  #length = 0

  /** Keeps at least the last `size` bytes, if there were as many. */
  constructor(size: number) {
    this.#size = size
  }

  /** Adds the bytes of `view` from `from` to `to`. */
  add(view: Uint8Array, from: number, to: number): void {
    const size = this.#size
    const start = Math.max(from, to - size)
    this.#bytes ??= Bytes.allocUnsafe(4 * size)
    const bytes = this.#bytes
    if (this.#length + to - start > bytes.length) {
      bytes.copyWithin(0, this.#length - size, this.#length)
      this.#length = size
    }
    let length = this.#length
    // For a few bytes a loop is faster than a view of them.
    if (to - start > 24) {
      bytes.set(start === 0 && to === view.length ? view : view.subarray(start, to), length)
      length += to - start
    } else for (let at = start; at < to; at++) bytes[length++] = view[at]!
    this.#length = length
  }

  /** The last of them, at most `count`. */
  text(encoding: 'latin1' | 'utf8', count = this.#size): string {
    return this.#bytes?.toString(encoding, Math.max(0, this.#length - count), this.#length) ?? ''
  }
}
