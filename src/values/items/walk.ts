import type { Bytes } from '../../base/platform.ts'
import type { Scan } from '../../frames/scan.ts'
import { byteStringEnd } from '../../json/strings.ts'
import { classTable, LESS, OPEN_BRACE } from '../../text/characters.ts'
import type { DocumentEnd } from './document.ts'

/** Result of a walk: it waits for bytes, has its value, met a closing tag, or is not JSON. */
export type Walked = 'wait' | 'end' | 'tag' | 'odd'

type Expects = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma'

/**
 * Walks over one JSON value and finds its end, across chunks. It reads tokens, but checks only their
 * order: JSON.parse checks numbers and escapes later.
 *
 *     [{"a":[1,"]"]},{"a":2}]
 *      ^ from       ^ to
 *
 * It stops at the first token out of place. Reused for every value.
 */
export class Walk {
  /** Current position; when the value has ended, where to continue. */
  at = 0
  /** One past the value, when it has ended. */
  to = 0
  readonly #scan: Scan
  readonly #end: DocumentEnd
  /** The kinds of the open brackets; deeper than `MAX_KNOWN`, levels are only counted. */
  readonly #open = new Uint8Array(MAX_KNOWN)
  #depth = 0
  #inBrackets = false
  #expects: Expects = 'value'
  #inString = false
  #inToken = false
  /** Start of the current string, or of the last token if it was a string; -1 for none. */
  #string = -1

  constructor(scan: Scan, end: DocumentEnd) {
    this.#scan = scan
    this.#end = end
  }

  /** Begins at the first byte of a value. */
  begin(from: number): void {
    this.at = from
    this.to = from
    this.#inBrackets = false
    this.#expects = 'value'
    this.#depth = 0
    this.#inString = false
    this.#inToken = false
    this.#string = -1
  }

  /** Continues up to `bound`. */
  run(bound: number): Walked {
    const walked = this.#inBrackets ? undefined : this.#walkScalar(bound)
    return walked ?? this.#walkTokens(bound)
  }

  /** The value has brackets, and all of them are closed. */
  get closed(): boolean {
    return this.#inBrackets && this.#depth === 0
  }

  /** Start of the string whose end was not seen yet; -1 outside strings, and in one too long to be kept. */
  get openString(): number {
    return this.#inString && this.#isStringKept() ? this.#string : -1
  }

  /** Start of the last token if it was a string; else the current position. Earlier bytes can go. */
  get lastToken(): number {
    return this.#isStringKept() ? this.#string : this.at
  }

  /** Whether the value is a whole string after which only the separator is missing. */
  get wholeString(): boolean {
    return !this.#inBrackets && this.#string >= 0 && !this.#inString
  }

