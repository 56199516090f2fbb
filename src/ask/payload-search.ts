import type { Frame } from '../frames/frame.ts'
import { openingScan } from '../frames/frames.ts'
import { opensInProse } from '../frames/opening-bracket.ts'
import type { Inside, Scan } from '../frames/scan.ts'
import { beginsWithKey, isMember } from '../frames/within.ts'
import {
  BACKTICK,
  GREATER,
  isBlank,
  isBracket,
  isHighSurrogate,
  LESS,
  LF,
  OPEN_BRACE,
  TILDE,
} from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import { hasQuotedKey, isInside, isPayloadFence } from '../values/candidates.ts'
import { isLateThought } from '../values/last-resort.ts'
import { GrowingValue } from './growing-value.ts'

export interface SearchOptions {
  readonly tag: string | undefined
  readonly lines: boolean
  readonly root: 'object' | 'any'
  /** A schema will check the value: more counts as the beginning of one. */
  readonly loose: boolean
  /** Whether a complete value passes: another one may replace what does not. */
  readonly passes: (value: unknown) => boolean
  readonly maxDepth: number
}

/** An open tag block or fence, and the search in its body. */
interface Body {
  readonly inside: Inside | undefined
  /** What the scanner read behind the opener, to be sure of it, is still to be searched. */
  isNew: boolean
  /** Created at its first non-blank: a scanner is not cheap, and a fence often has no payload. */
  search: PayloadSearch | undefined
  /** It counts only if it begins with a bracket. */
  readonly needsBracket: boolean
  /** What follows its value and may close it. */
  held: string
  /** Number of its bytes that are not blank, up to a few; those before `seen` are counted. */
  begun: number
  seen: number
}

/**
 * Finds the first payload in growing text, and reads it. The frame scanner finds what opens, so a snapshot
 * comes from the same place as the final value, and think blocks hide the same text. The bodies of tag blocks
 * and fences are searched as separate texts, as in the ladder.
 *
 * It holds what the scanner holds: a few bytes, or a think block that is not closed yet.
 */
export class PayloadSearch {
  readonly #options: SearchOptions
  readonly #inBody: boolean
  readonly #scanner: ReturnType<typeof openingScan>
  readonly #scan: Scan
  readonly #tape: Tape
  /** The character before the `>` of a tag. */
  readonly #tagEnd: number
  /** The value to show; and whether it is certain to be the payload, not prose. */
  #value: GrowingValue | undefined
  #settled = false
  /** An opened bracket that may still be prose. */
  #vague: GrowingValue | undefined
  #body: Body | undefined
  /** The start of the text. */
  #start = ''
  /** Text that the scanner has not seen: the value in a block. */
  #unfed = ''
  /** Where the value begins in the channel, if it is in prose. */
  #from = -1
  /** It counts less than any other: only one of its kind does not replace it. */
  #isInFence = false
  /** The last bracket was no value: what looks like its inside is none. */
  #isBroken = false
  /** What gave way to the block that is open. */
  #outranked: GrowingValue | undefined
  #isEnded = false
  /** The last complete value that was checked, and whether it passed. */
  #checked: GrowingValue | undefined
  #passes = true
  /** The current line has a fence mark, or a tag that may matter at its end. */
  #marked = false
  /** The first half of a surrogate pair at the end of the previous text. */
  #half = ''
  /** The text that the scanner is reading, and where it begins on the tape and in the channel. */
  #step = ''
  #stepOnTape = 0
  #stepInChannel = 0
  #channelEnd = 0
  /** A position in that text, in bytes and in units: requested positions never go back. */
  #atByte = 0
  #atUnit = 0

