import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CR,
  isBlank,
  LESS,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from '../frames/bytes.ts'
import type { Scan } from '../frames/scan.ts'

/**
 * Where a walk stands: it waits for bytes, its value has ended, a tag has ended the document, or (only if it
 * was told to be strict) this is no JSON.
 */
export type Walked = 'wait' | 'end' | 'tag' | 'odd'

/** How a walk is to go. */
export interface WalkRules {
  /** Whether a tag that ends the document stands at a position; undefined if that is not known yet. */
  readonly tagAt: (position: number) => boolean | undefined
  /** Stop at the first byte that JSON does not allow. */
  readonly strict: boolean
  /** The value stands in an array, not in an object. */
  readonly inArray: boolean
  /** What the value begins with, and its neighbours too: a place to go on from when it is broken. */
  readonly head: (() => Buffer | undefined) | undefined
}

/**
 * Walks over one JSON value and finds its end, whatever the chunks. It reads tokens, but judges only their
 * order: that numbers and escapes are right is left to JSON.parse.
 *
 *     [{"a":[1,"]"]},{"a":2}]
 *      ^ from       ^ to
 *
 * A value that is no JSON must not take its neighbours with it:
 * - A quote that was not escaped shows at once, by what follows its string. From that string on quotes are not
 *   believed any more and only brackets count, until they are balanced or the next neighbour begins.
 * - A closing bracket that does not fit closes what was left open inside.
 * - An opening one where a key should be means that the object before it was left open.
 */
export class Walk {
  /** How far it has come; when it has ended, where to go on. */
  at = 0
  /** One past the value, when it has ended. */
  to = 0
  /** The comma behind the value has been passed, too. */
  passedComma = false
  /** Something was not as JSON wants it. */
  odd = false
  readonly #scan: Scan
  /** The brackets that are open; how deep it is beyond that is only counted. */
  readonly #open = new Uint8Array(MAX_KNOWN)
  #rules: WalkRules = NO_RULES
  #mode: Mode = 'scalar'
  #expects: Expects = 'value'
  #depth = 0
  #inString = false
  #inToken = false
  /** Where the string begins that is under way, or was the last token; -1 for none. */
  #string = -1
  /** The last comma. */
  #comma = -1
  /** The last byte that was no blank; only kept up to date where quotes are not believed. */
  #last = 0
  #quoted: 'text' | 'quote' | 'comma' = 'text'

  constructor(scan: Scan) {
    this.#scan = scan
  }

  /** Begins at the first byte of a value. */
  begin(from: number, rules: WalkRules): void {
    this.at = from
    this.to = from
    this.passedComma = false
    this.odd = false
    this.#rules = rules
    this.#mode = 'scalar'
    this.#expects = 'value'
    this.#depth = 0
    this.#inString = false
    this.#inToken = false
    this.#string = -1
    this.#comma = -1
  }

  /** Goes on to `bound` at most. */
  run(bound: number): Walked {
    let walked: Walked | undefined
    while (walked === undefined) {
      switch (this.#mode) {
        case 'tokens':
          walked = this.#tokens(bound)
          break
        case 'scalar':
          walked = this.#scalar(bound)
          break
        case 'brackets':
          walked = this.#brackets(bound)
          break
        case 'quotes':
          walked = this.#quotes(bound)
          break
        default:
          this.#mode satisfies never
      }
    }
    return walked
  }

  /** Where the string begins whose end has not been seen; -1 outside strings, and in one too long to be kept. */
  get openString(): number {
    return this.#inString && this.#isKept() ? this.#string : -1
  }

  /** Whether the value is a whole string behind which only the separator is missing. */
  get wholeString(): boolean {
    return this.#mode === 'scalar' && this.#string >= 0 && !this.#inString
  }

  /** The first position that may be asked for again. A string is kept, in case it has to be read anew. */
  get keep(): number {
    return this.#isKept() ? this.#string : this.at
  }

