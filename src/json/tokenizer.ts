import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  hexValue,
  isBlank,
  isDigit,
  isHighSurrogate,
  LETTER_U,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  ZERO,
} from '../text/characters.ts'
import { ESCAPES } from './strings.ts'
import { pastBlanks } from './walk.ts'

/**
 * Receives what a tokenizer reads, in order. `end` is one past the token, as an index in the current piece.
 * How much it gets depends on the tokenizer's `Detail`; what was not requested is '' or 0.
 */
export interface Handler {
  open(array: boolean, end: number): void
  close(end: number): void
  key(key: string): void
  /** A string that continues in the next piece, with its value so far: never half a surrogate pair. */
  growing(value: string): void
  string(value: string, end: number): void
  /** `token` is empty for a whole number of at most 15 digits: those are exact. */
  number(value: number, token: string, end: number): void
  literal(value: boolean | null, end: number): void
}

/** How much a handler needs; everything else is checked, but not built. */
export type Detail = typeof STRUCTURE | typeof NAMES | typeof VALUES
/** Brackets, and where values end. */
const STRUCTURE = 0
/** Keys and numbers too. */
export const NAMES = 1
/** Everything. */
export const VALUES = 2

/** Where a text stops being JSON, and what could have been there. */
export interface Break {
  /** In UTF-16 units. */
  readonly at: number
  readonly expected: string
  /** The text is the beginning of a JSON object, array or string, but ends before it is complete. */
  readonly cut: boolean
}

/**
 * Finds the first place where a text is not JSON; undefined if it is one JSON document, with or without
 * blanks around it. Agrees with `JSON.parse`.
 *
 * @example
 * whereBroken('{"a":1,}') // { at: 7, expected: 'a key in double quotes', cut: false }
 * whereBroken('{"a":[1') // { at: 7, expected: 'a comma or a closing bracket', cut: true }
 */
export function whereBroken(text: string): Break | undefined {
  const tokens = new Tokenizer(IGNORE, STRUCTURE)
  let at = tokens.push(text, 0)
  tokens.end()
  if (tokens.done()) {
    at = pastBlanks(text, at)
    return at === text.length ? undefined : { at, expected: tokens.expected(), cut: false }
  }
  return { at: tokens.consumed, expected: tokens.expected(), cut: !tokens.failed() && tokens.isOpen() }
}

const IGNORE: Handler = {
  open() {},
  close() {},
  key() {},
  growing() {},
  string() {},
  number() {},
  literal() {},
}

/*
 * State of the tokenizer, as numbers: a jump table saves a quarter of the total time.
 *
 *     {"a": [12, "x\n"], "b": true}
 *      ^^^^^                         AT_FIRST_KEY, AT_KEY, AT_COLON (a key is a string, too)
 *           ^^^^                     AT_VALUE, AT_FIRST_ITEM, IN_NUMBER, IN_WORD
 *                ^^^^                IN_STRING, then after the backslash IN_ESCAPE, and IN_HEX in \u00e9
 *                    ^               AFTER_VALUE
 */
const AT_VALUE = 0
const AT_FIRST_ITEM = 1
const AT_FIRST_KEY = 2
const AT_KEY = 3
const AT_COLON = 4
const AFTER_VALUE = 5
const IN_STRING = 6
const IN_ESCAPE = 7
const IN_HEX = 8
const IN_NUMBER = 9
const IN_WORD = 10
const DONE = 11
const FAILED = 12

/*
 * Position inside a number.
 *
 *     -10.25e+3
 *     ^           AFTER_MINUS
 *      ^^         IN_WHOLE (or AFTER_ZERO, if it is nothing but a zero)
 *        ^        AFTER_DOT
 *         ^^      IN_FRACTION
 *           ^     AFTER_E
 *            ^    AFTER_SIGN
 *             ^   IN_EXPONENT
 */
const AFTER_MINUS = 0
const AFTER_DOT = 1
const AFTER_E = 2
const AFTER_SIGN = 3
/** From here on the number may end. */
const AFTER_ZERO = 4
const IN_WHOLE = 5
const IN_FRACTION = 6
const IN_EXPONENT = 7

