/** The bytes the scanner speaks of by name. */
export const NUL = 0x00
export const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const ESC = 0x1b
export const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const LESS = 0x3c
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const BACKTICK = 0x60
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const TILDE = 0x7e

/** Space, tab, CR and LF. */
export function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB
}

/** `{` or `[`: what a record begins with. */
export function isBracket(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET
}

/** How many bytes a BOM takes at `at`, if one ends or begins there: 3 or 0. */
export function bomAt(bytes: Uint8Array, at: number): 0 | 3 {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf ? 3 : 0
}

/**
 * True if the quote at `at` is protected: an odd run of backslashes stands right before it. The runs before
 * two quotes never overlap, so asking for every quote stays linear.
 */
export function isProtected(bytes: Uint8Array, at: number, floor: number): boolean {
  let run = at
  while (run > floor && bytes[run - 1] === BACKSLASH) run--
  return (at - run) % 2 === 1
}
