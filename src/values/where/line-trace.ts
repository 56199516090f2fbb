import { Bytes, simdSearch } from '../../base/platform.ts'
import { SIMD_ROOM, type SimdSearch } from '../../base/wasm.ts'
import { isQuote } from '../../repair/quotes.ts'
import { NOWHERE } from '../../text/byte-search.ts'
import {
  BACKSLASH,
  C1_LEAD,
  ESC,
  hexValue,
  isHighSurrogate,
  LETTER_U,
  SLASH,
  ZERO,
} from '../../text/characters.ts'
import type { Condition, JsonScalar } from './conditions.ts'

/**
 * What the bytes of a line must contain for one condition: one of the parts, or an escape `\uXXXX` that may
 * spell a character of one. Without parts every line may match.
 */
export interface Trace {
  readonly parts: readonly Bytes[]
  /** UTF-16 units of the parts: only their escapes can hide one. */
  readonly units: ReadonlySet<number>
  /** The beginning of every such escape. */
  readonly escape: Bytes
}

/** Matches every line. */
export const ANY_LINE: Trace = { parts: [], units: new Set(), escape: Bytes.alloc(0) }

/**
 * The traces of conditions that can rule out lines, the rarest first. Which is rarest is a guess: the one
 * whose shortest part is longest.
 */
export function tracesOf(conditions: readonly Condition[]): readonly Trace[] {
  const length = ({ parts }: Trace) => Math.min(...parts.map((part) => part.length))
  return conditions
    .map(traceOf)
    .filter(({ parts }) => parts.length > 0)
    .sort((one, other) => length(other) - length(one))
}

/**
 * The trace of a condition. Text is searched for by its value; a number, which has many spellings, a literal
 * and an empty text by the key. Searched for is the longest part that JSON can spell in two ways only, as it
 * is or with `\u`.
 *
 * @example
 * traceOf({ key: 'type', scalars: new Set(['turn.completed']) }).parts // [Bytes of 'turn.completed']
 * traceOf({ key: 'line', scalars: new Set([1]) }).parts // [Bytes of 'line'], because of `1.0` and `10e-1`
 */
export function traceOf({ key, scalars }: Condition): Trace {
  const parts = [...scalars].map(plainPart)
  const sought = parts.includes('') ? [plainPart(key)] : parts
  const units = new Set<number>()
  for (const part of sought) for (let at = 0; at < part.length; at++) units.add(part.charCodeAt(at))
  const ascii = [...units].every((unit) => unit < 0x100)
  if (sought.includes('')) return ANY_LINE
  return {
    parts: sought.map((part) => Bytes.from(part)),
    units,
    escape: Bytes.from(ascii ? '\\u00' : '\\u'),
  }
}

//  src/main.ts      say "yes please"
//      ^^^^^^^           ^^^^^^^^^^
/** The longest run of characters whose bytes are always the same, unless they are written as `\u`. */
function plainPart(scalar: JsonScalar): string {
  if (typeof scalar !== 'string') return ''
  let longest = ''
  let from = 0
  for (let at = 0; at <= scalar.length; ) {
    const character = String.fromCodePoint(scalar.codePointAt(at) ?? 0)
    if (!isPlain(character)) {
      if (at - from > longest.length) longest = scalar.slice(from, at)
      from = at + character.length
    }
    at += character.length
  }
  return longest
}

/**
 * Not plain: characters with an escape of their own (`\n`, `\"`, `\/`), quotes of other kinds, which lose a
 * backslash when a line is repaired (`'it\'s'`), a lone surrogate, which UTF-8 cannot represent, and U+FFFD,
 * which replaces any invalid byte.
 */
function isPlain(character: string): boolean {
  const unit = character.charCodeAt(0)
  if (character.length === 2) return true
  if (unit < 0x20 || isQuote(unit) || character === '\\' || unit === SLASH) return false
  return !isHighSurrogate(unit) && !(unit >= 0xdc00 && unit <= 0xdfff) && unit !== 0xfffd
}

/**
 * Searches bytes for hits of a trace, with native searches that remember their hits: a byte loop takes twenty
 * times as long. With SIMD, one search looks for the first part and everything that may hide it.
 */
export class TraceSearch {
  readonly #searches: readonly { enter(bytes: Bytes): void; next(from: number): number }[]
  readonly #everywhere: boolean

  /** `terminal`: a C1 control may begin a sequence. `simd`: null to search without it. */
  constructor(trace: Trace, terminal: boolean, simd: SimdSearch | null = simdSearch() ?? null) {
    const { parts } = trace
    // An escape sequence in a line may hide anything.
    const all: (number | Bytes)[] = terminal ? [...parts, ESC, C1_LEAD] : [...parts, ESC]
    const maySpell = (bytes: Bytes, at: number) => spells(trace, bytes, at)
    this.#everywhere = parts.length === 0
    this.#searches =
      simd && !terminal && parts[0]
        ? [new BlockSearch(simd, trace, maySpell), ...parts.slice(1).map((one) => new Search(one))]
        : [...all.map((one) => new Search(one)), new Search(trace.escape, maySpell)]
  }

  /** Switches to other bytes. */
  enter(bytes: Bytes): void {
    if (!this.#everywhere) for (const search of this.#searches) search.enter(bytes)
  }

  /** The first hit at or after `from`, or NOWHERE. Positions must not go back. */
  next(from: number): number {
    if (this.#everywhere) return from
    let next = NOWHERE
    for (const search of this.#searches) {
      const at = search.next(from)
      if (at < next) next = at
    }
    return next
  }
}

/** Whether the escape at `at` is of a wanted character. The parser decides whether it is valid. */
function spells({ units }: Trace, bytes: Bytes, at: number): boolean {
  let unit = 0
  for (let digit = at + 2; digit < at + 6; digit++) {
    const value = hexValue(bytes[digit] ?? 0)
    if (value < 0) return true
    unit = unit * 16 + value
  }
  return units.has(unit)
}

class Search {
  readonly #sought: number | Bytes
  readonly #counts: ((bytes: Bytes, at: number) => boolean) | undefined
  #bytes = EMPTY
  #hit = -1

  /** `counts`: whether a hit counts. */
  constructor(sought: number | Bytes, counts?: (bytes: Bytes, at: number) => boolean) {
    this.#sought = sought
    this.#counts = counts
  }

  enter(bytes: Bytes): void {
    this.#bytes = bytes
    this.#hit = -1
  }

  next(from: number): number {
    if (this.#hit >= from) return this.#hit
    const bytes = this.#bytes
    let at = bytes.indexOf(this.#sought, from)
    while (at >= 0 && this.#counts?.(bytes, at) === false) at = bytes.indexOf(this.#sought, at + 1)
    this.#hit = at < 0 ? NOWHERE : at
    return this.#hit
  }
}

const EMPTY = Bytes.alloc(0)
/** First byte of the C1 controls in UTF-8. */

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
class BlockSearch {
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
