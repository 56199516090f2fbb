import { type Note, quote } from '../base/fault.ts'
import { stringValue } from './strings.ts'
import { type Visitor, walk } from './walk.ts'

/**
 * Looks for what `JSON.parse` drops silently: a key that occurs twice in one object, and a number that cannot
 * be represented exactly as a JavaScript number. One note for each, about the first case. The text must be
 * valid JSON; texts longer than 1 MiB are not checked.
 *
 * @example
 * inspect('{"id":12345678901234567890}')[0]?.code // 'PRECISION_LOSS'
 */
export function inspect(text: string): readonly Note[] {
  if (text.length > MAX_TEXT) return NONE
  const { twice, lost } = lossesIn(text, Number.POSITIVE_INFINITY)
  const notes: Note[] = []
  if (twice !== undefined) {
    notes.push({
      code: 'DUPLICATE_KEY',
      message: `the key ${quote(twice)} occurs twice; the last value was taken`,
    })
  }
  if (lost !== undefined) {
    notes.push({
      code: 'PRECISION_LOSS',
      message: `${quote(lost)} cannot be represented exactly as a JavaScript number`,
    })
  }
  return notes
}

const NONE: readonly Note[] = []
const MAX_TEXT = 1 << 20

/**
 * The first key that occurs twice in one object of a valid JSON text, down to this depth, or undefined.
 *
 * @example
 * duplicateKey('{"run_id":"7","run_id":"8"}', 2) // 'run_id'
 */
export function duplicateKey(text: string, levels: number): string | undefined {
  return lossesIn(text, levels).twice
}

function lossesIn(text: string, levels: number): Losses {
  const losses = new Losses(text, levels)
  walk(text, losses)
  return losses
}

class Losses implements Visitor {
  /** The first key that occurs twice. */
  twice: string | undefined
  /** The first number that loses digits. */
  lost: string | undefined
  readonly #text: string
  readonly #levels: number
  /** The keys of each open object; undefined for an array. */
  readonly #open: (Set<string> | undefined)[] = []

  constructor(text: string, levels: number) {
    this.#text = text
    this.#levels = levels
  }

  open(array: boolean): void {
    this.#open.push(array || this.#open.length >= this.#levels ? undefined : new Set())
  }

  close(): undefined {
    this.#open.pop()
  }

  key(open: number, close: number): void {
    const keys = this.#open[this.#open.length - 1]
    if (!keys) return
    // Escapes do not make another key: "\u0072un_id" is run_id.
    const key = stringValue(this.#text, open, close)
    if (keys.has(key)) this.twice ??= key
    keys.add(key)
  }

  number(from: number, to: number): void {
    if (this.lost !== undefined) return
    const token = this.#text.slice(from, to)
    if (!survives(token)) this.lost = token
  }
}

/**
 * Whether a number keeps what its token says: the token has the digits that the number prints, or those of
 * its exact value. `0.1` survives though no double is exactly that; `1.000000000000000005` does not.
 */
function survives(token: string): boolean {
  if (token.length < 16 && !token.includes('e') && !token.includes('E')) return true
  const value = Number(token)
  if (!Number.isFinite(value)) return false
  const digits = digitsOf(token)
  // A double has at most 767 digits, but `toPrecision` returns no more than 100. That is enough in practice.
  return digits === digitsOf(String(value)) || digits === digitsOf(value.toPrecision(MAX_DIGITS))
}

const MAX_DIGITS = 100

/** The significant digits: without sign, exponent, point, and the zeros at both ends. */
function digitsOf(token: string): string {
  let to = Math.max(token.indexOf('e'), token.indexOf('E'))
  if (to < 0) to = token.length
  let from = 0
  while (from < to && '-0.'.includes(token[from]!)) from++
  while (to > from && '0.'.includes(token[to - 1]!)) to--
  return token.slice(from, to).replace('.', '')
}
