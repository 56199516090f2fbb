import { type Handler, Tokenizer, VALUES } from '../json/tokenizer.ts'
import { type Branch, Completed, NOTHING } from './branch.ts'

/**
 * A JSON value that grows in place while its text comes, and what of it is complete. Strings show as far as they are
 * known; numbers and literals only when they are complete, because a cut `12` may become `123`.
 *
 * A class, because its fields are read and written at every token.
 */
export class GrowingValue implements Handler {
  root: unknown = undefined
  readonly #tokens: Tokenizer
  /** The container that is being filled; none before the first and after the last. */
  #top: Branch | undefined = undefined
  /** The key of the value that comes next in `top.map`. */
  #key = ''
  /** Whether that value may be seen: it does not hang below a key that reaches for a prototype. */
  #shown = true
  /** The string that was put last is not complete. */
  #partial = false
  /** What has become complete since somebody asked. A list of all would grow with the document. */
  #completed = new Completed()

  constructor(maxDepth: number) {
    this.#tokens = new Tokenizer(this, VALUES, maxDepth)
  }

  /** Reads from `at` to the end of the piece, the end of the document, or what cannot be JSON; returns where. */
  push(text: string, at: number): number {
    return this.#tokens.push(text, at)
  }

  /** Nothing follows: finishes a number at the root. */
  finish(): void {
    this.#tokens.end()
  }

  /** The document is complete. */
  done(): boolean {
    return this.#tokens.done()
  }

  /** What came cannot be JSON, or is nested too deep. */
  failed(): boolean {
    return this.#tokens.failed()
  }

  /** Enough was seen to tell a document from a brace in prose. */
  begun(): boolean {
    return this.#tokens.begun
  }

  /** Nothing is in the root: no element and no key, not even one that is not shown. */
  isEmpty(): boolean {
    return (
      typeof this.root === 'object' && this.#key === '' && Object.keys(this.root ?? NO_OBJECT).length === 0
    )
  }

  /** What has become complete since this was asked before. */
  takeCompleted(): Completed {
    if (this.#completed.keys.length === 0) return NOTHING
    const taken = this.#completed
    this.#completed = new Completed()
    return taken
  }

  open(array: boolean): void {
    const map = array ? undefined : {}
    const list = array ? [] : undefined
    this.#put(map ?? list)
    this.#top = {
      parent: this.#top,
      key: this.#lastKey(),
      depth: this.#top === undefined ? 0 : this.#top.depth + 1,
      map,
      list,
      shown: this.#shown,
      path: undefined,
    }
  }

  close(): void {
    const closed = this.#top!
    this.#top = closed.parent
    this.#shown = closed.shown
    if (this.#shown) this.#completed.add(this.#top, closed.key)
  }

  key(key: string): void {
    this.#key = key
    this.#shown = this.#top!.shown && !(key.length === 9 && reachesForPrototype(key, this.#top!))
  }

  growing(value: string): void {
    if (this.#partial) this.#replace(value)
    else this.#put(value)
    this.#partial = true
  }

  string(value: string): void {
    if (this.#partial) this.#replace(value)
    else this.#put(value)
    this.#partial = false
    this.#complete()
  }

  number(value: number): void {
    this.#put(value)
    this.#complete()
  }

  literal(value: boolean | null): void {
    this.#put(value)
    this.#complete()
  }

  #put(value: unknown): void {
    const top = this.#top
    if (top === undefined) this.root = value
    else if (top.list !== undefined) top.list.push(value)
    else if (this.#shown) set(top.map!, this.#key, value)
  }

  /** Replaces the value that was put last by a longer one. */
  #replace(value: string): void {
    const top = this.#top
    if (top === undefined) this.root = value
    else if (top.list !== undefined) top.list[top.list.length - 1] = value
    else if (this.#shown) set(top.map!, this.#key, value)
  }

  /** The value that was put last will not change any more. */
  #complete(): void {
    if (this.#shown) this.#completed.add(this.#top, this.#lastKey())
  }

  #lastKey(): string | number {
    const top = this.#top
    return top === undefined ? '' : top.list !== undefined ? top.list.length - 1 : this.#key
  }
}

const NO_OBJECT = [null]

/** In one place, so that V8 learns the shapes of all values in one place. */
function set(map: Record<string, unknown>, key: string, value: unknown): void {
  map[key] = value
}

/**
 * `__proto__`, and `prototype` in a `constructor`: code that copies a snapshot must not be led to a prototype. Both
 * names have nine letters.
 */
function reachesForPrototype(key: string, branch: Branch): boolean {
  return key === '__proto__' || (key === 'prototype' && branch.key === 'constructor')
}
