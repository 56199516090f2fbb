import { InString } from '../json/strings.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  classTable,
  isBlank,
  isBracket,
  LF,
  QUOTE,
} from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'

/** `lost`: nobody knows where it ends. */
type Stage = 'key' | 'colon' | 'inside' | 'behind' | 'over' | 'lost'

//  "a": 1, "b": {"c": 2}} ...{"d": 3}
//                       ^ closes what was opened before the input: what follows is no piece of that
/** An input that may begin with a key, like an object without its bracket: what is in that never counts. */
export class OpenMembers {
  readonly #tape: Tape
  readonly #string = new InString()
  #inString = false
  #depth = 1
  #seek: number
  #stage: Stage = 'key'

  /** A quote is at `from`. */
  constructor(tape: Tape, from: number) {
    this.#tape = tape
    this.#seek = from
  }

  /** Whether the bracket at `position` is inside, or may be. Positions never go back. */
  has(position: number): boolean {
    this.read(position)
    return this.#stage === 'inside' || this.#stage === 'lost'
  }

  /** Reads up to `position`: the bytes before it may be dropped. */
  read(position: number): void {
    const { view, base } = this.#tape
    for (; this.#seek < position && this.#stage !== 'over' && this.#stage !== 'lost'; this.#seek++)
      this.#stage = this.#after(view[this.#seek - base]!)
  }

  #after(byte: number): Stage {
    const stage = this.#stage
    if (this.#inString) {
      this.#inString = !this.#string.ends(byte)
      if (stage !== 'key') return stage
      return byte === LF ? 'over' : this.#inString ? stage : 'colon'
    }
    if (isBlank(byte)) return stage
    if (stage === 'colon') return byte === COLON ? 'inside' : 'over'
    if (stage === 'behind') return GOES_ON[byte] ? 'lost' : 'over'
    if (byte === QUOTE) {
      this.#inString = true
      this.#string.open(QUOTE)
    } else if (isBracket(byte)) this.#depth++
    else if (byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET) return PLAIN[byte] ? stage : 'lost'
    else if (--this.#depth === 0) return byte === CLOSE_BRACE ? 'behind' : 'lost'
    return stage
  }
}

/** What may follow an object inside a larger one. */
const GOES_ON = /* @__PURE__ */ classTable([1, ',:}]"\''])
/** Separators, and the characters of numbers, `true`, `false` and `null`. */
const PLAIN = /* @__PURE__ */ classTable([1, ',:0123456789+-.eEtrufalsn'])
