import { withoutStack } from '../base/fault.ts'
import { CLOSE_BRACE, COMMA, isBlank, isBracket, OPEN_BRACE, QUOTE, SPACE } from '../text/characters.ts'
import { isOrdinary } from './plain-value.ts'
import { walk } from './walk.ts'

/** A text that was read as JSON: its value, nested too deep, or not JSON. */
export type Strict =
  /** `unusual`: a key may occur twice, a number may have lost digits, a key could change a prototype. */
  | { readonly kind: 'value'; readonly value: unknown; readonly unusual: boolean }
  | { readonly kind: 'deep' }
  | { readonly kind: 'broken'; readonly cause?: unknown }

/**
 * Reads a text with `JSON.parse`, and never one with more than `maxDepth` levels.
 *
 * @example
 * readStrictly('{"a":1}', 128) // { kind: 'value', value: { a: 1 }, unusual: false }
 */
export function readStrictly(text: string, maxDepth: number): Strict {
  // Brackets alone become many times their size: the depth of a large text is checked before it is parsed,
  // that of a small one only if it looks unusual.
  const asked = text.length > LARGE && isDense(text)
  if (asked && isDeeper(text, maxDepth)) return DEEP
  if (text === lastBroken?.text) return lastBroken.strict
  // Creating an error costs twenty times as much as checking the first key, and logs are full of `{name} …`.
  if (opensNoKey(text)) return isDeeper(text, maxDepth) ? DEEP : NO_KEY
  if (isUnclosed(text)) return !asked && isDeeper(text, maxDepth) ? DEEP : new Unclosed(text)
  let value: unknown
  try {
    value = withoutStack(JSON.parse, text)
  } catch (cause) {
    if (!asked && isDeeper(text, maxDepth)) return DEEP
    const strict: Strict = { kind: 'broken', cause }
    if (text.length <= LARGE) lastBroken = { text, strict }
    return strict
  }
  const unusual = !isOrdinary(value, text, Math.min(maxDepth, MAX_RECURSION))
  if (unusual && !asked && isDeeper(text, maxDepth)) return DEEP
  return { kind: 'value', value, unusual }
}

/** A text that is not JSON is often tried again at once, by the scanner and by the ladder. */
let lastBroken: { readonly text: string; readonly strict: Strict } | undefined

/** Characters of a text that may be parsed before its depth is known. */
const LARGE = 1 << 16
const MAX_RECURSION = 256

const DEEP: Strict = { kind: 'deep' }
const NO_KEY: Strict = { kind: 'broken' }

/** A brace followed by neither a key, a closer nor a blank is certainly not JSON. */
function opensNoKey(text: string): boolean {
  if (text.charCodeAt(0) !== OPEN_BRACE || text.length < 2) return false
  const next = text.charCodeAt(1)
  return next !== QUOTE && next !== CLOSE_BRACE && next > SPACE
}

//  {"a":1,}⏎   [1,2
//        ^        ^ no value ends here
/** A bracket that is not closed at the end, or closed after a comma, is certainly not JSON. */
function isUnclosed(text: string): boolean {
  const first = text.charCodeAt(0)
  if (!isBracket(first)) return false
  let last = lastOf(text, text.length)
  // A closer is two above its opener.
  if (text.charCodeAt(last) !== first + 2) return true
  last = lastOf(text, last)
  return text.charCodeAt(last) === COMMA
}

/** Where the last character before `end` is that is not blank. */
function lastOf(text: string, end: number): number {
  let at = end - 1
  while (isBlank(text.charCodeAt(at))) at--
  return at
}

/** Makes the error of `JSON.parse` only if it is told: it takes longer than to repair a small text. */
class Unclosed {
  readonly kind = 'broken'
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get cause(): unknown {
    try {
      return withoutStack(JSON.parse, this.#text)
    } catch (cause) {
      return cause
    }
  }
}

/** Whether the text has so many brackets that parsing it may need many times its size. */
function isDense(text: string): boolean {
  const some = text.length >> 5
  return count(text, '{', some) + count(text, '[', some) > some
}

/**
 * Whether the text is nested deeper than `max`. Checked before every parse, so the common answer must be
 * cheap: a text with at most `max` opening brackets cannot be deep, and those are counted natively.
 *
 * @example
 * isDeeper('[[1]]', 1) // true
 */
export function isDeeper(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (count(text, '{', max) + count(text, '[', max) <= max) return false
  const stop = walk(text, undefined, max)
  return stop < text.length && isBracket(text.charCodeAt(stop))
}

/**
 * Whether a parsed value is nested deeper than `max`. Cheaper than checking its text, but a text of brackets
 * alone becomes many times its size when parsed, so check the text first if it is large.
 *
 * @example
 * isNested([[1]], 1) // true
 */
export function isNested(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (max === 0) return true
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (isNested(value[index], max - 1)) return true
    return false
  }
  for (const key in value) if (isNested((value as Record<string, unknown>)[key], max - 1)) return true
  return false
}

/** Occurrences of `part`, counted up to `max + 1`. */
export function count(text: string, part: string, max: number): number {
  let found = 0
  for (let at = text.indexOf(part); at >= 0 && found <= max; at = text.indexOf(part, at + 1)) found++
  return found
}

/** The value of a text that is JSON; undefined for any other text. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isJson(text: string): boolean {
  return jsonValue(text) !== undefined
}
