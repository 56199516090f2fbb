import type { Note } from '../../src/base/fault.ts'
import type { Frame, FrameKind } from '../../src/frames/frame.ts'
import type { FrameOptions } from '../../src/frames/frames.ts'
import { type Clean, clean } from './reference-clean.ts'

/** The options of the stage, with those that only values() sets. */
export interface CutOptions extends FrameOptions {
  /** A tag opens only before `{`, `[`, `<` or a fence. @default false */
  readonly needsPayload?: boolean | undefined
  /** An object opens also before `'` or an identifier and a colon. @default false */
  readonly loose?: boolean | undefined
  /** What may stand at the very start as one whole document. @default false */
  readonly document?: false | 'object' | 'any' | undefined
}

export type CutFrame = Frame & { readonly first?: true }

/**
 * The scanner as its rules say it, over one whole channel: no chunks, no speed, every question asked by
 * looking at the bytes again. The real one has to agree with it on every input.
 */
export function referenceFrames(original: Buffer, options: CutOptions = {}): CutFrame[] {
  const cleaned = clean(original)
  const cuts = new Reference(cleaned, original.length, options).cuts()
  const tiles = tile(cleaned, original.length, cuts, options.maxFrame ?? MAX_FRAME)
  // A note is worth telling even to those who want no text.
  return options.text === false ? tiles.filter((frame) => frame.kind !== 'text' || frame.notes) : tiles
}

/** A frame in clean offsets; `from` and `to` of kind text are those of a whole that was too long. */
interface Cut {
  readonly kind: FrameKind
  readonly from: number
  readonly to: number
  readonly text?: Buffer
  /** Where the text begins to be looked at for bad bytes, if not at `from`: an info string is none of it. */
  readonly body?: number
  /** For what was too long: where it ends in the original. */
  readonly end?: number
  readonly label?: string
  readonly open?: boolean
  readonly first?: boolean
  readonly notes?: readonly Note['code'][]
}

const NUL = 0x00
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const MAX_FRAME = 16 * 1024 * 1024
const REPAIR_CAP = 65_536
const MAX_PREFIX = 64
const MAX_TOKEN = 4096

class Reference {
  readonly #bytes: Buffer
  readonly #origin: readonly number[]
  readonly #end: number
  /** Bytes of the original, escapes included. */
  readonly #size: number
  readonly #tags: readonly string[]
  readonly #fences: boolean
  readonly #lines: boolean
  readonly #objects: boolean
  readonly #think: boolean
  readonly #maxFrame: number
  readonly #needsPayload: boolean
  readonly #loose: boolean
  readonly #document: false | 'object' | 'any'

  readonly #cuts: Cut[] = []
  /** Where a document would start, or -1 when something else came first. */
  #first: number
  /** The brace of the line that turned out to be none. */
  #notLine = -1
  /** A think block never ended: it is read as prose, and what is found there is marked. */
  #thinkUnclosed = false
  /** A tag block without payload never ended, and was read again as prose; that is done once. */
  #tagReread = false

  constructor({ bytes, origin }: Clean, size: number, options: CutOptions) {
    this.#bytes = bytes
    this.#origin = origin
    this.#end = bytes.length
    this.#size = size
    this.#tags = options.tags ?? ['json']
    this.#fences = options.fences ?? true
    this.#lines = options.lines ?? true
    this.#objects = options.objects ?? true
    this.#think = options.think ?? true
    this.#maxFrame = options.maxFrame ?? MAX_FRAME
    this.#needsPayload = options.needsPayload ?? false
    this.#loose = options.loose ?? false
    this.#document = options.document ?? false
    this.#first = this.#pastBlanksAndBoms(0)
  }

