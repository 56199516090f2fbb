import {
  APOSTROPHE,
  BACKSLASH,
  BACKTICK,
  DOT,
  PLUS,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
} from '../../text/characters.ts'

/** A secret in a text. */
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
export const isWordUnit = new Uint8Array(128)
for (const c of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-')
  isWordUnit[c.charCodeAt(0)] = 1

export function isNameUnit(unit: number): boolean {
  return unit < 128 && ((isWordUnit[unit] === 1 && unit !== SLASH && unit !== PLUS) || unit === DOT)
}

export function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB
}

export function isQuote(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK
}

/** Number of backslashes before this position, at most 16. */
export function backslashesBefore(text: string, at: number): number {
  let count = 0
  while (count < 16 && text.charCodeAt(at - 1 - count) === BACKSLASH) count++
  return count
}

/** Number of characters from this position that belong to an escape whose backslash is before it. */
export function escapeAt(text: string, at: number): number {
  if (text.charCodeAt(at - 1) !== BACKSLASH) return 0
  return text[at] === 'u' ? 5 : ESCAPES.includes(text[at] ?? ' ') ? 1 : 0
}

/**
 * Whether the letter before this position, or `u` with four digits, belongs to an escape in JSON text, also
 * in JSON in JSON.
 */
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

/** Whether a line ends here, also one in JSON text. */
export function endsLine(text: string, at: number): boolean {
  const unit = text[at]
  if (unit === undefined || unit === '\n' || unit === '\r' || unit === '"') return true
  let next = at
  while (text.charCodeAt(next) === BACKSLASH && next - at < 16) next++
  return next > at && '"nr'.includes(text[next] ?? '"')
}
