import { Bytes } from '../../base/platform.ts'
import { byteStringEnd } from '../../json/strings.ts'
import { BACKSLASH, CLOSE_BRACE, COLON, COMMA, isBlank, OPEN_BRACE, QUOTE } from '../../text/characters.ts'
import type { Tape } from '../../text/tape.ts'

/**
 * Guesses where an element ends: where its neighbour begins, and neighbours mostly begin alike, with the same
 * first key in the same layout. That is one native search instead of a walk over every byte.
 *
 *     [{"id":1,"tags":[]},{"id":2,"tags":[]}]
 *      ^^^^^^ head       ^^^^^^^ the head again, after a brace and a comma
 *
 * A guess never decides: JSON.parse does. Only the complete element is JSON from its first brace to its last,
 * so a guess that parses was right, and one that does not has no effect.
 */
export class Guess {
  /** Where the neighbour of the last guess begins. */
  next = 0
  readonly #tape: Tape
  #head: Bytes = NONE
  /** The next occurrence of the head, or -1; there is none before it, up to `#seen`. */
  #hit = -1
  #seen = 0
  /** Wrong guesses are paid for with bytes already read: together they cost no more than the input. */
  #credit = MAX_CREDIT

  constructor(tape: Tape) {
    this.#tape = tape
  }

  /** Where the object at `from` might end, or -1 if there is nothing to guess from. */
  end(from: number, bound: number): number {
    if (this.#credit <= 0) return -1
    const { view, base } = this.#tape
    if (!this.#fits(from)) {
      const head = headAt(view, from - base)
      if (!head) return -1
      this.#head = head
      this.#hit = -1
      this.#seen = from
    }
    if (this.#hit <= from) this.#search(from + 1)
    if (this.#hit < 0) return -1
    let i = this.#hit - base - 1
    while (isBlank(view[i])) i--
    if (view[i] !== COMMA) return -1
    do i--
    while (isBlank(view[i]))
    const end = i + base + 1
    if (view[i] !== CLOSE_BRACE || end > bound) return -1
    this.next = this.#hit
    return end
  }

  /** The guess was wrong. A failed JSON.parse costs as much as reading a few kilobytes. */
  missed(from: number, end: number): void {
    this.#credit -= end - from + MISS
  }

  /** An element was read, guessed or not. */
  read(from: number, end: number): void {
    if (this.#credit < MAX_CREDIT) this.#credit += end - from
  }

  #fits(from: number): boolean {
    const { view, base } = this.#tape
    const head = this.#head
    const i = from - base
    if (head.length === 0 || i + head.length > view.length) return false
    // The usual case, and short: a loop costs less than a native call.
    for (let j = 0; j < head.length; j++) if (view[i + j] !== head[j]) return false
    return true
  }

  #search(from: number): void {
    const { view, base, end } = this.#tape
    const start = Math.max(from, this.#seen)
    const index = view.indexOf(this.#head, start - base)
    this.#hit = index < 0 ? -1 : index + base
    this.#seen = index < 0 ? Math.max(start, end - this.#head.length + 1) : this.#hit
    this.#credit -= this.#seen - start
  }
}

/**
 * The beginning of an object, up to the colon of its first key; undefined if that has not arrived, or is
 * unusual.
 *
 * @example
 * headAt(Buffer.from('{ "id": 1 }'), 0)?.toString() // '{ "id":'
 */
function headAt(view: Bytes, from: number): Bytes | undefined {
  if (view[from] !== OPEN_BRACE) return undefined
  let i = from + 1
  const end = Math.min(view.length, from + MAX_HEAD)
  while (i < end && isBlank(view[i])) i++
  if (view[i] !== QUOTE) return undefined
  const key = i + 1
  i = byteStringEnd(view, key, end)
  if (i >= end || view.subarray(key, i).includes(BACKSLASH)) return undefined
  do i++
  while (i < end && isBlank(view[i]))
  return i < end && view[i] === COLON ? Bytes.from(view.subarray(from, i + 1)) : undefined
}

const NONE = Bytes.alloc(0)
const MAX_HEAD = 256
const MAX_CREDIT = 1 << 20
const MISS = 2048
