import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { BACKTICK, isBlank, isBracket, isProtected, LESS, LF, QUOTE, TILDE } from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import type { Inside, Scan } from './scan.ts'
import { type SearchState, tooLong } from './too-long.ts'

/**
 * The block of one tag.
 *
 *     text <json>{"a":"</json>"}</json> text
 *          ^ from     ^ in a string    ^ the end
 *
 * Whether a closer or an opener is in a string follows from the parity of the quotes before it on its line,
 * and is checked only for lines that have one: a body without tags costs two native searches.
 */
export class TagMachine implements Inside {
  readonly name: string
  /** What ends an object in prose, too. */
  readonly opener: ByteSearch
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #needsPayload: boolean
  readonly #keepUnclosed: boolean
  readonly #closer: ByteSearch
  readonly #lf: ByteSearch
  #from = 0
  #body = 0
  /** Closers and openers before this position were handled. */
  #seek = 0
  /** With `needsPayload`: a payload is known to follow the opener. */
  #judged = false
  /** Only blanks are before the opener on its line. */
  #startsLine = false
  /** Quotes before this position were counted; it is always on the line of `#seek`, or before it. */
  #counted = 0
  #inString = false
  /** The first in-string closer of the block, and of the current line; -1 for none. */
  #firstCloser = -1
  #lineCloser = -1

  constructor(
    scan: Scan,
    name: string,
    { needsPayload, keepUnclosed }: { readonly needsPayload: boolean; readonly keepUnclosed: boolean },
  ) {
    this.#scan = scan
    this.#tape = scan.tape
    this.name = name
    this.#needsPayload = needsPayload
    this.#keepUnclosed = keepUnclosed
    this.opener = new ByteSearch(scan.tape, `<${name}>`)
    this.#closer = new ByteSearch(scan.tape, `</${name}>`)
    this.#lf = new ByteSearch(scan.tape, '\n')
  }

  /** Begins the block whose opener is at `from`. */
  open(from: number): void {
    this.#from = from
    this.#body = from + this.opener.length
    this.#seek = this.#body
    this.#judged = !this.#needsPayload
    this.#startsLine = this.#keepUnclosed && this.#scan.head.blank(from)
    this.#counted = this.#body
    this.#inString = false
    this.#firstCloser = -1
    this.#lineCloser = -1
    this.#scan.enter(this)
    this.#scan.opened?.('tag', from, this.#body)
  }

  keep(): number {
    return this.#from
  }

