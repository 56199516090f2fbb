import { Bytes } from '../../base/platform.ts'
import { SIMD_ROOM, type SimdSearch } from '../../base/wasm.ts'
import { NOWHERE } from '../../text/byte-search.ts'
import { BACKSLASH, ESC, LETTER_U, ZERO } from '../../text/characters.ts'

/** How much of a part is searched for before all of it is compared. */
const MAX_SPAN = 256

interface Sought {
  readonly parts: readonly Bytes[]
  /** The beginning of an escape that counts: `\\u` or `\\u00`. */
  readonly escape: Bytes
}

/**
 * Finds the first part of a trace, an ESC, or an escape that counts, whichever comes first. The memory of
 * the search is shared, and holds a window of the bytes:
 *
 *     …{"type":"a"}\n{"type":"wanted"}\n{"type":"b"}\n…
 *        ^ from                              ^ safe ^ to
 *
 * A part that begins before `safe` is completely inside the window.
 */
export class BlockSearch {
  readonly #simd: SimdSearch
  readonly #part: Bytes
  readonly #maySpell: (bytes: Bytes, at: number) => boolean
  readonly #byte1: number
  readonly #at2: number
  readonly #at3: number
  readonly #escapeAt: number
  readonly #escapeByte: number
  #bytes: Bytes = Bytes.alloc(0)
  #from = 0
  #safe = 0
  #hit = -1

  constructor(simd: SimdSearch, sought: Sought, maySpell: (bytes: Bytes, at: number) => boolean) {
    this.#simd = simd
    this.#part = sought.parts[0]!
    this.#maySpell = maySpell
    this.#byte1 = this.#part[0]!
    // Related names share a beginning or an end: `item.completed`, `turn.completed`, `turn.failed`.
    this.#at2 = Math.min(this.#part.length, MAX_SPAN) - 1
    this.#at3 = this.#at2 >> 1
    // In `\u00`, the first zero is rarer than the `u`; the rest is checked afterwards.
    const isAscii = sought.escape.length > 2
    this.#escapeAt = isAscii ? 2 : 1
    this.#escapeByte = isAscii ? ZERO : LETTER_U
  }

  enter(bytes: Bytes): void {
    this.#bytes = bytes
    this.#hit = -1
    this.#from = 0
    this.#safe = 0
  }

  next(from: number): number {
    if (this.#hit >= from) return this.#hit
    const bytes = this.#bytes
    let at = from
    while (at < bytes.length) {
      if (at >= this.#safe || owner !== this) this.#load(at)
      const found = this.#find(at)
      at = found < 0 ? this.#safe : found
      if (found >= 0 && this.#counts(at)) {
        this.#hit = at
        return at
      }
      if (found >= 0) at++
    }
    this.#hit = NOWHERE
    return NOWHERE
  }

  #load(from: number): void {
    const { length } = this.#bytes
    const to = Math.min(length, from + SIMD_ROOM)
    this.#simd.memory.set(this.#bytes.subarray(from, to))
    this.#from = from
    this.#safe = to === length ? to : to - MAX_SPAN
    owner = this
  }

  #find(at: number): number {
    const part = this.#part
    const found = this.#simd.next(
      at - this.#from,
      this.#safe - this.#from,
      this.#byte1,
      this.#at2,
      part[this.#at2]!,
      this.#at3,
      part[this.#at3]!,
      this.#escapeAt,
      this.#escapeByte,
    )
    return found < 0 ? -1 : found + this.#from
  }

  /** Checks all of a hit that was found by a few of its bytes. */
  #counts(at: number): boolean {
    const bytes = this.#bytes
    const byte = bytes[at]
    if (byte === ESC) return true
    // No part begins with a backslash.
    if (byte === BACKSLASH)
      return (
        bytes[at + 1] === LETTER_U &&
        (this.#escapeAt === 1 || bytes[at + 3] === ZERO) &&
        this.#maySpell(bytes, at)
      )
    const part = this.#part
    for (let index = 0; index < part.length; index++) if (bytes[at + index] !== part[index]) return false
    return true
  }
}

/** The search whose bytes are in the memory. */
let owner: BlockSearch | undefined
