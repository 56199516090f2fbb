import { goesOnAt, MAX_REST, mayFollowOpening, type Place } from '../json/after-value.ts'
import { isUnusualBlank } from '../repair/tolerant-reader.ts'
import {
  APOSTROPHE,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  classTable,
  DOT,
  EXCLAMATION,
  HASH,
  isBlank,
  isBracket,
  isDigit,
  isWordCharacter,
  LESS,
  LF,
  MINUS,
  QUOTE,
  SLASH,
  STAR,
} from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import { isLiteral, isPython, MAX_WORD } from './broken-rest.ts'
import type { Scan } from './scan.ts'

/**
 * Decides by what follows an object whether its last bracket was its end. A bracket, or a comma or colon
 * before another token or a comment, decides at once; otherwise the rest of the line must have arrived.
 *
 *     {"k":1}},"m":2}    {"k":1} , "m":2}    {'k': 'x} y', 'm': 2}    {"k":1}, as asked
 *            ^ goes on           ^ goes on              ^ goes on                     ^ over
 */
export class WhatFollows {
  readonly #scan: Scan
  readonly #tape: Tape
  #stage: 'behind' | 'separated' | 'line' | 'below' = 'behind'
  #to = 0
  #place: Place = 'prose'
  /** Everything before it has been looked at. */
  #seek = 0
  /** The first byte after the object that is not blank. */
  #start = 0
  /** One past the last byte that has been looked at when all was decided. */
  #end = 0
  /** The line has a quote, or a closing bracket. */
  #quoted = false
  #closed = false

  constructor(scan: Scan) {
    this.#scan = scan
    this.#tape = scan.tape
  }

  /** A value ends at `to`. */
  begin(to: number, place: Place): void {
    this.#to = to
    this.#place = place
    this.#seek = to
    this.#end = to
    this.#stage = 'behind'
    this.#quoted = false
    this.#closed = false
  }

