import { TextBalance } from '../json/text-balance.ts'
import type { Tape } from '../text/tape.ts'
import { beginsWithKey } from './within.ts'

//  "a": 1, "b": {"c": 2}} ...{"d": 3}
//                        ^ closes what was opened before the input: what follows it is no piece of that
/** An input that may begin with a key, like an object without its bracket: what is in that never counts. */
export class OpenMembers {
  readonly #tape: Tape
  readonly #balance = new TextBalance()
  #start = ''
  #seek: number
  #stage: 'inside' | 'behind' | 'over' = 'inside'

  constructor(tape: Tape, from: number) {
    this.#tape = tape
    this.#seek = from
    this.#balance.depth = 1
  }

  /** Whether the bracket at `position` is inside, or after what cannot be read. Positions never go back. */
  has(position: number): boolean {
    this.read(position)
    return this.#stage === 'inside' && beginsWithKey(this.#start)
  }

  /** Reads up to `position`: the bytes before it may be dropped. */
  read(position: number): void {
    if (position <= this.#seek || this.#stage === 'over') return
    const { view, base } = this.#tape
    const text = view.toString('latin1', this.#seek - base, position - base)
    this.#seek = position
    if (this.#start.length < MAX_START) this.#start += text.slice(0, MAX_START)
    const end = this.#stage === 'behind' ? 0 : this.#balance.read(text)
    if (end === 'inside') return
    const next = end === 'broken' ? ',' : text.slice(end).trimStart().charAt(0)
    this.#stage = next === '' ? 'behind' : ',:}]'.includes(next) ? 'inside' : 'over'
    // Nobody knows where it ends.
    if (this.#stage === 'inside') this.#seek = Number.POSITIVE_INFINITY
  }
}

/** A key at the start of an input is not longer. */
const MAX_START = 300
