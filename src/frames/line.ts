import { ByteBalance } from '../json/byte-balance.ts'
import { isJson } from '../json/strict.ts'
import { ByteSearch } from '../text/byte-search.ts'
import {
  beginsLiteral,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CR,
  classTable,
  DOT,
  isBracket,
  isDigit,
  isWordCharacter,
  MINUS,
  NUL,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
} from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import type { Inside, Scan } from './scan.ts'
import { type SearchState, tooLong } from './too-long.ts'

interface LineOptions {
  /** Objects are cut, too: a line that does not end like a record may begin an object of several lines. */
  readonly objects: boolean
  /** Every line that is not blank is a frame. */
  readonly everyLine: boolean
  /** A record that a raw line break in a string has cut goes on. */
  readonly joinLines: boolean
}

/** `json`: begins like a record, so it is one, valid or not. `maybe`: a record if it parses. */
type Shape = 'json' | 'maybe' | 'none'

/** A record may go on for this many lines after a raw line break in a string of it. */
const MAX_BREAKS = 32

/** A number or literal is never longer than this. */
const MAX_TOKEN = 4096

/**
 * A line whose first byte is one that JSON may begin with.
 *
 *     {"type":"turn.started"}\r\n      a record, whatever else it holds
 *     ^ from                 ^ last    ^ lf
 *     [1,2]\n   "text"\n   12\n        if they parse
 *     [INFO] x\n                       none
 *
 * `giveUp` is called for a line that is not a record: its bytes are scanned again, for objects.
 */
export class LineMachine implements Inside {
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #lf: ByteSearch
  /** Looks at the lines after this one. */
  readonly #ahead: ByteSearch
  readonly #options: LineOptions
  readonly #giveUp: () => void
  #from = 0
  #shape: Shape | undefined
  /** Only blanks are between the bracket and here. */
  #seek = 0

  constructor(scan: Scan, options: LineOptions, giveUp: () => void) {
    this.#scan = scan
    this.#tape = scan.tape
    this.#lf = new ByteSearch(scan.tape, '\n')
    this.#ahead = new ByteSearch(scan.tape, '\n')
    this.#options = options
    this.#giveUp = giveUp
  }

