import { Bytes } from '../base/platform.ts'
import { NOWHERE } from '../text/byte-search.ts'
import { LESS } from '../text/characters.ts'
import type { Scan } from './scan.ts'

/**
 * Finds the openers of several tags, `<json>` and `<think>`, in one pass: a native search for each would cost
 * as much as everything else that is done with a log. Positions must not go back, except over what was found.
 */
export class OpenerSearch {
  readonly #scan: Scan
  readonly #openers: readonly { readonly name: string; readonly bytes: Bytes }[]
  /** Which bytes may follow the `<`. */
  readonly #initials = new Uint8Array(256)
  /** The last `<` that may open a tag; everything before it is none. */
  #hit = 0
  /** The tag that it opens, if that is known. */
  #name: string | undefined

  constructor(scan: Scan, names: readonly string[]) {
    this.#scan = scan
    this.#openers = names.map((name) => ({ name, bytes: Bytes.from(`<${name}>`) }))
    for (const name of names) this.#initials[name.charCodeAt(0)] = 1
  }

  /** The next opener at or after `from`; NOWHERE if none has arrived whole. */
  next(from: number): number {
    if (this.#name !== undefined && this.#hit >= from) return this.#hit
    if (this.#openers.length === 0) return NOWHERE
    this.#name = undefined
    const { view, base, end } = this.#scan.tape
    let at = Math.max(from, this.#hit)
    for (;;) {
      const index = view.indexOf(LESS, at - base)
      if (index < 0) {
        this.#hit = end
        return NOWHERE
      }
      at = index + base
      if (index + 1 >= view.length || this.#initials[view[index + 1]!] === 1) {
        const name = this.nameAt(at)
        if (name !== undefined) {
          this.#hit = at
          this.#name = name === '' ? undefined : name
          return name === '' ? NOWHERE : at
        }
      }
      at++
    }
  }

  /** The tag that opens at a position; undefined for none, empty if not all of it has arrived. */
  nameAt(position: number): string | undefined {
    if (position === this.#hit && this.#name !== undefined) return this.#name
    const { view, base } = this.#scan.tape
    const index = position - base
    let found: string | undefined
    for (const { name, bytes } of this.#openers) {
      // Nearly always this is enough, and a native comparison costs more.
      if (index + 2 < view.length && (view[index + 1] !== bytes[1] || view[index + 2] !== bytes[2])) continue
      const length = Math.min(view.length - index, bytes.length)
      if (view.compare(bytes, 0, length, index, index + length) !== 0) continue
      if (length === bytes.length) return name
      if (!this.#scan.ended) found = ''
    }
    return found
  }
}
