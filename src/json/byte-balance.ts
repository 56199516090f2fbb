import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  classTable,
  isProtected,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  STAR,
} from '../text/characters.ts'

/** Why a walk stopped. */
export type Stop = 'end' | 'closed' | 'line-end' | 'bracket'

/**
 * Tracks brackets, strings and comments over bytes that arrive in pieces.
 *
 *     {"a": "}", // it's }
 *     ^     ^^^  ^^^^^^^^^  neither the string nor the comment closes anything
 *
 * A backslash protects the next quote or backslash, inside strings and outside. `//` up to the line end and
 * `/*` up to its closer are comments, but not `//` after a colon: `http://` is not a comment. A class,
 * because its state is hot and carries over. Positions are absolute: `bytes[0]` is at `base`.
 */
export class ByteBalance {
  depth = 0
  inString = false
  /**
   * Why the last walk stopped: `closed` after a bracket that brought the depth to 0 or below, `line-end`
   * after an LF in a string, `bracket` before an opening bracket in a string, `end` at `to`.
   */
  stop: Stop = 'end'
  #comment: Comment = NONE
  /** Position of a slash that begins a comment if the next byte is a slash or a star. */
  #slash = -1
  /** A colon precedes that slash: only a star makes it a comment. */
  #afterColon = false
  /** The star that opened the block comment; it cannot close it as well. */
  #star = -1

  /** Starts over, inside `depth` brackets. */
  reset(depth: number): void {
    this.depth = depth
    this.inString = false
    this.#comment = NONE
    this.#slash = -1
  }

  /**
   * Walks from `from` to `to`. With `torn` false it stops at a line end in a string, with `torn` true at an
   * opening bracket in one. Runs of backslashes are followed back to `floor`.
   */
  walk(bytes: Uint8Array, base: number, from: number, to: number, floor: number, torn: boolean): number {
    const end = to - base
    const inStrings = torn ? IN_TORN_STRINGS : IN_STRINGS
    let at = from - base
    let { depth } = this
    this.stop = 'end'
    // Separate loops for strings and for the bytes between them: both skip most bytes, but not the same ones.
    walking: for (;;) {
      if (this.inString) {
        while (at < end && inStrings[bytes[at] as number] === 0) at++
        if (at >= end) break
        const byte = bytes[at] as number
        if (byte === QUOTE) {
          this.inString = isProtectedAt(bytes, at, floor - base)
          at++
          continue
        }
        if (byte === LF) at++
        this.stop = byte === LF ? 'line-end' : 'bracket'
        break
      }
      if (this.#comment !== NONE) {
        at = this.#passComment(bytes, at, end, base)
        if (at >= end) break
        continue
      }
      while (at < end && BETWEEN[bytes[at] as number] === 0) at++
      if (at >= end) break
      const byte = bytes[at] as number
      switch (byte) {
        case QUOTE:
          this.inString = !isProtectedAt(bytes, at, floor - base)
          break
        case OPEN_BRACE:
        case OPEN_BRACKET:
          depth++
          break
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (--depth <= 0) {
            at++
            this.stop = 'closed'
            break walking
          }
          break
        default:
          this.#comment = this.#commentAt(byte, bytes[at - 1], at + base)
      }
      at++
    }
    this.depth = depth
    return at + base
  }

  /** One past the end of the comment, or `end`. */
  #passComment(bytes: Uint8Array, from: number, end: number, base: number): number {
    const isLine = this.#comment === LINE
    for (let at = from; at < end; at++) {
      if (isLine ? bytes[at] !== LF : bytes[at] !== SLASH || !this.#closesBlock(bytes, at, base)) continue
      this.#comment = NONE
      return at + 1
    }
    return end
  }

  /** What a slash or a star begins outside strings and comments. */
  #commentAt(byte: number, before: number | undefined, position: number): Comment {
    if (this.#slash === position - 1 && (byte === STAR || !this.#afterColon)) {
      this.#star = position
      this.#slash = -1
      return byte === STAR ? BLOCK : LINE
    }
    if (byte !== SLASH) return NONE
    this.#slash = position
    this.#afterColon = before === COLON
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

function isProtectedAt(bytes: Uint8Array, at: number, floor: number): boolean {
  return bytes[at - 1] === BACKSLASH && isProtected(bytes, at, floor)
}

/** One for bytes the walk must handle, zero for all others. */
const BETWEEN = /* @__PURE__ */ classTable([1, '"{[}]/*'])
const IN_STRINGS = /* @__PURE__ */ classTable([1, '"\n'])
const IN_TORN_STRINGS = /* @__PURE__ */ classTable([1, '"{['])
