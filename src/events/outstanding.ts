import { Fifo } from './fifo.ts'
import type { Position } from './position.ts'

/** Equal records, the oldest first. */
interface Equals {
  readonly positions: Fifo<Position>
  /** Younger ones, whose positions were not kept. */
  more: number
}

/** The records of one channel that were emitted and whose twin has not come: digest → where they are in the run. */
export class Outstanding {
  readonly #window: number
  readonly #byKey = new Map<string, Equals>()
  /** Positions that are kept. */
  #kept = 0
  /** Digests that were dropped because the window was full. */
  forgotten = 0

  constructor(window: number) {
    this.#window = window
  }

  get size(): number {
    return this.#byKey.size
  }

  count(key: string): number {
    const equals = this.#byKey.get(key)
    return equals ? equals.positions.length + equals.more : 0
  }

  add(key: string, position: Position): void {
    let equals = this.#byKey.get(key)
    if (!equals) {
      equals = { positions: new Fifo(), more: 0 }
      this.#byKey.set(key, equals)
    }
    // Any number of equal records may wait, but not any number of positions.
    if (equals.more > 0 || (equals.positions.length > 0 && this.#kept >= this.#window)) equals.more++
    else {
      equals.positions.push(position)
      this.#kept++
    }
    if (this.#byKey.size > this.#window) this.#dropOldest()
  }

  /** Takes the oldest of these out. One whose position was not kept is said to be before all others. */
  take(key: string): Position | undefined {
    const equals = this.#byKey.get(key)
    if (!equals) return undefined
    const position = equals.positions.shift()
    if (position) this.#kept--
    else equals.more--
    if (equals.positions.length + equals.more === 0) this.#byKey.delete(key)
    return position ?? { channel: 'stdout', after: -1, behind: -1 }
  }

  #dropOldest(): void {
    for (const [key, { positions }] of this.#byKey) {
      this.#byKey.delete(key)
      this.#kept -= positions.length
      break
    }
    this.forgotten++
  }
}
