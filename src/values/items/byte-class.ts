import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from '../../json/characters.ts'

// What a byte can be in JSON. Small numbers, because a switch over them is a jump.
const C_OTHER = 0
export const C_BLANK = 1
export const C_QUOTE = 2
export const C_COMMA = 3
export const C_COLON = 4
export const C_OPEN = 5
export const C_CLOSE = 6
/** What numbers and literals are made of. */
export const C_TOKEN = 7

/** The class of each byte. */
export const CLASS = new Uint8Array(256).fill(C_OTHER)
for (const byte of Buffer.from('+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz')) {
  CLASS[byte] = C_TOKEN
}
for (const byte of [SPACE, TAB, LF, CR]) CLASS[byte] = C_BLANK
for (const byte of [OPEN_BRACE, OPEN_BRACKET]) CLASS[byte] = C_OPEN
for (const byte of [CLOSE_BRACE, CLOSE_BRACKET]) CLASS[byte] = C_CLOSE
CLASS[QUOTE] = C_QUOTE
CLASS[COMMA] = C_COMMA
CLASS[COLON] = C_COLON

/** Where the closing quote stands, or `end` or one more (behind a backslash) if it is not there. */
export function stringEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end) {
    const byte = view[i]
    if (byte === QUOTE) return i
    i += byte === BACKSLASH ? 2 : 1
  }
  return i
}

/** Where the number or literal is over, or `end`. */
export function tokenEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end && CLASS[view[i] as number] === C_TOKEN) i++
  return i
}
