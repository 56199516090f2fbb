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
  const cuts = new Reference(cleaned.bytes, options).cuts()
  const tiles = tile(cleaned, original.length, cuts)
  return options.text === false ? tiles.filter((frame) => frame.kind !== 'text') : tiles
}

/** A frame in clean offsets. Pieces of a frame that was too long are cuts of kind text. */
interface Cut {
  readonly kind: FrameKind
  readonly from: number
  readonly to: number
  readonly text?: Buffer
  readonly label?: string
  readonly open?: boolean
  readonly first?: boolean
  readonly notes?: readonly Note['code'][]
  /** A later piece of what was too long: escapes before it are its own. */
  readonly continues?: boolean
}

const NUL = 0x00
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const REPAIR_CAP = 65_536
const MAX_PREFIX = 64
const MAX_TOKEN = 4096

class Reference {
  readonly #bytes: Buffer
  readonly #end: number
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

  constructor(bytes: Buffer, options: CutOptions) {
    this.#bytes = bytes
    this.#end = bytes.length
    this.#tags = options.tags ?? ['json']
    this.#fences = options.fences ?? true
    this.#lines = options.lines ?? true
    this.#objects = options.objects ?? true
    this.#think = options.think ?? true
    this.#maxFrame = options.maxFrame ?? 16 * 1024 * 1024
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
    const limit = from + this.#maxFrame
    if (this.#needsPayload) {
      const decision = this.#payloadFollows(inside, limit)
      if (decision === 'no') return inside
      if (decision === 'end') return this.#end
      if (decision === 'limit') return this.#skipTag(from, name)
    }

    let inString = false
    /** First closer inside a string, of the block and of this line. */
    let firstInString = -1
    let lineInString = -1
    for (let at = inside; at < this.#end; at++) {
      if (at >= limit) {
        return firstInString >= 0 ? this.#endTag(from, firstInString, name) : this.#skipTag(from, name)
      }
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
      if (this.#has(at, opener) && this.#mayOpen(at + opener.length))
        return this.#closeTag(at, closerAt, name)
    }
    return this.#closeTag(from, closerAt, name)
  }

  #mayOpen(inside: number): boolean {
    return !this.#needsPayload || this.#payloadFollows(inside, this.#end) === 'yes'
  }

