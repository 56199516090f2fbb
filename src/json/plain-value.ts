import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../text/characters.ts'
import { stringEnd } from './strings.ts'
import { pastBlanks } from './walk.ts'

/**
 * Whether a parsed value needs no note. Nearly always true, and checked for every payload, so it must be
 * cheap. True means: no key occurs twice, no number lost anything, no key could change a prototype, and no
 * level is deeper than `depth`. False means only that something looks unusual; then the thorough checks run.
 *
 * @example
 * isOrdinary(JSON.parse('{"a":1,"a":2}'), '{"a":1,"a":2}', 9) // false
 */
export function isOrdinary(value: unknown, text: string, depth: number): boolean {
  return pastValue(value, text, 0, depth) >= 0
}

function isPrototypeKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor'
}

/** So far below zero that additions on the way do not matter. */
const UNUSUAL = -(1 << 29)

//  The value and its text, side by side:
//
//     { type: 'a', at: 12 }
//     {"type":"a","at":12}
//
// A text with a duplicate key has more members than its value: where the value's last member ends, the text
// goes on. The lengths of the value's strings say where to look, so few characters are read. A crafted text
// can mislead this, but then only a note about its spelling is missing: keys and depth are checked on the
// value itself.

/** One past the value at `from`, or UNUSUAL. The text is known to be JSON. */
function pastValue(value: unknown, text: string, from: number, depth: number, key?: string): number {
  switch (typeof value) {
    case 'string':
      return pastString(text, from, value.length, key)
    case 'number':
      return pastNumber(text, pastBlanks(text, from))
    case 'boolean':
      return value ? past(text, from, SMALL_T) + 3 : past(text, from, SMALL_F) + 4
    default:
      if (value === null) return past(text, from, SMALL_N) + 3
      if (depth === 0) return UNUSUAL
      return Array.isArray(value)
        ? pastArray(value, text, from, depth - 1)
        : pastObject(value as Record<string, unknown>, text, from, depth - 1)
  }
}

function pastObject(value: Record<string, unknown>, text: string, from: number, depth: number): number {
  let at = from
  let between = OPEN_BRACE
  // Whether keys are own does not matter here: an inherited key is not in the text, which is unusual.
  for (const key in value) {
    if (isPrototypeKey(key)) return UNUSUAL
    at = past(text, at, between)
    between = COMMA
    at = pastString(text, at, key.length)
    at = past(text, at, COLON)
    at = pastValue(value[key], text, at, depth, key)
    if (at < 0) return UNUSUAL
  }
  return past(text, between === OPEN_BRACE ? past(text, at, OPEN_BRACE) : at, CLOSE_BRACE)
}

function pastArray(value: readonly unknown[], text: string, from: number, depth: number): number {
  let at = past(text, from, OPEN_BRACKET)
  for (let index = 0; index < value.length; index++) {
    if (index > 0) at = past(text, at, COMMA)
    at = pastValue(value[index], text, at, depth)
    if (at < 0) return UNUSUAL
  }
  return past(text, at, CLOSE_BRACKET)
}

/** Without escapes a string is as long as its text; otherwise its end is searched for. */
function pastString(text: string, from: number, length: number, key?: string): number {
  const body = past(text, from, QUOTE)
  const end = body + length
  if (text.charCodeAt(end) === QUOTE && text.charCodeAt(end - 1) !== BACKSLASH) return end + 1
  const quote = body < 0 ? -1 : length < LONG ? stringEnd(text, body - 1) : longEnd(text, body, end, key)
  return quote < 0 ? UNUSUAL : quote + 1
}

const LONG = 8192

/**
 * The end of a long string. Its text has at least one unit for each unit of the value, so the search begins
 * after that. If its key occurs twice the value may be that of the later one, and the skipped part may
 * contain the key.
 */
function longEnd(text: string, body: number, least: number, key: string | undefined): number {
  const quote = stringEnd(text, body - 1, least)
  const passedKey = key !== undefined && text.slice(body, quote).includes(`"${key}"`)
  return passedKey ? stringEnd(text, body - 1) : quote
}

/** Numbers of up to 15 characters without an exponent keep every digit; others are not decided here. */
function pastNumber(text: string, from: number): number {
  let at = from
  for (; ; at++) {
    const unit = text.charCodeAt(at)
    // Written so that NaN, past the end of the text, does not count as a digit.
    if (!(unit >= 48 && unit <= 57) && unit !== DOT && unit !== MINUS) {
      const plain = at > from && at - from <= 15 && unit !== 101 && unit !== 69
      return plain ? at : UNUSUAL
    }
  }
}

/** One past the expected unit at `from`, after optional blanks; UNUSUAL if it is another one. */
function past(text: string, from: number, unit: number): number {
  if (text.charCodeAt(from) === unit) return from + 1
  const at = from < 0 ? from : pastBlanks(text, from)
  return text.charCodeAt(at) === unit ? at + 1 : UNUSUAL
}

const SMALL_F = 102
const SMALL_N = 110
const SMALL_T = 116