  //  [12, "text" , {"a":1}]
  //   ^^  ^^^^^^   ^        a value without brackets, or the bracket that begins one
  #walkScalar(bound: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    const end = bound - base
    let i = this.#resume(end)
    for (; i < end; i++) {
      const byte = view[i] as number
      switch (CLASS[byte]) {
        case C_BLANK:
          continue
        case C_QUOTE:
          if (this.#expects === 'comma') break
          this.#expects = 'comma'
          this.#string = i + base
          i = byteStringEnd(view, i + 1, end)
          if (i >= end) {
            this.#inString = true
            return this.#waitAt(i + base)
          }
          this.to = i + base + 1
          continue
        case C_COMMA:
        case C_CLOSE:
          return this.#endAt(this.to, i + base)
        case C_OPEN:
          if (this.#expects === 'comma') break
          this.#open[0] = byte
          this.#depth = 1
          this.#expects = byte === OPEN_BRACE ? 'first key' : 'first value'
          this.#inBrackets = true
          this.at = i + base + 1
          return undefined
        case C_TOKEN:
          if (this.#expects !== 'value') break
          this.#expects = 'comma'
          i = tokenEnd(view, i, end) - 1
          this.#inToken = i + 1 >= end
          this.to = i + base + 1
          continue
        default:
          if (byte === LESS) {
            const tag = this.#end.tagAt(i + base, bound)
            this.at = i + base
            if (tag) return 'tag'
            if (tag === undefined) return 'wait'
          }
      }
      this.at = i + base
      return 'odd'
    }
    return this.#waitAt(i + base)
  }

  //  {"a":[1,"]"]}
  //   ^^^^^^^^^^^^  inside brackets. Changing state is held in locals.
  #walkTokens(bound: number): Walked {
    const { view, base } = this.#scan.tape
    const end = bound - base
    const open = this.#open
    let i = this.#resume(end)
    let expects = this.#expects
    let depth = this.#depth
    let string = this.#string
    let walked: Walked = 'wait'
    /** Set when a byte is out of place. */
    let odd = false
    loop: while (i < end) {
      const byte = view[i] as number
      switch (CLASS[byte]) {
        case C_BLANK:
          i++
          continue
        case C_QUOTE:
          odd = expects === 'colon' || expects === 'comma'
          if (odd) break loop
          expects = expects === 'key' || expects === 'first key' ? 'colon' : 'comma'
          string = i + base
          i = byteStringEnd(view, i + 1, end)
          if (i >= end) {
            this.#inString = true
            break loop
          }
          i++
          continue
        case C_COMMA:
          odd = expects !== 'comma'
          if (odd) break loop
          expects = open[depth - 1] === OPEN_BRACE ? 'key' : 'value'
          break
        case C_COLON:
          odd = expects !== 'colon'
          if (odd) break loop
          expects = 'value'
          break
        case C_OPEN:
          odd = expects !== 'value' && expects !== 'first value'
          if (odd) break loop
          open[depth++] = byte
          expects = byte === OPEN_BRACE ? 'first key' : 'first value'
          break
        case C_CLOSE:
          odd = (open[depth - 1] !== byte - 2 && depth <= MAX_KNOWN) || !mayClose(expects)
          if (odd) break loop
          depth--
          if (depth === 0) {
            this.#depth = 0
            return this.#endAt(i + base + 1, i + base + 1)
          }
          expects = 'comma'
          break
        default: {
          if (byte === LESS) {
            const tag = this.#end.tagAt(i + base, bound)
            if (tag !== false) {
              if (tag) walked = 'tag'
              break loop
            }
          }
          odd = CLASS[byte] !== C_TOKEN || (expects !== 'value' && expects !== 'first value')
          if (odd) break loop
          expects = 'comma'
          i = tokenEnd(view, i, end)
          string = -1
          this.#inToken = i >= end
          continue
        }
      }
      string = -1
      i++
    }
    this.at = i + base
    this.#expects = expects
    this.#depth = depth
    this.#string = string
    return odd ? 'odd' : walked
  }

  #endAt(to: number, next: number): 'end' {
    this.to = to
    this.at = next
    return 'end'
  }

  #waitAt(position: number): 'wait' {
    this.at = position
    return 'wait'
  }

  /** Finishes the string or token that the last chunk cut; returns where to continue in the view. */
  #resume(end: number): number {
    const { view, base } = this.#scan.tape
    let i = this.at - base
    if (this.#inString) {
      i = byteStringEnd(view, i, end)
      if (i >= end) return i
      this.#inString = false
      this.to = ++i + base
    } else if (this.#inToken) {
      i = tokenEnd(view, i, end)
      this.#inToken = i >= end
      this.to = i + base
    }
    return i
  }

  /** Whether the last string is still in the buffer. */
  #isStringKept(): boolean {
    return this.#string >= 0 && this.at - this.#string <= this.#scan.maxFrame
  }
}

/** The kinds of up to this many open brackets are stored. */
const MAX_KNOWN = 1024

function mayClose(expects: Expects): boolean {
  return expects === 'comma' || expects === 'first key' || expects === 'first value'
}

// Class of a byte in JSON. Small numbers, because a switch over them is a jump table: without it the walk
// over tokens takes a third longer.
const C_BLANK = 1
const C_QUOTE = 2
const C_COMMA = 3
const C_COLON = 4
const C_OPEN = 5
const C_CLOSE = 6
/** Characters of numbers and literals. */
const C_TOKEN = 7

/** The class of each byte; 0 for those that JSON allows only in strings. */
const CLASS = /* @__PURE__ */ classTable(
  [C_TOKEN, '+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'],
  [C_BLANK, ' \t\n\r'],
  [C_OPEN, '{['],
  [C_CLOSE, '}]'],
  [C_QUOTE, '"'],
  [C_COMMA, ','],
  [C_COLON, ':'],
)

/** End of the number or literal, or `end`. */
function tokenEnd(view: Bytes, from: number, end: number): number {
  let i = from
  while (i < end && CLASS[view[i] as number] === C_TOKEN) i++
  return i
}