/**
 * Reads one JSON document from pieces, strictly, and stops at the first character that cannot be JSON. Its
 * work is proportional to the text, whatever the size of the pieces, and nothing recurses. It carries from
 * piece to piece the open brackets, the current string or number, and up to 256 keys.
 *
 * A class, because its fields are read and written at every token: they are as fast as variables, and no
 * closure is created for each document.
 */
export class Tokenizer {
  /** Units read so far, over all pieces. After a failure: its position. */
  consumed = 0
  /** A string has begun or a value has ended: more than what prose may begin with, too. */
  begun = false
  readonly #handler: Handler
  readonly #detail: Detail
  readonly #maxDepth: number
  #state = AT_VALUE
  /** The state in which it failed. */
  #failedIn = AT_VALUE
  /** Whether each open container is an array; the innermost one is `#array`. */
  readonly #outer: boolean[] = []
  #array = false
  #depth = 0
  readonly #keys = new KeyCache()
  /** The current string is a key; and whether its value is needed. */
  #isKey = false
  #kept = false
  #known = ''
  /** The first half of a surrogate pair whose second half has not arrived, and its length in the text. */
  #half = ''
  #halfLength = 0
  /** Digits of `\u….` so far, and how many. */
  #hex = 0
  #digits = 0
  /** The current number: its text, and the position inside it. */
  #token = ''
  #part = AFTER_MINUS
  /** The current literal, and the number of its letters read. */
  #word = ''
  #letters = 0

  constructor(handler: Handler, detail: Detail, maxDepth: number = Number.POSITIVE_INFINITY) {
    this.#handler = handler
    this.#detail = detail
    this.#maxDepth = maxDepth
  }

  /** The document is complete. A number at the root is complete only at `end`. */
  done(): boolean {
    return this.#state === DONE
  }

  /** The input cannot be JSON, or is nested too deep. */
  failed(): boolean {
    return this.#state === FAILED
  }

  /** The text so far ends inside an object, an array or a string. */
  isOpen(): boolean {
    return this.#depth > 0 || this.#inString()
  }

