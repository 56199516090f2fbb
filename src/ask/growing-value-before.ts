import { type Branch, Completed, NOTHING } from './branch.ts'

/**
 * A value that is built in place, and what of it is complete. It is told what comes next; what may come next
 * is for the parser to know. A class, because its fields are read and written at every token: they cost what
 * variables cost, and no function is made for each value.
 */
export class GrowingValue {
  root: unknown = undefined
  /** The container that is being filled; none before the first and after the last. */
  top: Branch | undefined = undefined
  /** The key of the value that comes next in `top.map`. */
  key = ''
  /** Whether that value may be seen: it does not hang below a key that reaches for a prototype. */
  shown = true
  /** What has become complete since somebody asked. A list of all would grow with the document. */
  #completed = new Completed()

  /** The value that comes next will be under this key. */
  name(key: string): void {
    this.key = key
    this.shown = this.top!.shown && !(key.length === 9 && reachesForPrototype(key, this.top!))
  }

  put(value: unknown): void {
    const { top } = this
    if (top === undefined) this.root = value
    else if (top.list !== undefined) top.list.push(value)
    else if (this.shown) set(top.map!, this.key, value)
  }

  /** Replaces the value that was put last by a longer one. */
  replace(value: string): void {
    const { top } = this
    if (top === undefined) this.root = value
    else if (top.list !== undefined) top.list[top.list.length - 1] = value
    else if (this.shown) set(top.map!, this.key, value)
  }

  /** The value that was put last will not change any more. */
  complete(): void {
    if (this.shown) this.#completed.add(this.top, this.#lastKey())
  }

  /** Puts a container, either a map or a list; what follows goes into it. */
  open(map: Record<string, unknown> | undefined, list: unknown[] | undefined): void {
    this.put(map ?? list)
    this.top = {
      parent: this.top,
      key: this.#lastKey(),
      depth: this.top === undefined ? 0 : this.top.depth + 1,
      map,
      list,
      shown: this.shown,
      path: undefined,
    }
  }

  /** The container is complete; what follows goes into the one around it. */
  close(): void {
    const closed = this.top!
    this.top = closed.parent
    this.shown = closed.shown
    if (this.shown) this.#completed.add(this.top, closed.key)
  }

  /** What has become complete since this was asked before. */
  takeCompleted(): Completed {
    if (this.#completed.keys.length === 0) return NOTHING
    const taken = this.#completed
    this.#completed = new Completed()
    return taken
  }

  #lastKey(): string | number {
    const { top } = this
    return top === undefined ? '' : top.list !== undefined ? top.list.length - 1 : this.key
  }
}

/** In one place, so that V8 learns the shapes of all values in one place. */
function set(map: Record<string, unknown>, key: string, value: unknown): void {
  map[key] = value
}

/**
 * `__proto__`, and `prototype` in a `constructor`: whoever copies a snapshot must not be led to a prototype.
 * Both names have nine letters.
 */
function reachesForPrototype(key: string, branch: Branch): boolean {
  return key === '__proto__' || (key === 'prototype' && branch.key === 'constructor')
}
