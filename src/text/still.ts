import type { Channel } from './chunk.ts'

/** Milliseconds between two reports that all was read. */
const STILL_MS = 400

/**
 * When the reader of a running process, which has nothing more to read, says so: twice after bytes of the
 * terminal. What waited for its twin the first time, and still does, has none.
 */
export class Stillness {
  #left = 0
  #last = Number.NEGATIVE_INFINITY

  saw(channel: Channel): void {
    if (channel === 'pty') this.#left = 2
  }

  /** True if it is to be said now, at this time in milliseconds. */
  isDue(now: number): boolean {
    if (this.#left === 0 || now - this.#last < STILL_MS) return false
    this.#last = now
    this.#left--
    return true
  }
}