  //  {"a":[1,"]"]}
  //   ^^^^^^^^^^^^  inside brackets, every token in its place
  #tokens(bound: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    const end = bound - base
    const open = this.#open
    let i = this.#resume(end)
    let expects = this.#expects
    let depth = this.#depth
    let string = this.#string
    let walked: Walked | undefined = 'wait'
    /** Set where a byte is not as it should be. */
    let odd = false
    loop: while (i < end) {
      const byte = view[i] as number
      switch (CLASS[byte]) {
        case C_BLANK:
          i++
          continue
        case C_QUOTE:
          odd = expects === 'colon' || expects === 'comma'
          if (odd && this.#isOdd()) break loop
          expects = expects === 'key' || expects === 'first key' ? 'colon' : 'comma'
          string = i + base
          i = stringEnd(view, i + 1, end)
          if (i >= end) {
            this.#inString = true
            break loop
          }
          i++
          continue
        case C_COMMA:
          odd = expects !== 'comma'
          if (odd && this.#isOdd()) break loop
          this.#comma = i + base
          expects = open[depth - 1] === OPEN_BRACE ? 'key' : 'value'
          break
        case C_COLON:
          odd = expects !== 'colon'
          if (odd && this.#isOdd()) break loop
          expects = 'value'
          break
        case C_OPEN:
          odd = expects !== 'value' && expects !== 'first value'
          if (odd && this.#isOdd()) break loop
          if (expects === 'key') {
            const array = this.#arrayBelow(depth)
            if (array > 0) depth = array
            else if (array === 0) {
              walked = this.#endAt(this.#comma, i + base, true)
              break loop
            }
          }
          open[depth++] = byte
          expects = byte === OPEN_BRACE ? 'first key' : 'first value'
          break
        case C_CLOSE:
          odd = (open[depth - 1] !== byte - 2 && depth <= MAX_KNOWN) || !mayClose(expects)
          if (odd && this.#isOdd()) break loop
          depth = this.#close(byte, depth)
          if (depth <= 0) {
            walked = depth === 0 ? this.#endAt(i + base + 1, i + base + 1) : this.#endAt(i + base, i + base)
            break loop
          }
          expects = 'comma'
          break
        default: {
          if (byte === LESS) {
            const tag = this.#rules.tagAt(i + base)
            if (tag !== false) {
              if (tag) walked = 'tag'
              break loop
            }
          }
          odd = CLASS[byte] !== C_TOKEN || (expects !== 'value' && expects !== 'first value')
          if (odd && this.#isOdd()) break loop
          if (odd && string !== -1 && byte !== SLASH && (expects === 'comma' || expects === 'colon')) {
            // What was taken for the end of a string was none.
            this.#mode = 'brackets'
            walked = undefined
            break loop
          }
          if (!odd) {
            expects = 'comma'
            i = tokenEnd(view, i, end)
            string = -1
            this.#inToken = i >= end
            continue
          }
        }
      }
      string = -1
      i++
    }
    if (walked === 'end') return walked
    this.at = i + base
    this.#expects = expects
    this.#depth = depth
    this.#string = string
    if (odd && this.#rules.strict && walked === 'wait') return 'odd'
    if (walked === undefined) this.#readAgain()
    return walked
  }

  //  [12, "text" , /* no */ {"a":1}]
  //   ^^  ^^^^^^   ^^^^^^^^^        a value without brackets, or what stands before one with brackets
  #scalar(bound: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    const end = bound - base
    let i = this.#resume(end)
    for (; i < end; i++) {
      const byte = view[i] as number
      switch (CLASS[byte]) {
        case C_BLANK:
          continue
        case C_QUOTE:
          if (this.#expects === 'comma') return this.#endAt(this.to, i + base)
          this.#expects = 'comma'
          this.#string = i + base
          i = stringEnd(view, i + 1, end)
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
          // Behind a plain value a comma is missing; behind anything else, this is the value.
          if (this.#expects === 'comma' && !this.odd) return this.#endAt(this.to, i + base)
          this.#open[0] = byte
          this.#depth = 1
          this.#expects = byte === OPEN_BRACE ? 'first key' : 'first value'
          this.#mode = 'tokens'
          this.at = i + base + 1
          return undefined
        default: {
          if (byte === COLON && this.#expects === 'comma') return this.#endAt(this.to, i + base)
          if (byte === LESS) {
            const tag = this.#rules.tagAt(i + base)
            this.at = i + base
            if (tag) return 'tag'
            if (tag === undefined) return 'wait'
          }
          if (CLASS[byte] === C_TOKEN && this.#expects === 'value') {
            this.#expects = 'comma'
            i = tokenEnd(view, i, end) - 1
            this.#inToken = i + 1 >= end
            this.to = i + base + 1
            continue
          }
          if (this.#isOdd()) {
            this.at = i + base
            return 'odd'
          }
          if (this.#string !== -1) {
            this.at = i + base
            this.#mode = 'quotes'
            this.#quoted = 'text'
            this.#readAgain()
            return undefined
          }
          this.to = i + base + 1
        }
      }
    }
    this.at = i + base
    return 'wait'
  }

  //  {"a":"5" tall","b":[1]},{"a":"7
  //        ^^^^^^^^^^^^^^^^^       from the string that was none: brackets only
  #brackets(bound: number): Walked {
    const { view, base, end: tapeEnd } = this.#scan.tape
    const end = bound - base
    const head = this.#rules.head?.()
    for (let i = this.at - base; i < end; i++) {
      const byte = view[i] as number
      if (isBlank(byte)) continue
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (head && this.#last === COMMA && byte === OPEN_BRACE) {
          const same = beginsWith(view, i, end, head)
          if (same === undefined && (bound < tapeEnd || !this.#scan.ended)) return this.#waitAt(i + base)
          if (same) return this.#endAt(this.#comma, i + base, true)
        }
        this.#open[this.#depth++] = byte
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#depth = this.#close(byte, this.#depth)
        if (this.#depth === 0) return this.#endAt(i + base + 1, i + base + 1)
        if (this.#depth < 0) return this.#endAt(i + base, i + base)
      } else if (byte === COMMA) {
        this.#comma = i + base
      } else if (byte === LESS) {
        const tag = this.#rules.tagAt(i + base)
        if (tag !== false) {
          this.at = i + base
          return tag ? 'tag' : 'wait'
        }
      }
      this.#last = byte
    }
    return this.#waitAt(Math.max(bound, this.at))
  }

  //  {"a":"he said "hi", then left","b":1}
  //        ^      ^  ^            ^ the end: a comma and a quote follow, or a closing bracket
  #quotes(bound: number): Walked {
    const { view, base } = this.#scan.tape
    const end = bound - base
    let i = this.at - base
    for (; i < end; i++) {
      const byte = view[i] as number
      if (byte === LESS) {
        const tag = this.#rules.tagAt(i + base)
        this.at = i + base
        if (tag) return 'tag'
        if (tag === undefined) return 'wait'
      }
      if (this.#quoted !== 'text') {
        if (isBlank(byte)) continue
        const quote = this.#quoted === 'quote'
        if (quote && (byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) return this.#endAt(this.to, i + base)
        if (!quote && (this.#rules.inArray || byte === QUOTE)) return this.#endAt(this.to, i + base, true)
        this.#quoted = quote && byte === COMMA ? 'comma' : 'text'
      }
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) {
        this.#quoted = 'quote'
        this.to = i + base + 1
      }
    }
    return this.#waitAt(i + base)
  }

  #endAt(to: number, next: number, passedComma = false): 'end' {
    this.to = to
    this.at = next
    this.passedComma = passedComma
    return 'end'
  }

  #waitAt(position: number): 'wait' {
    this.at = position
    return 'wait'
  }

  /** Finishes the string or token that the last chunk broke off; answers where to go on in the view. */
  #resume(end: number): number {
    const { view, base } = this.#scan.tape
    let i = this.at - base
    if (this.#inString) {
      i = stringEnd(view, i, end)
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

  #isOdd(): boolean {
    this.odd = true
    return this.#rules.strict
  }

  #isKept(): boolean {
    return this.#string >= 0 && this.at - this.#string <= this.#scan.maxFrame
  }

  /** Back to the string that was none, unless it was too long to be kept. */
  #readAgain(): void {
    if (this.#isKept()) this.at = this.#string + 1
    this.#string = -1
    this.#last = QUOTE
  }

  /**
   * How deep it is after a closing bracket, which also closes what was left open inside its pair. -1: it is
   * the bracket around the value. One that fits nothing near is passed over.
   */
  #close(byte: number, depth: number): number {
    const opening = byte - 2
    if (depth > MAX_KNOWN || this.#open[depth - 1] === opening) return depth - 1
    const floor = Math.max(0, depth - MAX_BELOW)
    for (let below = depth - 1; below > floor; below--) {
      if (this.#open[below - 1] === opening) return below - 1
    }
    if (floor > 0) return depth
    return (opening === OPEN_BRACKET) === this.#rules.inArray ? -1 : depth
  }

  /** How deep the nearest array is that holds the open objects: 0 is the one around the value, -1 for none. */
  #arrayBelow(depth: number): number {
    const floor = Math.max(0, depth - MAX_BELOW)
    let below = Math.min(depth, MAX_KNOWN)
    while (below > floor && this.#open[below - 1] === OPEN_BRACE) below--
    return below > floor ? below : floor === 0 && this.#rules.inArray ? 0 : -1
  }
}

type Mode = 'scalar' | 'tokens' | 'brackets' | 'quotes'
type Expects = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma'

const NO_RULES: WalkRules = { tagAt: () => false, strict: false, inArray: true, head: undefined }
/** So many open brackets are known by their kind. */
const MAX_KNOWN = 1024
/** So far down a bracket looks for its pair; more would be quadratic where nothing fits. */
const MAX_BELOW = 16
const COMMA = 0x2c
const SLASH = 0x2f
const COLON = 0x3a

function mayClose(expects: Expects): boolean {
  return expects === 'comma' || expects === 'first key' || expects === 'first value'
}

/** Where the closing quote stands, or `end` or one more (behind a backslash) if it is not there. */
function stringEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end) {
    const byte = view[i]
    if (byte === QUOTE) return i
    i += byte === BACKSLASH ? 2 : 1
  }
  return i
}

function tokenEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end && CLASS[view[i] as number] === C_TOKEN) i++
  return i
}

/** Whether the head stands at `at`; undefined if the bytes end before that is known. */
function beginsWith(view: Buffer, at: number, end: number, head: Buffer): boolean | undefined {
  const length = Math.min(head.length, end - at)
  if (view.compare(head, 0, length, at, at + length) !== 0) return false
  return length === head.length ? true : undefined
}

// What a byte can be. Small numbers, because a switch over them is a jump.
const C_OTHER = 0
const C_BLANK = 1
const C_QUOTE = 2
const C_COMMA = 3
const C_COLON = 4
const C_OPEN = 5
const C_CLOSE = 6
const C_TOKEN = 7
const CLASS = new Uint8Array(256).fill(C_OTHER)
for (const byte of Buffer.from('+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz')) {
  CLASS[byte] = C_TOKEN
}
for (const byte of [SPACE, TAB, LF, CR]) CLASS[byte] = C_BLANK
for (const byte of [OPEN_BRACE, OPEN_BRACKET]) CLASS[byte] = C_OPEN
for (const byte of [CLOSE_BRACE, CLOSE_BRACKET]) CLASS[byte] = C_CLOSE
CLASS[QUOTE] = C_QUOTE
CLASS[COMMA] = C_COMMA
CLASS[COLON] = C_COLON
