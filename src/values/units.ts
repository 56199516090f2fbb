/** The UTF-16 units that a machine over text speaks of by name. */
export const LF = 10
export const QUOTE = 34
export const APOSTROPHE = 39
export const PLUS = 43
export const COMMA = 44
export const MINUS = 45
export const DOT = 46
export const SLASH = 47
export const COLON = 58
export const AT = 64
export const BRACKET = 91
export const BACKSLASH = 92
export const CLOSING_BRACKET = 93
export const BACKTICK = 96
export const BRACE = 123
export const CLOSING_BRACE = 125

/** What JSON allows between its tokens. */
export function isSpace(unit: number): boolean {
  return unit === 32 || unit === LF || unit === 13 || unit === 9
}
