import type { Channel } from './chunk.ts'

/** Milliseconds between two reports that all was read. */
const STILL_MS = 400

/**
 * Decides when the reader of a running process reports that nothing is left to read: twice after bytes of the
 * terminal. A record that waits for its twin at the first report, and still at the second, has none.
 */
export class Stillness {
  #left = 0
  #last = Number.NEGATIVE_INFINITY

  saw(channel: Channel): void {
    if (channel === 'pty') this.#left = 2
  }

  /** True if it must report now, at this time in milliseconds. */
  isDue(now: number): boolean {
    if (this.#left === 0 || now - this.#last < STILL_MS) return false
    this.#last = now
    this.#left--
    return true
  }
}