  look(): boolean {
    const limit = this.#scan.limit(this.#from)
    const bound = Math.min(limit, this.#tape.end)
    if (!this.#judged) {
      const opens = this.#followedByPayload(bound)
      if (opens === false) {
        this.#scan.leave(this.#body)
        return true
      }
      if (opens === undefined) return this.#outgrown(limit)
      this.#judged = true
    }
    for (;;) {
      const close = this.#closer.next(this.#seek)
      // Blocks are short, and the next one may be far away.
      const open = close === NOWHERE ? this.opener.next(this.#seek) : this.opener.within(this.#seek, close)
      const hit = Math.min(close, open)
      const { length } = hit === close ? this.#closer : this.opener
      const fits = hit + length <= bound
      if (this.#settleLine(fits ? hit : bound)) return true
      if (!fits) return this.#outgrown(limit)
      this.#countTo(hit)
      if (!this.#inString) {
        if (hit === close) this.#cut(this.#from, close)
        else if (this.#firstCloser >= 0) this.#endAt(this.#firstCloser)
        else this.#scan.leave(open)
        return true
      }
      if (hit === close) this.#noteCloser(close)
      this.#seek = hit + length
    }
  }

  finish(): void {
    const scan = this.#scan
    const { end } = this.#tape
    if (this.#firstCloser >= 0) this.#endAt(this.#firstCloser)
    else if (this.#judged && this.#opensLikeJson()) this.#emit(this.#from, end, end, true)
    else if (this.#keepUnclosed && this.#isKept()) this.#emit(this.#from, end, end, true, !this.#isOpened())
    else if (scan.rereadTag) scan.leave(end)
    else {
      // Read again as prose, but only once: `"<json>` on every line would cause one pass per line.
      scan.rereadTag = true
      this.#goBackTo(this.#body)
      scan.leave(this.#body)
    }
  }

  /** True if the block is over because it is too long; false to wait for more. */
  #outgrown(limit: number): boolean {
    const scan = this.#scan
    if (this.#tape.end < limit) return false
    if (this.#firstCloser >= 0) this.#endAt(this.#firstCloser)
    else {
      // A closer or opener that crosses the limit was not checked yet.
      const from = Math.max(this.#body, limit - this.#closer.length + 1)
      this.opener.reset(from)
      this.#closer.reset(from)
      const findEnd = (seek: number) => this.#skip(Math.max(seek, from))
      scan.enter(tooLong(scan, `<${this.name}> block`, this.#from, findEnd))
    }
    return true
  }

  /** Too long: to the next closer, or to the next opener, strings or not. */
  #skip(from: number): SearchState {
    const { length } = this.#closer
    const close = this.#closer.next(from)
    const open = this.opener.next(from)
    if (close < open) return { done: true, at: close + length }
    if (open < close) return { done: true, at: open }
    return { done: false, at: Math.max(from, this.#tape.end - length + 1) }
  }

  /** If a line with an in-string closer ends before `to` inside a string, that closer was the end. */
  #settleLine(to: number): boolean {
    if (this.#lineCloser < 0) return false
    const end = this.#lf.next(this.#lineCloser)
    if (end >= to) return false
    this.#countTo(end)
    if (this.#inString) {
      this.#endAt(this.#lineCloser)
      return true
    }
    this.#lineCloser = -1
    return false
  }

  #noteCloser(at: number): void {
    if (this.#firstCloser < 0) this.#firstCloser = at
    if (this.#lineCloser < 0) this.#lineCloser = at
  }

  /** Moves the string state to `position`. */
  #countTo(position: number): void {
    const { view, base } = this.#tape
    const lineEnd = view.subarray(this.#counted - base, position - base).lastIndexOf(LF)
    if (lineEnd >= 0) {
      this.#counted += lineEnd + 1
      this.#inString = false
    }
    let inString = this.#inString
    const to = position - base
    const floor = this.#body - base
    for (let at = this.#counted - base; at < to; at++) {
      if (view[at] === QUOTE && !isProtected(view, at, floor)) inString = !inString
    }
    this.#inString = inString
    this.#counted = position
  }

  /** Ends the block at an in-string closer; after a retry inside a string, at the retry's opener. */
  #endAt(close: number): void {
    this.#cut(this.#lastOpener(close), close)
    this.#goBackTo(this.#scan.position)
  }

  /** The last opener before `close`: the block's own, or one in a string. Any other restarts it. */
  #lastOpener(close: number): number {
    for (let at = close; ; ) {
      at = this.opener.last(at, this.#body)
      if (at < 0) return this.#from
      if (!this.#needsPayload || this.#beginsPayload(at + this.opener.length, close) === true) return at
    }
  }

  /** What was searched after this position is searched again, by another block or by prose. */
  #goBackTo(position: number): void {
    for (const search of [this.opener, this.#closer, this.#lf]) search.reset(position)
  }

  #cut(from: number, close: number): void {
    this.#emit(from, close, close + this.#closer.length, false)
  }

  //  <json>⏎Here is…      Final: <json>⏎      <json> Here is…      I used <json> tags
  //  ^ opened             ^ opened            ^ opened             ^ only named
  /** Whether a tag without payload was opened, and not only named. */
  #isOpened(): boolean {
    const { end } = this.#tape
    const at = this.#pastBlanksOfLine(end)
    const endsLine = at === end || this.#scan.byte(at) === LF
    return this.#needsPayload ? this.#startsLine && endsLine : this.#startsLine || endsLine
  }

  /** What only names a tag is prose where prose is read. An opener in a string may begin another block. */
  #isKept(): boolean {
    if (this.#needsPayload) return this.#isOpened()
    return this.opener.last(this.#tape.end, this.#body) < 0
  }

  /** The first byte after the opener that is an LF, or not blank. */
  #pastBlanksOfLine(bound: number): number {
    let at = this.#body
    while (at < bound && isBlank(this.#scan.byte(at)) && this.#scan.byte(at) !== LF) at++
    return at
  }

  #emit(from: number, textTo: number, to: number, open: boolean, aside = false): void {
    const textFrom = from + this.opener.length
    const text = this.#scan.decode(textFrom, textTo)
    this.#scan.cut({ kind: 'tag', from, to, text, textFrom, textTo, label: this.name, open, aside })
  }

  #followedByPayload(bound: number): boolean | undefined {
    while (this.#seek < bound && isBlank(this.#scan.byte(this.#seek))) this.#seek++
    const opens = this.#beginsPayload(this.#seek, bound)
    return opens === false ? this.#startsLine && this.#pastBlanksOfLine(this.#seek) < this.#seek : opens
  }

  /** Whether `{`, `[`, `<` or a fence follows, blanks skipped; undefined if that is not known yet. */
  #beginsPayload(from: number, bound: number): boolean | undefined {
    const scan = this.#scan
    let at = from
    while (at < bound && isBlank(scan.byte(at))) at++
    if (at >= bound) return undefined
    const byte = scan.byte(at)
    if (byte !== BACKTICK && byte !== TILDE) return isBracket(byte) || byte === LESS
    for (const next of [at + 1, at + 2]) {
      if (next >= bound) return undefined
      if (scan.byte(next) !== byte) return false
    }
    return true
  }

  /** Whether the body begins with a bracket or a fence: then it is a payload, even if never closed. */
  #opensLikeJson(): boolean {
    const { end } = this.#tape
    let at = this.#body
    while (isBlank(this.#scan.byte(at))) at++
    return this.#scan.byte(at) !== LESS && this.#beginsPayload(at, end) === true
  }
}
