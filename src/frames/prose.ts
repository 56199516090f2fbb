import { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { bomAt, isBlank, isBracket, NUL, OPEN_BRACE, QUOTE } from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import { FenceMachine } from './fence.ts'
import type { FenceHit } from './fence-opening.ts'
import type { ScanOptions } from './frame-options.ts'
import { beginsScalarLine, LineMachine } from './line.ts'
import type { LineHead } from './line-head.ts'
import { MarkSearch, type MarkTable, markTable } from './mark-search.ts'
import { OpenMembers } from './members.ts'
import { type Interruptions, ObjectMachine } from './object.ts'
import type { BracketRule } from './opening-bracket.ts'
import { beginsScalar, scalarMachine } from './scalar.ts'
import type { Scan } from './scan.ts'
import { TagMachine } from './tag.ts'
import { MARKS_WITHIN, type ThinkMachine, type ThoughtMark, thinkMachine, thoughtMarks } from './think.ts'
import type { Dialect } from './thought-dialects.ts'

/**
 * The state outside frames: finds the next opener and switches to its machine. Each kind of opener is a
 * native search that remembers its hit, the smallest hit wins, and at one position the order is tag, think,
 * fence, line, object.
 */
export class Prose implements Interruptions {
  /** Whether NDJSON records are cut. */
  readonly lines: boolean
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #head: LineHead
  readonly #options: ScanOptions
  /** Finds the tags and thoughts that open in prose. */
  readonly #openers: MarkSearch<OpenerMark>
  readonly #tags: readonly TagReader[]
  readonly #think: ThinkMachine | undefined
  readonly #fences: FenceMachine | undefined
  readonly #line: LineMachine | undefined
  readonly #object: BracketReader | undefined
  readonly #rule: BracketRule
  readonly #openScalar: (from: number) => void
  /** Whether lines that do not begin with a bracket must be found, too. */
  readonly #anyLine: boolean
  readonly #lf: ByteSearch
  readonly #brace: ByteSearch
  readonly #bracket: ByteSearch
  /** The bracket of a line that was not a record. */
  #noRecord = -1
  /** Brackets before this position are prose. */
  #passed = 0
  /** No line before this position is a record; only blanks precede it on its own line. */
  #lineSeek = 0
  /** The search for the first non-blank byte of the input continues here; NOWHERE when it is over. */
  #documentFrom: number
  #documentThink = -1
  /** A thought was skipped before the first thing that counts. */
  hasThought = false

  constructor(scan: Scan, options: ScanOptions, readers?: Readers) {
    const { tape } = scan
    this.#scan = scan
    this.#tape = tape
    this.#head = scan.head
    this.#options = options
    this.lines = options.lines
    this.#tags = readers?.tags ?? options.tags.map((name) => new TagMachine(scan, name, options))
    const names = this.#tags.map(({ name }) => name)
    this.#openers = new MarkSearch(scan, openerMarks(names, options.think), MARKS_WITHIN)
    const { think, patient } = options
    const closed = (from: number, to: number) => this.#thinkClosed(from, to)
    this.#think = think.length > 0 ? thinkMachine(scan, { patient, closed }) : undefined
    const fences = () => readers?.fences ?? new FenceMachine(scan, options.readFences)
    this.#fences = options.fences ? fences() : undefined
    this.#line = options.lines ? new LineMachine(scan, options, () => this.#giveUpLine()) : undefined
    const object = () => readers?.object ?? new ObjectMachine(scan, this, options.endOfBroken)
    this.#object = options.objects ? object() : undefined
    this.#rule = options.everyBracket ? 'any' : options.loose ? 'loose' : 'strict'
    this.#openScalar = scalarMachine(scan, (from) => scan.leave(from))
    this.#anyLine = options.lines && (options.everyLine || options.scalars)
    this.#lf = new ByteSearch(tape, LINE_FEED)
    this.#brace = new ByteSearch(tape, BRACE)
    this.#bracket = new ByteSearch(tape, BRACKET)
    this.#documentFrom = options.document ? 0 : NOWHERE
  }

  /** Only blanks have been seen. */
  get blank(): boolean {
    return this.#documentFrom !== NOWHERE && !this.hasThought
  }

  /** Opens the next frame. False: it waits for more bytes. */
  look(): boolean {
    if (this.#documentFrom !== NOWHERE) {
      const found = this.#lookForDocument()
      if (found !== undefined) return found
    }
    const scan = this.#scan
    const from = scan.position
    if (this.#line && isBracket(scan.byte(from)) && this.#mayBeRecord(from) && !this.#mayBeThought(from)) {
      // A record at this very position needs no search.
      this.#line.open(from)
      return true
    }
    const opener = this.#openers.next(from)
    const fence = this.nextFence(from)
    const bare = this.#line || this.#object ? this.#nextBracket(from) : NOWHERE
    const line = this.#anyLine ? this.#nextLine(from) : NOWHERE
    const at = Math.min(opener, fence.at, bare, line)
    if (at === NOWHERE) {
      scan.position = Math.max(from, Math.min(this.#openers.partial(), this.#tape.end - LONGEST_MARK + 1))
      return false
    }
    scan.position = at
    if (at === bare && at !== opener && this.#mayBeThought(at)) return false
    // A quotation is over at the first byte of a line without its mark, whatever begins there.
    if (at === fence.at && fence.closes) this.#fences?.open(at)
    else if (at === opener) this.#openTag(at)
    else if (at === fence.at) {
      if (!fence.decided) return false
      this.#fences?.open(at)
    } else if (at === line || (this.#line && this.#mayBeRecord(at))) this.#line?.open(at)
    else this.#object?.open(at, this.#rule, false)
    return true
  }

  #openTag(at: number): void {
    const { mark, to } = this.#openers
    if (mark?.tag !== undefined) this.#tags[mark.tag]?.open(at)
    else if (mark?.thought) this.#think?.open(at, to, mark.thought)
    else this.#think?.closeLone(at, to)
  }

  nextTag(from: number): number {
    let next = NOWHERE
    for (const { opener } of this.#tags) next = Math.min(next, opener.next(from))
    return next
  }

  nextFence(from: number): FenceHit {
    return this.#fences ? this.#fences.next(from) : NO_FENCE
  }

  known(): number {
    let known = this.#tape.end
    if (this.#scan.ended) return known
    for (const { opener } of this.#tags) known = Math.min(known, opener.partial())
    return this.#fences ? Math.min(known, this.#fences.partial()) : known
  }

  /** Whether the bracket at `at` begins `[THINK]`, or a part of it that has arrived. */
  #mayBeThought(at: number): boolean {
    if (this.#scan.byte(at) === OPEN_BRACE) return false
    return this.#openers.next(at) === at || this.#openers.partial() === at
  }

  /** Whether the bracket at `at` is the first thing on its line, and the line was not given up. */
  #mayBeRecord(at: number): boolean {
    return at !== this.#noRecord && this.#head.blank(at)
  }

  /** The next bracket that may begin a record or an object. */
  #nextBracket(from: number): number {
    for (;;) {
      const start = Math.max(from, this.#passed)
      const at = Math.min(this.#brace.next(start), this.#bracket.next(start))
      if (this.#object || at === NOWHERE || this.#mayBeRecord(at)) return at
      this.#passed = at + 1
    }
  }

  /** The next line that may be a record without a bracket, by its first non-blank byte. */
  #nextLine(from: number): number {
    let at = this.#lineSeek
    if (at < from) {
      at = this.#afterBom(from)
      if (!this.#head.blank(at)) at = this.#afterLine(at)
    }
    for (;;) {
      at = this.#afterBlanks(at)
      if (at !== NOWHERE) this.#lineSeek = at
      const byte = this.#scan.byte(at)
      if (byte === undefined || this.#isPartialBom(at)) return NOWHERE
      if (at !== this.#noRecord && (this.#options.everyLine || beginsScalarLine(byte))) return at
      at = this.#afterLine(at)
    }
  }

  /** One past the BOM that `from` is in, because a frame that was too long ended there; `from` if in none. */
  #afterBom(from: number): number {
    const { view, base } = this.#tape
    for (let at = from - 1; at >= from - 2; at--) if (bomAt(view, at - base) === 3) return at + 3
    return from
  }

  #afterLine(from: number): number {
    return this.#lf.next(from) + 1
  }

  /** The first position at or after `from` that holds no blank, NUL or BOM. */
  #afterBlanks(from: number): number {
    const { view, base } = this.#tape
    let at = from
    for (;;) {
      const byte = view[at - base]
      if (byte === NUL || isBlank(byte)) at++
      else if (bomAt(view, at - base) === 3) at += 3
      else return at
    }
  }

  /** A BOM of which only a part has arrived. */
  #isPartialBom(at: number): boolean {
    const { end } = this.#tape
    if (this.#scan.ended || at + 3 <= end || this.#scan.byte(at) !== 0xef) return false
    return at + 1 === end || this.#scan.byte(at + 1) === 0xbb
  }

  #giveUpLine(): void {
    this.#noRecord = this.#scan.position
    this.#scan.leave(this.#scan.position)
  }

  /** The result of `look`; undefined if no document begins here. */
  #lookForDocument(): boolean | undefined {
    const at = this.#afterBlanks(this.#documentFrom)
    this.#documentFrom = at
    if (at < this.#tape.end && !this.#isPartialBom(at)) return this.#openDocument(at)
    this.#scan.position = at
    return false
  }

  #openDocument(at: number): boolean | undefined {
    const byte = this.#scan.byte(at)
    const opener = this.#openers.next(at)
    if (at === this.#openers.partial()) {
      this.#scan.position = at
      return false
    }
    this.#documentFrom = NOWHERE
    this.#scan.members = byte === QUOTE ? new OpenMembers(this.#tape, at) : undefined
    // A think block that closes is skipped, and the document may begin after it.
    if (at === opener) {
      this.#documentThink = at
      this.hasThought ||= this.#openers.mark?.thought !== undefined
    } else if (isBracket(byte) && this.#object) this.#object.open(at, 'document', true)
    else if (this.#options.document === 'any' && beginsScalar(byte)) this.#openScalar(at)
    else return undefined
    this.#scan.position = at
    return at === opener ? undefined : true
  }

  /** What is before a lone closer is a thought, too. */
  #thinkClosed(from: number, to: number): void {
    const isLone = this.#openers.mark?.lone === true && this.#options.document !== false
    this.hasThought ||= isLone
    if (from === this.#documentThink || isLone) this.#documentFrom = to
  }
}

/** What reads a block of a tag, once its opener is found. */
export interface TagReader {
  readonly name: string
  readonly opener: ByteSearch
  open(from: number): void
}

/** What reads a bare document, if the bracket at `from` opens one; `first`: it begins the input. */
interface BracketReader {
  open(from: number, rule: BracketRule, first: boolean): void
}

/** Readers of what is found, for a layer that takes it apart instead of holding it. */
export interface Readers {
  readonly tags: readonly TagReader[]
  readonly fences: FenceMachine
  readonly object: BracketReader
}

/** A tag, by its place among the tags, or a mark of thoughts. */
interface OpenerMark extends ThoughtMark {
  readonly tag?: number
}

function openerMarks(names: readonly string[], dialects: readonly Dialect[]): MarkTable<OpenerMark> {
  const known = usual.find(
    (marks) =>
      marks.dialects === dialects &&
      marks.names.length === names.length &&
      names.every((name, n) => name === marks.names[n]),
  )
  if (known) return known.table
  const tags = names.map((name, tag): OpenerMark => ({ bytes: Bytes.from(`<${name}>`), tag }))
  const table = markTable([...tags, ...thoughtMarks(dialects)])
  usual.unshift({ names, dialects, table })
  usual.length = Math.min(usual.length, MAX_USUAL)
  return table
}

const LINE_FEED = /* @__PURE__ */ Bytes.from('\n')
const BRACE = /* @__PURE__ */ Bytes.from('{')
const BRACKET = /* @__PURE__ */ Bytes.from('[')
/** The tables used last: a text is scanned with several of them, one after the other. */
const usual: { names: readonly string[]; dialects: readonly Dialect[]; table: MarkTable<OpenerMark> }[] = []
const MAX_USUAL = 8

/** A chunk may end with all but one byte of a fence, of a BOM, or of a tag that opens no thought. */
const LONGEST_MARK = 10
const NO_FENCE: FenceHit = { at: NOWHERE, decided: true }