  /**
   * Where the value goes on, -1 if it does not, undefined if more bytes are needed. Nothing from `bound` on
   * is looked at; `over` says that nothing is there.
   */
  look(bound: number, over: boolean): number | undefined {
    if (this.#stage === 'behind') {
      const byte = this.#nextByte(bound, over)
      this.#start = this.#seek
      this.#end = this.#seek
      if (byte === undefined) return over ? -1 : undefined
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return this.#start
      if (byte === COMMA || byte === COLON) {
        this.#seek++
        this.#stage = 'separated'
      } else if (KINDS[byte] === QUOTED || !this.#hasLineEnd(this.#to, this.#start)) this.#stage = 'line'
      else return -1
    }
    if (this.#stage === 'separated') {
      let byte = this.#nextByte(bound, over)
      for (; byte === COMMA; byte = this.#nextByte(bound, over)) this.#seek++
      this.#end = this.#seek
      if (byte === undefined) return over ? -1 : undefined
      if (byte === CURLY && this.#seek + 3 > bound && !over) return undefined
      const closes = byte === CLOSE_BRACE || byte === CLOSE_BRACKET
      const certain =
        isQuote(byte) || this.#isOpeningCurly() || isBracket(byte) || closes || isDigit(byte) || byte === HASH
      const opens =
        certain ||
        (byte === SLASH || byte === LESS
          ? this.#opensComment(byte, bound, over)
          : byte === BACKTICK || byte === DOT || SIGNS[byte]
            ? this.#opensAfterMark(bound, over)
            : this.#opensWithWord(this.#seek, bound, over))
      if (opens === undefined) return undefined
      if (opens) return this.#start
      this.#seek = this.#start
      this.#stage = 'line'
    }
    return this.#lookAlong(bound, over)
  }

  /** What was read after the value, as Latin-1: the same however the text is split. */
  seen(): string {
    const { view, base } = this.#tape
    return view.toString('latin1', this.#to - base, Math.min(this.#end, this.#to + MAX_REST) - base)
  }

  #nextByte(bound: number, over: boolean): number | undefined {
    const scan = this.#scan
    const { view, base } = this.#tape
    for (; this.#seek < bound; this.#seek++) {
      const byte = scan.byte(this.#seek)!
      if (isBlank(byte)) continue
      const length = UNUSUAL[byte]
      if (length === 0) return byte
      // Models indent with no-break spaces what they copied from a page.
      const end = this.#seek + length!
      if (end > bound) return over ? byte : undefined
      if (!isUnusualBlank(view.toString('utf8', this.#seek - base, end - base).charCodeAt(0))) return byte
      this.#seek = end - 1
    }
    return undefined
  }

  #isOpeningCurly(): boolean {
    const at = this.#seek
    return (
      this.#scan.byte(at) === CURLY && this.#scan.byte(at + 1) === 0x80 && this.#scan.byte(at + 2) === 0x9c
    )
  }

  #hasLineEnd(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.#scan.byte(at) === LF) return true
    return false
  }

  #opensComment(first: number, bound: number, over: boolean): boolean | undefined {
    const next = this.#seek + 1
    if (next >= bound) return over ? false : undefined
    const second = this.#scan.byte(next)
    const opens = first === LESS ? second === EXCLAMATION : second === SLASH || second === STAR
    return opens || this.#opensAfterMark(bound, over)
  }

  //  {"k":1},⏎```json⏎"m":2}             {"k":1}, `m`: 2}         {"k":1},⏎|"m":2}            {"k":1}, ...]
  //          ^ seek     ^ after a fence mark        ^ a key in backticks    ^ one after a stray sign      ^
  #opensAfterMark(bound: number, over: boolean): boolean | undefined {
    const { view, base } = this.#tape
    const from = this.#seek
    const others = view[from - base] === BACKTICK ? '` \n' : '" ./'
    let at = from + 1
    while (at < bound && at - from <= MAX_WORD && isKeyByte(view[at - base]!, others)) at++
    if (at === bound && !over) return undefined
    const head = view.toString('latin1', from - base, Math.min(at + 1, bound) - base)
    return /^(?:```.*["'}\]]|(?:`[^`]+` *:|\.{3} {0,9}[}\]]|[^`] {0,9}"[^"]{1,200}" {0,9}:)$)/s.test(head)
  }

  //  {"k":1}, m/n: 2}   {"k":1}, it's": 2}   {"k":1},⏎two words: 2}
  //           ^ from             ^ from: a key that lost its opening quote
  /** Whether a number, a literal or a bare key with its colon begins here. Reads a word twice at most. */
  #opensWithWord(from: number, bound: number, over: boolean): boolean | undefined {
    const scan = this.#scan
    let end = from
    while (end < bound && end - from <= MAX_WORD && isKeyByte(scan.byte(end)!)) end++
    if (end === from || end - from > MAX_WORD) return false
    let colon = end
    // On the same line, words before a colon are prose.
    const others = this.#hasLineEnd(this.#start, from) ? ' ./' : './'
    while (colon < bound && colon - from <= MAX_WORD && isKeyByte(scan.byte(colon)!, others)) colon++
    if (colon < bound && scan.byte(colon) === QUOTE) colon++
    if (colon === bound && !over) return undefined
    if (scan.byte(from) === MINUS) return end - from > 1 && isDigit(scan.byte(from + 1)!)
    return (
      (colon < bound && scan.byte(colon) === COLON) || isLiteral(scan, from, end) || isPython(scan, from, end)
    )
  }

  /** Waits for the end of the line and, if it may matter, for the next byte that is not blank. */
  #lookAlong(bound: number, over: boolean): number | undefined {
    const limit = this.#start + MAX_REST
    const stop = Math.min(bound, limit)
    if (this.#stage === 'line') {
      const { view, base } = this.#tape
      for (; this.#seek < stop; this.#seek++) {
        const byte = view[this.#seek - base]!
        if (KINDS[byte] === 0) continue
        if (byte === LF) break
        // In a comment, a bracket opens nothing.
        if (isBracket(byte) && !this.#quoted && !this.#isComment() && !this.#mayBeAccess(this.#seek, stop)) {
          const inner = this.#opensValue(this.#seek, stop)
          if (inner === undefined && stop < limit && !over) return undefined
          if (inner) return this.#decide(inner)
        }
        this.#quoted ||= KINDS[byte] === QUOTED
        this.#closed ||= byte === CLOSE_BRACE || byte === CLOSE_BRACKET
      }
      if (this.#seek < stop && this.#mayGoOnBelow(this.#seek)) this.#stage = 'below'
    }
    if (this.#stage === 'below')
      while (this.#seek < stop && isBlank(this.#scan.byte(this.#seek))) this.#seek++
    const end = this.#seek + (this.#stage === 'below' ? sizeBelow(this.#scan.byte(this.#seek)) : 1)
    if (bound < Math.min(end, limit) && !over) return undefined
    return this.#decide(Math.min(end, stop))
  }

  #decide(end: number): number {
    const { view, base } = this.#tape
    this.#end = end
    if (!this.#quoted && this.#stage !== 'below' && !this.#isComment()) {
      // Without quotes and brackets, only the rest of a number or word can go on, on the line below; with
      // brackets, also a bare key or a word right behind the value. To decode the line for nothing was a
      // third of the time for an object in prose.
      const mayBeKey = this.#closed && mayBeWord(view[this.#start - base]!)
      if (!mayBeKey && !this.#mayBeAccess(this.#start, end)) return -1
    }
    const text = view.toString('utf8', this.#to - 1 - base, end - base)
    return goesOnAt(text, 1, this.#place) ? this.#start : -1
  }

  //  [1,2][0]   {"a":1}.a   {"a":1}.
  //       ^            ^           ^ not this one
  /** Whether an index or the name of a member may be right after the value. */
  #mayBeAccess(at: number, end: number): boolean {
    if (at !== this.#to || at + 1 >= end || ACCESS[this.#scan.byte(at)!] !== 1) return false
    return !isBlank(this.#scan.byte(at + 1))
  }

  /** Whether a comment may follow the value: what is after that decides. */
  #isComment(): boolean {
    const first = this.#scan.byte(this.#start)
    if (first !== LESS || this.#seek < this.#start + 2) return first === SLASH
    return this.#scan.byte(this.#start + 1) === EXCLAMATION
  }

  /** The end of what shows that another value opens at `from`; without a quote, the rest is irrelevant. */
  #opensValue(from: number, stop: number): number | undefined {
    let next = from + 1
    while (next < stop && isBlank(this.#scan.byte(next))) next++
    if (next === stop) return undefined
    const byte = this.#scan.byte(next)!
    if (isBracket(byte)) return next + 1
    if (!isQuote(byte)) return 0
    if (next + 1 === stop) return undefined
    return mayFollowOpening(this.#scan.byte(next + 1)!) ? next + 2 : 0
  }

  /**
   * Whether the line that ends at `end` may be the end of a string, number or word, and maybe a comma, or
   * signs and a comment between two members.
   */
  #mayGoOnBelow(end: number): boolean {
    if (!isWordCharacter(this.#scan.byte(this.#start))) return true
    let last = end - 1
    while (isBlank(this.#scan.byte(last))) last--
    const byte = this.#scan.byte(last)!
    return byte === COMMA || isQuote(byte) || isWordCharacter(byte)
  }
}

/** Signs that begin neither a value nor a comment. */
const SIGNS = /* @__PURE__ */ classTable([1, '!%&()*;=>?@\\^|~'])
/** First bytes of what takes an element or a member of a value. */
const ACCESS = /* @__PURE__ */ classTable([1, '[.?'])
/** First bytes of unusual blanks, and how many bytes those have. */
const UNUSUAL = /* @__PURE__ */ classTable([2, '\xc2'], [3, '\xe1\xe2\xe3\xef'])
/** The first of the three bytes of a curly quote. */
const CURLY = 0xe2
/** What matters on the line: quotes, brackets and the line end. */
const QUOTED = 1
const KINDS = /* @__PURE__ */ classTable([QUOTED, '"\'\xe2'], [2, '{}[]\n'])

/** How many bytes show what begins a line: `<` alone does not say whether a tag opens or closes. */
function sizeBelow(byte: number | undefined): number {
  return byte === CURLY ? 3 : byte === LESS ? 2 : 1
}

function isQuote(byte: number): boolean {
  return byte === QUOTE || byte === APOSTROPHE
}

/** Whether a bare key, the rest of a number or word, or what follows one, may begin with this byte. */
function mayBeWord(byte: number): boolean {
  return isWordCharacter(byte) || byte === COLON || byte === COMMA || byte === DOT
}

function isKeyByte(byte: number, others = ''): boolean {
  return isWordCharacter(byte) || byte === APOSTROPHE || others.includes(String.fromCharCode(byte))
}