  constructor(options: SearchOptions, rules = rulesFor(options), inBody = false) {
    this.#options = options
    this.#inBody = inBody
    this.#scanner = openingScan(
      rules,
      (kind, from, at, label) => this.#opened(kind, from, at, label),
      (frame) => this.#cut(frame),
    )
    this.#scan = this.#scanner.scan
    this.#tape = this.#scan.tape
    this.#tagEnd = rules.tags?.[0]?.charCodeAt(rules.tags[0].length - 1) ?? -1
  }

  /** Returns the value, if it has begun. One that fails stays failed: the ladder may repair it later. */
  push(piece: string): GrowingValue | undefined {
    const all = this.#half + piece
    this.#half = isHighSurrogate(all.charCodeAt(all.length - 1)) ? all.slice(-1) : ''
    const text = this.#half === '' ? all : all.slice(0, -1)
    if (this.#start.length < MAX_START) this.#start += text.slice(0, MAX_START - this.#start.length)
    for (let at = 0; at < text.length && !this.#isOver(); ) {
      let from = at
      if (this.#settled && this.#isGrowing()) {
        at = this.#value!.push(text, at)
        // Its last bracket is for the scanner: what follows may show that it was none.
        if (this.#value!.done()) at--
        this.#passOver(text.slice(from, at))
        if (this.#value && !this.#value.done()) break
        from = at
      }
      at = this.#stepEnd(text, at)
      this.#take(text.slice(from, at))
    }
    return this.#value
  }

  /**
   * A scanner sees nothing of a value that grows, unless it may be a citation. In a block it comes when the
   * value is complete.
   */
  #passOver(text: string): void {
    if (this.#body) {
      this.#unfed += text
      this.#body.search!.#passOver(text)
      if (this.#value!.done()) this.#feed(this.#unfed)
    } else if (Array.isArray(this.#value!.root)) this.#feed(text)
    if (this.#value?.done()) this.#scan.inside?.skipToEnd?.()
  }

  #isGrowing(): boolean {
    return this.#value !== undefined && !this.#value.done() && !this.#value.failed()
  }

  /** Nothing that follows can change what is shown. */
  #isOver(): boolean {
    return this.#settled && (this.#value?.failed() === true || (this.#options.lines && !this.#isGrowing()))
  }

  //  {"k":1}},"m":2}    f(x, {"k":1})    {"k":0}⏎</think>⏎{"k":1}
  //         ^ broken         ^ a piece           ^ what is before it was a thought
  #cut(frame: Frame): void {
    if (this.#isOver()) return
    if (frame.kind === 'tag' || frame.kind === 'fence') {
      this.#blockCut(frame)
      return
    }
    const isLate = isLateThought(frame)
    const isBroken = frame.broken !== undefined
    // Something follows, so that an empty object is prose, and so is an array of scalars.
    const isProse =
      frame.aside || this.#isPart(frame) || (!this.#isEnded && !opensInProse(frame.text, this.#options.loose))
    // What begins a block is no prose.
    const isUnwanted = this.#options.root === 'object' && frame.text[0] === '['
    const isDocument = this.#inBody && frame.first === true && (isProse || isUnwanted)
    const isOurs = frame.from === this.#from
    this.#isBroken = isProse || !isOurs || this.#value?.done() !== true
    if (isOurs && frame.in_fence) {
      this.#settled = false
      this.#isInFence = true
    }
    if (!isLate && !isDocument && !(isOurs && (isBroken || isProse))) return
    this.#value = undefined
    this.#vague = undefined
    if (isLate) this.#body = undefined
    this.#settled = isBroken || isDocument
  }

  //  "[1]" is what I want      {x {"a": 1}
  /** Whether it is a part of a string, or may be of something broken. */
  #isPart({ kind, text, from, attached }: Frame): boolean {
    if (kind !== 'object' || this.#isEnded) return false
    if (attached && this.#isBroken) return true
    return !hasQuotedKey(text) && isInside(this.#scan.head.before(this.#tape.positionOf(from)))
  }

  /**
   * A block is complete. Some are read only now: the lines of one in a quotation begin with quote marks, and
   * one of another language, or without any, counts if the whole of it is a document.
   */
  #blockCut({ kind, label, text, from }: Frame): void {
    const isBlock = kind === 'tag' || isPayloadFence(label, text)
    if (this.#body?.isNew && this.#isPayload(this.#body)) this.#searchBody(this.#body, text)
    const body = this.#body
    this.#body = undefined
    if (body?.search) {
      this.#from = isBlock ? -1 : from
      // One that begins with a bracket and gave no value may be repaired at the end.
      const isBroken = isBlock && isBracket(text.trimStart().charCodeAt(0))
      if (this.#settled || isBroken) this.#value = body.search.#ended()
      this.#settled = isBroken || (this.#settled && this.#value !== undefined)
      if (!this.#settled) this.#giveUp()
    } else if (!body && this.#yields(isBlock)) {
      const search = this.#searchIn()
      search.push(text)
      const found = search.#ended()
      if (!found?.done()) return
      this.#value = found
      this.#settled = true
      this.#from = isBlock ? -1 : from
    }
  }

  /** The value, after the end of the text. */
  #ended(): GrowingValue | undefined {
    this.#isEnded = true
    this.#scanner.end()
    return this.#value
  }

  /** Whether what was found gives way to a block, or to an object in prose. */
  #yields(isBlock: boolean): boolean {
    if (!this.#settled) return true
    if (this.#inBody || !this.#value?.done()) return false
    return (isBlock && this.#from >= 0) || !this.#holds()
  }

  /** The value, if it is complete and passes. */
  settled(): GrowingValue | undefined {
    return this.#holds() ? this.#value : undefined
  }

  #holds(): boolean {
    const value = this.#value
    if (!value?.done()) return false
    if (this.#checked !== value) this.#passes = this.#options.passes(value.root)
    this.#checked = value
    return this.#passes
  }

  //  Sure: a > b\n```json\n{"a":1}\n```\n
  //  ^^^^^^^^^^^^^^^^^^^^^^ ^^^^^^^^^^^^^^  a step each
  //
  /**
   * However the text is split, the result must be the same. Tags open and close at a `>`, fences at the end
   * of a line with a fence mark, so the text is processed in steps that end there, and a body sees each of
   * them before the scanner does. At the beginning of a body steps are one character long, and the scanner
   * sees them first: it may find out after any of the first three bytes that it is not a body.
   */
  #stepEnd(text: string, from: number): number {
    const end = text.length
    const isBehind = this.#body !== undefined && this.#settled && !this.#isGrowing()
    const isBegun = !this.#body || (this.#body.begun === BEGUN && !this.#body.isNew) || isBehind
    const most = Math.min(end, from + (isBegun ? MAX_STEP : 1))
    let at = from
    while (at < most) {
      const unit = text.charCodeAt(at)
      // What may close the body is not part of it.
      if (isBehind && at > from && (unit === LESS || unit === BACKTICK || unit === TILDE)) return at
      at++
      if (unit === LF) {
        if (this.#marked) {
          this.#marked = false
          return at
        }
      } else if (unit === BACKTICK || unit === TILDE) this.#marked = true
      else if (unit === GREATER && (at - 1 === from || text.charCodeAt(at - 2) === this.#tagEnd)) {
        this.#marked = true
        return at
      }
    }
    return at < end && isHighSurrogate(text.charCodeAt(at - 1)) ? at + 1 : at
  }

  #take(text: string): void {
    if (this.#vague) {
      this.#vague.push(text, 0)
      this.#vague = this.#judged(this.#vague)
    }
    const body = this.#body
    // After its value, a body sees nothing of what closes it.
    const isFirst = !this.#settled && body?.begun === BEGUN
    if (body && isFirst) this.#searchBody(body, text)
    this.#unfed += text
    if (this.#body && this.#settled && this.#isGrowing()) return
    this.#feed(this.#unfed)
    if (body && body === this.#body && !isFirst && this.#isPayload(body)) this.#takeInBody(body, text)
  }

  /** What may close it is for the body only if it did not: then its line, or its tag, goes on. */
  #takeInBody(body: Body, text: string): void {
    if (!this.#settled || this.#isGrowing() || !CLOSER.test(body.held + text)) this.#searchBody(body, text)
    else {
      body.held += text
      if (!/[\n>]/.test(body.held)) return
      this.#searchBody(body, body.held)
      body.held = ''
    }
  }

  /** The block may have been cut in the step in which it was opened: otherwise this was the start of it. */
  #takeStart(body: Body): void {
    const to = Math.max(body.seen, this.#stepOnTape)
    const text = this.#scan.decode(body.seen, to) + this.#restOfStep(to)
    const isPayload = text !== '' && this.#isPayload(body)
    for (let at = 0; isPayload && at < text.length && body === this.#body; ) {
      const from = at
      at = this.#stepEnd(text, at)
      this.#takeInBody(body, text.slice(from, at))
    }
    body.isNew = false
  }

  #feed(text: string): void {
    const bytes = Buffer.from(text)
    this.#unfed = ''
    this.#step = text
    this.#stepOnTape = this.#tape.end
    this.#stepInChannel = this.#channelEnd
    this.#channelEnd += bytes.length
    this.#atByte = 0
    this.#atUnit = 0
    this.#scanner.write(bytes)
    if (this.#body && this.#scan.inside !== this.#body.inside && !this.#isOver()) this.#giveUp()
    if (this.#body?.isNew) this.#takeStart(this.#body)
  }

  /** The value again, if it is still not certain that it is one. */
  #judged(found: GrowingValue): GrowingValue | undefined {
    if (!found.begun()) return found.failed() ? undefined : found
    this.#value = found
    // An empty object counts if it is the whole input. Before something else it is prose.
    this.#settled = this.#inBody || !(found.done() && found.isEmpty())
    return undefined
  }

  /** Checks the first characters of a body. False if it does not count, or is blank so far. */
  #isPayload(open: Body): boolean {
    for (; open.seen < this.#tape.end && open.begun < BEGUN; open.seen++) {
      const byte = this.#scan.byte(open.seen)
      if (isBlank(byte)) continue
      if (open.begun++ > 0 || !open.needsBracket || isBracket(byte)) continue
      this.#giveUp()
      return false
    }
    return open.begun > 0
  }

  /** The open block was not one: what gave way to it counts again. */
  #giveUp(): void {
    if (this.#settled || this.#outranked) this.#value = this.#outranked
    this.#settled = this.#outranked !== undefined
    this.#body = undefined
  }

  #searchBody(open: Body, text: string): void {
    open.search ??= this.#searchIn()
    const found = open.search.push(text)
    if (found || this.#settled || open.search.#settled) this.#value = found
    this.#settled = open.search.#settled
  }

  /** A search in the body of a block. */
  #searchIn(): PayloadSearch {
    const { root, loose } = this.#options
    return new PayloadSearch(this.#options, { ...BODY, loose, document: root }, true)
  }

  #opened(kind: string, from: number, at: number, label = ''): void {
    const scan = this.#scan
    const { root, loose } = this.#options
    if (this.#body) {
      // The scanner has not cut it: it was no block, and its content is prose.
      this.#giveUp()
    }
    // A block counts more than an object in prose.
    const isBare = kind === 'fence' && label === ''
    const isBlock = kind === 'tag' || isBare || isPayloadFence(label, '')
    if (!this.#yields(isBlock)) return
    if (kind === 'object' || kind === 'line') {
      if (kind === 'object' && (beginsWithKey(this.#start) || isMember(scan.head.before(from)))) return
      if (this.#isInFence && this.#holds() && scan.isInFence(kind, from)) return
      if (root === 'any' || scan.byte(from) === OPEN_BRACE) this.#begin(from, at)
      return
    }
    if (!isBlock && (this.#settled || !loose)) return
    if (kind === 'fence' && scan.head.prefix(from)?.includes('>')) return
    const body: Body = {
      inside: scan.inside,
      isNew: true,
      search: undefined,
      needsBracket: isBare || !isBlock,
      held: '',
      begun: 0,
      seen: at,
    }
    this.#body = body
    this.#outranked = this.#settled ? this.#value : undefined
    this.#settled = false
  }

  /** Reads a value from its bracket on; what the scanner read to recognize it is on the tape. */
  #begin(from: number, at: number): void {
    const scan = this.#scan
    const found = new GrowingValue(this.#options.maxDepth)
    this.#from = this.#tape.origin(from)
    this.#isInFence = false
    const to = Math.max(at, this.#stepOnTape)
    for (let seen = from, size = 64; seen < to && !found.failed(); size *= 2) {
      let end = Math.min(to, seen + size)
      // Not inside a character.
      while (end < to && ((scan.byte(end) ?? 0) & 0xc0) === 0x80) end++
      found.push(scan.decode(seen, end), 0)
      seen = end
    }
    if (!found.failed()) found.push(this.#restOfStep(to), 0)
    this.#vague = this.#judged(found)
  }

  /** The text of the step from a position on the tape, as it came: the tape has no escape sequences. */
  #restOfStep(from: number): string {
    return this.#step.slice(this.#unitsBefore(this.#tape.origin(from) - this.#stepInChannel))
  }

  /** Number of units in the first `bytes` bytes of the step. */
  #unitsBefore(bytes: number): number {
    if (this.#channelEnd - this.#stepInChannel === this.#step.length) return bytes
    while (this.#atByte < bytes) {
      const unit = this.#step.codePointAt(this.#atUnit)!
      this.#atUnit += unit > 0xffff ? 2 : 1
      this.#atByte += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4
    }
    return this.#atUnit
  }
}

type Rules = Parameters<typeof openingScan>[0]

function rulesFor({ tag, lines, root, loose }: SearchOptions): Rules {
  const anywhere = tag === undefined && !lines
  return {
    tags: tag !== undefined ? [tag] : anywhere ? ['json'] : [],
    fences: anywhere,
    lines,
    objects: anywhere,
    think: !lines,
    needsPayload: anywhere,
    loose: anywhere && loose,
    document: anywhere && root,
    readFences: anywhere && (loose ? 'any' : root),
  }
}

/** Rules for searching the body of a block. */
const BODY = { tags: [], fences: true, lines: false, objects: true, think: true }
/** Number of bytes that decide whether it is a body: the length of a fence mark. */
const BEGUN = 3
/** Longer lines are read in parts: the scanner must not read far into a payload that is found. */
const MAX_STEP = 4096
/** The first character of what may close a block. */
const CLOSER = /^[<`~]/
/** A key at the start of the text is not longer. */
const MAX_START = 300
