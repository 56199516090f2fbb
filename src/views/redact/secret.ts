import { backslashesBefore as countBackslashes } from '../../json/strings.ts'
import {
  APOSTROPHE,
  BACKSLASH,
  BACKTICK,
  classTable,
  DOT,
  PLUS,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
} from '../../text/characters.ts'

export interface Secret {
  readonly kind: string
  readonly from: number
  readonly to: number
  /** It was a bare number in JSON: the mark that replaces it needs these quotes. */
  readonly quote?: string
  /** Its name or its place shows that it is a secret; the same text elsewhere is the same secret. */
  readonly certain?: true
}

/** Characters of the words of keys: letters, digits, `+`, `/`, `_`, `-`. */
export const isWordUnit = classTable([
  1,
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-',
])

export function isNameUnit(unit: number): boolean {
  return (isWordUnit[unit] === 1 && unit !== SLASH && unit !== PLUS) || unit === DOT
}

export function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB
}

export function isQuote(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK
}

/** Maximum number of backslashes before a quote: JSON in JSON, four times over. */
const MAX_ESCAPES = 16

export function backslashesBefore(text: string, at: number): number {
  return countBackslashes(text, at, at - MAX_ESCAPES)
}

export function backslashesAt(text: string, at: number): number {
  let end = at
  while (end - at < MAX_ESCAPES && text.charCodeAt(end) === BACKSLASH) end++
  return end - at
}

/** Number of characters from this position that belong to an escape whose backslash is before it. */
export function escapeAt(text: string, at: number): number {
  if (text.charCodeAt(at - 1) !== BACKSLASH) return 0
  return text[at] === 'u' ? 5 : ESCAPES.includes(text[at] ?? ' ') ? 1 : 0
}

/** Whether the letter before, or `u` with four digits, is of an escape in JSON, or in JSON in JSON. */
export function isAfterEscape(text: string, at: number): boolean {
  if (text.charCodeAt(at - 2) === BACKSLASH && ESCAPES.includes(text[at - 1]!)) return true
  return text[at - 5] === 'u' && text.charCodeAt(at - 6) === BACKSLASH
}

const ESCAPES = 'nrtbf'

/** Whether a line begins here, also one in JSON text: after a line end, `\n`, or the quote of a string. */
export function startsLine(text: string, at: number): boolean {
  const before = text[at - 1]
  return at === 0 || before === '\n' || before === '\r' || before === '"' || isAfterEscape(text, at)
}

/**
 * Whether a line ends here, also one in JSON text: before `\\n`, or before the quote that ends its string,
 * which has at most `level` backslashes (-1: the line is plain text).
 */
export function endsLine(text: string, at: number, level = MAX_ESCAPES): boolean {
  const escapes = backslashesAt(text, at)
  const mark = text[at + escapes] ?? '\n'
  if (escapes === 0 && (mark === '\n' || mark === '\r')) return true
  if (mark === '"') return backslashesBefore(text, at + escapes) <= level
  return escapes > 0 && level >= 0 && (mark === 'n' || mark === 'r' || at + escapes === text.length)
}
