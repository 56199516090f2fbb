import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  STAR,
} from './characters.ts'

/**
 * Bracketed values inside other text: where one opens, and where it is closed again. Strings are
 * respected; a backslash protects the next quote or backslash, inside strings and outside.
 */

/** One past the closer of the bracket at `from`, or -1 if the text ends before. Comments are passed over, see ByteBalance. */
export function balancedEnd(text: string, from: number): number {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > CLOSE_BRACE || MATTERS[unit] === 0) continue
    switch (unit) {
      case QUOTE:
        i = stringEnd(text, i)
        if (i < 0) return -1
        break
      case BACKSLASH:
        if (isProtectable(text.charCodeAt(i + 1))) i++
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (--depth === 0) return i + 1
        break
      case SLASH:
        i = commentEnd(text, i)
        if (i < 0) return -1
        break
    }
  }
  return -1
}

/** The last index of the comment that the slash at `at` begins; `at` if it begins none, -1 if it never ends. */
function commentEnd(text: string, at: number): number {
  const next = text.charCodeAt(at + 1)
  if ((next !== SLASH && next !== STAR) || text.charCodeAt(at - 1) === COLON) return at
  if (next === SLASH) return text.indexOf('\n', at)
  const end = text.indexOf('*/', at + 2)
  return end < 0 ? -1 : end + 1
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

function isProtectable(unit: number): boolean {
  return unit === QUOTE || unit === BACKSLASH
}

/** One for the units that matter to `balancedEnd`, zero for the others, which are by far the most. */
const MATTERS = new Uint8Array(CLOSE_BRACE + 1)
for (const unit of [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE, SLASH])
  MATTERS[unit] = 1
