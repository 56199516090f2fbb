import { type Handler, NAMES, Tokenizer } from './tokenizer.ts'
import { pastBlanks } from './walk.ts'

/** Cut JSON: the beginning of a JSON text that stops somewhere inside it. */

/** A cut text with its brackets and strings closed. */
export interface Closed {
  /** Valid JSON: the finished part, with its open strings and brackets closed. */
  readonly text: string
  /** JSON pointers of the values that the input did not finish, from the root down. */
  readonly incomplete: readonly string[]
}

/**
 * Closes a cut JSON text; `undefined` if it is not the beginning of one. Nothing unfinished is passed off
 * as finished: a number at the very end (`12` may become `123`) and a cut string are kept and listed as
 * incomplete; a cut literal, half a number like `1.`, a key without a value and half an escape are dropped.
 *
 * @example
 * closeCut('{"a":[1,2') // { text: '{"a":[1,2]}', incomplete: ['', '/a', '/a/1'] }
 */
export function closeCut(text: string): Closed | undefined {
  const open = new OpenLevels()
  const tokens = new Tokenizer(open, NAMES)
  const at = tokens.push(text, 0)
  if (tokens.done())
    return pastBlanks(text, at) === text.length ? { text: text.slice(0, at), incomplete: [] } : undefined
  if (tokens.failed() || !tokens.isOpen()) return undefined
  const half = tokens.halfString()
  if (half >= 0) return open.closed(`${text.slice(0, text.length - half)}"`, true)
  const number = tokens.wholeNumber()
  if (number !== undefined) return open.closed(number ? text : text.slice(0, open.kept), true)
  return open.closed(text.slice(0, open.kept), open.named || tokens.inWord())
}

/**
 * The open brackets, from the root, and the current entry of each. Arrays of plain values, so that a million
 * levels do not cost a million objects.
 */
class OpenLevels implements Handler {
  /** One past the last finished value or opening bracket. */
  kept = 0
  /** A key was read and its value is not finished. */
  named = false
  readonly #arrays: boolean[] = []
  /** The current key of each object, and the number of finished elements of each array. */
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

  /** Closes the kept part of the text; `entry` is true if its last entry is unfinished, too. */
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
