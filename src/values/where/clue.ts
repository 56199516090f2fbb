import { Bytes } from '../../base/platform.ts'
import { NOWHERE } from '../../frames/needle.ts'
import { ESC, hexValue, isHighSurrogate, SLASH } from '../../json/characters.ts'
import type { Condition, Scalar } from './conditions.ts'

/**
 * What the bytes of a line must have for one condition: one of the needles, or an escape `\uXXXX` that may spell a
 * character of one. Without needles every line may fit.
 */
export interface Clue {
  readonly needles: readonly Bytes[]
  /** UTF-16 units of the needles: only their escapes can hide one. */
  readonly units: ReadonlySet<number>
  /** What every such escape begins with. */
  readonly escape: Bytes
}

/** Every line has it. */
export const ANY_LINE: Clue = { needles: [], units: new Set(), escape: Bytes.alloc(0) }

/**
 * The clues of conditions that tell lines apart, the rarest first. It is a guess: the one
 * whose shortest needle is longest.
 */
export function cluesOf(conditions: readonly Condition[]): readonly Clue[] {
  const length = ({ needles }: Clue) => Math.min(...needles.map((needle) => needle.length))
  return conditions
    .map(clueOf)
    .filter(({ needles }) => needles.length > 0)
    .sort((one, other) => length(other) - length(one))
}

/**
 * The clue of a condition. Text is sought by its value; a number, which has many spellings, a literal and an empty text
 * by the key. What is sought is the longest part that JSON can spell in two ways only, as it is or with `\u`.
 *
 * @example
 * clueOf({ key: 'type', scalars: new Set(['turn.completed']) }).needles // [Bytes of 'turn.completed']
 * clueOf({ key: 'line', scalars: new Set([1]) }).needles // [Bytes of 'line'], because of `1.0` and `10e-1`
 */
export function clueOf({ key, scalars }: Condition): Clue {
  const parts = [...scalars].map(plainPart)
  const sought = parts.includes('') ? [plainPart(key)] : parts
  const units = new Set<number>()
  for (const part of sought) for (let at = 0; at < part.length; at++) units.add(part.charCodeAt(at))
  const ascii = [...units].every((unit) => unit < 0x100)
  if (sought.includes('')) return ANY_LINE
  return {
    needles: sought.map((part) => Bytes.from(part)),
    units,
    escape: Bytes.from(ascii ? '\\u00' : '\\u'),
  }
}

//  src/main.ts      say "yes please"
//      ^^^^^^^           ^^^^^^^^^^
/** The longest run of characters whose bytes are always the same, unless they are written as `\u`. */
function plainPart(scalar: Scalar): string {
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
 * Not plain: what has an escape of its own (`\n`, `\"`, `\/`), a lone surrogate, which UTF-8 cannot hold, and U+FFFD,
 * which any invalid byte becomes.
 */
function isPlain(character: string): boolean {
  const unit = character.charCodeAt(0)
  if (character.length === 2) return true
  if (unit < 0x20 || character === '"' || character === '\\' || unit === SLASH) return false
  return !isHighSurrogate(unit) && !(unit >= 0xdc00 && unit <= 0xdfff) && unit !== 0xfffd
}

/**
 * Searches a piece of input for the next line that a clue fits, with one native search for each needle that remembers
 * its hit. A byte loop takes twenty times as long.
 */
export class ClueSearch {
  readonly #clue: Clue
  /** An escape sequence in a line may hide anything: such a line fits. On a PTY it may begin with a C1 control. */
  readonly #searches: readonly Search[]
  readonly #escapes: Search
  #bytes: Bytes = Bytes.alloc(0)

  constructor(clue: Clue, terminal: boolean) {
    this.#clue = clue
    const introducers = terminal ? [ESC, C1_LEAD] : [ESC]
    this.#searches = [...clue.needles, ...introducers].map((sought) => new Search(sought))
    this.#escapes = new Search(clue.escape)
  }

  /** Goes on with other bytes. */
  enter(bytes: Bytes): void {
    this.#bytes = bytes
    for (const search of this.#searches) search.reset()
    this.#escapes.reset()
  }

  /** The first place at or after `from` that fits, or NOWHERE. Places must not go back. */
  next(from: number): number {
    if (this.#clue.needles.length === 0) return from
    let next = this.#nextEscape(from)
    for (const search of this.#searches) {
      const at = search.next(this.#bytes, from)
      if (at < next) next = at
    }
    return next
  }

  #nextEscape(from: number): number {
    const bytes = this.#bytes
    for (let at = this.#escapes.next(bytes, from); ; at = this.#escapes.next(bytes, at + 1)) {
      if (at === NOWHERE || this.#maySpell(at + 2)) return at
    }
  }

  /** Four hexadecimal digits of a character that is sought; what is no escape at all is for the parser to judge. */
  #maySpell(at: number): boolean {
    let unit = 0
    for (let digit = 0; digit < 4; digit++) {
      const value = hexValue(this.#bytes[at + digit] ?? 0)
      if (value < 0) return true
      unit = unit * 16 + value
    }
    return this.#clue.units.has(unit)
  }
}

class Search {
  readonly #sought: number | Bytes
  #hit = -1

  constructor(sought: number | Bytes) {
    this.#sought = sought
  }

  reset(): void {
    this.#hit = -1
  }

  next(bytes: Bytes, from: number): number {
    if (this.#hit < from) {
      const at = bytes.indexOf(this.#sought, from)
      this.#hit = at < 0 ? NOWHERE : at
    }
    return this.#hit
  }
}

/** In UTF-8, the C1 controls begin with it. */
const C1_LEAD = 0xc2
