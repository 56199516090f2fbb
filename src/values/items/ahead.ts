import {
  APOSTROPHE,
  BACKSLASH,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isBlank,
  isDigit,
  LF,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from '../../json/characters.ts'

/** So far a look ahead, or back, may reach: enough for a key and deep indentation, and the cost stays linear. */
export const WINDOW = 512

/** What comments begin with, besides the slash. */
export const HASH = 0x23
export const STAR = 0x2a

/** The text is over. */
export const END = -1
/** The bytes at hand do not tell. */
export const MORE = -2
/** Nothing but blanks, or one long word, as far as the window goes. */
export const FAR = -3

/**
 * Looks at the next few tokens without moving the walk. Blanks and comments are passed over, any double quote is
 * a `"` and any single one a `'`. An answer of `MORE` or undefined means that the bytes at hand do not tell yet;
 * any other answer stays the same however many bytes come. Reused for every look.
 */
export class Ahead {
  /** Where the last token begins, in the view. */
  at = 0
  /** Where the key in quotes begins that was found last; -1 for none. */
  key = -1
  #width = 0
  #view: Buffer = NO_BYTES
  #end = 0
  #stop = 0
  #final = false

  /** Begins at `at` in the view; `final` if no bytes will come after `end`. */
  begin(view: Buffer, at: number, end: number, final: boolean): void {
    this.at = at
    this.#width = 0
    this.#view = view
    this.#end = end
    this.#stop = Math.min(end, at + WINDOW)
    this.#final = final
  }

  /** The next byte that is not blank, or END, MORE or FAR. */
  next(): number {
    const view = this.#view
    this.at += this.#width
    this.#width = 0
    while (this.at < this.#stop) {
      const byte = view[this.at] as number
      if (isBlank(byte)) {
        this.at++
        continue
      }
      if (byte === SLASH || byte === HASH) {
        const comment = this.#passComment(byte)
        if (comment === true) continue
        if (comment !== false) return comment
      }
      this.#width = 1
      if (byte === BACKTICK) return APOSTROPHE
      if (byte < 0x80) return byte
      const unusual = unusualAt(view, this.at, this.#end)
      if (unusual === MORE && !this.#final) return MORE
      if (unusual <= 0) return byte
      this.#width = unusual > 3 ? 3 : unusual
      if (unusual > 3) return unusual === SMART_DOUBLE ? QUOTE : APOSTROPHE
      this.at += this.#width
      this.#width = 0
    }
    return this.#outside()
  }

  /** Whether a key follows: in quotes or without, with its colon. */
  isKeyNext(): boolean | undefined {
    const next = this.next()
    this.key = -1
    if (next === MORE) return undefined
    if (next === COLON || next === CLOSE_BRACE) return true
    if (next !== QUOTE && next !== APOSTROPHE) return this.#isBareKeyNow()
    this.key = this.at
    const closing = this.#closingQuote(next)
    if (closing < 0) return closing === MORE ? undefined : false
    const then = this.next()
    return then === MORE ? undefined : then === COLON
  }

  /** Whether an entry of an array or of an object follows, or the end of it. */
  isEntryNext(inArray: boolean): boolean | undefined {
    const next = this.next()
    switch (next) {
      case MORE:
        return undefined
      case END:
      case FAR:
      case QUOTE:
      case APOSTROPHE:
      case COMMA:
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
      case OPEN_BRACE:
        return true
      case OPEN_BRACKET:
        return inArray
      default:
        return inArray ? this.isScalarNow() : this.#isBareKeyNow()
    }
  }

  /** Whether the token at hand is a number or a literal that is over. */
  isScalarNow(): boolean | undefined {
    const word = this.#word()
    if (word === undefined) return undefined
    if (!LITERALS.has(word) && !isNumber(word)) return false
    const then = this.next()
    if (then === MORE) return undefined
    return then === COMMA || then === CLOSE_BRACE || then === CLOSE_BRACKET || then === END
  }

  /** Whether the token at hand is a key without quotes, or without its first one. */
  #isBareKeyNow(): boolean | undefined {
    const word = this.#word()
    if (word === undefined) return undefined
    if (word === '') return false
    let then = this.next()
    if (then === QUOTE) then = this.next()
    return then === MORE ? undefined : then === COLON
  }

  /** Goes to the quote that closes the string at hand; END, MORE or FAR if there is none. */
  #closingQuote(quote: number): number {
    for (;;) {
      this.at += this.#width
      this.#width = 1
      if (this.at >= this.#stop) return this.#outside()
      const byte = this.#view[this.at] as number
      if (byte === quote) return byte
      if (byte === BACKSLASH) this.#width = 2
      if (byte < 0x80) continue
      const unusual = unusualAt(this.#view, this.at, this.#end)
      if (unusual === MORE && !this.#final) return MORE
      if (unusual === (quote === QUOTE ? SMART_DOUBLE : SMART_SINGLE)) {
        this.#width = 3
        return quote
      }
    }
  }

  /** The run of letters and digits at hand, blank if it is too long; undefined if it may go on. */
  #word(): string | undefined {
    let i = this.at
    while (i < this.#stop && isWordByte(this.#view[i] as number)) i++
    if (i === this.#end && !this.#final) return undefined
    if (i === this.#stop && i < this.#end) return ''
    this.#width = i - this.at
    return this.#view.toString('latin1', this.at, i)
  }

  #outside(): number {
    if (this.#stop < this.#end) return FAR
    return this.#final ? END : MORE
  }

  /** Passes over a comment: false if there is none. */
  #passComment(byte: number): boolean | typeof MORE | typeof END | typeof FAR {
    const view = this.#view
    let line = byte === HASH
    if (!line) {
      if (this.at + 1 >= this.#end) return this.#final ? false : MORE
      const second = view[this.at + 1]
      line = second === SLASH
      if (!line && second !== STAR) return false
    }
    for (let i = this.at + (byte === HASH ? 1 : 2); i < this.#stop; i++) {
      if (line ? view[i] !== LF : view[i - 1] !== STAR || view[i] !== SLASH || i < this.at + 3) continue
      this.at = i + 1
      return true
    }
    this.at = this.#stop
    return this.#stop < this.#end ? FAR : this.#final ? END : MORE
  }
}

/** Typographic quotes, as `unusualAt` names them. */
export const SMART_SINGLE = 11
export const SMART_DOUBLE = 12

/**
 * What the bytes from 0x80 on are at `at`: how many of them are one blank that JSON does not know (a no-break or
 * zero-width space: 2 or 3), a typographic quote, 0 for anything else, or MORE if the bytes at hand do not tell.
 */
export function unusualAt(view: Buffer, at: number, end: number): number {
  const first = view[at]
  if (first !== 0xc2 && first !== 0xe2 && first !== 0xe3 && first !== 0xef) return 0
  if (at + 1 >= end) return MORE
  const second = view[at + 1] as number
  if (first === 0xc2) return second === 0xa0 ? 2 : 0
  if (first === 0xe2 ? second !== 0x80 && second !== 0x81 : second !== (first === 0xe3 ? 0x80 : 0xbb))
    return 0
  if (at + 2 >= end) return MORE
  const third = view[at + 2] as number
  if (first === 0xe3) return third === 0x80 ? 3 : 0
  if (first === 0xef) return third === 0xbf ? 3 : 0
  if (second === 0x81) return third === 0x9f || third === 0xa0 ? 3 : 0
  if (third >= 0x98 && third <= 0x9f) return third < 0x9c ? SMART_SINGLE : SMART_DOUBLE
  return third <= 0x8f || third === 0xa8 || third === 0xa9 || third === 0xaf ? 3 : 0
}

/** What a key without quotes, a number or a literal is made of. */
export function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x5f ||
    byte === 0x24 ||
    byte === MINUS ||
    byte === 0x2e ||
    byte === 0x2b ||
    byte >= 0x80
  )
}

const NO_BYTES = Buffer.alloc(0)
const LITERALS = new Set(['true', 'false', 'null', 'True', 'False', 'None', 'NaN', 'Infinity', '-Infinity'])

/** Whether a word begins like a number: that is enough to tell it from prose. */
function isNumber(word: string): boolean {
  const first = word.charCodeAt(word[0] === '-' || word[0] === '+' ? 1 : 0)
  return isDigit(first)
}