  /** Inside a string value: units at its end that are half an escape or half a pair; else -1. */
  halfString(): number {
    if (!this.#inString() || this.#isKey) return -1
    const half = this.#state === IN_ESCAPE ? 1 : this.#state === IN_HEX ? 2 + this.#digits : 0
    return half + (this.#half === '' ? 0 : this.#halfLength)
  }

  /** Inside a number: whether it could end here; else undefined. */
  wholeNumber(): boolean | undefined {
    return this.#state === IN_NUMBER ? this.#part >= AFTER_ZERO : undefined
  }

  /** Inside `true`, `false` or `null`. */
  inWord(): boolean {
    return this.#state === IN_WORD
  }

  /** What could come next, or what was expected where it failed. */
  expected(): string {
    const isFailed = this.#state === FAILED
    const isPart = this.#part < AFTER_ZERO || this.#depth === 0
    return expectedIn(isFailed ? this.#failedIn : this.#state, isFailed, isPart, this.#array)
  }

  /** Reads from `start` to the end of the piece or document, or an error; returns that position. */
  push(text: string, start: number): number {
    let at = start
    loop: while (at < text.length) {
      switch (this.#state) {
        case IN_STRING:
          at = this.#readPlain(text, at, plainEnd(text, at))
          continue
        case IN_ESCAPE:
          at = this.#readEscape(text, at)
          continue
        case IN_HEX:
          at = this.#readHex(text, at)
          continue
        case IN_NUMBER:
          at = this.#readNumber(text, at)
          continue
        case IN_WORD:
          at = this.#readWord(text, at)
          continue
        case DONE:
        case FAILED:
          break loop
      }
      const unit = text.charCodeAt(at)
      if (isBlank(unit)) {
        at++
        continue
      }
      switch (this.#state) {
        case AT_VALUE:
          at = this.#openValue(text, at, unit)
          continue
        case AFTER_VALUE:
          if (unit === COMMA) {
            this.#state = this.#array ? AT_VALUE : AT_KEY
            at++
            continue
          }
          if (unit === (this.#array ? CLOSE_BRACKET : CLOSE_BRACE)) {
            this.#close(++at)
            continue
          }
          break
        case AT_COLON:
          if (unit === COLON) {
            this.#state = AT_VALUE
            at++
            continue
          }
          break
        case AT_FIRST_KEY:
        case AT_KEY:
          if (unit === QUOTE) {
            this.#isKey = true
            at = this.#openString(text, at + 1)
            continue
          }
          if (unit === CLOSE_BRACE && this.#state === AT_FIRST_KEY) {
            this.#close(++at)
            continue
          }
          break
        case AT_FIRST_ITEM:
          if (unit === CLOSE_BRACKET) {
            this.#close(++at)
            continue
          }
          at = this.#openValue(text, at, unit)
          continue
      }
      this.#fail(at)
    }
    this.consumed += at - start
    if (this.#inString() && !this.#isKey) this.#handler.growing(this.#known)
    return at
  }

  /** End of input: ends a number at the root. */
  end(): void {
    if (this.#depth === 0 && this.#state === IN_NUMBER && this.#part >= AFTER_ZERO) this.#endNumber(0)
  }

  #openValue(text: string, at: number, unit: number): number {
    switch (unit) {
      case QUOTE:
        this.#isKey = false
        return this.#openString(text, at + 1)
      case OPEN_BRACE:
        return this.#open(false, at)
      case OPEN_BRACKET:
        return this.#open(true, at)
      case LETTER_T:
        return this.#openWord(text, at, 'true')
      case LETTER_F:
        return this.#openWord(text, at, 'false')
      case LETTER_N:
        return this.#openWord(text, at, 'null')
    }
    if (unit === MINUS || isDigit(unit)) return this.#openNumber(text, at)
    return this.#fail(at)
  }

  #open(array: boolean, at: number): number {
    if (this.#depth >= this.#maxDepth) return this.#fail(at)
    if (this.#depth > 0) this.#outer.push(this.#array)
    this.#depth++
    this.#array = array
    this.#state = array ? AT_FIRST_ITEM : AT_FIRST_KEY
    this.#handler.open(array, at + 1)
    return at + 1
  }

  #close(end: number): void {
    if (--this.#depth > 0) this.#array = this.#outer.pop() === true
    this.#afterValue()
    this.#handler.close(end)
  }

  #afterValue(): void {
    this.begun = true
    this.#state = this.#depth === 0 ? DONE : AFTER_VALUE
  }

  /** Fails at a position, and returns it. */
  #fail(at: number): number {
    this.#failedIn = this.#state
    this.#state = FAILED
    return at
  }

  /** `at` is just after the quote. Most strings end in the same piece and need no escapes. */
  #openString(text: string, at: number): number {
    this.begun = true
    const end = plainEnd(text, at)
    if (text.charCodeAt(end) === QUOTE) {
      if (this.#isKey) this.#endKey(this.#detail >= NAMES ? this.#keys.take(text, at, end) : '')
      else {
        this.#afterValue()
        this.#handler.string(this.#detail === VALUES ? text.slice(at, end) : '', end + 1)
      }
      return end + 1
    }
    this.#kept = this.#detail >= (this.#isKey ? NAMES : VALUES)
    this.#known = ''
    this.#state = IN_STRING
    return this.#readPlain(text, at, end)
  }

  #endKey(key: string): void {
    this.#state = AT_COLON
    this.#handler.key(key)
  }

  #inString(): boolean {
    return this.#state === IN_STRING || this.#state === IN_ESCAPE || this.#state === IN_HEX
  }

  /** Reads on in a string. `firstEnd` is where its plain characters from `start` on end. */
  #readPlain(text: string, start: number, firstEnd: number): number {
    let at = start
    for (let end = firstEnd; ; end = plainEnd(text, at)) {
      if (end === text.length) {
        this.#appendLast(text, at)
        return end
      }
      if (end > at) this.#append(text, at, end)
      const unit = text.charCodeAt(end)
      at = end + 1
      if (unit === BACKSLASH) {
        // The usual escape is one letter in the same piece: handled here, without a change of state.
        const meant = at < text.length ? ESCAPES[text.charCodeAt(at)] : undefined
        if (meant === undefined) {
          this.#state = IN_ESCAPE
          return at
        }
        this.#add(meant)
        at++
        continue
      }
      if (unit < SPACE) return this.#fail(end)
      // The closing quote. A half that stayed alone is kept as it is.
      if (this.#half !== '') this.#add('')
      if (this.#isKey) this.#endKey(this.#known)
      else {
        this.#afterValue()
        this.#handler.string(this.#known, at)
      }
      return at
    }
  }

  #readEscape(text: string, at: number): number {
    const unit = text.charCodeAt(at)
    if (unit === LETTER_U) {
      this.#state = IN_HEX
      this.#hex = 0
      this.#digits = 0
      return at + 1
    }
    const meant = ESCAPES[unit]
    if (meant === undefined) return this.#fail(at)
    this.#add(meant)
    this.#state = IN_STRING
    return at + 1
  }

  #readHex(text: string, at: number): number {
    const digit = hexValue(text.charCodeAt(at))
    if (digit < 0) return this.#fail(at)
    this.#hex = this.#hex * 16 + digit
    if (++this.#digits === 4) {
      const unit = String.fromCharCode(this.#hex)
      if (isHighSurrogate(this.#hex)) this.#holdHalf(unit, 6)
      else this.#add(unit)
      this.#state = IN_STRING
    }
    return at + 1
  }

  #append(text: string, from: number, to: number): void {
    this.#add(this.#kept ? text.slice(from, to) : '')
  }

  #add(more: string): void {
    if (this.#kept) this.#known += this.#half === '' ? more : this.#half + more
    this.#half = ''
  }

  #holdHalf(unit: string, length: number): void {
    this.#add('')
    this.#half = unit
    this.#halfLength = length
  }

  /**
   * Appends the end of a piece, except half a surrogate pair. Checking the end of `#known` instead would make
   * V8 flatten the whole string for every piece.
   */
  #appendLast(text: string, at: number): void {
    if (at === text.length) return
    const last = text.length - 1
    if (!isHighSurrogate(text.charCodeAt(last))) this.#append(text, at, text.length)
    else {
      this.#append(text, at, last)
      this.#holdHalf(text.slice(last), 1)
    }
  }

  #openNumber(text: string, at: number): number {
    // Whole numbers that end in this piece need no text.
    const negative = text.charCodeAt(at) === MINUS
    const from = negative ? at + 1 : at
    let end = from
    let sum = 0
    let unit = text.charCodeAt(end)
    while (isDigit(unit) && end - from < EXACT_DIGITS) {
      sum = sum * 10 + (unit - ZERO)
      unit = text.charCodeAt(++end)
    }
    const leadingZero = end - from > 1 && text.charCodeAt(from) === ZERO
    if (end > from && end < text.length && !leadingZero && !isNumberPart(unit)) {
      this.#afterValue()
      this.#handler.number(negative ? -sum : sum, '', end)
      return end
    }
    this.#state = IN_NUMBER
    this.#token = ''
    this.#part = negative ? AFTER_MINUS : text.charCodeAt(at) === ZERO ? AFTER_ZERO : IN_WHOLE
    return this.#readNumber(text, at, at + 1)
  }

