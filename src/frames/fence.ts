import { ByteBalance } from '../json/byte-balance.ts'
import { isJson } from '../json/strict.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import {
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  GREATER,
  isBlank,
  isBracket,
  isWordCharacter,
  LF,
} from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import { type FenceCloser, FenceClosing, GluedClosing, NO_OPENER } from './fence-closing.ts'
import { type FenceHit, openings } from './fence-opening.ts'
import { withoutQuotes } from './line-head.ts'
import type { Inside, Scan } from './scan.ts'
import { type SearchState, tooLong } from './too-long.ts'

/** What is known about the body of a block: it is JSON, it may be, or nothing yet. */
type BodyKind = 'payload' | 'maybe' | undefined

/** A block that is read as prose. */
interface ProseBlock {
  readonly closing: FenceClosing
  closer: FenceCloser | undefined
}

/** A search for a later closer, because the first one is inside a JSON string of the body. */
interface Stretch {
  readonly first: FenceCloser
  tries: number
}

/** Maximum distance between the opener of a stretched fence and its closer. */
const MAX_STRETCH = 65_536
/** Maximum number of bodies to parse before the first closer is used. */
const MAX_TRIES = 8
/** A block that is read as prose may have one like it inside. */
const MAX_NESTED = 2

/**
 * CommonMark fenced blocks.
 *
 *     > ```json
 *     > {"a":1}        the body, without its `> `
 *     > ```
 *       ^ at least as long as the opener, nothing after it
 *
 * A string of the body may contain such a line, with its line breaks written raw. Then a later closer ends
 * the block, if the body up to it parses once those breaks are replaced by blanks. A search that failed is
 * not repeated for a fence in the range that it covered, so each byte is scanned twice at most.
 *
 * With `readFences`, a block that is not marked as JSON is held only if it begins with a bracket. If it is no
 * JSON document, or begins otherwise, it is read as prose, up to its closer; one inside it, too.
 */
