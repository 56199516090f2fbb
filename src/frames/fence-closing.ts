import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { BACKTICK, isBlank, isWordCharacter, LF, SPACE } from '../text/characters.ts'
import { afterQuotes, type Container, MAX_PREFIX } from './line-head.ts'
import type { Scan } from './scan.ts'

/** The line that opened a block. */
export interface FenceOpener extends Container {
  readonly from: number
  readonly mark: number
  readonly length: number
  readonly info: string
  /** Where the body begins; the end of the tape if the opener's line has no LF. */
  readonly body: number
  /** It is a fence only if its closer follows the value that the body begins with. */
  readonly odd: boolean
}

export const NO_OPENER: FenceOpener = {
  quotes: 0,
  indent: 0,
  from: 0,
  mark: 0,
  length: 0,
  info: '',
  body: 0,
  odd: false,
}

/** The marks that end the block, or their line: the body ends at `from`, prose continues at `to`. */
export interface FenceCloser {
  readonly from: number
  /** Where the line is recognized: at its first mark, or at the first byte that is not a quote mark. */
  readonly at: number
  readonly to: number
  /** It is the line after a block whose lines all carry quote marks. */
  readonly outside: boolean
  /**
   * It is no closer of CommonMark, because it is glued to the body or indented too far, or because words
   * follow: it closes only what is complete. `to` is before marks that open another fence.
   */
  readonly odd: boolean
}

/**
 * Finds the line that closes a block. Reused for every block of a channel. A line is judged anew when more of
 * it arrives; only its runs of marks and blanks, which may be long, are not read twice.
 */
export class FenceClosing {
  readonly #scan: Scan
  readonly #lf: ByteSearch
  #opener = NO_OPENER
  /** Finds the marks of the opener's kind. */
  #marks: ByteSearch
  /** The line to judge; while it closes nothing, the search for the next one goes on at `#seek`. */
  #line = 0
  #isSearching = false
  #seek = 0
  /** Where the marks of the line, and the blanks behind them, were read up to. */
  #marksTo = 0
  #blanksTo = 0

  constructor(scan: Scan) {
    this.#scan = scan
    this.#lf = new ByteSearch(scan.tape, '\n')
    this.#marks = this.#lf
  }

  /** A block begins. */
  begin(opener: FenceOpener, marks: ByteSearch): void {
    this.#opener = opener
    this.#marks = marks
    this.startLine(opener.body)
    // What begins on the line of the opener is no line of its own.
    this.#isSearching = opener.body < this.#scan.tape.end && this.#scan.byte(opener.body - 1) !== LF
  }

  startLine(line: number): void {
    this.#line = line
    this.#isSearching = false
    this.#seek = line
    this.#marksTo = 0
    this.#blanksTo = 0
  }

  /** Goes on with the first line that begins at or after `at`: what is before it is something else. */
  resume(at: number): void {
    this.#marks.reset(at)
    this.#lf.reset(at)
    this.startLine(at)
    this.#isSearching = this.#scan.byte(at - 1) !== LF
  }

  /**
   * The next line that ends the block and begins before `bound`; undefined if none has arrived whole. With
   * `odd`, also a line with marks and words.
   */
  next(bound: number, ended: boolean, odd = false): FenceCloser | undefined {
    for (;;) {
      if (this.#isSearching) {
        const line = this.#nextLine(bound)
        if (line === undefined) return undefined
        this.startLine(line)
      }
      const line = this.#line
      if (line >= bound) return undefined
      const end = this.#lf.next(line)
      const closer = this.#judge(line, Math.min(end + 1, bound), end < bound || ended)
      if (closer === undefined) return undefined
      this.#isSearching = true
      if (closer && (odd || !closer.odd)) return closer
    }
  }

  /** The line that has not arrived whole and may end the block; NOWHERE if there is none. */
  undecided(): number {
    return this.#isSearching ? NOWHERE : this.#line
  }

