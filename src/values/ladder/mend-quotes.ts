import { APOSTROPHE, BACKSLASH, BACKTICK, QUOTE } from '../../json/characters.ts'

/** Anything that a model may put around a string. */
export function isQuote(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK || (unit >= 0x2018 && unit <= 0x201f)
}

/** Typographic quotes end at any of their kind, because models mix the two halves up. */
export function closes(unit: number, opening: number): boolean {
  if (opening <= BACKTICK) return unit === opening
  return opening <= 0x201b ? unit >= 0x2018 && unit <= 0x201b : unit >= 0x201c && unit <= 0x201f
}

/** Whether the backslash at `at` begins an escape that JSON knows; something must stand behind it. */
export function isEscape(text: string, at: number): boolean {
  const kind = text[at + 1]!
  if (kind === 'u') return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))
  return '"\\/bfnrt'.includes(kind)
}

/** One for the ASCII that a string may hold as it is: no control characters, backslashes or quotes of any kind. */
export const HARMLESS = new Uint8Array(128).fill(1, 32)
for (const unit of [QUOTE, APOSTROPHE, BACKTICK, BACKSLASH]) HARMLESS[unit] = 0
