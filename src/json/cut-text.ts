import { isBlank } from './characters.ts'
import { type Handler, NAMES, Tokenizer, whereBroken } from './tokenizer.ts'

/**
 * Cut JSON: a text that is the beginning of a JSON text and stops somewhere inside it.
 */

/** A cut text, closed. */
export interface Closed {
  /** Valid JSON: the finished part, with its open strings and brackets closed. */
  readonly text: string
  /** What the input did not finish, as JSON pointers, from the root down. */
  readonly incomplete: readonly string[]
}

/**
 * Closes a cut JSON text, or gives `undefined` if it is not the beginning of one. Nothing half is handed
 * out as finished: a number that the end touches (`12` may be `123`) and a cut string are kept and listed as
 * incomplete; a cut literal, half a number like `1.`, a key without a value and half an escape are dropped.
 *
 * @example
 * closeCut('{"a":[1,2') // { text: '{"a":[1,2]}', incomplete: ['', '/a', '/a/1'] }
 */
export function closeCut(text: string): Closed | undefined {
  const open = new OpenLevels()
  const tokens = new Tokenizer(open, NAMES)
  const at = tokens.push(text, 0)
  if (tokens.done()) return isBlankFrom(text, at) ? { text: text.slice(0, at), incomplete: [] } : undefined
  if (tokens.failed() || !tokens.isOpen()) return undefined
  const half = tokens.halfString()
  if (half >= 0) return open.closed(`${text.slice(0, text.length - half)}"`, true)
  const number = tokens.wholeNumber()
  if (number !== undefined) return open.closed(number ? text : text.slice(0, open.kept), true)
  return open.closed(text.slice(0, open.kept), open.named || tokens.inWord())
}

/**
 * Is the text the beginning of a JSON object, array or string (or all of one)?
 *
 * @example
 * isBeginning('{"a":[1,') // true
 * isBeginning('{cmd') // false
 */
export function isBeginning(text: string): boolean {
  const broken = whereBroken(text)
  return broken === undefined || broken.cut
}

/**
 * The brackets that are open, from the root, and the entry each is at. Lists, not objects: a million levels are no
 * million objects.
 */
class OpenLevels implements Handler {
  /** One past the last finished value or opening bracket. */
  kept = 0
  /** A key has come, and its value is not finished. */
  named = false
  readonly #arrays: boolean[] = []
  /** The key each object is at, and how many elements of each array are finished. */
  readonly #keys: string[] = []
  readonly #counts: number[] = []

  open(array: boolean, end: number): void {
    this.#arrays.push(array)
    this.#keys.push('')
    this.#counts.push(0)
    this.named = false
    this.kept = end
  }

  close(end: number): void {
    this.#arrays.pop()
    this.#keys.pop()
    this.#counts.pop()
    this.#finish(end)
  }

  key(key: string): void {
    this.#keys[this.#keys.length - 1] = key
    this.named = true
  }

  growing(): void {}

  string(_: string, end: number): void {
    this.#finish(end)
  }

  number(_: number, __: string, end: number): void {
    this.#finish(end)
  }

  literal(_: boolean | null, end: number): void {
    this.#finish(end)
  }

  #finish(end: number): void {
    if (this.#counts.length > 0) this.#counts[this.#counts.length - 1]!++
    this.named = false
    this.kept = end
  }

  /** Closes what is kept of the text; `entry` says that the entry at its end is not finished either. */
  closed(kept: string, entry: boolean): Closed {
    const incomplete: string[] = []
    let closers = ''
    let path = ''
    for (let level = 0; level < this.#arrays.length; level++) {
      const array = this.#arrays[level]!
      closers = (array ? ']' : '}') + closers
      incomplete.push(path)
      const key = array ? String(this.#counts[level]) : this.#keys[level]!
      path += `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    }
    if (entry) incomplete.push(path)
    return { text: kept + closers, incomplete }
  }
}

function isBlankFrom(text: string, from: number): boolean {
  let at = from
  while (at < text.length && isBlank(text.charCodeAt(at))) at++
  return at === text.length
}