  /** Continues a number whose text in this piece so far is `from` to `start`. */
  #readNumber(text: string, from: number, start: number = from): number {
    let at = start
    for (; at < text.length; at++) {
      const part = numberPart(this.#part, text.charCodeAt(at))
      if (part < 0) break
      this.#part = part
    }
    if (this.#detail >= NAMES) this.#token += text.slice(from, at)
    if (at < text.length) {
      if (this.#part >= AFTER_ZERO) this.#endNumber(at)
      else this.#fail(at)
    }
    return at
  }

  #endNumber(end: number): void {
    this.#afterValue()
    this.#handler.number(Number(this.#token), this.#token, end)
  }

  #openWord(text: string, at: number, word: string): number {
    if (text.startsWith(word, at)) {
      this.#afterValue()
      const end = at + word.length
      this.#handler.literal(literalOf(word), end)
      return end
    }
    this.#state = IN_WORD
    this.#word = word
    this.#letters = 1
    return at + 1
  }

  #readWord(text: string, at: number): number {
    if (text.charCodeAt(at) !== this.#word.charCodeAt(this.#letters)) return this.#fail(at)
    if (++this.#letters === this.#word.length) {
      this.#afterValue()
      this.#handler.literal(literalOf(this.#word), at + 1)
    }
    return at + 1
  }
}

