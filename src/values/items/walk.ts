import type { Scan } from '../../frames/scan.ts'
import {
  APOSTROPHE,
  BACKSLASH,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  isBlank,
  LESS,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
} from '../../json/characters.ts'
import {
  Ahead,
  END,
  FAR,
  HASH,
  isWordByte,
  MORE,
  SMART_DOUBLE,
  SMART_SINGLE,
  STAR,
  unusualAt,
  WINDOW,
} from './ahead.ts'
import type { DocumentEnd } from './document.ts'
import { headAt } from './guess.ts'

/**
 * Where a walk is: it waits for bytes, its value has ended, a tag has ended the document, or (only if it
 * was told to be strict) this is not JSON.
 */
export type Walked = 'wait' | 'end' | 'tag' | 'odd'

/** How a walk is to go. */
export interface WalkRules {
  /** Stop at the first byte that JSON does not allow. */
  readonly strict: boolean
  /** The value is in an array, not in an object. */
  readonly inArray: boolean
  /** What holds the container of the value. */
  readonly outer: 'none' | 'array' | 'object'
  /** The value is handed out, so what follows it must confirm that it is whole. */
  readonly item: boolean
}

type Mode = 'scalar' | 'tokens' | 'broken' | 'after'
type Expects = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma'

/**
 * Walks over one JSON value and finds its end, whatever the chunks. It reads tokens, but judges only their
 * order: that numbers and escapes are right is left to JSON.parse.
 *
 *     [{"a":[1,"]"]},{"a":2}]
 *      ^ from       ^ to
 *
 * A value that is not JSON must not take its neighbours with it. At the first token out of place the walk goes
 * back to the string before it, and from there on reads as a person would: a quote ends a string only if what
 * follows it can follow a string; comments, other quotes and odd blanks are what they look like; a closing
 * bracket that does not fit closes what was left open inside. Reused for every value.
 */
export class Walk {
  /** How far it has come; when it has ended, where to go on. */
  at = 0
  /** One past the value, when it has ended. */
  to = 0
  /** The comma after the value has been passed, too. */
  passedComma = false
  /** Something was not as JSON wants it. */
  odd = false
  /** A bracket was missing or one too many. */
  unbalanced = false
  /** Where it ended is a guess, too: the next element shows whether it was right, or nothing can. */
  ending: 'known' | 'guessed' | 'unknown' = 'known'
  readonly #scan: Scan
  readonly #end: DocumentEnd
  readonly #ahead = new Ahead()
  /** The kinds of the open brackets; how deep it is beyond `MAX_KNOWN` is only counted. */
  readonly #open = new Uint8Array(MAX_KNOWN)
  #depth = 0
  #from = 0
  #rules: WalkRules = { strict: false, inArray: true, outer: 'none', item: false }
  #mode: Mode = 'scalar'
  #limited = false
  #expects: Expects = 'value'
  #inString = false
  #inToken = false
  /** Where the string begins that is under way, or was the last token; -1 for none. */
  #string = -1
  /** The last comma. */
  #comma = -1
  // What only the broken mode needs.
  #inside: 'nothing' | 'string' | 'line comment' | 'block comment' = 'nothing'
  /** What opened the string under way. */
  #quote = QUOTE
  /** The string under way is a key. */
  #key = false
  /** The last quote in the string under way that did not end it; -1 for none. */
  #innerQuote = -1
  /** A value was found where a key should be: the bracket of an array may be missing. */
  #keyless = false
  /** Text without quotes is under way. */
  #bare = false
  /** The last byte that was neither blank nor in a comment. */
  #last = 0
  #lastAt = -1

  constructor(scan: Scan, end: DocumentEnd) {
    this.#scan = scan
    this.#end = end
  }

  /** Begins at the first byte of a value. */
  begin(from: number, rules: WalkRules): void {
    this.at = from
    this.to = from
    this.passedComma = false
    this.odd = false
    this.unbalanced = false
    this.ending = 'known'
    this.#from = from
    this.#rules = rules
    this.#mode = 'scalar'
    this.#expects = 'value'
    this.#depth = 0
    this.#inString = false
    this.#inToken = false
    this.#string = -1
    this.#comma = -1
  }