export class FenceMachine implements Inside {
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #backticks: ReturnType<typeof openings>
  readonly #tildes: ReturnType<typeof openings>
  readonly #closing: FenceClosing
  readonly #glued: GluedClosing
  #opener = NO_OPENER
  #stretch: Stretch | undefined
  /** A line that may end the block, while marks before it are judged. */
  #line: FenceCloser | undefined
  /** Brackets and strings of the body, counted up to a position. */
  readonly #balance = new ByteBalance()
  #counted = 0
  /** A fence before this offset of the channel is not stretched. */
  #searchedTo = 0
  readonly #readFences: false | 'object' | 'any'
  readonly #opened: ((info: string, body: number) => void) | undefined
  #kind: BodyKind
  /** The search for the first byte of the body that is not blank continues here. */
  #firstFrom = 0
  /** How many bodies were parsed before marks that may close the block. */
  #tries = 0
  /** The value of an odd fence never ended: no other odd one is tried. */
  #noOdd = false
  /** The blocks that are read as prose, the innermost one last. */
  readonly #prose: ProseBlock[] = []
  readonly #watch = {
    keep: (): number => {
      this.#nextCloser(0)
      return this.#prose.at(-1)?.closing.keep() ?? NOWHERE
    },
  }

  /** `opened`: every block is read as prose, by somebody who is told of it. */
  constructor(
    scan: Scan,
    readFences: false | 'object' | 'any',
    opened?: (info: string, body: number) => void,
  ) {
    this.#scan = scan
    this.#opened = opened
    this.#tape = scan.tape
    this.#readFences = readFences
    const glued = readFences === false ? undefined : () => !this.#noOdd
    this.#backticks = openings(scan, '```', { trailing: readFences !== false, glued })
    this.#tildes = openings(scan, '~~~', { glued })
    this.#closing = new FenceClosing(scan)
    this.#glued = new GluedClosing(scan)
  }

  /**
   * The next line that opens a fence, at or after `from`, positioned at its first mark; or that closes the
   * one that is read as prose, positioned at its start.
   */
  next(from: number): FenceHit {
    const closer = this.#nextCloser(from)
    if (this.#prose.length === MAX_NESTED) return { at: closer, decided: true, closes: true }
    const backtick = this.#backticks.next(from)
    const tilde = this.#tildes.next(from)
    const opener = backtick.at < tilde.at ? backtick : tilde
    if (closer === NOWHERE) return opener
    return closer <= opener.at ? { at: closer, decided: true, closes: true } : opener
  }

  /** Where the line is recognized that closes the block that is read as prose. */
  #nextCloser(from: number): number {
    const block = this.#prose.at(-1)
    if (!block) return NOWHERE
    block.closer ??= block.closing.next(this.#tape.end, this.#scan.ended)
    if (block.closer && block.closer.at < from) {
      // It was inside a frame, and closed something there.
      block.closing.resume(from)
      block.closer = block.closing.next(this.#tape.end, this.#scan.ended)
    }
    return block.closer?.at ?? NOWHERE
  }

  /** How far the body of the block that is read as prose is known, and whether that is all of it. */
  proseEnd(): { readonly at: number; readonly closed: boolean } {
    this.#nextCloser(0)
    const block = this.#prose.at(-1)
    const { ended } = this.#scan
    const closed = block?.closer !== undefined
    return { at: block?.closer?.from ?? (ended || !block ? this.#tape.end : block.closing.keep()), closed }
  }

  //  {"a":1}```      {"a":1}⏎        ```⏎
  //         ^ from
  /** Whether marks after the value that began the block close it; undefined if more of them may follow. */
  closesAt(from: number): number | undefined {
    const { mark, length } = this.#opener
    const { end } = this.#tape
    let to = from
    while (to < end && this.#scan.byte(to) === mark) to++
    if (to === end && !this.#scan.ended) return undefined
    if (to - from < length) return -1
    return isWordCharacter(this.#scan.byte(to)) ? from : to
  }

  /** The block that is read as prose ends at `to`. */
  close(to: number): void {
    this.#leaveProse({ to })
    this.#searchFrom(to)
  }

  /** Position of one or two marks at the very end of the tape, which may become a fence. */
  partial(): number {
    return Math.min(this.#backticks.search.partial(), this.#tildes.search.partial())
  }

  /** Begins the block at a decided hit, or ends the one that is read as prose. */
  open(from: number): void {
    const scan = this.#scan
    const closer = this.#prose.at(-1)?.closer
    if (closer?.at === from) {
      this.#leaveProse(closer)
      return
    }
    const openings = scan.byte(from) === BACKTICK ? this.#backticks : this.#tildes
    const { mark, container, runEnd, lineEnd, brace, odd } = openings.at(from)
    const { quotes, indent } = container
    const infoEnd = brace < 0 ? lineEnd : brace
    const info = runEnd === infoEnd ? '' : scan.decodeClean(runEnd, infoEnd).trim()
    const body = infoEnd === brace ? brace : Math.min(lineEnd + 1, this.#tape.end)
    this.#opener = { quotes, indent, from, mark, length: runEnd - from, info, body, odd }
    if (this.#opened) {
      // A quotation has marks on every line, so that no document in it can be read.
      if (odd || quotes > 0) this.#backToProse(body)
      else {
        this.#readAsProse()
        this.#opened(info, body)
      }
      return
    }
    this.#stretch = undefined
    this.#line = undefined
    this.#kind = !this.#readFences || isJsonLabel(info) || odd ? 'payload' : undefined
    this.#firstFrom = body
    this.#tries = 0
    this.#balance.reset(0)
    this.#counted = body
    this.#closing.begin(this.#opener, openings.search)
    this.#glued.begin(this.#opener)
    scan.enter(this)
    if (this.#kind) scan.opened?.('fence', from, body, info)
  }

  keep(): number {
    return this.#opener.from
  }

  look(): boolean {
    if (this.#stretch) return this.#lookFurther(this.#stretch)
    const scan = this.#scan
    const { from, odd } = this.#opener
    const { end } = this.#tape
    const limit = scan.limit(from)
    if (odd) return this.#lookBehindValue(Math.min(limit, end), end >= limit)
    if (!this.#kind && !this.#lookAtFirst(Math.min(limit, end))) {
      if (scan.inside !== this) return true
      if (end < limit) return false
    }
    const closer = this.#nextEnd(Math.min(limit, end), scan.ended && end < limit)
    if (closer?.odd && !this.#isComplete(closer)) return true
    if (closer) {
      // The search for a line that closes may have gone further than these marks.
      if (closer.odd) this.#searchFrom(closer.to)
      if (this.#kind !== 'payload')
        return this.#cutOrRead(closer.from, closer.to, false, opensAnother(closer))
      this.#stretch = this.#stretchAfter(closer)
      if (this.#stretch) return this.#lookFurther(this.#stretch)
      this.#cut(closer.from, closer.to, false, opensAnother(closer))
      return true
    }
    if (end < limit) return false
    scan.enter(tooLong(scan, 'fenced block', from, () => this.#skip()))
    return true
  }

  finish(): void {
    const { end } = this.#tape
    if (this.#opener.odd) this.#lookBehindValue(end, true)
    else if (this.#stretch) this.#endAtFirst(this.#stretch)
    else if (this.#kind === 'payload') this.#cut(end, end, true)
    else this.#cutOrRead(end, end, true)
  }

  skipToEnd(): void {
    this.#counted = this.#tape.end
    this.#balance.reset(1)
  }

  /** What ends the block, or may end it if the body is complete; the first of both kinds. */
  #nextEnd(bound: number, ended: boolean): FenceCloser | undefined {
    const odd = this.#readFences !== false
    this.#line ??= this.#closing.next(bound, ended, odd)
    const line = this.#line
    const before = Math.min(bound, line?.at ?? this.#closing.undecided())
    const glued = odd ? this.#glued.next(before, ended || before < bound) : undefined
    if (!glued) this.#line = undefined
    return glued ?? line
  }

  //  ```{"a": [1]} ```
  //              ^ the value ends, and marks follow
  /** Ends a block that is one only if its closer follows the value. */
  #lookBehindValue(bound: number, over: boolean): boolean {
    const scan = this.#scan
    const { mark, length, body } = this.#opener
    const { view, base } = this.#tape
    while (this.#counted < bound && (this.#counted === body || this.#balance.depth > 0))
      this.#counted = this.#balance.walk(view, base, this.#counted, bound, body, false)
    const isOver = this.#counted > body && this.#balance.depth === 0
    if (!isOver && !over) return false
    let marks = Math.max(this.#counted, this.#firstFrom)
    while (marks < bound && isBlank(scan.byte(marks))) marks++
    this.#firstFrom = marks
    let to = marks
    while (to < bound && scan.byte(to) === mark) to++
    if (isOver && to === bound && !over) return false
    if (isOver && to - marks >= length) this.#cut(marks, to, false)
    else {
      this.#noOdd ||= !isOver
      this.#backToProse(body)
    }
    return true
  }

  //  ```python
  //  {"a": 1}          a bracket: it may be JSON
  //  import json       anything else: prose
  /** Decides by the first byte of the body what it may be. False: it is not known yet, or it is prose. */
  #lookAtFirst(bound: number): boolean {
    const scan = this.#scan
    const { info, from, body } = this.#opener
    let at = this.#firstFrom
    while (at < bound && this.#isBlankInBody(at)) at++
    this.#firstFrom = at
    if (at === bound) return false
    if (!isBracket(scan.byte(at))) {
      this.#readAsProse()
      return false
    }
    this.#kind = info === '' ? 'payload' : 'maybe'
    scan.opened?.('fence', from, body, info)
    return true
  }

  /** A block that is not marked as JSON: a frame if it is a JSON document, and otherwise prose. */
  #cutOrRead(bodyEnd: number, to: number, open: boolean, unclosed = false): true {
    const text = this.#kind ? this.#bodyText(bodyEnd, true) : ''
    if (isJson(text) && (this.#readFences === 'any' || /^\s*\{/.test(text.slice(0, 4096))))
      this.#cut(bodyEnd, to, open, unclosed)
    else this.#readAsProse()
    return true
  }

  #readAsProse(): void {
    const scan = this.#scan
    const opener = this.#opener
    const { body } = opener
    const closing = new FenceClosing(scan)
    closing.begin(opener, new ByteSearch(this.#tape, opener.mark === BACKTICK ? '```' : '~~~'))
    this.#prose.push({ closing, closer: undefined })
    scan.proseFence = this.#watch
    this.#backToProse(body)
  }

  #backToProse(from: number): void {
    this.#searchFrom(from)
    this.#scan.leave(from)
  }

  /** Inside a block only marks of its own kind are searched for. */
  #searchFrom(position: number): void {
    const openings = this.#opener.mark === BACKTICK ? this.#backticks : this.#tildes
    openings.search.reset(position)
    this.#closing.reset(position)
  }

  #leaveProse({ to }: Pick<FenceCloser, 'to'>): void {
    this.#prose.pop()
    const around = this.#prose.at(-1)
    if (around) {
      around.closer = undefined
      around.closing.resume(to)
    } else this.#scan.proseFence = undefined
    this.#scan.leave(to)
  }

  /** Whether the body is one value up to marks that are no closer of CommonMark. */
  #isComplete(closer: FenceCloser): boolean {
    const { body } = this.#opener
    let last = closer.from - 1
    while (last > body && this.#isBlankInBody(last)) last--
    const byte = this.#scan.byte(last)
    if (byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET && !opensAnother(closer)) return false
    this.#countTo(closer.from)
    if (this.#balance.inString || this.#balance.depth > 0) return false
    if (this.#kind === 'payload' && isBracket(this.#firstOfBody(closer.from))) return true
    return this.#tries++ < MAX_TRIES && isJson(this.#bodyText(closer.from, true))
  }

  /** A stretch if the body is JSON that is inside a string at this closer. */
  #stretchAfter(first: FenceCloser): Stretch | undefined {
    const { from } = this.#opener
    if (first.outside || first.odd || this.#tape.origin(from) < this.#searchedTo) return undefined
    if (!isBracket(this.#firstOfBody(first.from))) return undefined
    this.#countTo(first.from)
    if (!this.#balance.inString) return undefined
    this.#closing.startLine(first.to)
    return { first, tries: 0 }
  }

  #firstOfBody(end: number): number | undefined {
    let at = this.#opener.body
    while (at < end && this.#isBlankInBody(at)) at++
    return at < end ? this.#scan.byte(at) : undefined
  }

  /** A blank, or a `>` in a quotation. */
  #isBlankInBody(at: number): boolean {
    const byte = this.#scan.byte(at)
    return isBlank(byte) || (this.#opener.quotes > 0 && byte === GREATER)
  }

  #countTo(position: number): void {
    const { view, base } = this.#tape
    while (this.#counted < position)
      this.#counted = this.#balance.walk(view, base, this.#counted, position, this.#opener.body, false)
  }

  #lookFurther(stretch: Stretch): boolean {
    const { from } = this.#opener
    const { end } = this.#tape
    const reach = Math.min(
      this.#scan.limit(from),
      this.#tape.positionOf(this.#tape.origin(from) + MAX_STRETCH),
    )
    for (;;) {
      const closer = this.#closing.next(Math.min(reach, end), this.#scan.ended && end < reach)
      if (!closer && end < reach) return false
      if (!closer || closer.outside || stretch.tries === MAX_TRIES) break
      this.#countTo(closer.from)
      if (!this.#balance.inString && this.#balance.depth <= 0) {
        stretch.tries++
        // At most 64 KiB. Line breaks and tabs in its strings are allowed.
        if (isJson(this.#bodyText(closer.from, true).replace(/[\n\r\t]/g, ' '))) {
          this.#cut(closer.from, closer.to, false)
          return true
        }
      }
      this.#closing.startLine(closer.to)
    }
    this.#endAtFirst(stretch)
    return true
  }

  /** No later closer works. Prose scans again what was searched after the first one. */
  #endAtFirst({ first }: Stretch): void {
    this.#searchedTo = this.#tape.origin(this.#opener.from) + MAX_STRETCH
    this.#cut(first.from, first.to, false)
    this.#searchFrom(first.to)
  }

  /** Too long: to the next closer, strings or not. */
  #skip(): SearchState {
    const closer = this.#closing.next(this.#tape.end, this.#scan.ended)
    return closer ? { done: true, at: closer.to } : { done: false, at: this.#closing.keep() }
  }

  #cut(bodyEnd: number, to: number, open: boolean, unclosed = false): void {
    const { from, info, body } = this.#opener
    const textFrom = Math.min(body, bodyEnd)
    const textTo = this.#beforeLf(textFrom, bodyEnd)
    const lines = this.#isPlain() ? undefined : withoutQuotes(this.#tape, textFrom, textTo, this.#opener)
    const text = this.#bodyText(bodyEnd, false)
    this.#stretch = undefined
    const label = info || undefined
    this.#scan.cut({ kind: 'fence', from, to, text, textFrom, textTo, lines, label, open, unclosed })
  }

  /** The body up to `bodyEnd` without quote marks and indentation; `clean`: without escapes, too. */
  #bodyText(bodyEnd: number, clean: boolean): string {
    const scan = this.#scan
    const from = Math.min(this.#opener.body, bodyEnd)
    const to = this.#beforeLf(from, bodyEnd)
    if (this.#isPlain()) return clean ? scan.decodeClean(from, to) : scan.decode(from, to)
    return scan.decodeLines(withoutQuotes(this.#tape, from, to, this.#opener), clean)
  }

  /** The last LF of a body belongs to its closer. */
  #beforeLf(from: number, bodyEnd: number): number {
    return bodyEnd > from && this.#scan.byte(bodyEnd - 1) === LF ? bodyEnd - 1 : bodyEnd
  }

  #isPlain(): boolean {
    return this.#opener.quotes === 0 && this.#opener.indent === 0
  }
}

/** Whether the block ends because another one opens: it was never closed itself. */
function opensAnother({ odd, at, to }: FenceCloser): boolean {
  return odd && at === to
}

/**
 * Whether an info string marks a block as JSON: its first word is json, json5 or jsonc.
 *
 * @example
 * isJsonLabel('JSON title=x') // true
 */
export function isJsonLabel(info: string): boolean {
  return /^json[5c]?(?:[ \t:{[]|$)/i.test(info)
}
