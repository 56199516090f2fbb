import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  isProtected,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  STAR,
} from './characters.ts'

/** Why a walk stopped. */
export type Stop = 'end' | 'closed' | 'line-end' | 'bracket'

/**
 * Brackets, strings and comments, counted over bytes that come in pieces.
 *
 *     {"a": "}", // it's }
 *     ^     ^^^  ^^^^^^^^^  neither the string nor the comment closes anything
 *
 * A backslash protects the next quote or backslash, inside strings and outside. `//` up to the line end and
 * `/*` up to its closer are comments, unless a colon precedes them: `http://` is no comment. A class, because its state is
 * hot and goes on from piece to piece. Positions are those of the caller: `bytes[0]` is at `base`.
 */
export class ByteBalance {
  depth = 0
  inString = false
  /** Why the last walk stopped: `closed` behind a bracket that brought the depth to 0 or below, `line-end` behind an
   * LF in a string, `bracket` before an opening bracket in a string, `end` where it was told to. */
  stop: Stop = 'end'
  #comment: Comment = NONE
  /** A slash that begins a comment if the next byte says so. */
  #slash = -1
  /** The star that opened the block comment; it does not close it. */
  #star = -1

  /** Begins anew, inside so many brackets. */
  reset(depth: number): void {
    this.depth = depth
    this.inString = false
    this.#comment = NONE
    this.#slash = -1
  }

  /**
   * Walks from `from` to `to`. With `torn` false it stops at a line end in a string, with `torn` true at an opening
   * bracket in one. Backslashes are looked for back to `floor`.
   */
  walk(bytes: Uint8Array, base: number, from: number, to: number, floor: number, torn: boolean): number {
    const end = to - base
    let { depth, inString } = this
    let comment = this.#comment
    let at = from - base
    this.stop = 'end'
    walking: while (at < end) {
      const byte = bytes[at] as number
      if (MATTERS[byte] === 0) {
        at++
        continue
      }
      if (comment !== NONE) {
        if (comment === LINE ? byte === LF : byte === SLASH && this.#closesBlock(bytes, at, base))
          comment = NONE
        at++
        continue
      }
      switch (byte) {
        case QUOTE:
          if (bytes[at - 1] !== BACKSLASH || !isProtected(bytes, at, floor - base)) inString = !inString
          break
        case LF:
          if (inString && !torn) {
            at++
            this.stop = 'line-end'
            break walking
          }
          break
        case OPEN_BRACE:
        case OPEN_BRACKET:
          if (!inString) depth++
          else if (torn) {
            this.stop = 'bracket'
            break walking
          }
          break
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (!inString && --depth <= 0) {
            at++
            this.stop = 'closed'
            break walking
          }
          break
        default:
          if (!inString) comment = this.#commentAt(byte, bytes[at - 1], at + base)
      }
      at++
    }
    this.depth = depth
    this.inString = inString
    this.#comment = comment
    return at + base
  }

  /** What a slash or a star begins outside of strings and comments. */
  #commentAt(byte: number, before: number | undefined, position: number): Comment {
    if (this.#slash === position - 1) {
      this.#star = position
      this.#slash = -1
      return byte === STAR ? BLOCK : LINE
    }
    if (byte === SLASH && before !== COLON) this.#slash = position
    return NONE
  }

  #closesBlock(bytes: Uint8Array, at: number, base: number): boolean {
    return bytes[at - 1] === STAR && at - 1 + base !== this.#star
  }
}

type Comment = 0 | 1 | 2
const NONE = 0
const LINE = 1
const BLOCK = 2

/** One for the bytes that the walk does something about, zero for all others. */
const MATTERS = new Uint8Array(256)
for (const byte of [QUOTE, LF, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET, SLASH, STAR])
  MATTERS[byte] = 1