  /** Goes on to `bound` at most; at a bound that is the limit of the value, nothing is final. */
  run(bound: number, limited: boolean): Walked {
    this.#limited = limited
    let walked: Walked | undefined
    while (walked === undefined) {
      switch (this.#mode) {
        case 'tokens':
          walked = this.#walkTokens(bound)
          break
        case 'scalar':
          walked = this.#walkScalar(bound)
          break
        case 'broken':
          walked = this.#walkBroken(bound)
          break
        case 'after':
          // That it is not too long is known by now.
          walked = this.#lookAfter(this.#end.bound)
          break
        default:
          this.#mode satisfies never
      }
    }
    return walked
  }

  /** The value is not handed out after all, and what it began with is gone. */
  letGo(): void {
    this.#rules = { ...this.#rules, item: false }
  }

  /** The brackets are balanced, but what follows has not come yet. */
  get closed(): boolean {
    return this.#mode === 'after'
  }

  /** Where the string begins whose end has not been seen; -1 outside strings, and in one too long to be kept. */
  get openString(): number {
    return this.#inString && this.#isStringKept() ? this.#string : -1
  }

  /** Whether the value is a whole string after which only the separator is missing. */
  get wholeString(): boolean {
    return this.#mode === 'scalar' && this.#string >= 0 && !this.#inString
  }

