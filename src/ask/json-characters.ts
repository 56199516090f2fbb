/** The characters that mean something in JSON, by their codes. */
export const QUOTE = 34
export const COMMA = 44
export const MINUS = 45
export const ZERO = 48
export const NINE = 57
export const COLON = 58
export const OPEN_LIST = 91
export const BACKSLASH = 92
export const CLOSE_LIST = 93
export const LETTER_U = 117
export const OPEN_MAP = 123
export const CLOSE_MAP = 125
const TAB = 9
const LF = 10
const CR = 13
export const SPACE = 32

export function isSpace(c: number): boolean {
  return c === SPACE || c === LF || c === CR || c === TAB
}

/** The end of the run of characters that stand for themselves in a string. */
export function plainEnd(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === QUOTE || c === BACKSLASH || c < SPACE) break
  }
  return at
}

/** What a hexadecimal digit counts; -1 for what is none. */
export function hexValue(c: number): number {
  if (c >= ZERO && c <= NINE) return c - ZERO
  const lower = c | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** What a letter after a backslash means, by its code. */
export const escapes: readonly (string | undefined)[] = makeEscapes()

function makeEscapes(): (string | undefined)[] {
  const meanings: (string | undefined)[] = new Array(128).fill(undefined)
  for (const [letter, meant] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
    meanings[letter!.charCodeAt(0)] = meant!
  }
  return meanings
}
