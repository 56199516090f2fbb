import type { Note } from '../../src/base/fault.ts'
import { isBesideCitation, isCitation } from '../../src/frames/citations.ts'
import type { Frame, FrameKind } from '../../src/frames/frame.ts'
import type { FrameOptions } from '../../src/frames/frames.ts'
import { isPiece } from '../../src/frames/within.ts'
import { goesOnAt, MAX_REST } from '../../src/json/after-value.ts'
import type { Channel } from '../../src/text/chunk.ts'
import { type Clean, clean } from './reference-clean.ts'

/** The options of the stage, with those that only values() sets. */
export interface CutOptions extends FrameOptions {
  /** A tag opens only before `{`, `[`, `<` or a fence. @default false */
  readonly needsPayload?: boolean | undefined
  /** A tag that is never closed is a frame, unless text may only name it. @default false */
  readonly keepUnclosed?: boolean | undefined
  /** An array opens before any JSON value. @default false */
  readonly loose?: boolean | undefined
  /** What may be one whole document at the very start. @default false */
  readonly document?: false | 'object' | 'any' | undefined
  /** A line of one scalar is a line frame. @default false */
  readonly scalars?: boolean | undefined
  /** Every line that is not blank is a line frame. @default false */
  readonly everyLine?: boolean | undefined
  /** Whether fences that are not marked as JSON are read as prose. @default false */
  readonly readFences?: false | 'object' | 'any' | undefined
  /** A thought may be of any length. @default false */
  readonly patient?: boolean | undefined
  /** The channel that the bytes are fed to. @default 'stdout' */
  readonly channel?: Channel | undefined
}

export type CutFrame = Frame

/**
 * The scanner as its rules say it, over one whole channel: no chunks, no speed, every question asked by
 * looking at the bytes again. The real one has to agree with it on every input.
 */
export function referenceFrames(original: Buffer, options: CutOptions = {}): CutFrame[] {
  const channel = options.channel ?? 'stdout'
  const cleaned = clean(original, channel)
  const cuts = new Reference(cleaned, original.length, options).cuts()
  const tiles = tile({ original, cleaned, channel }, cuts, options.maxFrame ?? MAX_FRAME)
  // A note is worth telling even to those who want no text.
  return options.text === false ? tiles.filter((frame) => frame.kind !== 'text' || frame.notes) : tiles
}

/** A frame in clean offsets; `from` and `to` of kind text are those of a whole that was too long. */
interface Cut {
  readonly kind: FrameKind
  readonly from: number
  readonly to: number
  /** The ranges that its text is made of, one for each line of a fence. */
  readonly lines?: readonly Range[]
  /** For what was too long: where it ends in the original. */
  readonly end?: number
  readonly label?: string
  readonly open?: boolean
  readonly first?: boolean
  readonly attached?: boolean
  readonly aside?: boolean
  readonly in_fence?: boolean
  /** The byte behind an object that shows that it is a piece of something broken. */
  readonly broken?: number
  readonly notes?: readonly Note['code'][]
}

/** How thoughts are marked, as the page on values says it. */
interface ReferenceThought {
  readonly name: string
  readonly opener: RegExp
  readonly closers: readonly { readonly mark: RegExp; readonly excluded?: boolean }[]
}

function thoughtTag(name: string): ReferenceThought {
  const rest = '(?:>|(?=[ \\t\\r])[^<>{[`~\\n]{0,199}>)'
  return {
    name,
    opener: new RegExp(`^<${name}${rest}`, 'i'),
    closers: [{ mark: new RegExp(`^</${name}${rest}`, 'i') }],
  }
}

function thoughtMarks(opener: string, ...closers: readonly string[]): ReferenceThought {
  const exactly = (text: string) =>
    new RegExp(
      `^${Buffer.from(text)
        .toString('latin1')
        .replace(/[|[\]]/g, '\\$&')}`,
    )
  return {
    name: opener,
    opener: exactly(opener),
    closers: closers.map((text) => ({
      mark: exactly(text),
      excluded: text === '<|start|>' || text === '<|channel|>',
    })),
  }
}

const HARMONY = ['<|end|>', '<|return|>', '<|start|>', '<|channel|>'] as const
const THOUGHTS: readonly ReferenceThought[] = [
  ...['think', 'thinking', 'reasoning', 'scratchpad', 'thought', 'thoughts', 'analysis', 'reflection'].map(
    thoughtTag,
  ),
  thoughtTag('internal_thoughts'),
  thoughtTag('seed:think'),
  thoughtMarks('[THINK]', '[/THINK]'),
  thoughtMarks('◁think▷', '◁/think▷'),
  thoughtMarks('<|begin_of_thought|>', '<|end_of_thought|>'),
  thoughtMarks('<|START_THINKING|>', '<|END_THINKING|>'),
  thoughtMarks('<|inner_prefix|>', '<|inner_suffix|>'),
  thoughtMarks('<|channel>thought', '<channel|>'),
  { ...thoughtMarks('', ...HARMONY), opener: /^<\|channel\|>(?:analysis|commentary)(?:<\|message\|>)?/ },
]

type Range = readonly [from: number, to: number]

/** A fence that is read as prose. */
interface ProseFence {
  readonly char: number
  readonly run: number
  readonly quotes: number
  readonly indent: number
  /** Where its body begins. */
  readonly body: number
}

/** One blank that JSON does not know. */
const UNUSUAL = /^[\u00a0\u180e\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]$/
const NUL = 0x00
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const MAX_FRAME = 16 * 1024 * 1024
const REPAIR_CAP = 65_536
const MAX_MID_LINE = 65_536
const MAX_STRETCH = 65_536
const MAX_TRIES = 8
const MAX_WORD = 256
const MAX_PREFIX = 64
const MAX_TOKEN = 4096
const MAX_CITATION = 1024
const MAX_NESTED = 2

class Reference {
  #bytes: Buffer
  readonly #origin: readonly number[]
  readonly #end: number
  /** Bytes of the original, escapes included. */
  readonly #size: number
  readonly #tags: readonly string[]
  readonly #fences: boolean
  readonly #lines: boolean
  readonly #objects: boolean
  readonly #think: readonly ReferenceThought[]
  readonly #readFences: false | 'object' | 'any'
  readonly #patient: boolean
  readonly #maxFrame: number
  readonly #needsPayload: boolean
  readonly #keepUnclosed: boolean
  readonly #loose: boolean
  readonly #document: false | 'object' | 'any'
  readonly #scalars: boolean
  readonly #everyLine: boolean

