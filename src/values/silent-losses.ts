import { type Note, quote } from '../base/fault.ts'
import { stringEnd } from '../json/balanced.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  DOT,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../text/characters.ts'

/**
 * Looks for what `JSON.parse` drops silently: a key that occurs twice in one object, and a number that cannot
 * be represented exactly as a JavaScript number. One note for each, about the first case. The text must be
 * valid JSON; texts longer than 1 MiB are not checked.
 *
 * It walks the text itself, because valid JSON need not be checked again: as a handler of the tokenizer it
 * took 1.8 times as long for a document of 900 KB and 2 times for a record, and 500 times for one long
 * string.
 *
 * @example
 * inspect('{"id":12345678901234567890}')[0]?.code // 'PRECISION_LOSS'
 */
export function inspect(text: string): readonly Note[] {
  if (text.length > MAX_TEXT) return NONE
  /** The keys of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = []
  let twice: string | undefined
  let lost: string | undefined
  let atKey = false
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    switch (unit) {
      case QUOTE: {
        const end = stringEnd(text, i)
        if (atKey) {
          const keys = open[open.length - 1]
          const key = keyOf(text, i, end)
          if (keys?.has(key)) twice ??= key
          keys?.add(key)
          atKey = false
        }
        i = end
        break
      }
      case OPEN_BRACE:
        open.push(new Set())
        atKey = true
        break
      case OPEN_BRACKET:
        open.push(undefined)
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop()
        atKey = false
        break
      case COMMA:
        atKey = open[open.length - 1] !== undefined
        break
      default:
        if (unit === MINUS || (unit >= 48 && unit <= 57)) {
          const from = i
          while (isNumberPart(text.charCodeAt(i + 1))) i++
          const token = text.slice(from, i + 1)
          if (!survives(token)) lost ??= token
        }
    }
  }
  const notes: Note[] = []
  if (twice !== undefined) {
    notes.push({
      code: 'DUPLICATE_KEY',
      message: `the key ${quote(twice)} occurs twice; the last value was taken`,
    })
  }
  if (lost !== undefined) {
    notes.push({
      code: 'PRECISION_LOSS',
      message: `${quote(lost)} cannot be represented exactly as a JavaScript number`,
    })
  }
  return notes
}

const NONE: readonly Note[] = []
const MAX_TEXT = 1 << 20

function keyOf(text: string, open: number, close: number): string {
  const raw = text.slice(open + 1, close)
  return raw.includes('\\') ? JSON.parse(text.slice(open, close + 1)) : raw
}

/**
 * Whether a number keeps what its token says: the token has the digits that the number prints, or those of
 * its exact value. `0.1` survives though no double is exactly that; `1.000000000000000005`, which becomes 1,
 * does not.
 */
function survives(token: string): boolean {
  if (token.length < 16 && !token.includes('e') && !token.includes('E')) return true
  const value = Number(token)
  if (!Number.isFinite(value)) return false
  const digits = digitsOf(token)
  // A double has at most 767 digits, but `toPrecision` returns no more than 100. That is enough in practice.
  return digits === digitsOf(String(value)) || digits === digitsOf(value.toPrecision(MAX_DIGITS))
}

const MAX_DIGITS = 100

/** The significant digits: without sign, exponent, point, and the zeros at both ends. */
function digitsOf(token: string): string {
  let to = Math.max(token.indexOf('e'), token.indexOf('E'))
  if (to < 0) to = token.length
  let from = 0
  while (from < to && '-0.'.includes(token[from]!)) from++
  while (to > from && '0.'.includes(token[to - 1]!)) to--
  return token.slice(from, to).replace('.', '')
}

function isNumberPart(unit: number): boolean {
  return (
    (unit >= 48 && unit <= 57) || unit === DOT || unit === MINUS || unit === 43 || unit === 101 || unit === 69
  )
}
