import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  DOT,
  isBlank,
  isDigit,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
} from '../text/characters.ts'
import { stringEnd } from './strings.ts'

/** Receives the parts of a text, in order. `open` and `close` may return true: then the walk is over. */
export interface Visitor {
  open(array: boolean): boolean | undefined
  close(): boolean | undefined
  /** From the opening quote of a key to its closing one. */
  key?(open: number, close: number): void
  number?(from: number, to: number): void
}

/**
 * Walks over a text that is JSON and checks nothing: strings are passed natively, from quote to quote. Returns
 * where it stopped: before the end if the visitor had enough, or at a string that has no end.
 *
 * The tokenizer reads the same parts, but it checks them, too: with a handler that looks for lost digits and
 * duplicate keys it took 1.8 times as long for a document of 900 KB, and 500 times for one long string.
 */
export function walk(text: string, visitor: Visitor): number {
  const wantsKeys = visitor.key !== undefined
  const wantsNumbers = visitor.number !== undefined
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    switch (unit) {
      case QUOTE: {
        const close = stringEnd(text, at)
        if (close < 0) return at
        if (wantsKeys) {
          const next = text.charCodeAt(close + 1)
          if (next === COLON || (next <= SPACE && isBeforeColon(text, close + 1))) visitor.key?.(at, close)
        }
        at = close
        break
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (visitor.open(unit === OPEN_BRACKET)) return at
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (visitor.close()) return at
        break
      default:
        if (wantsNumbers && (unit === MINUS || isDigit(unit))) {
          const from = at
          while (isNumberPart(text.charCodeAt(at + 1))) at++
          visitor.number?.(from, at + 1)
        }
    }
  }
  return text.length
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from
  while (isBlank(text.charCodeAt(at))) at++
  return text.charCodeAt(at) === COLON
}

function isNumberPart(unit: number): boolean {
  return isDigit(unit) || unit === DOT || unit === MINUS || unit === PLUS || (unit | 32) === LETTER_E
}

const LETTER_E = 0x65
