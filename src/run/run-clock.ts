/** The time of an attempt, on a clock that never jumps. */
export class RunClock {
  /** When it started, in milliseconds since 1970. */
  readonly started = Date.now()
  readonly #origin = performance.now()
  /** The time of the last thing that happened, in milliseconds since the start. */
  last = 0

  /** The time of what happens now: it never goes back. */
  now(): number {
    this.last = Math.max(this.last, this.elapsed())
    return this.last
  }

  elapsed(): number {
    return Math.round((performance.now() - this.#origin) * 10) / 10
  }
}
