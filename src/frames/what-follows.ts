import { goesOnAt, MAX_REST } from '../json/after-value.ts'
import { isUnusualBlank } from '../repair/syntax.ts'
import {
  APOSTROPHE,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  classTable,
  isBlank,
  isWordCharacter,
  LF,
  QUOTE,
} from '../text/characters.ts'
import { MAX_WORD } from './broken-rest.ts'
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
  #to = 0
  #enclosed = false
  /** The first byte behind the object that is not blank; -1 if that has not arrived. */
  #start = -1
  #isOnItsLine = false
  /** Only blanks, or separators and blanks, are between the object and here. */
  #seek = 0

  constructor(scan: Scan) {
    this.#scan = scan
  }

  /** A value ends at `to`, and a quote precedes it or not. */
  begin(to: number, enclosed: boolean): void {
    this.#to = to
    this.#enclosed = enclosed
    this.#start = -1
    this.#seek = to
  }

  /**
   * Where the value goes on, -1 if it does not, undefined if more bytes are needed. Nothing from `bound` on
   * is looked at; `over` says that nothing is there.
   */
  look(bound: number, over: boolean): number | undefined {
    if (this.#start < 0) {
      if (!this.#passBlanks(bound, over)) return over ? -1 : undefined
      this.#start = this.#seek
      this.#isOnItsLine = this.#lineEnd(this.#to, this.#start) === this.#start
    }
    const start = this.#start
    const byte = this.#scan.byte(start)!
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return start
    if (byte === COMMA || byte === COLON) {
      if (this.#seek === start) this.#seek++
      while (this.#passBlanks(bound, over) && this.#scan.byte(this.#seek) === COMMA) this.#seek++
      const opens = this.#opensToken(bound, over)
      if (opens !== false) return opens && start
    } else if (!isQuote(byte) && !this.#isOnItsLine) return -1
    return this.#lookAlong(start, bound, over)
  }

  /** False if nothing but blanks has arrived. */
  #passBlanks(bound: number, over: boolean): boolean {
    const { view, base } = this.#scan.tape
    for (; this.#seek < bound; this.#seek++) {
      const byte = view[this.#seek - base]!
      if (isBlank(byte)) continue
      const end = this.#seek + UNUSUAL[byte]!
      if (end === this.#seek) return true
      // Models indent with no-break spaces what they copied from a page.
      if (end > bound) return over
      if (!isUnusualBlank(view.toString('utf8', this.#seek - base, end - base).charCodeAt(0))) return true
      this.#seek = end - 1
    }
    return false
  }

  /** Whether another token or a comment is behind the separators; a word only with its colon. */
  #opensToken(bound: number, over: boolean): boolean | undefined {
    const text = this.#latin1(this.#seek, Math.min(bound, this.#seek + MAX_WORD + 2))
    if (/^(?:["'{}[\]\d#]|\/[/*])/.test(text)) return true
    const mayGoOn = !over && text.length < MAX_WORD + 2
    if (mayGoOn && /^(?:\/|[\w$\x80-\xff-]*)$/.test(text)) return undefined
    return /^(?:-\d(?![\w$\x80-\xff-]{255})|(?!-)[\w$\x80-\xff-]{1,256}:|(?:true|false|null)(?![\w$\x80-\xff-]))/.test(
      text,
    )
  }

  /** Waits for the end of the line and, if it may matter, for the next byte that is not blank. */
  #lookAlong(start: number, bound: number, over: boolean): number | undefined {
    const stop = Math.min(bound, start + MAX_REST)
    const enough = over || stop === start + MAX_REST
    const end = this.#lineEnd(start, stop)
    const isBelow = end < stop && this.#mayGoOnBelow(end)
    if (!enough) {
      if (end === stop && !this.#opensValue(start, end)) return undefined
      if (isBelow && !this.#hasArrivedBelow(end, stop)) return undefined
    }
    // Without quotes and brackets, only the rest of a number or word can go on, on the line below.
    if (!isBelow && !this.#holds(QUOTE_OR_CLOSER, start, end)) return -1
    const { view, base } = this.#scan.tape
    const text = view.toString('utf8', this.#to - 1 - base, (isBelow ? stop : end) - base)
    return goesOnAt(text, 1, this.#enclosed) ? start : -1
  }

  /** A loop, as below, because a line is short, and is asked about at each of its chunks. */
  #lineEnd(from: number, stop: number): number {
    const { view, base } = this.#scan.tape
    let at = from
    while (at < stop && view[at - base] !== LF) at++
    return at
  }

  /** Whether another value opens on the line, without a quote before it: then its rest does not matter. */
  #opensValue(from: number, to: number): boolean {
    return this.#holds(OPENER, from, to) && OPENS_VALUE.test(this.#latin1(from, to))
  }

  #holds(kind: number, from: number, to: number): boolean {
    const { view, base } = this.#scan.tape
    for (let at = from - base; at < to - base; at++) if (KINDS[view[at]!] === kind) return true
    return false
  }

  /** Whether the line that ends at `end` may be the end of a string, number or word, and maybe a comma. */
  #mayGoOnBelow(end: number): boolean {
    let last = end - 1
    while (isBlank(this.#scan.byte(last))) last--
    const byte = this.#scan.byte(last)!
    return byte === COMMA || isQuote(byte) || isWordCharacter(byte)
  }

  #hasArrivedBelow(end: number, stop: number): boolean {
    let at = end
    while (at < stop && isBlank(this.#scan.byte(at))) at++
    return at + (this.#scan.byte(at) === CURLY ? 3 : 1) <= stop
  }

  #latin1(from: number, to: number): string {
    const { view, base } = this.#scan.tape
    return view.toString('latin1', from - base, to - base)
  }
}

const OPENS_VALUE = /^[^"'\xe2]*[{[][ \t\r]*(?:[{[]|["'][^ \t\r,:}\]])/
const QUOTE_OR_CLOSER = 1
const OPENER = 2
const KINDS = /* @__PURE__ */ classTable([QUOTE_OR_CLOSER, '"\'}]\xe2'], [OPENER, '{['])
/** First bytes of unusual blanks, and how many bytes those have. */
const UNUSUAL = /* @__PURE__ */ classTable([2, '\xc2'], [3, '\xe1\xe2\xe3\xef'])
/** The first of the three bytes of a curly quote. */
const CURLY = 0xe2

function isQuote(byte: number): boolean {
  return byte === QUOTE || byte === APOSTROPHE || byte === CURLY
}