  /** The first position that may be asked for again: a string may be read anew, and a broken one looks back. */
  get keep(): number {
    if (this.#mode === 'broken') return Math.max(this.#scan.tape.base, this.at - WINDOW)
    return this.#isStringKept() ? this.#string : this.at
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
          if (this.#expects === 'comma') {
            // After a number or a literal a comma is missing; after a string, it may not have been its end.
            if (this.#string < 0) return this.#endAt(this.to, i + base)
            break
          }
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
          if (this.#expects === 'comma') {
            // After a plain value a comma is missing, unless it touches the bracket.
            if (i + base > this.to || this.#string >= 0) return this.#endAt(this.to, i + base)
            break
          }
          this.#open[0] = byte
          this.#depth = 1
          this.#expects = byte === OPEN_BRACE ? 'first key' : 'first value'
          this.#mode = 'tokens'
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
      return this.#breakAt(i + base)
    }
    return this.#waitAt(i + base)
  }

  //  {"a":[1,"]"]}
  //   ^^^^^^^^^^^^  inside brackets, every token in its place. What changes is held in locals.
  #walkTokens(bound: number): Walked | undefined {
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
          if (odd) break loop
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
          if (odd) break loop
          this.#comma = i + base
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
            walked = this.#closeAt(i + base + 1)
            break loop
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
    if (walked === 'end' || walked === undefined) return walked
    this.at = i + base
    this.#expects = expects
    this.#depth = depth
    this.#string = string
    return odd && walked === 'wait' ? this.#breakAt(i + base) : walked
  }

  /** The byte at `position` is not JSON: goes on in the broken mode, or not at all. */
  #breakAt(position: number): 'odd' | undefined {
    this.at = position
    this.odd = true
    if (this.#rules.strict) return 'odd'
    this.#mode = 'broken'
    this.#inside = 'nothing'
    this.#keyless = false
    this.#bare = this.#string < 0 && this.#expects === 'comma'
    // Only what is handed out is still there to be looked at.
    this.#last = (this.#rules.item && this.#depth === 0 && this.#scan.byte(this.to - 1)) || 0
    this.#lastAt = -1
    const string = this.#string
    // What was taken for the end of the last string may have been none: it is read again.
    if (this.#isStringKept() && (this.#expects === 'colon' || this.#expects === 'comma')) {
      this.at = string
      this.to = string
      this.#expects = this.#expects === 'colon' ? 'key' : 'value'
    }
    this.#string = -1
    return undefined
  }

  //  {"a":"5" tall",b:[1] /* } */},{"a":"7
  //       ^ from the string that was none, or the token out of place, to the end
  #walkBroken(bound: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    while (this.at < bound) {
      switch (this.#inside) {
        case 'line comment':
        case 'block comment':
          if (!this.#passComment(bound)) return 'wait'
          continue
        case 'string': {
          const walked = this.#passString(bound)
          if (walked) return walked
          continue
        }
        case 'nothing':
          break
        default:
          this.#inside satisfies never
      }
      const byte = view[this.at - base] as number
      if (isBlank(byte)) {
        this.at++
        continue
      }
      if (byte >= 0x80) {
        const unusual = unusualAt(view, this.at - base, bound - base)
        if (unusual === MORE && !this.#isFinal(bound)) return 'wait'
        if (unusual === 2 || unusual === 3) {
          this.at += unusual
          continue
        }
        const walked = unusual > 3 ? this.#quoteAt(unusual, 3, bound) : this.#wordAt(byte)
        if (walked) return walked
        continue
      }
      const walked = this.#brokenToken(byte, bound)
      if (walked) return walked
      if ((this.#mode as Mode) !== 'broken') return undefined
    }
    return 'wait'
  }

  /** Reads one byte that is neither blank nor in a string or comment; undefined to go on. */
  #brokenToken(byte: number, bound: number): Walked | undefined {
    const { at } = this
    switch (byte) {
      case QUOTE:
      case APOSTROPHE:
      case BACKTICK:
        return this.#quoteAt(byte, 1, bound)
      case SLASH:
      case HASH:
        return this.#commentAt(byte, bound)
      case COMMA:
        if (this.#depth === 0) return this.#endAt(this.to, at)
        if (this.#expects === 'colon') this.#keyless = true
        this.#comma = at
        this.#expects = this.#holds(OPEN_BRACE) ? 'key' : 'value'
        this.#bare = false
        break
      case COLON:
        if (this.#depth === 0 && !this.#rules.inArray) return this.#endAt(this.to, at)
        if (this.#depth === 0 || (this.#holds(OPEN_BRACKET) && !this.#bare)) this.#openImplied()
        else if (this.#expects === 'comma' && this.#bare) break
        this.#expects = 'value'
        this.#bare = false
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return this.#openAt(byte)
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return this.#closerAt(byte, bound)
      case LESS: {
        const tag = this.#end.tagAt(at, bound)
        if (tag !== false) return tag ? 'tag' : 'wait'
        return this.#wordAt(byte)
      }
      default:
        return this.#wordAt(byte)
    }
    this.#pass(byte, 1)
    return undefined
  }

  /** A value in an array is followed by a colon: if it can be a key, the brace before it is missing. */
  #openImplied(): void {
    this.unbalanced = true
    if (this.#last === QUOTE || isLetter(this.#last)) this.#open[this.#depth++] = OPEN_BRACE
  }

  #wordAt(byte: number): undefined {
    // "a" + "b"
    if (byte === PLUS && this.#last === QUOTE && this.#expects === 'comma') this.#expects = 'value'
    else {
      if (this.#expects === 'value' || this.#expects === 'first value') this.#expects = 'comma'
      else if (this.#expects === 'key' || this.#expects === 'first key') this.#expects = 'colon'
      this.#bare = true
    }
    this.#pass(byte, 1)
  }

  #commentAt(byte: number, bound: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    const adjacent = this.#bare && this.#lastAt === this.at - 1
    if (byte === HASH) {
      if (adjacent) return this.#wordAt(byte)
      this.#inside = 'line comment'
      this.at++
      return undefined
    }
    if (this.at + 1 >= bound && !this.#isFinal(bound)) return 'wait'
    const next = this.at + 1 < bound ? view[this.at + 1 - base] : 0
    // The slashes of a URL that lost its quote are no comment.
    if (next === STAR || (next === SLASH && !(adjacent && this.#last === COLON))) {
      this.#inside = next === STAR ? 'block comment' : 'line comment'
      this.at += 2
      return undefined
    }
    return this.#wordAt(byte)
  }

  /** Goes on in a comment: false if it has not ended yet. */
  #passComment(bound: number): boolean {
    const { view, base } = this.#scan.tape
    const line = this.#inside === 'line comment'
    for (; this.at < bound; this.at++) {
      const byte = view[this.at - base]
      if (byte === LESS) {
        const tag = this.#end.tagAt(this.at, bound)
        if (tag) this.#inside = 'nothing'
        if (tag !== false) return tag === true
      }
      if (line ? byte !== LF : byte !== STAR) continue
      if (!line) {
        if (this.at + 1 >= bound) {
          if (!this.#isFinal(bound)) return false
          continue
        }
        if (view[this.at + 1 - base] !== SLASH) continue
      }
      this.at += line ? 1 : 2
      this.#inside = 'nothing'
      return true
    }
    return false
  }

  #openAt(byte: number): Walked | undefined {
    const { at } = this
    if (this.#depth === 0 && this.#expects === 'comma' && !this.#bare) return this.#endAt(this.to, at)
    if (this.#expects === 'key' && !this.#bare) {
      // An object where a key should be: the one before it was left open.
      const array = this.#arrayBelow()
      if (array >= 0) this.#guess(this.#keyless ? 'unknown' : 'guessed')
      if (array > 0) this.#depth = array
      else if (array === 0) return this.#endAt(this.#comma, at, true)
    }
    this.#open[this.#depth++] = byte
    this.#expects = byte === OPEN_BRACE ? 'first key' : 'first value'
    this.#bare = false
    this.#pass(byte, 1)
    return undefined
  }

  #closerAt(byte: number, bound: number): Walked | undefined {
    const { at } = this
    if (this.#depth === 0) return this.#endAt(this.to, at)
    const fits = this.#depth > MAX_KNOWN || this.#open[this.#depth - 1] === byte - 2
    const depth = fits ? this.#depth - 1 : this.#depthAfter(byte)
    if (depth < 0) {
      const extra =
        this.#rules.item && this.#rules.inArray ? this.#isExtra(this.#lookFrom(at + 1, bound)) : false
      if (extra === undefined) return 'wait'
      this.unbalanced = true
      if (!extra) {
        this.#guess('guessed')
        return this.#endAt(at, at)
      }
    } else this.#depth = depth
    if (!fits && depth >= 0) this.#guess('guessed')
    if (this.#depth === 0) return this.#closeAt(at + 1)
    this.#expects = 'comma'
    this.#bare = false
    this.#pass(byte, 1)
    return undefined
  }

  #guess(ending: 'guessed' | 'unknown'): void {
    this.unbalanced = true
    if (this.ending !== 'unknown') this.ending = ending
  }

  /** Whether the `]` that would end the array around the value is one too many, by what follows it. */
  #isExtra(ahead: Ahead): boolean | undefined {
    const { outer } = this.#rules
    const next = ahead.next()
    switch (next) {
      case MORE:
        return undefined
      case COMMA: {
        if (outer === 'none') return true
        const key = ahead.isKeyNext()
        return key === undefined ? undefined : key === (outer === 'array')
      }
      case COLON:
      case QUOTE:
        return true
      case CLOSE_BRACE:
        return outer !== 'object'
      case CLOSE_BRACKET:
        return outer !== 'array'
      default:
        return false
    }
  }

  /** A quote outside strings: it opens one, or closes one whose opening quote is missing. */
  #quoteAt(quote: number, width: number, bound: number): Walked | undefined {
    const { at } = this
    const expected = this.#expects !== 'comma' && this.#expects !== 'colon'
    if (this.#bare && this.#lastAt === at - 1) {
      this.#key = this.#expects === 'colon'
      this.#innerQuote = -1
      const closes = this.#closesAt(at + width, bound)
      if (closes === undefined) return 'wait'
      if (closes || quote !== QUOTE) {
        this.#pass(quote, width)
        return undefined
      }
    } else if (!expected && quote !== QUOTE && (this.#last !== QUOTE || this.#expects === 'colon')) {
      // An apostrophe in the middle of something.
      return this.#wordAt(quote)
    }
    if (this.#depth === 0 && this.#expects === 'comma' && !this.#bare) return this.#endAt(this.to, at)
    this.#key = expected
      ? this.#expects === 'key' || this.#expects === 'first key'
      : this.#expects === 'comma' && this.#holds(OPEN_BRACE)
    this.#inside = 'string'
    this.#quote = quote
    this.#string = at
    this.#innerQuote = -1
    this.#bare = false
    this.#pass(QUOTE, width)
    return undefined
  }

  /** Goes on in a string, to the quote that ends it by what follows; undefined when it has ended. */
  #passString(bound: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    for (; this.at < bound; this.at++) {
      const byte = view[this.at - base] as number
      if (byte === BACKSLASH) {
        this.at++
        continue
      }
      if (byte === LESS) {
        const tag = this.#end.tagAt(this.at, bound)
        if (tag !== false) return tag ? 'tag' : 'wait'
      }
      const width = this.#quoteWidth(byte, bound)
      if (byte === QUOTE && this.#quote !== QUOTE) {
        const comma = this.#commaBeforeObject(this.at)
        if (comma >= 0 && this.#rules.inArray) {
          this.#guess('guessed')
          return this.#endAt(comma, comma)
        }
      }
      if (width === 0) continue
      const closes = width < 0 ? undefined : this.#closesAt(this.at + width, bound)
      if (closes === undefined) return 'wait'
      if (closes === 'structure') {
        const walked = this.#takeStructure(width)
        if (walked) return walked
        if ((this.#inside as string) === 'nothing') return undefined
      }
      if (closes === true || (closes === 'structure' && this.#key)) {
        this.#inside = 'nothing'
        this.#expects = this.#key ? 'colon' : 'comma'
        this.#pass(QUOTE, width)
        return undefined
      }
      this.#innerQuote = this.at
      this.at += width - 1
    }
    return 'wait'
  }

  //  {'a':'x},{"a":2}
  //         ^^^^ the comma before an object that begins with the key at hand
  /** Where that comma is, in a string of other quotes, which should not hold such a thing; -1 for nowhere. */
  #commaBeforeObject(at: number): number {
    const { view, base } = this.#scan.tape
    const floor = Math.max(this.#string + 1, at - WINDOW)
    let i = at - 1
    let comma = -1
    for (const wanted of [OPEN_BRACE, COMMA, CLOSE_BRACE]) {
      while (i >= floor && isBlank(view[i - base])) i--
      if (i < floor || view[i - base] !== wanted) return -1
      if (wanted === COMMA) comma = i
      i--
    }
    return comma
  }

  /** How many bytes the quote takes that may end the string under way: 0 if there is none, -1 if it is not known yet. */
  #quoteWidth(byte: number, bound: number): number {
    const quote = this.#quote
    if (byte === quote) return 1
    if (quote !== SMART_DOUBLE && quote !== SMART_SINGLE) return 0
    if (byte === (quote === SMART_DOUBLE ? QUOTE : APOSTROPHE)) return 1
    if (byte < 0x80) return 0
    const { view, base } = this.#scan.tape
    const unusual = unusualAt(view, this.at - base, bound - base)
    if (unusual === MORE) return this.#isFinal(bound) ? 0 : -1
    return unusual === quote ? 3 : 0
  }

  /**
   * Whether a quote ends its string, by what follows at `from`; `structure` if the text before the quote may be a
   * key, so that the string must have ended before that; undefined if more bytes are needed.
   */
  #closesAt(from: number, bound: number): boolean | 'structure' | undefined {
    const ahead = this.#lookFrom(from, bound)
    const inArray = this.#depth === 0 ? this.#rules.inArray : !this.#holds(OPEN_BRACE)
    const next = ahead.next()
    switch (next) {
      case MORE:
        return undefined
      case END:
      case FAR:
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return true
      case COLON:
        return this.#innerQuote < 0 ? true : 'structure'
      case COMMA:
        return ahead.isEntryNext(inArray)
      case QUOTE:
      case APOSTROPHE: {
        if (ahead.at + this.#scan.tape.base > from) return true
        // A quote right before the one that ends the string, or a missing comma?
        const then = ahead.next()
        if (then === MORE) return undefined
        return then !== COMMA && then !== COLON && then !== CLOSE_BRACE && then !== CLOSE_BRACKET
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return this.#key || inArray
      case PLUS: {
        const then = ahead.next()
        return then === MORE ? undefined : then === QUOTE
      }
      default:
        return this.#key ? ahead.isScalarNow() : false
    }
  }

  //  {"a":["x],"b":1}      {"a":"x},{"a":2}
  //           ^^^^          ^     ^^^^^^     the string ended before the brackets and the comma
  /**
   * The string under way has swallowed a key, of which the quote at hand is the last byte. If a comma is before
   * that key, and brackets that fit around it, they are what they look like.
   */
  #takeStructure(width: number): Walked | undefined {
    const { view, base } = this.#scan.tape
    const floor = Math.max(this.#string + 1, this.at - WINDOW)
    const key = this.#innerQuote
    const back = (position: number) => {
      let i = position
      while (i >= floor && isBlank(view[i - base])) i--
      return i
    }
    let i = back(key - 1)
    const opened: number[] = []
    for (; i >= floor && isOpening(view[i - base]); i = back(i - 1)) opened.unshift(view[i - base] as number)
    if (i === this.#string && opened.at(-1) === OPEN_BRACE) return this.#openUnquoted(opened, key, width)
    if (i < floor || view[i - base] !== COMMA) return undefined
    const comma = i
    const closers: number[] = []
    for (i = back(i - 1); i >= floor && isClosing(view[i - base]); i = back(i - 1)) closers.unshift(i)
    for (let first = 0; first <= closers.length; first++) {
      const fits = this.#fit(closers.slice(first), opened)
      if (fits === undefined) continue
      if (fits.over >= 0) return this.#endAt(fits.over, fits.over)
      this.#depth = fits.depth
      return this.#openUnquoted(opened, key, width)
    }
    if (opened.length === 0 || this.#arrayBelow() !== 0) return undefined
    // An object begins inside the string, and no bracket says that this one is over: it must be the neighbour.
    this.#guess('guessed')
    return this.#endAt(comma, comma)
  }

  /** The brackets before a key are no part of a string: goes on after the key, whose last quote is at hand. */
  #openUnquoted(opened: readonly number[], key: number, width: number): undefined {
    for (const bracket of opened) this.#open[this.#depth++] = bracket
    this.#inside = 'nothing'
    this.#expects = 'colon'
    this.#string = key
    this.#pass(QUOTE, width)
  }

  /** How deep it is after the closers, if that is a place for the openers and the key after them. */
  #fit(closers: readonly number[], opened: readonly number[]): { depth: number; over: number } | undefined {
    const { view, base } = this.#scan.tape
    let depth = this.#depth
    let over = -1
    for (const at of closers) {
      const kind = (view[at - base] as number) - 2
      if (depth === 0) {
        // The array around the value, and then the next member of the object around that.
        const outer = kind === OPEN_BRACKET && this.#rules.inArray && this.#rules.outer === 'object'
        return outer && at === closers.at(-1) && opened.length === 0 ? { depth, over } : undefined
      }
      if (this.#open[depth - 1] !== kind) return undefined
      depth--
      if (depth === 0) over = at + 1
    }
    if (opened.length > 0 && opened.at(-1) !== OPEN_BRACE) return undefined
    const inArray = depth === 0 ? this.#rules.inArray : this.#open[depth - 1] === OPEN_BRACKET
    return inArray === opened.length > 0 ? { depth, over } : undefined
  }

  //  {"a":1}  , {"a":2}       {"a":1}},{"a":2}
  //         ^^^^^ as it should be    ^ a bracket too many
  /** The brackets are balanced; looks whether what follows can follow a whole value. */
  #lookAfter(bound: number): Walked | undefined {
    const over = this.#isOver(bound)
    if (over === undefined) return 'wait'
    if (over) return this.#endAt(this.to, this.to)
    this.odd = true
    this.unbalanced = true
    this.#depth = 1
    this.#expects = 'comma'
    this.#mode = 'broken'
    this.#inside = 'nothing'
    this.#bare = false
    this.#string = -1
    this.#last = CLOSE_BRACE
    this.#lastAt = this.to - 1
    return undefined
  }

  #isOver(bound: number): boolean | undefined {
    const ahead = this.#lookFrom(this.to, bound)
    const next = ahead.next()
    if (next === MORE) return undefined
    if (!this.#rules.inArray) return next !== CLOSE_BRACKET && next !== COLON
    switch (next) {
      case COMMA: {
        const key = ahead.isKeyNext()
        return key === undefined ? undefined : !key || this.#beginsLike(ahead.key)
      }
      case CLOSE_BRACKET: {
        // What was JSON so far needs no more proof, and is not held back for it.
        const extra = this.odd && this.#isExtra(ahead)
        return extra === undefined ? undefined : !extra
      }
      case END:
      case FAR:
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return true
      case LESS:
        return this.#end.tagAt(ahead.at + this.#scan.tape.base, bound)
      default:
        return false
    }
  }

  /** Whether the value has the same first key as what is at `at` in the view: then that is a neighbour without its brace. */
  #beginsLike(at: number): boolean {
    const { view, base } = this.#scan.tape
    const head = headAt(view, this.#from - base)
    if (!head || at < 0) return false
    const key = head.subarray(head.indexOf(QUOTE), head.lastIndexOf(QUOTE) + 1)
    return view.compare(key, 0, key.length, at, Math.min(at + key.length, view.length)) === 0
  }

  #lookFrom(position: number, bound: number): Ahead {
    const { view, base } = this.#scan.tape
    this.#ahead.begin(view, position - base, bound - base, this.#isFinal(bound))
    return this.#ahead
  }

  /** Whether no bytes will come after the bound. */
  #isFinal(bound: number): boolean {
    return this.#end.final && bound === this.#end.bound && !(this.#limited && this.#mode !== 'after')
  }

  #closeAt(to: number): 'end' | undefined {
    if (!this.#rules.item) return this.#endAt(to, to)
    this.to = to
    this.at = to
    this.#mode = 'after'
    return undefined
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

  #pass(byte: number, width: number): void {
    this.#last = byte
    this.at += width
    this.#lastAt = this.at - 1
    if (this.#depth === 0) this.to = this.at
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

  /** Whether the last string is still there to be read anew. */
  #isStringKept(): boolean {
    return this.#string >= 0 && this.at - this.#string <= this.#scan.maxFrame
  }

  /** Whether the innermost open bracket is of this kind. */
  #holds(opening: number): boolean {
    return this.#depth > 0 && this.#open[this.#depth - 1] === opening
  }

  /**
   * How deep it is after a closing bracket that does not fit, which also closes what was left open inside its
   * pair. -1: it is the bracket around the value. One that fits nothing near is passed over.
   */
  #depthAfter(closing: number): number {
    const opening = closing - 2
    const floor = Math.max(0, this.#depth - MAX_BELOW)
    for (let below = this.#depth - 1; below > floor; below--) {
      if (this.#open[below - 1] === opening) return below - 1
    }
    if (floor > 0) return this.#depth
    return (opening === OPEN_BRACKET) === this.#rules.inArray ? -1 : this.#depth
  }

  /** How deep the nearest array is that holds the open objects: 0 is the one around the value, -1 for none. */
  #arrayBelow(): number {
    const floor = Math.max(0, this.#depth - MAX_BELOW)
    let below = Math.min(this.#depth, MAX_KNOWN)
    while (below > floor && this.#open[below - 1] === OPEN_BRACE) below--
    return below > floor ? below : floor === 0 && this.#rules.inArray ? 0 : -1
  }
}

/** So many open brackets are known by their kind. */
const MAX_KNOWN = 1024
/** So far down a bracket looks for its pair; more would be quadratic where nothing fits. */
const MAX_BELOW = 16

function mayClose(expects: Expects): boolean {
  return expects === 'comma' || expects === 'first key' || expects === 'first value'
}

function isOpening(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET
}

function isClosing(byte: number | undefined): boolean {
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET
}

function isLetter(byte: number): boolean {
  return isWordByte(byte) && !(byte >= 0x30 && byte <= 0x39)
}

// What a byte can be in JSON. Small numbers, because a switch over them is a jump: without this table the walk
// over tokens takes a third longer.
const C_OTHER = 0
const C_BLANK = 1
const C_QUOTE = 2
const C_COMMA = 3
const C_COLON = 4
const C_OPEN = 5
const C_CLOSE = 6
/** What numbers and literals are made of. */
const C_TOKEN = 7

/** The class of each byte. */
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

/** Where the closing quote is, or `end` or one more (after a backslash) if it is not there. */
function stringEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end) {
    const byte = view[i]
    if (byte === QUOTE) return i
    i += byte === BACKSLASH ? 2 : 1
  }
  return i
}

/** Where the number or literal is over, or `end`. */
function tokenEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end && CLASS[view[i] as number] === C_TOKEN) i++
  return i
}
