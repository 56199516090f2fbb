import { BACKSLASH, escapes, hexValue, LETTER_U, plainEnd, QUOTE } from './json-characters.ts'

/*
 * Where the reader stands. Numbers, as in the parser around it.
 *
 *     "ab\n \u00e9"
 *      ^^   ^         PLAIN
 *         ^  ^        ESCAPE, after the backslash
 *             ^^^^    HEX
 */
const PLAIN = 0
const ESCAPE = 1
const HEX = 2
const ENDED = 3
const FAILED = 4

/** Reads one string after the other from pieces; what is known of it never ends in half a surrogate pair. */
export class StringReader {
  known = ''
  #state = PLAIN
  /** The first half of a surrogate pair whose other half is on its way: not shown yet. */
  #half = ''
  /** Digits of `\u….` so far, and how many. */
  #hex = 0
  #digits = 0

  /** A quote was seen: a new string. */
  begin(): void {
    this.known = ''
    this.#state = PLAIN
  }

  /** Its closing quote was seen. */
  ended(): boolean {
    return this.#state === ENDED
  }

  /** What came cannot stand in a string. */
  failed(): boolean {
    return this.#state === FAILED
  }

  /** Reads from `at` to the end of the piece, past the closing quote, or to what cannot be; says where. */
  read(text: string, start: number): number {
    let at = start
    while (at < text.length) {
      switch (this.#state) {
        case PLAIN:
          at = this.#readPlain(text, at)
          continue
        case ESCAPE:
          at = this.#readEscape(text, at)
          continue
        case HEX:
          at = this.#readHex(text, at)
          continue
      }
      return at
    }
    return at
  }

  #readPlain(text: string, start: number): number {
    let at = start
    for (;;) {
      const end = plainEnd(text, at)
      if (end === text.length) {
        this.#appendLast(text, at)
        return end
      }
      if (end > at) this.#append(text.slice(at, end))
      const c = text.charCodeAt(end)
      at = end + 1
      if (c === BACKSLASH) {
        // The usual escape is one letter in the same piece: no change of state for it.
        const meant = at < text.length ? escapes[text.charCodeAt(at)] : undefined
        if (meant === undefined) {
          this.#state = ESCAPE
          return at
        }
        this.#append(meant)
        at++
      } else if (c === QUOTE) {
        // A half that stayed alone is shown as it is.
        if (this.#half !== '') this.#append('')
        this.#state = ENDED
        return at
      } else {
        this.#state = FAILED
        return end
      }
    }
  }

  #readEscape(text: string, at: number): number {
    const c = text.charCodeAt(at)
    if (c === LETTER_U) {
      this.#state = HEX
      this.#hex = 0
      this.#digits = 0
      return at + 1
    }
    const meant = escapes[c]
    if (meant === undefined) {
      this.#state = FAILED
      return at
    }
    this.#append(meant)
    this.#state = PLAIN
    return at + 1
  }

  #readHex(text: string, at: number): number {
    const digit = hexValue(text.charCodeAt(at))
    if (digit < 0) {
      this.#state = FAILED
      return at
    }
    this.#hex = this.#hex * 16 + digit
    if (++this.#digits === 4) {
      this.#append('')
      if (isHigh(this.#hex)) this.#half = String.fromCharCode(this.#hex)
      else this.known += String.fromCharCode(this.#hex)
      this.#state = PLAIN
    }
    return at + 1
  }

  #append(more: string): void {
    this.known += this.#half === '' ? more : this.#half + more
    this.#half = ''
  }

  /**
   * Appends the end of a piece, but for half a pair. Looking at the end of `known` instead would make V8
   * write out the whole string for every piece.
   */
  #appendLast(text: string, at: number): void {
    if (at === text.length) return
    const unit = text.charCodeAt(text.length - 1)
    if (!isHigh(unit)) this.#append(at === 0 ? text : text.slice(at))
    else {
      this.#append(text.slice(at, -1))
      this.#half = String.fromCharCode(unit)
    }
  }
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
