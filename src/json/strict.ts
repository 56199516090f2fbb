import { withoutStack } from '../base/no-stack.ts'
import { CLOSE_BRACE, OPEN_BRACE, QUOTE, SPACE } from '../text/characters.ts'
import { count, isDeeper } from './depth.ts'
import { isOrdinary } from './plain-value.ts'

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

/** Whether there are so many brackets that parsing them may need many times the size of the text. */
function isDense(text: string): boolean {
  const some = text.length >> 5
  return count(text, '{', some) + count(text, '[', some) > some
}
