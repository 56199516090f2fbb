/**
 * Named characters for JSON and the scanners around it. Nearly all are ASCII, so the number is the same as a
 * byte of UTF-8 and as a unit of a string.
 */
export const NUL = 0x00
export const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const ESC = 0x1b
export const SPACE = 0x20
export const EXCLAMATION = 0x21
export const QUOTE = 0x22
export const HASH = 0x23
export const DOLLAR = 0x24
export const APOSTROPHE = 0x27
export const OPEN_PAREN = 0x28
export const CLOSE_PAREN = 0x29
export const STAR = 0x2a
export const PLUS = 0x2b
export const COMMA = 0x2c
export const MINUS = 0x2d
export const DOT = 0x2e
export const SLASH = 0x2f
export const ZERO = 0x30
const NINE = 0x39
export const COLON = 0x3a
export const SEMICOLON = 0x3b
export const LESS = 0x3c
export const EQUALS = 0x3d
export const GREATER = 0x3e
export const QUESTION = 0x3f
export const AT = 0x40
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const BACKTICK = 0x60
export const LETTER_U = 0x75
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const TILDE = 0x7e
/** The first byte in UTF-8 of a C1 control. */
export const C1_LEAD = 0xc2
/** `´`, sometimes paired with the backtick. */
export const ACUTE = 0xb4
/** `，` and `：`, as units. */
export const WIDE_COMMA = 0xff0c
export const WIDE_COLON = 0xff1a

/** Space, tab, CR and LF: what JSON allows between its tokens. */
export function isBlank(character: number | undefined): boolean {
  return character === SPACE || character === LF || character === CR || character === TAB
}

/** `0` to `9`. */
export function isDigit(character: number): boolean {
  return character >= ZERO && character <= NINE
}

/** Value of a hex digit, or -1. */
export function hexValue(character: number): number {
  if (isDigit(character)) return character - ZERO
  const lower = character | 32
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** The plain quote that a quote is a variant of; 0 if it is not a quote. */
export function quoteFamily(unit: number): number {
  if (unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK) return unit
  if (unit === ACUTE) return BACKTICK
  // Also for NaN, which is what a read past the end of a text returns.
  if (!(unit >= 0x2018 && unit <= 0x201f)) return 0
  return unit <= 0x201b ? APOSTROPHE : QUOTE
}

/** `{` or `[`, the first byte of a record. */
export function isBracket(character: number | undefined): boolean {
  return character === OPEN_BRACE || character === OPEN_BRACKET
}

/** The first half of a surrogate pair. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** Length of a BOM at `at`: 3 or 0. */
export function bomAt(bytes: Uint8Array, at: number): 0 | 3 {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf ? 3 : 0
}

/**
 * True if the quote at `at` is escaped: an odd run of backslashes precedes it. The runs before two quotes
 * never overlap, so checking every quote stays linear.
 */
export function isProtected(bytes: Uint8Array, at: number, floor: number): boolean {
  let run = at
  while (run > floor && bytes[run - 1] === BACKSLASH) run--
  return (at - run) % 2 === 1
}

/** True for the first letter of `true`, `false` and `null`. */
export function beginsLiteral(character: number | undefined): boolean {
  return character === 0x74 || character === 0x66 || character === 0x6e
}

/** True for a character of a bare key: a letter, digit, `_`, `$`, `-`, any byte above ASCII. */
export function isWordCharacter(character: number | undefined): boolean {
  return character !== undefined && (character >= 0x80 || WORD[character] === 1)
}

const WORD = /* @__PURE__ */ classTable([
  1,
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-',
])

/**
 * Maps every byte to its class, 0 if it is in none. Mark the call as pure, so that a bundle that does not use
 * the table drops it.
 *
 * @example
 * const KIND = classTable([1, '0123456789'], [2, '{}'])
 */
export function classTable(...classes: readonly (readonly [kind: number, characters: string])[]): Uint8Array {
  const table = new Uint8Array(256)
  for (const [kind, characters] of classes)
    for (const character of characters) table[character.charCodeAt(0)] = kind
  return table
}
