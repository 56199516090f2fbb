import { Fifo } from './fifo.ts'
import type { Position } from './position.ts'

/** Several equal records, the oldest first. */
interface Equals {
  readonly positions: Fifo<Position>
  /** Number of newer ones, whose positions were not kept. */
  more: number
}

/**
 * The records of one channel that were emitted and have not arrived on the other one: digest → position in
 * the run.
 */
export class Outstanding {
  readonly #window: number
  /** Nearly every record is the only one of its kind, and then only its position is stored. */
  readonly #byKey = new Map<string, Position | Equals>()
  /** Number of positions that are kept. */
  #kept = 0
  /** Number of digests that were dropped because the window was full. */
  forgotten = 0

  constructor(window: number) {
    this.#window = window
  }

  get size(): number {
    return this.#byKey.size
  }

  count(key: string): number {
    const known = this.#byKey.get(key)
    if (known === undefined) return 0
    return 'more' in known ? known.positions.length + known.more : 1
  }

  /** The oldest of these whose position passes. */
  find(key: string, passes: (position: Position) => boolean): Position | undefined {
    const known = this.#byKey.get(key)
    if (known && 'more' in known) return known.positions.find(passes)
    return known && passes(known) ? known : undefined
  }

  add(key: string, position: Position): void {
    const known = this.#byKey.get(key)
    if (known === undefined) {
      this.#byKey.set(key, position)
      this.#kept++
      if (this.#byKey.size > this.#window) this.#dropOldest()
      return
    }
    const equals = 'more' in known ? known : several(known)
    if (equals !== known) this.#byKey.set(key, equals)
    // Any number of equal records may wait, but the number of positions is limited.
    if (equals.more > 0 || (equals.positions.length > 0 && this.#kept >= this.#window)) equals.more++
    else {
      equals.positions.push(position)
      this.#kept++
    }
  }

  /** Removes the oldest of these. One whose position was not kept gets a position before all others. */
  take(key: string): Position | undefined {
    const known = this.#byKey.get(key)
    if (known === undefined) return undefined
    if (!('more' in known)) {
      this.#byKey.delete(key)
      this.#kept--
      return known
    }
    const position = known.positions.shift()
    if (position) this.#kept--
    else known.more--
    if (known.positions.length + known.more === 0) this.#byKey.delete(key)
    return position ?? { channel: 'stdout', after: -1, behind: -1 }
  }

  #dropOldest(): void {
    for (const [key, known] of this.#byKey) {
      this.#byKey.delete(key)
      this.#kept -= 'more' in known ? known.positions.length : 1
      break
    }
    this.forgotten++
  }
}

function several(first: Position): Equals {
  const positions = new Fifo<Position>()
  positions.push(first)
  return { positions, more: 0 }
}
