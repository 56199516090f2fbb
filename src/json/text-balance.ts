import {
  BACKSLASH,
  CLOSE_BRACE,
  COLON,
  classTable,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  STAR,
} from '../text/characters.ts'
import { backslashesBefore, stringEnd } from './strings.ts'

/** One past the bracket that closes the one at `from`, or -1. Skips comments, see ByteBalance. */
export function balancedEnd(text: string, from: number): number {
  const end = new TextBalance().readLoosely(text, from)
  return end === 'inside' ? -1 : end
}

/**
 * Tracks how far a text that arrives in pieces is inside a bracketed value; ByteBalance does the same for
 * bytes. Strings are skipped natively, from quote to quote.
 *
 *     {"a": "}", "b": [1]} rest
 *     ^ depth 1   depth 2 ^ the end
 */
export class TextBalance {
  depth = 0
  inString = false
  /** The last piece ended in a string, with a backslash that escapes the next character. */
  #escaped = false

  copy(): TextBalance {
    const copy = new TextBalance()
    copy.depth = this.depth
    copy.inString = this.inString
    copy.#escaped = this.#escaped
    return copy
  }

  /**
   * Reads one more piece of JSON, starting at `from`. Returns the index after the bracket that closes the
   * value, `inside` if that has not arrived, or `broken` at a character that only strings may have.
   */
  readStrictly(text: string, from = 0): number | 'inside' | 'broken' {
    return this.#read(text, from, true)
  }

  /** The same for a value that may need repair: other characters and comments are skipped. */
  readLoosely(text: string, from = 0): number | 'inside' {
    const end = this.#read(text, from, false)
    return end === 'broken' ? 'inside' : end
  }

  #read(text: string, from: number, strict: boolean): number | 'inside' | 'broken' {
    let at = this.inString ? this.#passString(text, from) : from
    while (at < text.length) {
      const unit = text.charCodeAt(at)
      const kind = unit > CLOSE_BRACE ? OTHER : KIND[unit]
      at++
      if (kind === PLAIN) continue
      if (kind !== BRACKET) {
        if (strict) return 'broken'
        if (kind === ODD) at = passOddity(text, at)
        continue
      }
      if (unit === QUOTE) at = this.#passString(text, at)
      else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) this.depth++
      else if (--this.depth === 0) return at
      else if (this.depth < 0 && strict) return 'broken'
    }
    return 'inside'
  }

  /** One past the closing quote, or the end of the text. */
  #passString(text: string, from: number): number {
    this.inString = true
    if (from === text.length) return from
    const start = this.#escaped ? from + 1 : from
    const close = stringEnd(text, start - 1)
    this.inString = close < 0
    this.#escaped = this.inString && backslashesBefore(text, text.length, start) % 2 === 1
    return this.inString ? text.length : close + 1
  }
}

/** One past the escaped quote or comment that begins with the backslash or slash before `at`. */
function passOddity(text: string, at: number): number {
  const next = text.charCodeAt(at)
  if (text.charCodeAt(at - 1) === BACKSLASH) return next === QUOTE || next === BACKSLASH ? at + 1 : at
  if (next !== STAR && (next !== SLASH || text.charCodeAt(at - 2) === COLON)) return at
  const end = next === SLASH ? text.indexOf('\n', at) : text.indexOf('*/', at + 1)
  return end < 0 ? text.length : end + (next === SLASH ? 1 : 2)
}

const OTHER = 0
/** Blanks, `,`, `:`, and the characters of numbers, `true`, `false` and `null`. */
const PLAIN = 1
const BRACKET = 2
/** The beginning of what `passOddity` knows. */
const ODD = 3
const KIND = /* @__PURE__ */ classTable(
  [PLAIN, ' \t\r\n,:0123456789+-.eEtrufalsn'],
  [BRACKET, '"{[}]'],
  [ODD, '\\/'],
)