  /** Nothing before it is needed: a closer is recognized by its line, or by the indentation of its marks. */
  keep(): number {
    const { from, indent } = this.#opener
    return Math.max(from, this.#isSearching ? this.#seek - indent - 4 : this.#line)
  }

  /** What was searched after this position is searched again. */
  reset(from: number): void {
    this.#lf.reset(from)
  }

  /** The next line that may close the block. Without quote marks, only one that begins with a mark can. */
  #nextLine(bound: number): number | undefined {
    const { quotes, indent } = this.#opener
    const scan = this.#scan
    for (;;) {
      const hit = (quotes > 0 ? this.#lf : this.#marks).next(this.#seek)
      if (hit >= bound) {
        this.#seek = Math.max(this.#seek, bound - this.#marks.length + 1)
        return undefined
      }
      if (quotes > 0) return hit + 1
      let line = hit
      while (hit - line < indent + 3 && scan.byte(line - 1) === SPACE) line--
      if (scan.byte(line - 1) === LF) return line
      this.#seek = hit + 1
    }
  }

  //  > > ```   LF
  //  ^ line
  //      ^ marks
  //         ^ marksTo
  /** What a line is, as far as it has arrived; false if it closes nothing, undefined if that is not known. */
  #judge(line: number, end: number, whole: boolean): FenceCloser | false | undefined {
    const { quotes, indent, mark, length } = this.#opener
    const scan = this.#scan
    const content = afterQuotes(scan.tape, line, end, quotes)
    if (quotes > 0 && content === line) {
      const at = passWhile(scan, line, Math.min(end, line + 3), isSpace)
      return at === end && !whole ? undefined : { from: line, at, to: line, outside: true, odd: false }
    }
    const marks = passWhile(scan, content, Math.min(end, content + indent + 3), isSpace)
    const marksTo = passWhile(scan, Math.max(marks, this.#marksTo), end, (byte) => byte === mark)
    this.#seek = quotes > 0 ? line : marks + 1
    if (marksTo - marks < length && (marksTo < end || whole)) return false
    this.#marksTo = marksTo
    this.#blanksTo = passWhile(scan, Math.max(marksTo, this.#blanksTo), end, isBlank)
    if (this.#blanksTo < end) {
      // Another fence opens at the marks if a word is glued to them.
      const to = isWordCharacter(scan.byte(marksTo)) ? marks : marksTo
      return { from: line, at: marks, to, outside: false, odd: true }
    }
    return whole ? { from: line, at: marks, to: end, outside: false, odd: false } : undefined
  }
}

//  {"a":1}```      {"a":1} ```      {"a":1}⏎        ```
//         ^                ^                        ^
/** Finds marks where no line of CommonMark closes: glued to the body, or indented too far. */
export class GluedClosing {
  readonly #scan: Scan
  #opener = NO_OPENER
  #marks: ByteSearch
  #seek = 0
  /** Where a run of marks, which may be long, was read up to. */
  #runTo = 0

  constructor(scan: Scan) {
    this.#scan = scan
    this.#marks = new ByteSearch(scan.tape, '```')
  }

  begin(opener: FenceOpener): void {
    this.#opener = opener
    this.#marks = new ByteSearch(this.#scan.tape, opener.mark === BACKTICK ? '```' : '~~~')
    this.#seek = opener.body
    this.#runTo = 0
  }

  /** The next marks before `bound`; undefined if none has arrived whole. `ended`: nothing follows `bound`. */
  next(bound: number, ended: boolean): FenceCloser | undefined {
    const { mark, length } = this.#opener
    for (;;) {
      const marks = this.#marks.next(this.#seek)
      if (marks >= bound) return undefined
      const to = passWhile(this.#scan, Math.max(marks, this.#runTo), bound, (byte) => byte === mark)
      this.#runTo = to
      if (to === bound && !ended) return undefined
      this.#seek = to
      if (to - marks < length || this.#beginsLine(marks)) continue
      const opens = to < bound && isWordCharacter(this.#scan.byte(to))
      return { from: marks, at: marks, to: opens ? marks : to, outside: false, odd: true }
    }
  }

  /** Whether `FenceClosing` judges the line of these marks. */
  #beginsLine(marks: number): boolean {
    const { quotes, indent, body } = this.#opener
    const scan = this.#scan
    let line = marks
    while (line > body && scan.byte(line - 1) !== LF && marks - line < MAX_PREFIX + indent) line--
    if (scan.byte(line - 1) !== LF) return false
    const content = afterQuotes(scan.tape, line, marks, quotes)
    return passWhile(scan, content, Math.min(marks, content + indent + 3), isSpace) === marks
  }
}

function passWhile(scan: Scan, from: number, end: number, passes: (byte?: number) => boolean): number {
  let at = from
  while (at < end && passes(scan.byte(at))) at++
  return at
}

function isSpace(byte?: number): boolean {
  return byte === SPACE
}
