import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  classTable,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../text/characters.ts'
import { backslashesBefore, stringEnd } from './strings.ts'

/**
 * One past the bracket that closes the one at `from`, or -1, in a text that may need repair: comments and
 * escaped quotes outside of strings are skipped, see ByteBalance.
 */
export function balancedEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    NO_BRACKETS.lastIndex = at
    NO_BRACKETS.test(text)
    at = NO_BRACKETS.lastIndex
    if (at === text.length) break
    const unit = text.charCodeAt(at++)
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) depth++
    else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
      if (--depth === 0) return at
    } else if (unit === QUOTE) {
      const close = stringEnd(text, at - 1)
      if (close < 0) break
      at = close + 1
    }
  }
  return -1
}

/**
 * What is between two brackets: strings without a backslash, comments (`://` is a URL), an escaped quote. One
 * call for many of them, because it costs more than their characters; a limit, because each needs stack.
 */
const NO_BRACKETS =
  /[^"{}[\]\\/]*(?:(?:"[^"\\]*"|(?<!:)\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\\["\\])[^"{}[\]\\/]*){0,64}/y

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
  read(text: string, from = 0): number | 'inside' | 'broken' {
    let at = this.inString ? this.#passString(text, from) : from
    while (at < text.length) {
      const unit = text.charCodeAt(at)
      const kind = unit > CLOSE_BRACE ? OTHER : KIND[unit]
      at++
      if (kind === PLAIN) continue
      if (kind !== BRACKET) return 'broken'
      if (unit === QUOTE) at = this.#passString(text, at)
      else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) this.depth++
      else if (--this.depth <= 0) return this.depth === 0 ? at : 'broken'
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

const OTHER = 0
/** Blanks, `,`, `:`, and the characters of numbers, `true`, `false` and `null`. */
const PLAIN = 1
const BRACKET = 2
const KIND = /* @__PURE__ */ classTable([PLAIN, ' \t\r\n,:0123456789+-.eEtrufalsn'], [BRACKET, '"{[}]'])