  #payloadFollows(inside: number, limit: number): 'yes' | 'no' | 'limit' | 'end' {
    const at = this.#pastBlanks(inside)
    if (at >= limit && limit < this.#end) return 'limit'
    if (at >= this.#end) return 'end'
    if (this.#isBrace(at) || this.#has(at, '<')) return 'yes'
    if (!this.#has(at, '`') && !this.#has(at, '~')) return 'no'
    const run = this.#runLength(at)
    if (run < 3 && at + run >= limit && limit < this.#end) return 'limit'
    return run < 3 ? 'no' : at + 3 > limit ? 'limit' : 'yes'
  }

  /** Too long: over at the next closer, or before the next opener, wherever they stand. */
  #skipTag(from: number, name: string): number {
    const limit = from + this.#maxFrame
    const opener = `<${name}>`
    const closer = `</${name}>`
    for (let at = from + 1; at < this.#end; at++) {
      if (this.#has(at, closer) && at + closer.length > limit) return this.#tooLong(from, at + closer.length)
      if (this.#has(at, opener) && at + opener.length > limit) return this.#tooLong(from, at)
    }
    return this.#tooLong(from, this.#end)
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
    const limit = from + this.#maxFrame
    const found = this.#find(closer, from)
    const to = found < 0 ? this.#end : found + closer.length
    const wasFirst = from === this.#first
    if (wasFirst) this.#first = found < 0 ? -1 : this.#pastBlanksAndBoms(to)
    if (to > limit) return this.#tooLong(from, to)
    if (found >= 0) return to
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
    let quotes = 0
    let listWidth = 0
    for (;;) {
      const spaces = this.#countSpaces(at, fence)
      if (spaces > 3) return undefined
      at += spaces
      if (at === fence) return { quotes, indent: listWidth + spaces }
      if (this.#has(at, '>')) {
        quotes++
        at++
        if (at < fence && this.#bytes[at] === SPACE) at++
        continue
      }
      const marker = this.#listMarker(at)
      if (marker === 0 || at + marker >= fence) return undefined
      if (this.#bytes[at + marker] !== SPACE && this.#bytes[at + marker] !== TAB) return undefined
      at += marker + 1
      listWidth += marker + 1
    }
  }

  #listMarker(at: number): number {
    if (this.#has(at, '-') || this.#has(at, '*') || this.#has(at, '+')) return 1
    let digits = 0
    while (this.#isDigit(at + digits)) digits++
    const closes = this.#has(at + digits, '.') || this.#has(at + digits, ')')
    return digits >= 1 && digits <= 9 && closes ? digits + 1 : 0
  }

  /** Whether the fence at `at` can be told to be one by looking only at bytes before `limit`. */
  #isFenceLine(at: number, limit: number): boolean {
    if (!this.#isFenceStart(at) || at + 3 > limit) return false
    if (this.#has(at, '~')) return true
    const lineEnd = this.#lineEnd(at)
    if (lineEnd >= limit && limit < this.#end) return false
    return !this.#slice(at + this.#runLength(at), lineEnd).includes('`')
  }

  #fence(from: number): number {
    const { quotes, indent } = this.#fencePrefix(from)!
    const char = this.#bytes[from]!
    const run = this.#runLength(from)
    const limit = from + this.#maxFrame
    const lineEnd = this.#lineEnd(from)
    const info = this.#slice(from + run, lineEnd)
    if (this.#has(from, '`')) {
      const tick = info.indexOf('`')
      if (tick >= 0 && from + run + tick < limit) return from + run
    }
    const label = trimBlanks(info).toString()
    const body: Buffer[] = []

    const finish = (to: number, seen: number, open: boolean): number => {
      // `seen` is one past the last byte that had to be looked at to know the end.
      if (seen > limit) return this.#tooLong(from, to)
      const joined = Buffer.concat(body)
      const text = joined.at(-1) === LF ? joined.subarray(0, -1) : joined
      this.#cut({ kind: 'fence', from, to, text, ...(label && { label }), open })
      return to
    }

    let at = Math.min(lineEnd + 1, this.#end)
    while (at < this.#end) {
      const end = this.#lineEnd(at)
      const next = Math.min(end + 1, this.#end)
      const content = this.#pastQuotes(at, end, quotes)
      if (content === undefined) return finish(at, this.#quoteDecidedAt(at, end), false)
      if (this.#isFenceCloser(content, end, char, run, indent)) return finish(next, next, false)
      body.push(this.#slice(content + Math.min(indent, this.#countSpaces(content, end)), next))
      at = next
    }
    return finish(this.#end, this.#end, true)
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
    return Math.min(from + Math.min(this.#countSpaces(from, end), 3) + 1, this.#end)
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
    if (to > from + this.#maxFrame) return this.#tooLong(from, to)

    const good = this.#endsInCloser(from, lineEnd)
    if (!good && (ended || this.#objects)) {
      this.#notLine = from
      return from
    }
    const textEnd = ended && this.#bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd
    this.#cut({ kind: 'line', from, to, text: this.#slice(from, textEnd), open: !good })
    return to
  }

  #endsInCloser(from: number, end: number): boolean {
    let last = end - 1
    while (last > from && (this.#isBlank(last) || this.#bytes[last] === NUL)) last--
    return this.#has(last, '}') || this.#has(last, ']')
  }

  // Objects.

  #object(from: number): number {
    const isFirst = this.#document !== false && from === this.#first
    const limit = from + this.#maxFrame
    const gate = this.#gate(from, limit, isFirst)
    if (gate === 'limit') return this.#tooLong(from, limit)
    if (gate === 'end') return this.#end
    if (typeof gate === 'number') return gate

    let depth = 0
    let inString = false
    /** A line ended inside a string: probably this is no JSON at all. */
    let torn = false
    for (let at = from; at < this.#end; at++) {
      const bound = torn ? Math.min(limit, from + REPAIR_CAP) : limit
      if (at >= limit) return this.#tooLong(from, limit)
      if (at >= bound) return at
      const tag = this.#tagAt(at)
      if (tag !== undefined && at + tag.length + 2 <= bound && (!inString || torn)) return at
      if (this.#fences && this.#isFenceLine(at, bound)) return at
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
  #gate(from: number, limit: number, isFirst: boolean): 'open' | 'limit' | 'end' | number {
    const at = this.#pastBlanks(from + 1)
    if (at >= limit && limit < this.#end) return 'limit'
    if (at >= this.#end) return 'end'
    const byte = String.fromCharCode(this.#bytes[at]!)
    if (this.#has(from, '[')) {
      return (isFirst ? '{[]"\'-0123456789tfn' : '{').includes(byte) ? 'open' : at
    }
    if ((isFirst ? '"\'}/' : this.#loose ? '"\'' : '"').includes(byte)) return 'open'
    if (!isFirst && !this.#loose) return at
    const name = this.#pastIdentifier(at)
    if (name === at) return at
    const colon = this.#pastBlanks(name)
    if (colon >= limit && limit < this.#end) return 'limit'
    if (colon >= this.#end) return 'end'
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
    const whole = to > from && to <= from + this.#maxFrame && this.#pastBlanks(to) === this.#end
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
    this.#cuts.push(this.#thinkUnclosed ? { ...cut, notes: ['THINK_UNCLOSED'] } : cut)
  }

  /** Lets `[from, to)` go as text in pieces of maxFrame; the first carries the note. */
  #tooLong(from: number, to: number): number {
    for (let at = from; at < to; at += this.#maxFrame) {
      const piece = { kind: 'text', from: at, to: Math.min(to, at + this.#maxFrame) } as const
      this.#cuts.push(at === from ? { ...piece, notes: ['FRAME_TOO_LONG'] } : { ...piece, continues: true })
    }
    return to
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
      if (this.#isBlank(at)) at++
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
function tile(cleaned: Clean, size: number, cuts: readonly Cut[]): CutFrame[] {
  const frames: CutFrame[] = []
  let covered = 0
  let scanned = 0
  const text = (to: number, cleanTo: number) => {
    if (to > covered) frames.push(textFrame(cleaned, covered, to, scanned, cleanTo))
  }
  for (const cut of cuts) {
    const start = cut.continues ? covered : cleaned.origin[cut.from]!
    text(start, cut.from)
    const to = cleaned.origin[cut.to - 1]! + 1
    const notes = (cut.notes ?? []).map((code) => ({ code, message: '' }))
    if (cut.kind === 'text') {
      const piece = textFrame(cleaned, start, to, cut.from, cut.to)
      frames.push(notes.length ? { ...piece, notes } : piece)
    } else frames.push(payloadFrame(cleaned, cut, start, to, notes))
    covered = to
    scanned = cut.to
  }
  text(size, cleaned.bytes.length)
  return frames
}

function textFrame(cleaned: Clean, from: number, to: number, cleanFrom: number, cleanTo: number): CutFrame {
  const blank = isAllBlank(cleaned.bytes.subarray(cleanFrom, cleanTo))
  return { kind: 'text', channel: 'stdout', from, to, text: '', blank }
}

function payloadFrame(cleaned: Clean, cut: Cut, from: number, to: number, notes: readonly Note[]): CutFrame {
  const bad = firstInvalid(cleaned.bytes.subarray(cut.from, cut.to))
  const all: Note[] = [...notes]
  if (bad >= 0) all.push({ code: 'INVALID_UTF8', message: '', at: cleaned.origin[cut.from + bad]! })
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