  /** Begins the line at `from`. */
  open(from: number): void {
    const scan = this.#scan
    const byte = scan.byte(from)
    this.#from = from
    this.#seek = from + 1
    if (this.#options.everyLine || byte === OPEN_BRACE) this.#shape = 'json'
    else this.#shape = byte === OPEN_BRACKET ? undefined : 'maybe'
    scan.enter(this)
    scan.opened?.('line', from, from + 1)
  }

  keep(): number {
    return this.#from
  }

  waitsForLf(): boolean {
    return this.#shape !== undefined
  }

  look(): boolean {
    const scan = this.#scan
    const limit = scan.limit(this.#from)
    const end = this.#lf.next(this.#from)
    if (this.#shape === undefined) this.#shape = this.#shapeOfArray(end, Math.min(limit, this.#tape.end))
    if (this.#shape === 'none') this.#giveUp()
    else if (end < limit) {
      const last = this.#goesOnTo(end)
      if (last === undefined) return false
      this.#settle(last, Math.min(last + 1, this.#tape.end))
    } else if (this.#tape.end >= limit)
      scan.enter(tooLong(scan, 'line', this.#from, (seek) => this.#findLineEnd(seek)))
    else return false
    return true
  }

  finish(): void {
    const { end } = this.#tape
    if (this.#shape === undefined) this.#giveUp()
    else if (this.#shape === 'maybe') this.#settle(end, end)
    else {
      const open = isBracket(this.#scan.byte(this.#from)) && !this.#isClosed(end)
      if (this.#options.objects && (open || !this.#endsLikeRecord(end))) this.#giveUp()
      else this.#cut(end, end, open)
    }
  }

  /**
   * Where the record ends: at the end of its line, or of a later one, if a raw line break in a string has cut
   * it and the lines up to there are the rest of it. A line that is a record of its own is not: then both
   * stay what they are. `undefined` if more input must tell.
   *
   *     {"text":"first line\n
   *     second line"}\n          goes on to here
   */
  #goesOnTo(end: number): number | undefined {
    if (!this.#options.joinLines || this.#shape !== 'json' || this.#endsLikeRecord(end)) return end
    const over = this.#scan.ended
    const { view, base } = this.#tape
    const balance = new ByteBalance()
    const walk = (from: number, to: number) => {
      for (let at = from; at < to; ) at = balance.walk(view, base, at, to, this.#from, false)
    }
    walk(this.#from, end)
    this.#ahead.reset(end + 1)
    const limit = this.#scan.limit(this.#from)
    for (let breaks = 0, line = end; balance.inString && breaks < MAX_BREAKS; breaks++) {
      const from = line + 1
      // A record of its own, good or bad.
      if (from < this.#tape.end && isBracket(this.#scan.byte(from))) return end
      const next = this.#ahead.next(from)
      const known = next < Math.min(limit, this.#tape.end)
      if (!known) {
        // What would be too long as one record stays two lines, however it comes.
        if (this.#tape.end >= limit) return end
        if (!over) return undefined
        if (from >= this.#tape.end) return end
      }
      line = known ? next : this.#tape.end
      walk(from, line)
      if (!balance.inString && balance.depth <= 0) return this.#endsLikeRecord(line) ? line : end
    }
    return end
  }

  #settle(end: number, to: number): void {
    if (this.#shape === 'maybe' && this.#parses(end)) this.#cut(end, to, false)
    else if (this.#shape === 'maybe' && !this.#isScalarRecord(end)) this.#giveUp()
    else if (this.#options.objects && !this.#endsLikeRecord(end)) this.#giveUp()
    else this.#cut(end, to, to === end && !this.#isClosed(end))
  }

  //  [ {"a":1}]   [ 1]     [INFO] x
  //    ^ json       ^ maybe ^ none
  #shapeOfArray(end: number, bound: number): Shape | undefined {
    let at = this.#seek
    while (at < bound && isGap(this.#scan.byte(at))) at++
    this.#seek = at
    if (at === bound) return undefined
    if (at === end) return 'none'
    const byte = this.#scan.byte(at)
    if (isBracket(byte) || byte === QUOTE) return 'json'
    return byte === CLOSE_BRACKET || beginsScalarInArray(byte) ? 'maybe' : 'none'
  }

  //  [5,]   [1,2   ['a']   [null        [1] Done   [12:30:01] x   [0, 3] INFO worker
  //   ^ a scalar, then a comma, the end of the array or of the line   ^ words behind the last bracket
  /** Whether a line that begins with a bracket and a scalar is a record, good or bad. */
  #isScalarRecord(end: number): boolean {
    const from = this.#from
    if (this.#scan.byte(from) !== OPEN_BRACKET) return false
    const line = this.#scan.decodeClean(from, this.#lastByte(end) + 1)
    const begins = FIRST_SCALAR.exec(line)
    if (!begins) return false
    if (begins[1] !== ',') return true
    const rest = line.slice(line.lastIndexOf(']') + 1)
    return !line.includes(']') || !/[\p{L}\p{N}]/u.test(rest.replace(/"[^"]*"|'[^']*'/g, ''))
  }

  #endsLikeRecord(end: number): boolean {
    if (this.#scan.byte(end - 1) === CLOSE_BRACE) return true
    const byte = this.#scan.byte(this.#lastByte(end))
    return byte === CLOSE_BRACE || byte === CLOSE_BRACKET
  }

  /** The last byte of the line that is not blank. */
  #lastByte(end: number): number {
    let last = end - 1
    while (last > this.#from && (isGap(this.#scan.byte(last)) || this.#scan.byte(last) === NUL)) last--
    return last
  }

  /** A failed JSON.parse is expensive: first the last byte is checked, or every byte of a number. */
  #parses(end: number): boolean {
    const scan = this.#scan
    const from = this.#from
    const first = scan.byte(from)
    const last = this.#lastByte(end)
    if (first === OPEN_BRACKET) {
      if (scan.byte(last) !== CLOSE_BRACKET) return false
    } else if (first === QUOTE) {
      if (last === from || scan.byte(last) !== QUOTE) return false
    } else {
      if (last - from >= MAX_TOKEN) return false
      for (let at = from; at <= last; at++) if (!isTokenByte(scan.byte(at))) return false
    }
    return isJson(scan.decodeClean(from, last + 1))
  }

  /** At the end of the input, a line may have been cut right after an inner closer: `{"a":[1]`. */
  #isClosed(end: number): boolean {
    const { view, base } = this.#tape
    const balance = new ByteBalance()
    for (let at = this.#from; at < end; ) at = balance.walk(view, base, at, end, this.#from, false)
    return !balance.inString && balance.depth <= 0
  }

  #cut(end: number, to: number, open: boolean): void {
    const scan = this.#scan
    const from = this.#from
    const textTo = to > end && scan.byte(end - 1) === CR ? end - 1 : end
    scan.cut({ kind: 'line', from, to, text: scan.decode(from, textTo), textFrom: from, textTo, open })
    // Common case: record after record. No search is needed to find the next one.
    if (to > end && isBracket(scan.byte(to))) this.open(to)
  }

  #findLineEnd(seek: number): SearchState {
    const end = this.#lf.next(seek)
    return end < this.#tape.end ? { done: true, at: end + 1 } : { done: false, at: this.#tape.end }
  }
}

/** Whether a line of one JSON string, number or literal may begin with this byte. */
export function beginsScalarLine(byte: number | undefined): boolean {
  return byte === QUOTE || beginsToken(byte)
}

function beginsToken(byte: number | undefined): boolean {
  return byte !== undefined && (isDigit(byte) || byte === MINUS || beginsLiteral(byte))
}

/** A number, a literal or a string in any quotes, and what follows it. */
const FIRST_SCALAR =
  /^\[[ \t\r]*(?:[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[tT]rue|[fF]alse|null|None|'[^']*'|\u2018[^\u2019]*\u2019|\u201c[^\u201d]*\u201d|`[^`]*`)[ \t\r]*((?:\][ \t\r]*)?$|,)/u

/** Whether a scalar, in any spelling, may begin with this byte. */
function beginsScalarInArray(byte: number | undefined): boolean {
  return beginsToken(byte) || (byte !== undefined && SCALAR_BEGINS[byte] === 1)
}

/** `\xe2` begins a curly quote. */
const SCALAR_BEGINS = /* @__PURE__ */ classTable([1, "+.'`TFN\xe2"])

function isTokenByte(byte: number | undefined): boolean {
  return isWordCharacter(byte) || byte === DOT || byte === PLUS
}

function isGap(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === CR
}