/** What can come next in a state; `isPart` if a number there is not whole. */
function expectedIn(state: number, isFailed: boolean, isPart: boolean, array: boolean): string {
  if (state === AFTER_VALUE || (state === IN_NUMBER && !isPart)) return afterValue(array)
  if (state === IN_STRING && isFailed) return 'no control character in a string'
  return EXPECTED.get(state) ?? 'a value'
}

const EXPECTED: ReadonlyMap<number, string> = /* @__PURE__ */ new Map([
  [AT_FIRST_ITEM, 'a value or a closing bracket'],
  [AT_FIRST_KEY, 'a key in double quotes or a closing brace'],
  [AT_KEY, 'a key in double quotes'],
  [AT_COLON, 'a colon'],
  [IN_STRING, 'the end of the string'],
  [IN_ESCAPE, 'an escape'],
  [IN_HEX, 'four hex digits'],
  [IN_NUMBER, 'a digit'],
  [IN_WORD, 'true, false or null'],
  [DONE, 'the end of the input'],
])

/** Whole numbers of up to this many digits are exact as JavaScript numbers. */
const EXACT_DIGITS = 15
const LETTER_T = 0x74
const LETTER_F = 0x66
const LETTER_N = 0x6e

function afterValue(array: boolean): string {
  return array ? 'a comma or a closing bracket' : 'a comma or a closing brace'
}

function literalOf(word: string): boolean | null {
  return word === 'null' ? null : word === 'true'
}

/** The end of the run of characters that need no escape in a string. */
function plainEnd(text: string, from: number): number {
  const { length } = text
  for (let at = from; at < length; at++) {
    const unit = text.charCodeAt(at)
    // Most units are lowercase letters, which are above all three: one comparison for them.
    if (unit <= BACKSLASH && (unit === QUOTE || unit === BACKSLASH || unit < SPACE)) return at
  }
  return length
}

/** Whether a number can continue with this unit. */
function isNumberPart(unit: number): boolean {
  return isDigit(unit) || unit === DOT || (unit | 32) === LETTER_E
}

const LETTER_E = 0x65

/** The state inside a number after the next unit; -1 if the unit is not part of it. */
function numberPart(part: number, unit: number): number {
  if (isDigit(unit)) {
    switch (part) {
      case AFTER_MINUS:
        return unit === ZERO ? AFTER_ZERO : IN_WHOLE
      case AFTER_ZERO:
        return -1
      case IN_WHOLE:
        return IN_WHOLE
      case AFTER_DOT:
      case IN_FRACTION:
        return IN_FRACTION
      default:
        return IN_EXPONENT
    }
  }
  if (unit === DOT) return part === AFTER_ZERO || part === IN_WHOLE ? AFTER_DOT : -1
  if ((unit | 32) === LETTER_E) return part >= AFTER_ZERO && part !== IN_EXPONENT ? AFTER_E : -1
  return part === AFTER_E && (unit === PLUS || unit === MINUS) ? AFTER_SIGN : -1
}

const SLOTS = 256

/** A direct-mapped cache of keys: the same few occur again and again, so their strings are reused. */
class KeyCache {
  /** Created with the first key: many braces in prose look like a value and have none. */
  #seen: string[] | undefined

  /** The key in a text from `at` to `end`. */
  take(text: string, at: number, end: number): string {
    const size = end - at
    if (size === 0) return ''
    const slot = (size * 31 + text.charCodeAt(at) * 7 + text.charCodeAt(end - 1)) & (SLOTS - 1)
    this.#seen ??= new Array<string>(SLOTS).fill('')
    const seen = this.#seen[slot]!
    if (seen.length === size && text.startsWith(seen, at)) return seen
    const made = text.slice(at, end)
    this.#seen[slot] = made
    return made
  }
}
