import {
  APOSTROPHE,
  BACKSLASH,
  CLOSE_BRACE,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from './characters.ts'
import { TextBalance } from './text-balance.ts'

/**
 * Bracketed values inside other text: where one opens, and where it is closed again. Strings are
 * respected; a backslash protects the next quote or backslash, inside strings and outside.
 */

/** Where a candidate stands in a text: `to` is one past its closer, or -1 if it is never closed. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Gate {
  /** Also open `{` before `'` or an identifier and a colon: a schema will judge the result. */
  readonly loose: boolean
  /** Count arrays too. Without, an array is passed over whole: its elements are not handed out. */
  readonly arrays: boolean
}

/**
 * The objects (and arrays) in a text that open like a value and not like prose, in order. Only outermost
 * ones: trying inner ones after a failure would be quadratic. One that is never closed is the last.
 *
 * @example
 * [...spans('see {cmd}: {"a":1}.', { loose: false, arrays: false })] // [{ from: 11, to: 18 }]
 */
export function* spans(text: string, gate: Gate): Generator<Span, undefined> {
  // Each needle is searched again only when its hit lies behind: a text without `[` is searched for it once.
  let brace = text.indexOf('{')
  let bracket = text.indexOf('[')
  const first = skipBlanks(text, 0)
  while (brace >= 0 || bracket >= 0) {
    const array = brace < 0 || (bracket >= 0 && bracket < brace)
    const at = array ? bracket : brace
    let next = at + 1
    if (at === first ? opensDocument(text, at) : opensAt(text, at, gate.loose)) {
      const to = balancedEnd(text, at)
      if (!array || gate.arrays) yield { from: at, to }
      if (to < 0) return
      next = to
    }
    if (brace >= 0 && brace < next) brace = text.indexOf('{', next)
    if (bracket >= 0 && bracket < next) bracket = text.indexOf('[', next)
  }
}

/** One past the closer of the bracket at `from`, or -1 if the text ends before. */
export function balancedEnd(text: string, from: number): number {
  const end = new TextBalance().readLoosely(text, from)
  return end === 'inside' ? -1 : end
}

/** The closing quote of the string that opens at `open`, or -1. Hops natively from quote to quote. */
export function stringEnd(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slash = at - 1
    while (slash > open && text.charCodeAt(slash) === BACKSLASH) slash--
    if ((at - slash) % 2 === 1) return at
  }
  return -1
}

/** The first index at or after `from` that is not a blank (or the length of the text). */
export function skipBlanks(text: string, from: number): number {
  let i = from
  while (i < text.length && isBlank(text.charCodeAt(i))) i++
  return i
}

function isBlank(unit: number): boolean {
  return unit === 32 || unit === 10 || unit === 13 || unit === 9 || unit === BOM
}

/** Can an identifier (an unquoted key) start with, or go on with, this? */
export function isWord(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 95 ||
    unit === 36 ||
    unit >= 0xc0
  )
}

//  text {"a": 1} text {cmd} text
//       ^^ opens      ^^ does not
function opensAt(text: string, at: number, loose: boolean): boolean {
  const next = skipBlanks(text, at + 1)
  const unit = text.charCodeAt(next)
  if (text.charCodeAt(at) === OPEN_BRACKET) return unit === OPEN_BRACE
  return unit === QUOTE || (loose && (unit === APOSTROPHE || isKeyAt(text, next)))
}

/** A bracket that is the first thing in the text is taken more readily: the text may be one document. */
function opensDocument(text: string, at: number): boolean {
  const next = skipBlanks(text, at + 1)
  const unit = text.charCodeAt(next)
  if (text.charCodeAt(at) === OPEN_BRACKET)
    return next < text.length && '{["\']-0123456789tfn/'.includes(text[next]!)
  return (
    unit === QUOTE || unit === APOSTROPHE || unit === CLOSE_BRACE || unit === SLASH || isKeyAt(text, next)
  )
}

/** A key is at most so long; a longer run of letters is prose. */
const MAX_KEY = 256

function isKeyAt(text: string, at: number): boolean {
  let i = at
  const limit = Math.min(text.length, at + MAX_KEY)
  while (i < limit && isWord(text.charCodeAt(i))) i++
  return i > at && text.charCodeAt(skipBlanks(text, i)) === COLON
}

const BOM = 0xfeff
