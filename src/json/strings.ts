import { ACUTE, APOSTROPHE, BACKSLASH, BACKTICK, classTable, QUOTE } from '../text/characters.ts'

/*
 * Quotes and backslashes: where a string ends, and whether a character in it is escaped. Other files ask
 * here, because each reader of its own had its own idea of what a backslash at the end of a chunk means.
 */

/**
 * The closing quote of the string that opens at `open`, or -1. Jumps from quote to quote with a native
 * search. Pass `from` if there is known to be no closing quote before it.
 */
export function stringEnd(text: string, open: number, from = open + 1): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    // Few strings have an escape before a quote: for the others one comparison is enough.
    if (text.charCodeAt(at - 1) !== BACKSLASH || backslashesBefore(text, at, open + 1) % 2 === 0) return at
  }
  return -1
}

/**
 * The same for bytes from `from` on, inside a string. If its end has not arrived, returns `end`, or one more
 * after a backslash: the next byte is escaped then, and the search may continue after it.
 */
export function byteStringEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    at += byte === BACKSLASH ? 2 : 1
  }
  return at
}

/**
 * How many backslashes precede `at`, back to `floor`. An odd number of them escapes what is there. The runs
 * before two quotes never overlap, so asking for every quote stays linear.
 */
export function backslashesBefore(text: string, at: number, floor: number): number {
  let first = at
  while (first > floor && text.charCodeAt(first - 1) === BACKSLASH) first--
  return at - first
}

/**
 * The next quote of any kind at or after `from` that is not escaped and that `wanted` accepts; -1 if there is
 * none before `to`. `wanted` is also asked about characters that are not ASCII, because quotes may be.
 */
export function nextQuote(
  text: string,
  from: number,
  to: number,
  wanted: (unit: number, at: number) => boolean,
): number {
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 128 && MATTERS[unit] === 0) continue
    if (unit === BACKSLASH) at++
    else if (wanted(unit, at)) return at
  }
  return -1
}

const MATTERS = /* @__PURE__ */ classTable([1, '"\'`\\'])

/** Typographic quotes end at any of their kind, as models mix up the halves, or at the plain one. */
export function closes(unit: number, opening: number): boolean {
  if (opening === BACKTICK || opening === ACUTE) return unit === BACKTICK || unit === ACUTE
  if (opening < BACKTICK) return unit === opening
  if (opening <= 0x201b) return (unit >= 0x2018 && unit <= 0x201b) || unit === APOSTROPHE
  return (unit >= 0x201c && unit <= 0x201f) || unit === QUOTE
}

/** A string in any quotes that is read byte by byte, across chunks. */
export class InString {
  #quote = 0
  #escaped = false

  open(quote: number): void {
    this.#quote = quote
    this.#escaped = false
  }

  /** Takes the next byte; true if it is the closing quote. */
  ends(byte: number): boolean {
    const closes = byte === this.#quote && !this.#escaped
    this.#escaped = byte === BACKSLASH && !this.#escaped
    return closes
  }
}

/**
 * What a JSON string from its opening to its closing quote means. Throws if it has an escape that JSON does
 * not know; without escapes it is not checked.
 */
export function stringValue(text: string, open: number, close: number): string {
  const raw = text.slice(open + 1, close)
  return raw.includes('\\') ? (JSON.parse(text.slice(open, close + 1)) as string) : raw
}

/** Meaning of a letter after a backslash, by its code. */
export const ESCAPES: readonly (string | undefined)[] = /* @__PURE__ */ makeEscapes()

function makeEscapes(): (string | undefined)[] {
  const meanings: (string | undefined)[] = new Array(128).fill(undefined)
  for (const [letter, meant] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
    meanings[letter!.charCodeAt(0)] = meant!
  }
  return meanings
}
