import { openingScan } from '../frames/frames.ts'
import type { Inside, Scan } from '../frames/scan.ts'
import {
  APOSTROPHE,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  GREATER,
  isBlank,
  isBracket,
  isDigit,
  isHighSurrogate,
  LF,
  MINUS,
  OPEN_BRACE,
  QUOTE,
  TILDE,
} from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import { isPayloadFence } from '../values/candidates.ts'
import { GrowingValue } from './growing-value.ts'

export interface SearchOptions {
  readonly tag: string | undefined
  readonly lines: boolean
  readonly root: 'object' | 'any'
  /** A schema will check the value: more counts as the beginning of one. */
  readonly loose: boolean
  readonly maxDepth: number
}

/** An open tag block or fence, and the search in its body. */
interface Body {
  readonly inside: Inside | undefined
  /** Created at its first non-blank: a scanner is not cheap, and a fence often has no payload. */
  search: PayloadSearch | undefined
  /** It counts only if it begins with a bracket. */
  readonly needsBracket: boolean
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
  /** The search in a body that has found the payload. */
  #inner: PayloadSearch | undefined
  /** What was found after the closed value. */
  #following: 'value' | 'separator' | 'broken' | 'other' = 'value'
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
    this.#scanner = openingScan(rules, (kind, from, at, label) => this.#opened(kind, from, at, label))
    this.#scan = this.#scanner.scan
    this.#tape = this.#scan.tape
    this.#tagEnd = rules.tags?.[0]?.charCodeAt(rules.tags[0].length - 1) ?? -1
  }

  /** Returns the value, if it has begun. One that fails stays failed: the ladder may repair it later. */
  push(piece: string): GrowingValue | undefined {
    if (this.#settled) return this.#readOn(piece, 0)
    const text = this.#half + piece
    this.#half = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : ''
    const end = text.length - this.#half.length
    let at = 0
    while (at < end && !this.#settled) {
      const from = at
      at = this.#stepEnd(text, at, end)
      this.#take(text.slice(from, at))
    }
    return this.#settled ? this.#readOn(text, at) : this.#value
  }

  /** The payload is found: the rest of the text belongs to it, or is checked as what follows it. */
  #readOn(text: string, at: number): GrowingValue | undefined {
    if (this.#inner) return this.#inner.push(text.slice(at))
    this.#read(this.#value!, text, at)
    return this.#following === 'broken' ? undefined : this.#value
  }

  #read(found: GrowingValue, text: string, from: number): void {
    const end = found.push(text, from)
    if (found.done() && !this.#options.lines) this.#checkWhatFollows(text, end)
  }

  //  {"k":1}},"m":2}    {"k":1} , "m":2}    {"k":1}, as asked
  //         ^ broken            ^ broken           ^ not
  //
  /** A closed value before more JSON is part of a broken payload, so it is not shown any more. */
  #checkWhatFollows(text: string, from: number): void {
    for (let at = from; at < text.length; at++) {
      if (this.#following === 'broken' || this.#following === 'other') return
      const unit = text.charCodeAt(at)
      if (isBlank(unit)) continue
      if (this.#following === 'separator') this.#following = mayContinue(unit) ? 'broken' : 'other'
      else if (unit === COMMA || unit === COLON) this.#following = 'separator'
      else this.#following = unit === CLOSE_BRACE || unit === CLOSE_BRACKET ? 'broken' : 'other'
    }
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
  #stepEnd(text: string, from: number, end: number): number {
    const most = Math.min(end, from + (this.#body && this.#body.begun < BEGUN ? 1 : MAX_STEP))
    let at = from
    while (at < most) {
      const unit = text.charCodeAt(at++)
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
      this.#read(this.#vague, text, 0)
      this.#vague = this.#judged(this.#vague)
    }
    const before = this.#body
    if (before && before.begun === BEGUN) this.#searchBody(before, text)
    if (this.#settled) return
    const bytes = Buffer.from(text)
    this.#step = text
    this.#stepOnTape = this.#tape.end
    this.#stepInChannel = this.#channelEnd
    this.#channelEnd += bytes.length
    this.#atByte = 0
    this.#atUnit = 0
    this.#scanner.write(bytes)
    if (this.#body && this.#scan.inside !== this.#body.inside) this.#body = undefined
    const body = this.#body
    if (body && body === before && body.begun < BEGUN && this.#isPayload(body)) this.#searchBody(body, text)
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
      this.#body = undefined
      return false
    }
    return open.begun > 0
  }

  #searchBody(open: Body, text: string): void {
    const { root, loose } = this.#options
    open.search ??= new PayloadSearch(this.#options, { ...BODY, loose, document: root }, true)
    this.#value = open.search.push(text) ?? this.#value
    this.#settled = open.search.#settled
    if (this.#settled) this.#inner = open.search
  }

  #opened(kind: string, from: number, at: number, label = ''): void {
    const scan = this.#scan
    const { root, loose } = this.#options
    if (this.#settled) return
    if (kind === 'object' || kind === 'line') {
      if (root === 'any' || scan.byte(from) === OPEN_BRACE) this.#begin(from, at)
      return
    }
    const payload = kind === 'tag' || isPayloadFence(label, '')
    if (!payload && label !== '' && !loose) return
    // In a quotation each line of the body has quote marks, which can only be removed from the whole block.
    if (scan.head.prefix(from)?.includes('>')) return
    const body = { inside: scan.inside, search: undefined, needsBracket: !payload, begun: 0, seen: at }
    this.#body = body
    const to = Math.max(at, this.#stepOnTape)
    if (at < this.#tape.end && this.#isPayload(body))
      this.#searchBody(body, scan.decode(at, to) + this.#restOfStep(to))
  }

  /** Reads a value from its bracket on; what the scanner read to recognize it is on the tape. */
  #begin(from: number, at: number): void {
    const scan = this.#scan
    const found = new GrowingValue(this.#options.maxDepth)
    this.#following = 'value'
    const to = Math.max(at, this.#stepOnTape)
    for (let seen = from, size = 64; seen < to && !found.failed(); size *= 2) {
      let end = Math.min(to, seen + size)
      while (end < to && isContinuation(scan.byte(end))) end++
      this.#read(found, scan.decode(seen, end), 0)
      seen = end
    }
    if (!found.failed()) this.#read(found, this.#restOfStep(to), 0)
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

/** Whether a value, or a quoted key, may begin with this. */
function mayContinue(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || isBracket(unit) || isDigit(unit) || unit === MINUS
}

/** A byte inside a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
