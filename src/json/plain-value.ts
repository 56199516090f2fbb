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
  // A short text is often as short as its value allows: then nothing of it need be read.
  if (text.length <= SHORT && text.length - leastLength(value, depth) < LEAST_MEMBER) return true
  return pastValue(value, text, 0, depth) >= 0
}

const SHORT = 512
/** `"":1,` is the least that a duplicate key adds to a text; `1e-324`, which is 0, is as long. */
const LEAST_MEMBER = 5

/** A length that no text of the value falls below; negative if the value is unusual by itself. */
function leastLength(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value === 'number') return leastNumber(value)
  if (typeof value !== 'object' || value === null) return value === false ? 5 : 4
  if (depth === 0) return UNUSUAL
  let length = 1
  if (Array.isArray(value))
    for (let index = 0; index < value.length; index++) length += 1 + leastLength(value[index], depth - 1)
  else
    for (const key in value) {
      if (isPrototypeKey(key)) return UNUSUAL
      length += key.length + 4 + leastLength((value as Record<string, unknown>)[key], depth - 1)
    }
  return length === 1 ? 2 : length
}

/**
 * Below 2^53 a number loses digits only if it is written with more than 15, which are too many here, or if it
 * is too small to keep them: `3e-324`.
 */
function leastNumber(value: number): number {
  const size = Math.abs(value)
  if (size >= Number.MAX_SAFE_INTEGER || (size > 0 && size < LEAST_NORMAL)) return UNUSUAL
  if (size % 1 !== 0) return 3
  if (size < 100) return size < 10 ? 1 : 2
  // An exponent needs a zero at the end.
  if (size < 1000 || size % 10 === 0) return 3
  return size < 1e5 ? 4 : 6
}

/** Smaller numbers keep fewer digits. */
const LEAST_NORMAL = 2.3e-308

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
