import type { Scan } from '../../frames/scan.ts'
import { walkBrackets } from './walk-brackets.ts'
import { walkQuotes } from './walk-quotes.ts'
import { walkScalar } from './walk-scalar.ts'
import { type Walked, type WalkRules, WalkState } from './walk-state.ts'
import { walkTokens } from './walk-tokens.ts'

/**
 * Walks over one JSON value and finds its end, whatever the chunks. It reads tokens, but judges only their
 * order: that numbers and escapes are right is left to JSON.parse.
 *
 *     [{"a":[1,"]"]},{"a":2}]
 *      ^ from       ^ to
 *
 * A value that is no JSON must not take its neighbours with it:
 * - A quote that was not escaped shows at once, by what follows its string. From that string on quotes are not
 *   believed any more and only brackets count, until they are balanced or the next neighbour begins.
 * - A closing bracket that does not fit closes what was left open inside.
 * - An opening one where a key should be means that the object before it was left open.
 */
export class Walk {
  readonly #state: WalkState

  constructor(scan: Scan) {
    this.#state = new WalkState(scan)
  }

  /** Begins at the first byte of a value. */
  begin(from: number, rules: WalkRules): void {
    this.#state.begin(from, rules)
  }

  /** Goes on to `bound` at most. */
  run(bound: number): Walked {
    const state = this.#state
    let walked: Walked | undefined
    while (walked === undefined) {
      switch (state.mode) {
        case 'tokens':
          walked = walkTokens(state, bound)
          break
        case 'scalar':
          walked = walkScalar(state, bound)
          break
        case 'brackets':
          walked = walkBrackets(state, bound)
          break
        case 'quotes':
          walked = walkQuotes(state, bound)
          break
        default:
          state.mode satisfies never
      }
    }
    return walked
  }

  /** How far it has come; when it has ended, where to go on. */
  get at(): number {
    return this.#state.at
  }

  /** One past the value, when it has ended. */
  get to(): number {
    return this.#state.to
  }

  /** The comma behind the value has been passed, too. */
  get passedComma(): boolean {
    return this.#state.passedComma
  }

  /** Something was not as JSON wants it. */
  get odd(): boolean {
    return this.#state.odd
  }

  /** Where the string begins whose end has not been seen; -1 outside strings, and in one too long to be kept. */
  get openString(): number {
    return this.#state.inString && this.#state.isStringKept() ? this.#state.string : -1
  }

  /** Whether the value is a whole string behind which only the separator is missing. */
  get wholeString(): boolean {
    return this.#state.mode === 'scalar' && this.#state.string >= 0 && !this.#state.inString
  }

  /** The first position that may be asked for again. A string is kept, in case it has to be read anew. */
  get keep(): number {
    return this.#state.isStringKept() ? this.#state.string : this.#state.at
  }
}