  cuts(): readonly Cut[] {
    let at = 0
    while (at < this.#end) at = this.#outside(at)
    return this.#cuts
  }

  // Prose. Each question is asked at each byte, in this order; an answer is where to go on.

  #outside(at: number): number {
    const name = this.#tagAt(at)
    if (name !== undefined) return this.#tag(at, name)
    const think = this.#thinkAt(at)
    if (think !== undefined) return this.#thinkBlock(at, think)
    if (this.#fences && this.#isFenceStart(at)) return this.#fence(at)
    if (this.#isLineStart(at) && at !== this.#notLine) return this.#line(at)
    if (this.#objects && this.#isBrace(at)) return this.#object(at)
    if (this.#document === 'any' && at === this.#first) return this.#scalar(at)
    return at + 1
  }

  // Tags.

  #tagAt(at: number): string | undefined {
    return this.#tags.find((name) => this.#has(at, `<${name}>`))
  }

  #tag(from: number, name: string): number {
    const opener = `<${name}>`
    const closer = `</${name}>`
    const inside = from + opener.length
    const limit = this.#limit(from)
    if (this.#needsPayload) {
      const decision = this.#payloadFollows(inside, limit)
      if (decision === 'no') return inside
      if (decision === 'unknown') return this.#outgrown(from) ? this.#skipTag(from, name) : this.#end
    }

    let inString = false
    /** First closer inside a string, of the block and of this line. */
    let firstInString = -1
    let lineInString = -1
    for (let at = inside; at < limit; at++) {
      if (this.#has(at, closer) && at + closer.length <= limit) {
        if (!inString) return this.#closeTag(from, at, name)
        if (firstInString < 0) firstInString = at
        if (lineInString < 0) lineInString = at
      }
      if (this.#has(at, opener) && at + opener.length <= limit && !inString) {
        return firstInString >= 0 ? this.#endTag(from, firstInString, name) : at
      }
      if (this.#isQuote(at, inside)) inString = !inString
      if (this.#bytes[at] === LF) {
        if (inString && lineInString >= 0) return this.#endTag(from, lineInString, name)
        inString = false
        lineInString = -1
      }
    }

    if (firstInString >= 0) return this.#endTag(from, firstInString, name)
    if (this.#outgrown(from)) return this.#skipTag(from, name)
    if (this.#isBrace(this.#pastBlanks(inside))) {
      this.#cut({
        kind: 'tag',
        from,
        to: this.#end,
        text: this.#slice(inside, this.#end),
        label: name,
        open: true,
      })
      return this.#end
    }
    if (this.#tagReread) return this.#end
    this.#tagReread = true
    return inside
  }

  #closeTag(from: number, closerAt: number, name: string): number {
    const to = closerAt + `</${name}>`.length
    const text = this.#slice(from + `<${name}>`.length, closerAt)
    this.#cut({ kind: 'tag', from, to, text, label: name })
    return to
  }

  /** The block turned out to end at a closer inside a string; an opener inside a string may be its start. */
  #endTag(from: number, closerAt: number, name: string): number {
    const opener = `<${name}>`
    for (let at = closerAt - 1; at > from; at--) {
      if (this.#has(at, opener) && this.#mayOpen(at + opener.length, closerAt))
        return this.#closeTag(at, closerAt, name)
    }
    return this.#closeTag(from, closerAt, name)
  }

  #mayOpen(inside: number, closerAt: number): boolean {
    return !this.#needsPayload || this.#payloadFollows(inside, closerAt) === 'yes'
  }

  #payloadFollows(inside: number, limit: number): 'yes' | 'no' | 'unknown' {
    const at = this.#pastBlanks(inside)
    if (at >= limit) return 'unknown'
    if (this.#isBrace(at) || this.#has(at, '<')) return 'yes'
    if (!this.#has(at, '`') && !this.#has(at, '~')) return 'no'
    const run = this.#runLength(at)
    if (at + Math.min(run, 3) < limit) return run < 3 ? 'no' : 'yes'
    return run >= 3 && at + 3 === limit ? 'yes' : 'unknown'
  }

  /** Too long: over at the next closer, or before the next opener, wherever they stand. */
  #skipTag(from: number, name: string): number {
    const limit = this.#limit(from)
    const opener = `<${name}>`
    const closer = `</${name}>`
    for (let at = from + 1; at < this.#end; at++) {
      if (this.#has(at, closer) && at + closer.length > limit) return this.#tooLong(from, at + closer.length)
      if (this.#has(at, opener) && at + opener.length >= limit) return this.#tooLong(from, at)
    }
    return this.#tooLongToTheEnd(from)
  }

  // Think.

  #thinkAt(at: number): string | undefined {
    if (!this.#think || this.#thinkUnclosed) return undefined
    const name = ['think', 'thinking'].find((think) => this.#has(at, `<${think}>`))
    if (name === undefined) return undefined
    let start = at
    for (;;) {
      if (start === 0 || this.#bytes[start - 1] === LF) return name
      if (this.#isBlank(start - 1) || this.#bytes[start - 1] === NUL) start--
      else if (this.#isBom(start - 3)) start -= 3
      else return undefined
    }
  }

  #thinkBlock(from: number, name: string): number {
    const closer = `</${name}>`
    const limit = this.#limit(from)
    const found = this.#find(closer, from)
    const to = found < 0 ? this.#end : found + closer.length
    const wasFirst = from === this.#first
    if (wasFirst) this.#first = found < 0 ? -1 : this.#pastBlanksAndBoms(to)
    if (found >= 0 && to <= limit) return to
    if (this.#outgrown(from)) return found < 0 ? this.#tooLongToTheEnd(from) : this.#tooLong(from, to)
    this.#thinkUnclosed = true
    return from + `<${name}>`.length
  }

  // Fences.

  #isFenceStart(at: number): boolean {
    if (!this.#has(at, '`') && !this.#has(at, '~')) return false
    return this.#runLength(at) >= 3 && this.#fencePrefix(at) !== undefined
  }

  /** What stands before the fence on its line: how many `>`, and how far its body may be indented. */
  #fencePrefix(fence: number): { quotes: number; indent: number } | undefined {
    let at = this.#lineStart(fence)
    if (fence - at > MAX_PREFIX) return undefined
    if (this.#isBom(at)) at += 3
    let quotes = 0
    /** Columns since the last `>`. */
    let indent = 0
    for (;;) {
      const spaces = this.#countSpaces(at, fence)
      if (at + spaces === fence) return spaces > 3 ? undefined : { quotes, indent: indent + spaces }
      if (spaces > 3) return undefined
      at += spaces
      if (this.#has(at, '>')) {
        quotes++
        indent = 0
        at++
        if (at < fence && this.#bytes[at] === SPACE) at++
        continue
      }
      const marker = this.#listMarker(at)
      let past = at + marker
      while (past < fence && (this.#bytes[past] === SPACE || this.#bytes[past] === TAB)) past++
      if (marker === 0 || past === at + marker) return undefined
      indent += spaces + past - at
      at = past
    }
  }

  #listMarker(at: number): number {
    if (this.#has(at, '-') || this.#has(at, '*') || this.#has(at, '+')) return 1
    let digits = 0
    while (this.#isDigit(at + digits)) digits++
    const closes = this.#has(at + digits, '.') || this.#has(at + digits, ')')
    return digits >= 1 && digits <= 9 && closes ? digits + 1 : 0
  }

  /** A fence opens if its line ends within maxFrame, and there is no backtick in the info of backticks. */
  #isFenceLine(at: number): boolean {
    if (!this.#isFenceStart(at)) return false
    const lineEnd = this.#lineEnd(at)
    if (lineEnd >= this.#limit(at) && (lineEnd < this.#end || this.#outgrown(at))) return false
    return this.#has(at, '~') || !this.#slice(at + this.#runLength(at), lineEnd).includes('`')
  }

  #fence(from: number): number {
    const { quotes, indent } = this.#fencePrefix(from)!
    const char = this.#bytes[from]!
    const run = this.#runLength(from)
    const limit = this.#limit(from)
    const lineEnd = this.#lineEnd(from)
    if (!this.#isFenceLine(from)) return from + run
    const label = this.#slice(from + run, lineEnd)
      .toString()
      .trim()
    const body: Buffer[] = []
    let bodyEnd = lineEnd + 1

    const finish = (to: number, seen: number, open = false): number => {
      // `seen` is one past the last byte that had to be looked at; the end of input counts as a byte.
      const byTheEnd = seen > this.#end
      if (seen > limit && (!byTheEnd || this.#outgrown(from))) {
        if (open) return this.#tooLongToTheEnd(from)
        return this.#tooLong(from, to)
      }
      const joined = Buffer.concat(body)
      const ended = this.#bytes[bodyEnd - 1] === LF && joined.length > 0
      const text = ended ? joined.subarray(0, -1) : joined
      this.#cut({ kind: 'fence', from, to, text, body: lineEnd, ...(label && { label }), open })
      return to
    }

    let at = Math.min(lineEnd + 1, this.#end)
    while (at < this.#end) {
      const end = this.#lineEnd(at)
      const next = Math.min(end + 1, this.#end)
      const content = this.#pastQuotes(at, end, quotes)
      if (content === undefined) return finish(at, this.#quoteDecidedAt(at, end))
      if (this.#isFenceCloser(content, end, char, run, indent)) return finish(next, end + 1)
      body.push(this.#slice(content + Math.min(indent, this.#countSpaces(content, end)), next))
      at = next
      bodyEnd = next
    }
    return finish(this.#end, this.#end + 1, true)
  }

  /** Past at most `quotes` markers; `undefined` if there is not even the first. */
  #pastQuotes(from: number, end: number, quotes: number): number | undefined {
    let at = from
    for (let count = 0; count < quotes; count++) {
      const spaces = this.#countSpaces(at, end)
      if (spaces > 3 || at + spaces >= end || !this.#has(at + spaces, '>')) return count ? at : undefined
      at += spaces + 1
      if (at < end && this.#bytes[at] === SPACE) at++
    }
    return at
  }

  /** One past the byte that shows that a line has no `>`: its first that is no space, or its fourth space. */
  #quoteDecidedAt(from: number, end: number): number {
    return from + Math.min(this.#countSpaces(from, end), 3) + 1
  }

  #isFenceCloser(from: number, end: number, char: number, run: number, indent: number): boolean {
    const spaces = this.#countSpaces(from, end)
    let at = from + spaces
    while (at < end && this.#bytes[at] === char) at++
    if (spaces > indent + 3 || at - from - spaces < run) return false
    return trimBlanks(this.#slice(at, end)).length === 0
  }

  // Lines.

  /** The first brace of a line; NULs and BOMs before it are passed over. */
  #isLineStart(at: number): boolean {
    if (!this.#lines || !this.#isBrace(at)) return false
    let start = at
    for (;;) {
      if (start === 0 || this.#bytes[start - 1] === LF) return true
      if (this.#bytes[start - 1] === NUL) start--
      else if (this.#isBom(start - 3)) start -= 3
      else return false
    }
  }

  #line(from: number): number {
    const lineEnd = this.#lineEnd(from)
    const ended = lineEnd < this.#end
    const to = ended ? lineEnd + 1 : this.#end
    if (!ended && this.#outgrown(from)) return this.#tooLongToTheEnd(from)
    if (to > this.#limit(from)) return this.#tooLong(from, to)

    const good = this.#endsInCloser(from, lineEnd) && (ended || this.#missingClosers(from) <= 0)
    if (!good && (ended || this.#objects)) {
      this.#notLine = from
      return from
    }
    const textEnd = ended && this.#bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd
    const notes: Note['code'][] = this.#nulBefore(from) ? ['NUL_BYTES'] : []
    this.#cut({ kind: 'line', from, to, text: this.#slice(from, textEnd), open: !good, notes })
    return to
  }

  #nulBefore(at: number): boolean {
    let start = at
    while (start > 0 && this.#bytes[start - 1] !== LF) start--
    return this.#slice(start, at).includes(NUL)
  }

  /** How many brackets are open at the end of input, strings left out; without end if a string is open. */
  #missingClosers(from: number): number {
    const quotes: number[] = []
    for (let at = from; at < this.#end; at++) if (this.#isQuote(at, from)) quotes.push(at)
    if (quotes.length % 2 === 1) return Number.POSITIVE_INFINITY
    const outside: string[] = []
    let start = from
    for (let pair = 0; pair < quotes.length; pair += 2) {
      outside.push(this.#slice(start, quotes[pair]!).toString('latin1'))
      start = quotes[pair + 1]! + 1
    }
    outside.push(this.#slice(start, this.#end).toString('latin1'))
    const structure = outside.join('')
    return (structure.match(/[{[]/g)?.length ?? 0) - (structure.match(/[}\]]/g)?.length ?? 0)
  }

  #endsInCloser(from: number, end: number): boolean {
    let last = end - 1
    while (last > from && (this.#isBlank(last) || this.#bytes[last] === NUL)) last--
    return this.#has(last, '}') || this.#has(last, ']')
  }

  // Objects.

  #object(from: number): number {
    const isFirst = this.#document !== false && from === this.#first
    const limit = this.#limit(from)
    const gate = this.#gate(from, limit, isFirst)
    if (gate === 'unknown') return this.#outgrown(from) ? this.#tooLongObject(from) : this.#end
    if (typeof gate === 'number') return gate

    let depth = 0
    let inString = false
    /** A line ended inside a string: probably this is no JSON at all. */
    let torn = false
    for (let at = from; at < limit; at++) {
      if (torn && this.#origin[at]! >= this.#origin[from]! + REPAIR_CAP) return at
      if (this.#tagAt(at) !== undefined && (!inString || torn)) return at
      if (this.#fences && this.#isFenceLine(at)) return at
      if (inString && at > from && this.#isLineStart(at)) return at

      const byte = this.#bytes[at]
      if (this.#isQuote(at, from)) inString = !inString
      else if (inString && byte === LF) torn = true
      else if (!inString && this.#isBrace(at)) depth++
      else if (!inString && (this.#has(at, '}') || this.#has(at, ']')) && --depth === 0) {
        this.#cut({ kind: 'object', from, to: at + 1, text: this.#slice(from, at + 1), first: isFirst })
        return at + 1
      }
    }
    if (this.#outgrown(from)) return this.#tooLongObject(from)
    this.#cut({
      kind: 'object',
      from,
      to: this.#end,
      text: this.#slice(from, this.#end),
      open: true,
      first: isFirst,
    })
    return this.#end
  }

  /** May the brace at `from` open? If not, where the byte stands that says so. */
  #gate(from: number, limit: number, isFirst: boolean): 'open' | 'unknown' | number {
    const at = this.#pastBlanks(from + 1)
    if (at >= limit) return 'unknown'
    const byte = String.fromCharCode(this.#bytes[at]!)
    if (this.#has(from, '[')) {
      return (isFirst ? '{[]"\'-0123456789tfn' : '{').includes(byte) ? 'open' : at
    }
    if ((isFirst ? '"\'}/' : this.#loose ? '"\'' : '"').includes(byte)) return 'open'
    if (!isFirst && !this.#loose) return at
    const name = this.#pastIdentifier(at)
    if (name === at) return at
    const colon = this.#pastBlanks(name)
    if (colon >= limit) return 'unknown'
    return this.#has(colon, ':') ? 'open' : at
  }

  #pastIdentifier(from: number): number {
    if (!/[A-Za-z_$]/.test(this.#char(from))) return from
    let at = from
    while (/[A-Za-z0-9_$]/.test(this.#char(at))) at++
    return at
  }

  /** A string, a number or a word that is the whole input. */
  #scalar(from: number): number {
    this.#first = -1
    const to = this.#has(from, '"') ? this.#pastString(from) : this.#pastToken(from)
    const whole = to > from && this.#end <= this.#limit(from) && this.#pastBlanks(to) === this.#end
    if (!whole) return from
    this.#cut({ kind: 'object', from, to, text: this.#slice(from, to), first: true })
    return this.#end
  }

  #pastString(from: number): number {
    for (let at = from + 1; at < this.#end && this.#bytes[at] !== LF; at++) {
      if (this.#isQuote(at, from)) return at + 1
    }
    return from
  }

  #pastToken(from: number): number {
    let at = from
    while (/[-+.0-9A-Za-z]/.test(this.#char(at))) at++
    return at - from > MAX_TOKEN ? from : at
  }

  // What was found.

  #cut(cut: Cut): void {
    const notes: Note['code'][] = [
      ...(cut.notes ?? []),
      ...(this.#thinkUnclosed ? ['THINK_UNCLOSED' as const] : []),
    ]
    this.#cuts.push(notes.length > 0 ? { ...cut, notes } : cut)
  }

  /** Lets `[from, to)` go as text, in pieces. */
  #tooLong(from: number, to: number): number {
    this.#cuts.push({ kind: 'text', from, to, notes: ['FRAME_TOO_LONG'] })
    return to
  }

  /** The same when its end never came: escapes at the very end are part of it. */
  #tooLongToTheEnd(from: number): number {
    this.#cuts.push({ kind: 'text', from, to: this.#end, end: this.#size, notes: ['FRAME_TOO_LONG'] })
    return this.#end
  }

  /** The same for an object, of which exactly maxFrame goes. */
  #tooLongObject(from: number): number {
    const end = this.#origin[from]! + this.#maxFrame
    this.#cuts.push({ kind: 'text', from, to: this.#limit(from), end, notes: ['FRAME_TOO_LONG'] })
    return this.#limit(from)
  }

  /** One past the last clean byte that may be looked at for a frame from `from`; maxFrame counts escapes. */
  #limit(from: number): number {
    let at = from
    while (at < this.#end && this.#origin[at]! < this.#origin[from]! + this.#maxFrame) at++
    return at
  }

  /** Whether a frame from `from` that has not ended is too long: all of maxFrame is there. */
  #outgrown(from: number): boolean {
    return this.#size >= this.#origin[from]! + this.#maxFrame
  }

  // Looking at bytes.

  #has(at: number, text: string): boolean {
    if (at < 0 || at + text.length > this.#end) return false
    for (let i = 0; i < text.length; i++) if (this.#bytes[at + i] !== text.charCodeAt(i)) return false
    return true
  }

  #char(at: number): string {
    return at < this.#end ? String.fromCharCode(this.#bytes[at]!) : ''
  }

  #find(text: string, from: number): number {
    for (let at = from; at < this.#end; at++) if (this.#has(at, text)) return at
    return -1
  }

  #slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(from, to)
  }

  #isBrace(at: number): boolean {
    return this.#has(at, '{') || this.#has(at, '[')
  }

  #isDigit(at: number): boolean {
    return /[0-9]/.test(this.#char(at))
  }

  #isBlank(at: number): boolean {
    return isBlankByte(this.#bytes[at])
  }

  #isBom(at: number): boolean {
    return at >= 0 && isBomAt(this.#bytes, at)
  }

  /** A quote that no odd run of backslashes protects; the run is counted back to `from` at most. */
  #isQuote(at: number, from: number): boolean {
    if (this.#bytes[at] !== QUOTE) return false
    let run = 0
    while (at - run - 1 >= from && this.#bytes[at - run - 1] === BACKSLASH) run++
    return run % 2 === 0
  }

  #runLength(from: number): number {
    let at = from
    while (at < this.#end && this.#bytes[at] === this.#bytes[from]) at++
    return at - from
  }

  #countSpaces(from: number, end: number): number {
    let at = from
    while (at < end && this.#bytes[at] === SPACE) at++
    return at - from
  }

  #pastBlanks(from: number): number {
    let at = from
    while (this.#isBlank(at)) at++
    return at
  }

  #pastBlanksAndBoms(from: number): number {
    let at = from
    for (;;) {
      if (this.#isBlank(at) || this.#bytes[at] === NUL) at++
      else if (this.#isBom(at)) at += 3
      else return at
    }
  }

  #lineStart(at: number): number {
    let start = at
    while (start > 0 && this.#bytes[start - 1] !== LF) start--
    return start
  }

  /** Where the LF of this line stands, or the end of input. */
  #lineEnd(from: number): number {
    let at = from
    while (at < this.#end && this.#bytes[at] !== LF) at++
    return at
  }
}

/** Cuts become frames in original offsets, and what lies between them becomes text. */
function tile(cleaned: Clean, size: number, cuts: readonly Cut[], maxFrame: number): CutFrame[] {
  const frames: CutFrame[] = []
  let covered = 0
  let scanned = 0
  const text = (to: number, cleanTo: number) => {
    if (to > covered) frames.push(textFrame(cleaned, covered, to, scanned, cleanTo))
  }
  for (const cut of cuts) {
    const from = cleaned.origin[cut.from]!
    const to = cut.end ?? cleaned.origin[cut.to - 1]! + 1
    text(from, cut.from)
    if (cut.kind === 'text') frames.push(...pieces(from, to, maxFrame))
    else frames.push(payloadFrame(cleaned, cut, from, to))
    covered = to
    scanned = cut.to
  }
  text(size, cleaned.bytes.length)
  return frames
}

/** What was too long, cut at multiples of maxFrame from its start; the first piece says so. */
function pieces(from: number, to: number, maxFrame: number): CutFrame[] {
  const frames: CutFrame[] = []
  for (let at = from; at < to; at += maxFrame) {
    const piece = {
      kind: 'text',
      channel: 'stdout',
      from: at,
      to: Math.min(to, at + maxFrame),
      text: '',
      blank: false,
    } as const
    frames.push(at === from ? { ...piece, notes: [{ code: 'FRAME_TOO_LONG', message: '' }] } : piece)
  }
  return frames
}

function textFrame(cleaned: Clean, from: number, to: number, cleanFrom: number, cleanTo: number): CutFrame {
  const blank = isAllBlank(cleaned.bytes.subarray(cleanFrom, cleanTo))
  return { kind: 'text', channel: 'stdout', from, to, text: '', blank }
}

function payloadFrame(cleaned: Clean, cut: Cut, from: number, to: number): CutFrame {
  const all = (cut.notes ?? []).map((code): Note => ({ code, message: '' }))
  const body = cut.body ?? cut.from
  const bad = body + firstInvalid(cleaned.bytes.subarray(body, cut.to))
  if (bad >= body) all.push({ code: 'INVALID_UTF8', message: '', at: cleaned.origin[bad]! })
  return {
    kind: cut.kind,
    channel: 'stdout',
    from,
    to,
    text: (cut.text ?? Buffer.alloc(0)).toString('utf8'),
    ...(cut.label !== undefined && { label: cut.label }),
    ...(cut.open && { open: true }),
    ...(cut.first && { first: true }),
    ...(all.length > 0 && { notes: all }),
  }
}

function isBlankByte(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === CR || byte === LF
}

function isBomAt(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf
}

function isAllBlank(bytes: Buffer): boolean {
  let at = 0
  while (at < bytes.length) {
    if (isBlankByte(bytes[at]) || bytes[at] === NUL) at++
    else if (isBomAt(bytes, at)) at += 3
    else return false
  }
  return true
}

function trimBlanks(bytes: Buffer): Buffer {
  let from = 0
  let to = bytes.length
  while (from < to && isBlankByte(bytes[from])) from++
  while (to > from && isBlankByte(bytes[to - 1])) to--
  return bytes.subarray(from, to)
}

/** Where the first ill-formed UTF-8 sequence begins, by the table of the Unicode standard; -1 if none. */
function firstInvalid(bytes: Buffer): number {
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at)
    if (length === 0) return at
    at += length
  }
  return -1
}

function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at]!
  const next = (index: number, low = 0x80, high = 0xbf) => {
    const byte = bytes[at + index]
    return byte !== undefined && byte >= low && byte <= high
  }
  if (lead <= 0x7f) return 1
  if (lead >= 0xc2 && lead <= 0xdf) return next(1) ? 2 : 0
  if (lead >= 0xe0 && lead <= 0xef) {
    const low = lead === 0xe0 ? 0xa0 : 0x80
    const high = lead === 0xed ? 0x9f : 0xbf
    return next(1, low, high) && next(2) ? 3 : 0
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const low = lead === 0xf0 ? 0x90 : 0x80
    const high = lead === 0xf4 ? 0x8f : 0xbf
    return next(1, low, high) && next(2) && next(3) ? 4 : 0
  }
  return 0
}
