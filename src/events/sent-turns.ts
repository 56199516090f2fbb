interface Sent {
  readonly begins: boolean
  readonly tell: () => void
}

/** Prompts and interrupts that may wait; if there are more, the oldest is told at once. */
const MAX_WAITING = 4096

/**
 * Tells the prompts that a client sent turn by turn: one that was sent during a turn is told when that is
 * over, and so is the interrupt after it. Without a clock all of them are read first.
 */
export class SentTurns {
  readonly #waiting: Sent[] = []
  #running = false

  /** True if it was told, false if it waits. */
  add(sent: Sent): boolean {
    const waits = this.#waiting.length > 0 || (sent.begins && this.#running)
    if (waits) this.#waiting.push(sent)
    else this.#tell(sent)
    if (this.#waiting.length > MAX_WAITING) this.#tell(this.#waiting.shift()!)
    return !waits
  }

  /** The turn is over: the next one begins. */
  over(): void {
    this.#running = false
    while (this.#waiting[0] && !(this.#running && this.#waiting[0].begins)) this.#tell(this.#waiting.shift()!)
  }

  end(): void {
    while (this.#waiting.length > 0) this.over()
  }

  #tell({ begins, tell }: Sent): void {
    this.#running ||= begins
    tell()
  }
}