  readonly #cuts: Cut[] = []
  /** Where a document would start, or -1 when something else came first. */
  #first: number
  /** Where an object may go on that began before the input, or -1. */
  #members = -1
  /** The brace of the line that turned out to be none. */
  #notLine = -1
  /** Before this offset of the channel no fence looks for a later closer: that was tried. */
  #stretchedTo = 0
  /** A thought was opened, or a lone closer came. */
  #thought = false
  /** A think block never ended: it is read as prose, and what is found there is marked. */
  #thinkUnclosed = false
  /** Where thoughts end that are read as prose, because their closers are too far away. */
  readonly #openThoughts: number[] = []
  /** The fences that are read as prose, the innermost one last. */
  readonly #around: ProseFence[] = []
  /** The value of an odd fence never ended: no other odd one is tried. */
  #noOdd = false
  /** The object opens with a key that has no quotes. */
  #bareKey = false
  /** A tag block without payload never ended, and was read again as prose; that is done once. */
  #tagReread = false

  constructor({ bytes, origin }: Clean, size: number, options: CutOptions) {
    this.#bytes = bytes
    this.#origin = origin
    this.#end = bytes.length
    this.#size = size
    this.#lines = options.lines ?? true
    // Where every line is a frame, nothing else can be.
    this.#everyLine = this.#lines && (options.everyLine ?? false)
    const others = !this.#everyLine
    this.#tags = others ? (options.tags ?? ['json']) : []
    this.#fences = others && (options.fences ?? true)
    this.#objects = others && (options.objects ?? true)
    const think = options.think ?? true
    const all = think === true ? THOUGHTS : think ? think.map((name) => thoughtTag(name)) : []
    this.#think = others ? all.filter(({ name }) => !this.#tags.includes(name)) : []
    this.#readFences = options.readFences ?? false
    this.#patient = options.patient ?? false
    this.#maxFrame = options.maxFrame ?? MAX_FRAME
    this.#needsPayload = options.needsPayload ?? false
    this.#keepUnclosed = options.keepUnclosed ?? false
    this.#loose = options.loose ?? false
    this.#document = others && (options.document ?? false)
    this.#scalars = options.scalars ?? false
    this.#first = this.#pastBlanksAndBoms(0)
    if (this.#document) this.#members = this.#first
  }

  cuts(): readonly Cut[] {
    let at = 0
    while (at < this.#end) at = this.#outside(at)
    return this.#cuts
  }

  // Prose. Each question is asked at each byte, in this order; an answer is where to go on.

  #outside(at: number): number {
    if (this.#isProseCloser(at)) return this.#endProse(at)
    const name = this.#tagAt(at)
    if (name !== undefined) return this.#tag(at, name)
    const think = this.#thinkAt(at)
    if (think) return this.#thinkBlock(at, think.to, think.thought)
    const lone = this.#loneAt(at)
    if (lone !== undefined) return this.#loneCloser(at, lone)
    if (this.#fences && this.#mayOpenFence(at)) return this.#fence(at)
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
    const startsLine = this.#keepUnclosed && this.#isBlankBefore(from)
    if (this.#needsPayload) {
      const decision = this.#payloadFollows(inside, limit)
      if (decision === 'no' && !(startsLine && this.#endsLine(inside))) return inside
      if (decision === 'unknown' && this.#outgrown(from)) return this.#skipTag(from, name)
      if (decision === 'unknown' && !startsLine) return this.#end
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
    if (!this.#has(this.#pastBlanks(inside), '<') && this.#payloadFollows(inside, this.#end) === 'yes') {
      this.#cut({
        kind: 'tag',
        from,
        to: this.#end,
        lines: [[inside, this.#end]],
        label: name,
        open: true,
      })
      return this.#end
    }
    const isAlone = startsLine && this.#endsLine(inside)
    const isKept = this.#needsPayload ? isAlone : !this.#slice(inside, this.#end).includes(opener)
    if (this.#keepUnclosed && isKept) {
      const lines: Range[] = [[inside, this.#end]]
      const aside = !startsLine && !this.#endsLine(inside)
      this.#cut({ kind: 'tag', from, to: this.#end, lines, label: name, open: true, aside })
      return this.#end
    }
    if (this.#tagReread) return this.#end
    this.#tagReread = true
    return inside
  }

  #endsLine(from: number): boolean {
    let at = from
    while (at < this.#end && this.#isBlank(at) && this.#bytes[at] !== LF) at++
    return at === this.#end || this.#bytes[at] === LF
  }

  #closeTag(from: number, closerAt: number, name: string): number {
    const to = closerAt + `</${name}>`.length
    this.#cut({ kind: 'tag', from, to, lines: [[from + `<${name}>`.length, closerAt]], label: name })
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

  /** Too long: over at the next closer, or before the next opener, wherever they are. */
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

  #thinkAt(at: number): { thought: ReferenceThought; to: number } | undefined {
    for (const thought of this.#think) {
      const to = this.#pastMark(at, thought.opener)
      if (to !== undefined) return { thought, to }
    }
    return undefined
  }

  /** One past a mark, unless it is only named: `"<think>"`. */
  #pastMark(at: number, mark: RegExp): number | undefined {
    const found = mark.exec(this.#slice(at, at + 300).toString('latin1'))
    if (!found) return undefined
    const to = at + found[0].length
    const quote = at > 0 ? this.#char(at - 1) : ''
    if (!/["'`]/.test(quote)) return to
    // A language or a line end behind a fence, or a bracket behind any of them, is no mention.
    const behind = this.#slice(to, to + 4).toString('latin1')
    const own = /^(["'`])\1{0,2}/.exec(behind)?.[0] ?? ''
    if (own[0] !== quote || /^[{[]/.test(behind.slice(own.length))) return to
    return own === '```' && /^[\w\r\n\x80-\xff-]/.test(behind.slice(3)) ? to : undefined
  }

  #loneAt(at: number): number | undefined {
    for (const { name, closers } of this.#think)
      if (name === 'think' || name === 'thinking') {
        const to = this.#pastMark(at, closers[0]!.mark)
        if (to !== undefined) return to
      }
    return undefined
  }

  /** A closer whose opener was in the prompt: what is before it was a thought, if something follows. */
  #loneCloser(at: number, to: number): number {
    const isInLine = at > 0 && this.#isBlank(at - 1) && !this.#isBlankBefore(at)
    const isWord = isInLine && !/[\n\r`{[]/.test(this.#char(to) ?? '')
    if (this.#thought || this.#around.length > 0 || isWord) return to
    this.#thought = true
    let next = to
    while (this.#isBlank(next) || this.#bytes[next] === NUL) next++
    if (next >= this.#limit(at)) return to
    this.#cuts.push({ kind: 'text', from: at, to, notes: ['THINK_LATE'] })
    if (this.#document) {
      this.#first = this.#pastBlanksAndBoms(to)
      this.#members = this.#first
    }
    return to
  }

  #thinkBlock(from: number, inside: number, { closers }: ReferenceThought): number {
    this.#thought = true
    const leading = this.#isBlankBefore(from)
    const waits = leading || this.#patient
    const most = waits ? this.#maxFrame : Math.min(this.#maxFrame, MAX_MID_LINE)
    const limit = this.#limit(from, most)
    let found = -1
    let to = this.#end
    let known = this.#end
    for (let at = inside; at < this.#end && found < 0; at++)
      for (const { mark, excluded } of closers) {
        const past = this.#pastMark(at, mark)
        if (past === undefined || found >= 0) continue
        found = at
        known = past
        to = excluded ? at : past
      }
    const closes = found >= 0 && known <= limit
    const outgrown = this.#outgrown(from, most)
    if (from === this.#first) {
      this.#first = found >= 0 && (closes || waits) ? this.#pastBlanksAndBoms(to) : -1
      if (this.#document) this.#members = this.#first
    }
    if (closes) return to
    if (!waits && outgrown) {
      this.#openThoughts.push(found < 0 ? Number.POSITIVE_INFINITY : to)
      return inside
    }
    if (outgrown) return found < 0 ? this.#tooLongToTheEnd(from) : this.#tooLong(from, to)
    this.#thinkUnclosed = true
    return inside
  }

  // Fences.

  #mayOpenFence(at: number): boolean {
    if (this.#around.length === MAX_NESTED) return false
    return this.#isFenceStart(at) || this.#isAfterProse(at) || (this.#mayBeGlued(at) && this.#isFenceLine(at))
  }

  /** Marks that begin their line, or backticks after words without one. */
  #mayBeGlued(at: number): boolean {
    if (!this.#readFences || !(this.#has(at, '```') || this.#has(at, '~~~'))) return false
    if (this.#fencePrefix(at) !== undefined) return true
    const before = this.#slice(this.#lineStart(at), at).toString('latin1')
    return this.#has(at, '`') && !before.includes('`') && !this.#isAfterQuote(at)
  }

  //  Here: ```json
  //  {"a":1}
  /** Marks at the end of a line of prose, before a bracket on the next line that is not blank. */
  #isAfterProse(at: number): boolean {
    if (!this.#readFences || !this.#has(at, '```') || this.#fencePrefix(at) !== undefined) return false
    const before = this.#slice(this.#lineStart(at), at).toString('latin1')
    if (before.includes('`') || this.#isAfterQuote(at)) return false
    const lineEnd = this.#lineEnd(at)
    const limit = this.#limit(at)
    const info = this.#slice(at + this.#runLength(at), lineEnd).toString('latin1')
    if (lineEnd >= limit || info.length > 16 || !/^(?:json[5c]?)?\s*$/i.test(info)) return false
    const next = this.#pastBlanks(lineEnd)
    return next < limit && this.#isBrace(next)
  }

  /** The first mark of the line that closes the fence around it, or what shows that its quotation is over. */
  #isProseCloser(at: number): boolean {
    const fence = this.#around.at(-1)
    if (!fence) return false
    const line = this.#lineStart(at)
    const end = this.#lineEnd(at)
    if (line < fence.body) return false
    const content = this.#pastQuotes(line, end, fence.quotes)
    if (content === undefined)
      return at === this.#quoteDecidedAt(line, end) - 1 && (at < end || end < this.#end)
    if (at !== content + this.#countSpaces(content, end)) return false
    return this.#isFenceCloser(content, end, fence.char, fence.run, fence.indent)
  }

  #endProse(at: number): number {
    const { quotes } = this.#around.pop()!
    const end = this.#lineEnd(at)
    const outside = this.#pastQuotes(this.#lineStart(at), end, quotes) === undefined
    return outside ? at : Math.min(end + 1, this.#end)
  }

  #isFenceStart(at: number): boolean {
    if (!this.#has(at, '`') && !this.#has(at, '~')) return false
    return this.#runLength(at) >= 3 && this.#fencePrefix(at) !== undefined
  }

  /** What comes before the fence on its line: how many `>`, and how far its body may be indented. */
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
    if (this.#around.length === MAX_NESTED) return false
    if (this.#isAfterProse(at)) return true
    const isGlued = this.#mayBeGlued(at) && this.#gluedBrace(at) !== undefined
    if (!isGlued && !this.#isFenceStart(at)) return false
    const lineEnd = this.#lineEnd(at)
    if (lineEnd >= this.#limit(at) && (lineEnd < this.#end || this.#outgrown(at))) return false
    return isGlued || this.#has(at, '~') || !this.#slice(at + this.#runLength(at), lineEnd).includes('`')
  }

  #fence(from: number): number {
    const { quotes, indent } = this.#fencePrefix(from) ?? { quotes: 0, indent: 0 }
    const char = this.#bytes[from]!
    const run = this.#runLength(from)
    const limit = this.#limit(from)
    const lineEnd = this.#lineEnd(from)
    if (!this.#isFenceLine(from)) return from + run
    const brace = this.#gluedBrace(from)
    const label = this.#slice(from + run, brace?.at ?? lineEnd)
      .toString()
      .trim()
    if (brace?.odd) return this.#gluedFence(from, brace.at, label, quotes, indent)
    const marked = !this.#readFences || /^json[5c]?(?:[ \t:{[]|$)/i.test(label)
    const opened = brace?.at ?? Math.min(lineEnd + 1, this.#end)
    const readAsProse = (): number => {
      this.#around.push({ char, run, quotes, indent, body: opened })
      return opened
    }
    let begins = opened
    while (begins < this.#end && (this.#isBlank(begins) || (quotes > 0 && this.#has(begins, '>')))) begins++
    if (!marked && !(begins >= limit && this.#outgrown(from)) && !this.#isBrace(begins)) return readAsProse()
    // Nothing at or after the limit is looked at.
    const maybe = !marked && (label !== '' || begins >= limit || !this.#isBrace(begins))
    let wordTries = 0
    const body: Range[] = []
    /** The first closer, when the body is inside a JSON string there, and the body up to it. */
    let first: { to: number; body: readonly Range[] } | undefined
    let tries = 0
    const reach = Math.min(limit, this.#limit(from, MAX_STRETCH))

    const cut = (lines: readonly Range[], to: number, open = false, unclosed = false): number => {
      const start = opened
      const last = lines.at(-1)
      const plain = quotes === 0 && indent === 0
      const text: readonly Range[] =
        last === undefined ? [[start, start]] : plain ? [[start, last[1]]] : lines
      const notes: Note['code'][] = unclosed ? ['FENCE_UNCLOSED'] : []
      this.#cut({ kind: 'fence', from, to, lines: text, ...(label && { label }), open, notes })
      return to
    }
    const giveUpStretch = (): number => {
      this.#stretchedTo = this.#origin[from]! + MAX_STRETCH
      return cut(first!.body, first!.to)
    }
    const finish = (to: number, seen: number, open = false, lines = body, unclosed = false): number => {
      // `seen` is one past the last byte that had to be looked at; the end of input counts as a byte.
      const byTheEnd = seen > this.#end
      if (seen > limit && (!byTheEnd || this.#outgrown(from))) {
        if (open) return this.#tooLongToTheEnd(from)
        return this.#tooLong(from, to)
      }
      if (!maybe) return cut(lines, to, open, unclosed)
      const text = this.#joined(lines)
      const fits = this.#readFences === 'any' || /^\s*\{/.test(text)
      return fits && isStrictJson(text) ? cut(lines, to, open, unclosed) : readAsProse()
    }
    const isBlankInBody = (at: number) => this.#isBlank(at) || (quotes > 0 && this.#has(at, '>'))
    /** Where prose goes on after marks that close only what is complete; undefined if it is not. */
    const afterOdd = (
      lines: readonly Range[],
      bodyEnd: number,
      marks: number,
      past: number,
    ): number | undefined => {
      const to = past < limit && this.#isWord(past) ? marks : past
      let last = bodyEnd - 1
      while (last > opened && isBlankInBody(last)) last--
      if (!'}]'.includes(this.#char(last)) && to !== marks) return undefined
      const { depth, inString } = this.#balanceOf(opened, bodyEnd)
      if (inString || depth > 0) return undefined
      if (!maybe && this.#isBrace(begins) && begins < bodyEnd) return to
      return wordTries++ < MAX_TRIES && isStrictJson(this.#joined(lines)) ? to : undefined
    }
    /** The end of the block, if a line with marks and words, or marks in a line, end it. */
    const oddEnd = (line: number, content: number, end: number): number | undefined => {
      if (!this.#readFences || first) return undefined
      const start = content + Math.min(indent, this.#countSpaces(content, end))
      for (let marks = content; marks < end; marks++) {
        if (this.#bytes[marks] !== char || (marks > content && this.#bytes[marks - 1] === char)) continue
        const past = marks + this.#runLength(marks)
        if (past - marks < Math.max(run, 3)) continue
        const spaces = this.#countSpaces(content, end)
        const beginsLine = line !== opened || this.#bytes[line - 1] === LF
        if (beginsLine && marks === content + spaces && spaces <= indent + 3) {
          const word = this.#pastBlanks(past)
          if (word >= end || word >= limit) continue
          const to = afterOdd(body, line, marks, past)
          if (to !== undefined) return finish(to, 0, false, body, to === marks)
        } else if (past < limit || (past === this.#end && !this.#outgrown(from))) {
          const lines: Range[] = [...body, [Math.min(start, marks), marks]]
          const to = afterOdd(lines, marks, marks, past)
          if (to !== undefined) return finish(to, 0, false, lines, to === marks)
        }
      }
      return undefined
    }

    let at = opened
    while (at < this.#end) {
      const end = this.#lineEnd(at)
      const next = Math.min(end + 1, this.#end)
      const content = at === brace?.at ? at : this.#pastQuotes(at, end, quotes)
      const closes =
        content !== undefined && at !== brace?.at && this.#isFenceCloser(content, end, char, run, indent)
      if (first) {
        const withinReach = end < this.#end ? end + 1 <= reach : !this.#outgrown(from, this.#reachOf())
        if (content === undefined || (closes && (!withinReach || tries === MAX_TRIES))) return giveUpStretch()
        if (closes) {
          const state = this.#balanceOf(opened, at)
          if (!state.inString && state.depth <= 0) {
            tries++
            if (isJson(this.#joined(body))) return cut(body, next)
          }
        }
      } else if (content === undefined) return finish(at, this.#quoteDecidedAt(at, end))
      else if (closes) {
        const fits = end + 1 <= limit && (end < this.#end || !this.#outgrown(from))
        if (!fits || maybe || !this.#mayStretch(from, opened, at, begins)) return finish(next, end + 1)
        first = { to: next, body: [...body] }
      } else {
        const to = oddEnd(at, content, end)
        if (to !== undefined) return to
      }
      // A line that a fence could end with is a line of the body that is longer.
      const start = content ?? at
      body.push([start + Math.min(indent, this.#countSpaces(start, end)), end])
      at = next
    }
    if (first) return giveUpStretch()
    // An LF at the very end of what is open does not begin another line.
    return finish(this.#end, this.#end + 1, true)
  }

  //  ```{"a":1}```      ```json {"a":1}
  /** The bracket on the line of a fence that begins its body; odd if its closer must follow the value. */
  #gluedBrace(from: number): { at: number; odd: boolean } | undefined {
    if (!this.#readFences) return undefined
    const run = this.#runLength(from)
    const lineEnd = this.#lineEnd(from)
    const info = this.#slice(from + run, lineEnd).toString('latin1')
    const begun = /^(json[5c]?)?[ \t]*(?=[{[])/i.exec(info.slice(0, 16))
    if (!begun) return undefined
    const at = from + run + begun[0].length
    const trailing = this.#fencePrefix(from) === undefined
    if (!trailing && begun[1] && (this.#has(from, '~') || !info.includes('`'))) return { at, odd: false }
    const next = this.#pastBlanks(at + 1)
    const opens = this.#has(next, '"') || (this.#has(at, '[') && this.#isBrace(next))
    return opens && next < this.#limit(from) && !this.#noOdd ? { at, odd: true } : undefined
  }

  /** A fence that begins on its own line; prose, if no closer follows its value. */
  #gluedFence(from: number, brace: number, label: string, quotes: number, indent: number): number {
    const limit = this.#limit(from)
    let to = brace + 1
    while (to <= limit && this.#balanceOf(brace, to).depth > 0) to++
    if (to > limit) {
      this.#noOdd = true
      return brace
    }
    let marks = to
    while (marks < limit && this.#isBlank(marks)) marks++
    let past = marks
    while (past < limit && this.#bytes[past] === this.#bytes[from]) past++
    if (past - marks < this.#runLength(from)) return brace
    const end = this.#bytes[marks - 1] === LF ? marks - 1 : marks
    const isPlain = quotes === 0 && indent === 0
    const all = this.#objectLines(brace, end, quotes)
    const split = quotes > 0 ? all : this.#linesOf(brace, end)
    const lines: Range[] = isPlain
      ? all
      : split.map(([start, stop]) => [start + Math.min(indent, this.#countSpaces(start, stop)), stop])
    this.#cut({ kind: 'fence', from, to: past, lines, ...(label && { label }) })
    return past
  }

  /** How far from its opener a later closer may be. */
  #reachOf(): number {
    return Math.min(this.#maxFrame, MAX_STRETCH)
  }

  /** Whether the body of a fence is JSON that is inside a string at its closer. */
  #mayStretch(from: number, body: number, closer: number, begins: number): boolean {
    if (this.#origin[from]! < this.#stretchedTo) return false
    if (begins >= closer || !this.#isBrace(begins)) return false
    return this.#balanceOf(body, closer).inString
  }

  #joined(lines: readonly Range[]): string {
    return lines.map(([from, to]) => this.#slice(from, to).toString()).join('\n')
  }

  /**
   * Depth and string state after a range, comments and strings respected; the depth never stops the count.
   */
  #balanceOf(from: number, to: number): { depth: number; inString: boolean } {
    let depth = 0
    let inString = false
    for (let at = from; at < to; at++) {
      if (!inString) {
        const past = this.#pastComment(at, from, to)
        if (past > at) {
          at = past - 1
          continue
        }
      }
      if (this.#isQuote(at, from)) inString = !inString
      else if (!inString && this.#isBrace(at)) depth++
      else if (!inString && (this.#has(at, '}') || this.#has(at, ']'))) depth--
    }
    return { depth, inString }
  }

  /** One past the comment that begins at `at`, but no further than `to`; `at` if there is none. */
  #pastComment(at: number, from: number, to: number): number {
    if (at + 1 >= to) return at
    if (this.#has(at, '//')) {
      if (at > from && this.#bytes[at - 1] === COLON) return at
      const end = this.#lineEnd(at)
      return Math.min(to, end + 1)
    }
    if (!this.#has(at, '/*')) return at
    const end = this.#find('*/', at + 2)
    return end < 0 ? to : Math.min(to, end + 2)
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

  /** The first byte of a line that JSON may begin with; blanks, NULs and BOMs before it are passed over. */
  #isLineStart(at: number): boolean {
    if (!this.#lines || !this.#isBlankBefore(at)) return false
    if (this.#isBrace(at)) return true
    if (this.#isBlank(at) || this.#bytes[at] === NUL || this.#isBom(at)) return false
    return this.#everyLine || (this.#scalars && /["0-9tfn-]/.test(this.#char(at)))
  }

  /** Whether a bracket is the very first byte of its line, but for NULs and BOMs. */
  #isBareLineStart(at: number): boolean {
    if (!this.#lines || !this.#isBrace(at)) return false
    const before = this.#slice(this.#lineStart(at), at).toString('latin1')
    return /^(?:\0|\u00ef\u00bb\u00bf)*$/.test(before)
  }

  #isBlankBefore(at: number): boolean {
    const before = this.#slice(this.#lineStart(at), at).toString('latin1')
    return /^(?:[ \t\r\0]|\u00ef\u00bb\u00bf)*$/.test(before)
  }

  #line(from: number): number {
    const lineEnd = this.#lineEnd(from)
    const ended = lineEnd < this.#end
    const to = ended ? lineEnd + 1 : this.#end
    const shape = this.#lineShape(from, this.#limit(from), lineEnd)
    if (shape === 'none') return this.#noLine(from)
    if (!ended && this.#outgrown(from)) return this.#tooLongToTheEnd(from)
    if (to > this.#limit(from)) return this.#tooLong(from, to)
    if (shape === 'unknown') return this.#noLine(from)

    const closed = ended || !this.#isBrace(from) || this.#isClosed(from)
    const whole = shape === 'maybe' && parses(this.#slice(from, lineEnd))
    if (shape === 'maybe' && !whole && !isScalarRecord(this.#slice(from, lineEnd))) return this.#noLine(from)
    if (shape === 'maybe' && !whole && this.#objects && !this.#endsInCloser(from, lineEnd))
      return this.#noLine(from)
    if (shape === 'json' && this.#objects && !(closed && this.#endsInCloser(from, lineEnd)))
      return this.#noLine(from)
    const textEnd = ended && this.#bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd
    const notes: Note['code'][] = this.#nulBefore(from) ? ['NUL_BYTES'] : []
    const open = !whole && !closed
    this.#cut({ kind: 'line', from, to, lines: [[from, textEnd]], open, notes })
    return to
  }

  #noLine(from: number): number {
    this.#notLine = from
    return from
  }

  /** What a line is, by how it begins. */
  #lineShape(from: number, bound: number, lineEnd: number): 'json' | 'maybe' | 'none' | 'unknown' {
    if (this.#everyLine || this.#has(from, '{')) return 'json'
    if (!this.#has(from, '[')) return 'maybe'
    let at = from + 1
    while (at < Math.min(bound, lineEnd) && this.#isBlank(at)) at++
    if (at === bound) return 'unknown'
    if (at === lineEnd) return 'none'
    if (/["{[]/.test(this.#char(at))) return 'json'
    return /[\]0-9tfn+.'`TFN\u00e2-]/.test(this.#char(at)) ? 'maybe' : 'none'
  }

  #nulBefore(at: number): boolean {
    let start = at
    while (start > 0 && this.#bytes[start - 1] !== LF) start--
    return this.#slice(start, at).includes(NUL)
  }

  #isClosed(from: number): boolean {
    const { depth, inString } = this.#balanceOf(from, this.#end)
    return !inString && depth <= 0
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
    this.#bareKey = false
    const quotes = this.#fencePrefix(from)?.quotes ?? 0
    const gate = quotes > 0 ? this.#gateInQuotation(from, limit, isFirst) : this.#gate(from, limit, isFirst)
    if (gate === 'unknown') {
      if (this.#outgrown(from)) return this.#tooLongObject(from)
      const to = this.#end
      // The first bracket of the input may be all there is of a document.
      if (isFirst)
        this.#cut({
          kind: 'object',
          from,
          to,
          lines: this.#objectLines(from, to, quotes),
          open: true,
          first: true,
          attached: false,
        })
      return to
    }
    if (typeof gate === 'number') return gate

    const attached = this.#isAttached(from)
    let depth = 1
    let inString = false
    /** A line ended inside a string: probably this is no JSON at all. */
    let torn = false
    /** Up to here it is a comment. */
    let comment = from
    const body = this.#bareKey ? this.#slice(0, limit).indexOf(':', from) : from + 1
    for (let at = body; at < limit; at++) {
      if (torn && this.#origin[at]! >= this.#origin[from]! + REPAIR_CAP) return at
      if (this.#tagAt(at) !== undefined && (!inString || torn)) return at
      if (this.#fences && (this.#isProseCloser(at) || this.#isFenceLine(at))) return at
      if (inString && torn && at > from && this.#isBareLineStart(at)) return at

      if (at < comment) continue
      if (!inString) {
        comment = this.#pastComment(at, from, limit)
        if (at < comment) continue
      }
      const byte = this.#bytes[at]
      if (this.#isQuote(at, from)) inString = !inString
      else if (inString && byte === LF) torn = true
      else if (!inString && this.#isBrace(at)) depth++
      else if (!inString && (this.#has(at, '}') || this.#has(at, ']')) && --depth === 0) {
        const to = at + 1
        const broken = this.#brokenBehind(from, to, limit)
        const isUsed =
          this.#isAside(from, to, limit, isFirst) ||
          (!isFirst && this.#isBesideCitation(from, to, broken === undefined ? limit : to)) ||
          this.#isInMembers(from)
        const aside =
          isUsed || (!isFirst && this.#isPiece(from, to, this.#slice(to, Math.min(limit, to + MAX_REST))))
        this.#cut({
          kind: 'object',
          from,
          to,
          lines: this.#objectLines(from, to, quotes),
          first: isFirst,
          attached,
          aside,
          ...(broken !== undefined && { broken }),
        })
        return broken === undefined || isUsed || this.#bareKey ? to : this.#debris(to)
      }
    }
    if (this.#outgrown(from)) return this.#tooLongObject(from)
    const to = this.#end
    const lines = this.#objectLines(from, to, quotes)
    const aside = !isFirst && (this.#isInMembers(from) || this.#isPiece(from))
    this.#cut({ kind: 'object', from, to, lines, open: true, first: isFirst, attached, aside })
    return this.#end
  }

  #isPiece(from: number, to = from, after?: Buffer): boolean {
    const before = this.#slice(Math.max(0, from - 512), from).toString('latin1')
    const isText = after !== undefined && this.#isAfterQuote(from)
    const text = this.#slice(from, isText ? Math.min(to, from + 512) : from + 3).toString()
    return isPiece(before, text, after?.toString('latin1'))
  }

  //  > {"a": 1,
  //  > "b": 2}
  //    ^ its second line begins here
  #objectLines(from: number, to: number, quotes: number): Range[] {
    if (quotes === 0) return [[from, to]]
    const lines: Range[] = []
    for (let at = from; at <= to; at = lines.at(-1)![1] + 1) {
      const end = Math.min(this.#lineEnd(at), to)
      lines.push([this.#pastQuotes(at, end, quotes) ?? at, end])
    }
    return lines
  }

  #linesOf(from: number, to: number): Range[] {
    const lines: Range[] = []
    for (let at = from; at <= to; at = lines.at(-1)![1] + 1) lines.push([at, Math.min(this.#lineEnd(at), to)])
    return lines
  }

  /** The marks of a quotation count as blanks. */
  #gateInQuotation(from: number, limit: number, isFirst: boolean): 'open' | 'unknown' | number {
    const bytes = this.#bytes
    const masked = Buffer.from(bytes)
    for (let at = from + 1; at < limit; at++)
      if (this.#has(at, '>') && this.#fencePrefix(at)) masked[at] = SPACE
    this.#bytes = masked
    const gate = this.#gate(from, limit, isFirst)
    this.#bytes = bytes
    return gate
  }

  //  see [1].   list[0]   [1](url)
  /** Is it an array that prose uses for something else? */
  #isAside(from: number, to: number, limit: number, isFirst: boolean): boolean {
    if (!this.#has(from, '[')) return false
    if (from > 0 && /[A-Za-z0-9_$]/.test(this.#char(from - 1))) return true
    if (to < limit && this.#has(to, '(')) return true
    const citation =
      to - from <= MAX_CITATION &&
      isCitation(this.#slice(from, to).toString(), this.#slice(to, Math.min(limit, to + MAX_REST)).toString())
    const startsLine = isFirst || this.#isBlankBefore(from)
    if (citation && startsLine) return true
    const inner = this.#slice(from + 1, to)
      .toString('latin1')
      .replace(/"[^"]*(?:"|$)/g, '')
    if (to - from > MAX_CITATION || /[,{[]/.test(inner)) return false
    if (this.#isAfterColon(from)) return false
    let past = to
    while (past < limit && this.#isBlank(past) && this.#bytes[past] !== LF) past++
    return !startsLine || (past < limit && this.#bytes[past] !== LF)
  }

  //  "a": 1, "b": {"c": 2}} so: {"d": 3}
  //                       ^ ends what began before the input
  /** Is it in such an object, or is it not plain where that ends? */
  #isInMembers(at: number): boolean {
    if (this.#members < 0) return false
    const text = this.#slice(this.#members, at).toString('latin1')
    if (!/^"(?:[^"\\\n]|\\[^\n])*"[ \t\r\n]*:/.test(text)) return false
    const blank = (part: string) => ' '.repeat(part.length)
    const plain = text.replace(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/g, blank)
    let rest = plain
    for (let pair = /[{[][^{}[\]]*[}\]]/; pair.test(rest); ) rest = rest.replace(pair, blank)
    const end = rest.search(/[}\]]/)
    if (end < 0 || rest[end] === ']' || /[^ \t\r\n,:0-9+.eEtrufalsn{}[\]-]/.test(plain.slice(0, end)))
      return true
    return /^[ \t\r\n]*[,:}\]"']/.test(text.slice(end + 1))
  }

  #isBesideCitation(from: number, to: number, limit: number): boolean {
    if (!this.#has(from, '[') || to - from > MAX_CITATION || this.#isAfterColon(from)) return false
    const [before, array, after] = [
      this.#slice(Math.max(0, from - 512), from),
      this.#slice(from, to),
      this.#slice(to, Math.min(limit, to + MAX_REST)),
    ].map((bytes) => bytes.toString('latin1'))
    return isBesideCitation(before!, array!, after!)
  }

  #isAfterColon(from: number): boolean {
    const before = this.#slice(0, from)
      .toString('latin1')
      .replace(/[ \t\r\n]+/g, '')
    return /(?:[:=]|\u00bc\u009a)$/.test(before)
  }

  /** May the brace at `from` open? If not, where the byte is that says so. */
  #gate(from: number, limit: number, isFirst: boolean): 'open' | 'unknown' | number {
    const at = this.#pastBlanks(from + 1)
    if (at >= limit) return 'unknown'
    const byte = this.#char(at)
    const array = this.#has(from, '[')
    const openers = array
      ? isFirst
        ? '{[]("\'-0123456789tfn/#\\,`<'
        : this.#loose
          ? '{["-0123456789tfn'
          : '{'
      : isFirst
        ? '{["\'}/#\\,`<'
        : '"\''
    if (openers.includes(byte)) return 'open'
    if (!array || isFirst) {
      const curly = [0xe2, 0x80, 0x9c]
      let same = 0
      while (same < 3 && at + same < limit && this.#bytes[at + same] === curly[same]) same++
      if (same === 3) return 'open'
      if (same > 0 && at + same >= limit) return 'unknown'
      if (this.#opensAfterForeign(at, limit, openers, isFirst || array)) return 'open'
      if (isFirst) {
        // A key with blanks in it, or one that lost its opening quote, or such a text.
        let bare = at
        while (
          bare < limit &&
          (this.#isWord(bare) || ".'/@".includes(this.#char(bare)) || (bare > at && this.#isBlank(bare)))
        )
          bare++
        if (bare >= limit) return 'unknown'
        this.#bareKey = this.#has(bare, ':')
        return bare > at && (this.#has(bare, '"') || this.#has(bare, array ? ',' : ':')) ? 'open' : bare
      }
    }
    if (array) {
      const past = this.#pastForeign(at, limit)
      if (past === at) return at
      if (past >= limit) return 'unknown'
      return openers.includes(this.#char(past)) ? 'open' : past
    }
    let word = at
    if (at < limit && !this.#isWord(at)) return at
    while (word < limit && (this.#isWord(word) || ".'/@".includes(this.#char(word)))) word++
    if (word === at) return at
    if (word >= limit) return 'unknown'
    const colon = Math.min(this.#pastBlanks(word), limit)
    if (colon >= limit) return 'unknown'
    this.#bareKey = this.#has(colon, ':')
    return this.#has(colon, ':') ? 'open' : colon
  }

  /** Whether only unusual blanks, or what may be some, are before what opens a value or key. */
  #opensAfterForeign(at: number, limit: number, openers: string, blanks: boolean): boolean {
    let past = at
    while (past < limit && this.#bytes[past]! >= 0x80) past++
    if (past > at && blanks) past = this.#pastForeign(at, limit)
    return past > at && past < limit && openers.includes(this.#char(past))
  }

  /** Past characters that are not ASCII, and blanks behind them. */
  #pastForeign(at: number, limit: number): number {
    let past = at
    while (past < limit && (this.#bytes[past]! >= 0x80 || (past > at && this.#isBlank(past)))) past++
    return past
  }

  #isWord(at: number): boolean {
    return at < this.#end && /[A-Za-z0-9_$\u0080-\u00ff-]/.test(this.#char(at))
  }

  /** Does the opening bracket look like one inside a larger document? */
  #isAttached(from: number): boolean {
    const before = this.#slice(0, from).toString('latin1')
    return /(?:[[{,]|["'`](?::|=>?|\u00ef\u00bc\u009a))$/.test(before.replace(/[ \t\r\n]+/g, ''))
  }

  //  {"k":1}},"m":2}    {"k":1} , "m":2}    {"k":1}, as asked
  //         ^ here              ^ here             ^ nowhere
  #brokenBehind(from: number, to: number, limit: number): number | undefined {
    const at = this.#pastAnyBlanks(to, limit)
    if (at >= limit) return undefined
    if ('}]'.includes(this.#char(at))) return at
    const isBelow = this.#slice(to, at).includes(LF)
    if (!',:'.includes(this.#char(at)))
      return isBelow && !'"\'\xe2'.includes(this.#char(at)) ? undefined : this.#brokenAlong(from, to, limit)
    return this.#brokenAfterSeparator(at, limit) ?? this.#brokenAlong(from, to, limit)
  }

  //  {'k': 'x} y', 'm': 2}    {"k": 1} y
  //           ^ here                   ^ nowhere
  #brokenAlong(from: number, to: number, limit: number): number | undefined {
    const at = this.#pastAnyBlanks(to, limit)
    const rest = this.#slice(to - 1, Math.min(limit, at + MAX_REST)).toString('utf8')
    const isFirst = this.#document !== false && from === this.#first
    const place = isFirst ? 'document' : this.#isAfterQuote(from) ? 'after a quote' : 'prose'
    return goesOnAt(rest, 1, place) ? at : undefined
  }

  #isAfterQuote(at: number): boolean {
    return /["'\x98-\x9f][ \t\r\n]*$/.test(this.#slice(0, at).toString('latin1'))
  }

  #brokenAfterSeparator(at: number, limit: number): number | undefined {
    let next = this.#pastAnyBlanks(at + 1, limit)
    while (next < limit && this.#char(next) === ',') next = this.#pastAnyBlanks(next + 1, limit)
    if (next >= limit) return undefined
    const rest = this.#slice(next, Math.min(limit, next + MAX_WORD + 3)).toString('latin1')
    if (
      /^(?:["'{}[\]0-9#]|\u00e2\u0080\u009c|\/[/*]|<!|```[\w$'` \n\u0080-\u00ff-]{0,254}["'}\]]|`[\w$' \n\u0080-\u00ff-]{1,254}`[ ]*:|[!%&()*/;<=>?@\\^|~] {0,9}"[\w$' ./\u0080-\u00ff-]{1,200}" {0,9}:)/.test(
        rest,
      ) ||
      /^-[0-9]/.test(rest)
    ) {
      return /^-/.test(rest) && /^[\w$\u0080-\u00ff-]{257}/.test(rest) ? undefined : at
    }
    if (/^-/.test(rest)) return undefined
    const word = /^[\w$'\u0080-\u00ff-]{1,257}/.exec(rest)?.[0] ?? ''
    if (word === '' || word.length > MAX_WORD) return undefined
    const isBelow = this.#slice(at, next).includes(LF)
    const keys = isBelow ? /^[\w$' ./\u0080-\u00ff-]{1,257}/ : /^[\w$'./\u0080-\u00ff-]{1,257}/
    const more = keys.exec(rest)?.[0] ?? ''
    return /^"?:/.test(rest.slice(more.length)) || /^(?:true|false|null)$/.test(word) ? at : undefined
  }

  /** Past the JSON tokens that follow a piece of something broken. */
  #debris(from: number): number {
    let at = from
    // What takes an element or a member of the value is code, up to the end of its line.
    if (/^(?:\.(?![0-9])|[[?])/.test(this.#slice(at, at + 2).toString('latin1'))) {
      while (at < this.#end && this.#bytes[at] !== LF && this.#tagAt(at) === undefined) at++
      return at
    }
    while (at < this.#end) {
      if (this.#tagAt(at) !== undefined) return at
      const char = this.#char(at)
      if (this.#isBlank(at) || '}],:'.includes(char)) at++
      else if (this.#isBrace(at)) {
        if (this.#isBareLineStart(at)) return at
        at++
      } else if (char === '"' || char === "'") {
        const start = at++
        for (;;) {
          if (at >= this.#end || this.#tagAt(at) !== undefined || this.#bytes[at] === LF) return at
          if (this.#char(at) === char && !this.#isProtected(at, start + 1)) break
          at++
        }
        at++
      } else {
        const start = at
        while (at < this.#end && /[A-Za-z0-9_$\u0080-\u00ff.+-]/.test(this.#char(at))) {
          if (at - start >= MAX_WORD && at > start) return at
          at++
        }
        if (at === start) return at
        const word = this.#slice(start, at).toString('latin1')
        if (/^-?[0-9]/.test(word) || /^(?:true|false|null)$/.test(word)) continue
        at = this.#pastBlanks(at)
        if (!this.#has(at, ':')) return Math.min(at, this.#end)
        at++
      }
    }
    return this.#end
  }

  /** A string, a number or a word that is the whole input. */
  #scalar(from: number): number {
    this.#first = -1
    const to = this.#has(from, '"') ? this.#pastString(from) : this.#pastToken(from)
    const whole = to > from && this.#end <= this.#limit(from) && this.#pastBlanks(to) === this.#end
    if (!whole) return from
    this.#cut({ kind: 'object', from, to, lines: [[from, to]], first: true })
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
      ...(this.#thinkUnclosed
        ? ['THINK_UNCLOSED' as const]
        : this.#isThought(cut)
          ? ['THINK_OPEN' as const]
          : []),
    ]
    const in_fence = this.#around.length > 0 || (cut.kind === 'object' && this.#isCommented(cut))
    this.#cuts.push({ ...cut, in_fence, ...(notes.length > 0 && { notes }) })
  }

  //  // {"a":1}
  #isCommented(cut: Cut): boolean {
    const from = cut.lines?.[0]?.[0] ?? cut.from
    const before = this.#slice(this.#lineStart(from), from).toString('latin1')
    return before.length <= MAX_PREFIX && /^[ \t]*\/\/[ \t]*$/.test(before)
  }

  #isThought(cut: Cut): boolean {
    const from = cut.lines?.[0]?.[0] ?? cut.from
    return this.#openThoughts.some((to) => to > from)
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
  #limit(from: number, most = this.#maxFrame): number {
    let at = from
    while (at < this.#end && this.#origin[at]! < this.#origin[from]! + most) at++
    return at
  }

  /** Whether a frame from `from` that has not ended is too long: all of maxFrame is there. */
  #outgrown(from: number, most = this.#maxFrame): boolean {
    return this.#size >= this.#origin[from]! + most
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
    return this.#bytes[at] === QUOTE && !this.#isProtected(at, from)
  }

  #isProtected(at: number, from: number): boolean {
    let run = 0
    while (at - run - 1 >= from && this.#bytes[at - run - 1] === BACKSLASH) run++
    return run % 2 === 1
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

  #pastAnyBlanks(from: number, limit: number): number {
    let at = this.#pastBlanks(from)
    for (;;) {
      const size = this.#bytes[at] === 0xc2 ? 2 : 3
      if (at + size > limit || !UNUSUAL.test(this.#slice(at, at + size).toString('utf8'))) return at
      at = this.#pastBlanks(at + size)
    }
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

  /** Offset of the LF of this line, or the end of input. */
  #lineEnd(from: number): number {
    let at = from
    while (at < this.#end && this.#bytes[at] !== LF) at++
    return at
  }
}

/** A whole channel, as it was and without its escape sequences. */
interface Source {
  readonly original: Buffer
  readonly cleaned: Clean
  readonly channel: Channel
}

/** Cuts become frames in original offsets, and what lies between them becomes text. */
function tile(source: Source, cuts: readonly Cut[], maxFrame: number): CutFrame[] {
  const { cleaned, original, channel } = source
  const frames: CutFrame[] = []
  let covered = 0
  let scanned = 0
  const text = (to: number, cleanTo: number) => {
    if (to <= covered) return
    const blank = isAllBlank(cleaned.bytes.subarray(scanned, cleanTo))
    frames.push({ kind: 'text', channel, from: covered, to, text: '', blank })
  }
  for (const cut of cuts) {
    const from = cleaned.origin[cut.from]!
    const to = cut.end ?? cleaned.origin[cut.to - 1]! + 1
    text(from, cut.from)
    if (cut.kind === 'text' && cut.notes?.includes('THINK_LATE')) {
      const notes: Note[] = [{ code: 'THINK_LATE', message: '', at: from }]
      frames.push({ kind: 'text', channel, from, to, text: '', blank: false, notes })
    } else if (cut.kind === 'text')
      frames.push(...pieces(from, to, maxFrame).map((piece) => ({ ...piece, channel })))
    else frames.push(payloadFrame(source, cut, from, to))
    covered = to
    scanned = cut.to
  }
  text(original.length, cleaned.bytes.length)
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

function payloadFrame(source: Source, cut: Cut, from: number, to: number): CutFrame {
  const { cleaned, channel } = source
  const all = (cut.notes ?? []).map((code): Note => ({ code, message: '' }))
  const lines = (cut.lines ?? []).map((range) => bytesOf(source, range))
  for (const line of lines) {
    const bad = firstInvalid(line.bytes)
    if (bad < 0) continue
    all.push({ code: 'INVALID_UTF8', message: '', at: line.offsets[bad]! })
    break
  }
  const frame: CutFrame = {
    kind: cut.kind,
    channel,
    from,
    to,
    text: lines.map(({ bytes }) => bytes.toString('utf8')).join('\n'),
    ...(cut.label !== undefined && { label: cut.label }),
    ...(cut.open && { open: true }),
    ...(cut.first && { first: true }),
    ...(cut.attached && { attached: true }),
    ...(cut.aside && { aside: true }),
    ...(cut.in_fence && { in_fence: true }),
    ...(cut.broken !== undefined && { broken: cleaned.origin[cut.broken]! }),
    ...(all.length > 0 && { notes: all }),
  }
  const ends = (cut.lines ?? []).map(([, end]) => cleaned.origin[end] ?? source.original.length)
  const bytes = lines.flatMap((line, index) => (index === 0 ? [...line.bytes] : [LF, ...line.bytes]))
  const offsets = lines.flatMap((line, index) =>
    index === 0 ? line.offsets : [ends[index - 1]!, ...line.offsets],
  )
  referencePlaces.set(frame, { bytes: Buffer.from(bytes), offsets })
  return frame
}

/** The bytes of a frame's text, and the offset of each in the channel. */
export const referencePlaces = new WeakMap<CutFrame, { bytes: Buffer; offsets: readonly number[] }>()

/**
 * The bytes of a range and their offsets: on a terminal the clean ones, in a pipe all from the first to the
 * last.
 */
function bytesOf(
  { original, cleaned, channel }: Source,
  [from, to]: Range,
): { bytes: Buffer; offsets: number[] } {
  if (from >= to) return { bytes: Buffer.alloc(0), offsets: [] }
  if (channel === 'pty')
    return { bytes: cleaned.bytes.subarray(from, to), offsets: cleaned.origin.slice(from, to) }
  const start = cleaned.origin[from]!
  const bytes = original.subarray(start, cleaned.origin[to - 1]! + 1)
  return { bytes, offsets: [...bytes.keys()].map((index) => start + index) }
}

/** Whether a line of JSON, blanks and NULs at its end left out, parses. */
function parses(line: Buffer): boolean {
  let end = line.length
  while (end > 0 && (isBlankByte(line[end - 1]) || line[end - 1] === NUL)) end--
  const text = line.subarray(0, end).toString()
  if (!/^["[]/.test(text) && end > MAX_TOKEN) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether a line is an array that begins with a scalar, good or bad, and nothing else. */
function isScalarRecord(line: Buffer): boolean {
  const text = line.toString().replace(/[ \t\r\0]*$/, '')
  const scalar =
    /^\[[ \t\r]*(?:[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[tT]rue|[fF]alse|null|None|'[^']*'|‘[^’]*’|“[^”]*”|`[^`]*`)[ \t\r]*/u.exec(
      text,
    )
  if (!scalar) return false
  const rest = text.slice(scalar[0].length)
  if (/^\]?[ \t\r]*$/.test(rest)) return true
  if (!rest.startsWith(',')) return false
  const behind = text.includes(']') ? text.slice(text.lastIndexOf(']') + 1) : ''
  return !/[\p{L}\p{N}]/u.test(behind.replace(/"[^"]*"|'[^']*'/g, ''))
}

function isStrictJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether a text is JSON, if its line breaks and tabs are blanks. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/[\n\r\t]/g, ' '))
    return true
  } catch {
    return false
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
