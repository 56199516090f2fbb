import { type Handler, Tokenizer, VALUES } from '../json/tokenizer.ts'

/** A container that is being built, and its parent. `key` is its own key in its parent. */
export interface Branch {
  readonly parent: Branch | undefined
  readonly key: string | number
  readonly depth: number
  readonly map: Record<string, unknown> | undefined
  readonly list: unknown[] | undefined
  /** False if it is below a key that was dropped. */
  readonly shown: boolean
  /** Its JSON pointer, once computed. */
  path: string | undefined
}

/** Values that are complete, in the order they were completed. */
export class Completed {
  /** The container of each, none for the root, and its key there. */
  readonly branches: (Branch | undefined)[] = []
  readonly keys: (string | number)[] = []

  add(branch: Branch | undefined, key: string | number): void {
    this.branches.push(branch)
    this.keys.push(key)
  }
}

/** Nothing was completed, which is the usual case inside a long string. */
export const NOTHING = new Completed()

/**
 * A JSON value that grows in place while its text arrives, and which parts of it are complete. Strings show
 * what is known so far; numbers and literals only when complete, because a cut `12` may become `123`.
 *
 * A class, because its fields are read and written at every token.
 */
export class GrowingValue implements Handler {
  root: unknown = undefined
  readonly #tokens: Tokenizer
  /** The current container; undefined before the first and after the last. */
  #top: Branch | undefined = undefined
  /** The key of the next value in `top.map`. */
  #key = ''
  /** Whether that value may be shown: it is not below a key that could change a prototype. */
  #shown = true
  /** The last string is not complete. */
  #partial = false
  /** What was completed since the last `takeCompleted`: a list of everything would grow. */
  #completed = new Completed()

  constructor(maxDepth: number) {
    this.#tokens = new Tokenizer(this, VALUES, maxDepth)
  }

  /** Reads from `at` to the end of the piece or of the document, or an error; returns that position. */
  push(text: string, at: number): number {
    return this.#tokens.push(text, at)
  }

  /** End of input: finishes a number at the root. */
  finish(): void {
    this.#tokens.end()
  }

  /** The document is complete. */
  done(): boolean {
    return this.#tokens.done()
  }

  /** The input cannot be JSON, or is nested too deep. */
  failed(): boolean {
    return this.#tokens.failed()
  }

  /** Enough was read to distinguish a document from a brace in prose. */
  begun(): boolean {
    return this.#tokens.begun
  }

  /** The root is empty: no element and no key, not even one that is not shown. */
  isEmpty(): boolean {
    return (
      typeof this.root === 'object' && this.#key === '' && Object.keys(this.root ?? NO_OBJECT).length === 0
    )
  }

  /** What was completed since the last call. */
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
    this.#shown = this.#top!.shown && !(key.length === 9 && isPrototypeKey(key, this.#top!))
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

  /** Replaces the last value with a longer one. */
  #replace(value: string): void {
    const top = this.#top
    if (top === undefined) this.root = value
    else if (top.list !== undefined) top.list[top.list.length - 1] = value
    else if (this.#shown) set(top.map!, this.#key, value)
  }

  /** The last value will not change again. */
  #complete(): void {
    if (this.#shown) this.#completed.add(this.#top, this.#lastKey())
  }

  #lastKey(): string | number {
    const top = this.#top
    return top === undefined ? '' : top.list !== undefined ? top.list.length - 1 : this.#key
  }
}

const NO_OBJECT = [null]

/** A separate function, so that V8 learns the shapes of all values in one place. */
function set(map: Record<string, unknown>, key: string, value: unknown): void {
  map[key] = value
}

/**
 * `__proto__`, and `prototype` in a `constructor`: code that copies a snapshot must not change a prototype.
 * Both names have nine letters.
 */
function isPrototypeKey(key: string, branch: Branch): boolean {
  return key === '__proto__' || (key === 'prototype' && branch.key === 'constructor')
}

/** The value at a key of a branch; own values only. */
export function valueAt(branch: Branch, key: string | number): unknown {
  return branch.list !== undefined ? branch.list[key as number] : branch.map?.[key]
}

/** The path of a value in a branch, as a JSON pointer. */
export function pointer(branch: Branch | undefined, key: string | number): string {
  if (branch === undefined) return ''
  // From the nearest branch that knows its path. Iterative: recursion would be deep.
  const unknown: Branch[] = []
  let at: Branch | undefined = branch
  while (at !== undefined && at.path === undefined) {
    unknown.push(at)
    at = at.parent
  }
  for (let next = unknown.pop(); next !== undefined; next = unknown.pop()) {
    next.path = next.parent === undefined ? '' : `${next.parent.path}/${segment(next.key)}`
  }
  return `${branch.path}/${segment(key)}`
}

function segment(key: string | number): string | number {
  if (typeof key === 'number' || !(key.includes('~') || key.includes('/'))) return key
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
