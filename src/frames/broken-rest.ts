import { InString } from '../json/strings.ts'
import {
  APOSTROPHE,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  isBlank,
  isBracket,
  isDigit,
  isWordCharacter,
  LF,
  MINUS,
  OPEN_BRACKET,
  PLUS,
  QUESTION,
  QUOTE,
} from '../text/characters.ts'
import type { Inside, Scan } from './scan.ts'

/** A word longer than this is not a key, number or literal. */
export const MAX_WORD = 256

/** What ends it early. */
interface Interruptions {
  nextTag(from: number): number
  /** Tag openers are known up to this position. */
  known(): number
  readonly lines: boolean
}

/**
 * The rest of a broken document, after the object that was taken for it. It is skipped as text, as long as it
 * consists of JSON tokens, so that no object inside it is passed off as the whole.
 *
 *     {"k":1}},"m":{"n":2}} and so on
 *            ^^^^^^^^^^^^^^ the broken rest
 *                           ^ a word without a colon
 *
 * After what takes an element or a member of the value, it is the rest of the line: that is code.
 *
 *     [{"k":1}].concat([{"m":2}])
 *              ^^^^^^^^^^^^^^^^^^
 */
export function brokenRestMachine(scan: Scan, interruptions: Interruptions): (from: number) => void {
  const { tape } = scan
  let seek = 0
  let stage: 'between' | 'string' | 'word' | 'colon' | 'code' = 'between'
  const string = new InString()
  /** Where the word began. */
  let start = 0

  const rest: Inside = {
    keep() {
      return stage === 'word' ? start : seek
    },
    look() {
      const tag = interruptions.nextTag(seek)
      const stop = Math.min(tag, interruptions.known())
      while (seek < stop) {
        if (!passes(scan.byte(seek)!)) {
          scan.leave(seek)
          return true
        }
        seek++
      }
      if (stop === tag) scan.leave(tag)
      return stop === tag
    },
    finish() {
      scan.leave(tape.end)
    },
  }

  /** Whether the byte at `seek` continues a token, or begins one. */
  function passes(byte: number): boolean {
    if (stage === 'code') return byte !== LF
    if (stage === 'string') {
      if (string.ends(byte)) stage = 'between'
      return byte !== LF
    }
    if (stage === 'word') {
      if (isTokenByte(byte)) return seek - start < MAX_WORD
      stage = isNumber(start, seek) || isLiteral(scan, start, seek) ? 'between' : 'colon'
    }
    if (isBlank(byte)) return true
    if (stage === 'colon') {
      stage = 'between'
      return byte === COLON
    }
    if (isBracket(byte)) return !interruptions.lines || !scan.head.bare(seek)
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === COMMA || byte === COLON) return true
    if (byte === QUOTE || byte === APOSTROPHE) {
      stage = 'string'
      string.open(byte)
      return true
    }
    stage = 'word'
    start = seek
    return isTokenByte(byte)
  }

  function isNumber(from: number, to: number): boolean {
    const first = scan.byte(from)!
    return isDigit(first) || (first === MINUS && to - from > 1 && isDigit(scan.byte(from + 1)!))
  }

  function isCode(at: number): boolean {
    const byte = scan.byte(at)
    if (byte === DOT) return !isDigit(scan.byte(at + 1) ?? 0)
    return byte === OPEN_BRACKET || byte === QUESTION
  }

  return (from) => {
    seek = from
    stage = isCode(from) ? 'code' : 'between'
    scan.enter(rest)
  }
}

/** Whether a range is `true`, `false` or `null`. */
export function isLiteral(scan: Scan, from: number, to: number): boolean {
  if (to - from < 4 || to - from > 5) return false
  const { view, base } = scan.tape
  const word = view.toString('latin1', from - base, to - base)
  return word === 'true' || word === 'false' || word === 'null'
}

/** Whether it is a literal of Python before a comma or a bracket. Before a blank, `None` is a word. */
export function isPython(scan: Scan, from: number, to: number): boolean {
  if (to - from < 4 || to - from > 5) return false
  const { view, base } = scan.tape
  return /^(?:True|False|None)[,)\]}]$/.test(view.toString('latin1', from - base, to + 1 - base))
}

function isTokenByte(byte: number): boolean {
  return isWordCharacter(byte) || byte === DOT || byte === PLUS
}
