import { ByteSearch } from '../text/byte-search.ts'
import { GREATER, isBlank, isWordCharacter, LF, SPACE } from '../text/characters.ts'
import type { Container } from './fence-opening.ts'
import type { Scan } from './scan.ts'

/** The line that opened a block. */
export interface FenceOpener extends Container {
  readonly from: number
  readonly mark: number
  readonly length: number
  readonly info: string
  /** Where the body begins; the end of the tape if the opener's line has no LF. */
  readonly body: number
}

/** A line that ends the block: the body ends at `from`, prose continues at `to`. */
export interface FenceCloser {
  readonly from: number
  /** Where the line is recognized: at its first mark, or at the first byte that is no quote mark. */
  readonly at: number
  readonly to: number
  /** It is the line after a block whose lines all carry quote marks. */
  readonly outside: boolean
  /** More follows the marks: it closes only what is complete. `to` is before marks that open a fence. */
  readonly words: boolean
}

/** Finds the line that closes a block. Reused for every block of a channel; a line may arrive in pieces. */
export class FenceClosing {
  readonly #scan: Scan
  readonly #lf: ByteSearch
  #opener: FenceOpener = { quotes: 0, indent: 0, from: 0, mark: 0, length: 0, info: '', body: 0 }
  /** Finds the marks of the opener's kind. */
  #marks: ByteSearch
  /** The current line, and how far it was read. */
  #line = 0
  #at = 0
  /** The current line closes nothing: the search goes on behind it. */
  #midLine = false
  #stage: 'quote' | 'gap' | 'indent' | 'marks' | 'blanks' = 'quote'
  /** The first mark of the line, and one past the last one. */
  #marksFrom = 0
  #marksTo = 0
  #quoteCount = 0
  #spaceCount = 0
  #markCount = 0

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
  }

  startLine(line: number): void {
    this.#line = line
    this.#at = line
    this.#midLine = false
    this.#stage = this.#opener.quotes === 0 ? 'indent' : 'quote'
    this.#quoteCount = 0
    this.#spaceCount = 0
    this.#markCount = 0
  }

  /** Goes on with the first line that begins at or after `at`: what is before it is something else. */
  resume(at: number): void {
    this.#marks.reset(at)
    this.#lf.reset(at)
    this.startLine(at)
    this.#midLine = this.#scan.byte(at - 1) !== LF
  }

  /**
   * The next line that ends the block and begins before `bound`; undefined if none has arrived whole. With
   * `words`, also a line with marks and words.
   */
  next(bound: number, ended: boolean, words = false): FenceCloser | undefined {
    for (;;) {
      if (this.#midLine) {
        const line = this.#nextLine(bound)
        if (line === undefined) return undefined
        this.startLine(line)
      }
      const verdict = this.#judgeLine(bound, ended)
      if (verdict === 'wait') return undefined
      if (verdict === 'outside') return this.#closer(this.#at, this.#line, 'outside')
      if (verdict === 'closes') return this.#closer(this.#marksFrom, this.#at)
      this.#midLine = true
      if (verdict === 'words' && words) return this.#closer(this.#marksFrom, this.#afterMarks(), 'words')
    }
  }

  #closer(at: number, to: number, how?: 'outside' | 'words'): FenceCloser {
    return { from: this.#line, at, to, outside: how === 'outside', words: how === 'words' }
  }

  //  ``` Hope this helps        ```json
  //     ^ to                    ^ to: another fence opens
  #afterMarks(): number {
    return isWordCharacter(this.#scan.byte(this.#marksTo)) ? this.#marksFrom : this.#marksTo
  }

  /** Nothing before it is needed: a closer is recognized by its line, or by the indentation of its marks. */
  keep(): number {
    const { from, indent } = this.#opener
    return Math.max(from, this.#midLine ? this.#at - indent - 4 : this.#line)
  }

  /** What was searched after this position is searched again. */
  reset(from: number): void {
    this.#lf.reset(from)
  }

  /**
   * The next line that may close the block. Without quote marks, only lines that begin with a fence mark can.
   */
  #nextLine(bound: number): number | undefined {
    const { quotes, indent } = this.#opener
    if (quotes > 0) {
      const end = this.#lf.next(this.#at)
      if (end < bound) return end + 1
      this.#at = Math.max(this.#at, bound)
      return undefined
    }
    const scan = this.#scan
    for (;;) {
      const hit = this.#marks.next(this.#at)
      if (hit >= bound) {
        this.#at = Math.max(this.#at, bound - this.#marks.length + 1)
        return undefined
      }
      let line = hit
      while (hit - line < indent + 3 && scan.byte(line - 1) === SPACE) line--
      if (scan.byte(line - 1) === LF) return line
      this.#at = hit + 1
    }
  }

  //  > > ```   LF
  //  ^^^^        quote, gap (one optional space)
  //      ^       indent
  //      ^^^     marks
  //         ^^^  blanks
  #judgeLine(bound: number, ended: boolean): 'closes' | 'outside' | 'words' | 'no' | 'wait' {
    const { quotes, indent, mark, length } = this.#opener
    for (; this.#at < bound; this.#at++) {
      const byte = this.#scan.byte(this.#at) as number
      if (this.#stage === 'quote') {
        if (byte === SPACE && this.#spaceCount < 3) this.#spaceCount++
        else if (byte === GREATER) {
          this.#quoteCount++
          this.#spaceCount = 0
          this.#stage = 'gap'
        } else if (this.#quoteCount === 0) return 'outside'
        else this.#stage = 'indent'
        if (this.#stage !== 'indent') continue
      }
      if (this.#stage === 'gap') {
        this.#stage = this.#quoteCount < quotes ? 'quote' : 'indent'
        if (byte === SPACE) continue
        if (this.#stage === 'quote') {
          this.#at--
          continue
        }
      }
      if (this.#stage === 'indent') {
        if (byte === SPACE) {
          if (++this.#spaceCount > indent + 3) return 'no'
          continue
        }
        if (byte !== mark) return 'no'
        this.#stage = 'marks'
        this.#marksFrom = this.#at
      }
      if (this.#stage === 'marks') {
        if (byte === mark) {
          this.#markCount++
          continue
        }
        if (this.#markCount < length) return 'no'
        this.#stage = 'blanks'
        this.#marksTo = this.#at
      }
      if (byte === LF) {
        this.#at++
        return 'closes'
      }
      if (!isBlank(byte)) return 'words'
    }
    if (!ended) return 'wait'
    if (this.#stage === 'blanks' || (this.#stage === 'marks' && this.#markCount >= length)) return 'closes'
    return this.#stage === 'quote' && this.#quoteCount === 0 && this.#at > this.#line ? 'outside' : 'wait'
  }
}
