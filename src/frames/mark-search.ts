import type { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import {
  APOSTROPHE,
  BACKTICK,
  CR,
  GREATER,
  isBlank,
  isBracket,
  isWordCharacter,
  LESS,
  LF,
  QUOTE,
} from '../text/characters.ts'
import type { Scan } from './scan.ts'

/** What opens or closes something: `<json>`, `<think time="3s">`, `[/THINK]`. */
export interface Mark {
  /** All of it; of a `free` one, what is before its blanks and attributes, in lower case. */
  readonly bytes: Bytes
  /** A tag in any case, which may have attributes. */
  readonly free?: boolean
  /** A closer that is not part of what it ends. */
  readonly excluded?: boolean
  /** Where its rarest bytes begin: they are searched for. @default 0 */
  readonly rare?: number
  /** In quotes or backticks of its own it is a word: it is named, not used. */
  readonly quotable?: boolean
  /** What belongs to its name: `<|message|>` may stand between it and its quotes. */
  readonly rest?: Bytes
}

/** What a search for several marks needs to know of them. */
export interface MarkTable<M extends Mark> {
  /** Those that begin with `<`, and the others. */
  readonly tags: readonly M[]
  readonly others: readonly { readonly mark: M; readonly rare: Bytes }[]
  /** Whether one of them begins with a byte. */
  readonly firsts: Uint8Array
  /** Whether one of them may have these second and third bytes; nearly always this says no. */
  readonly pairs: Uint8Array
  /** The length of the longest mark, without attributes, and of the quotes behind it. */
  readonly longest: number
}

/** Made once for marks that are looked for again: in a short text it would be half of the work. */
export function markTable<M extends Mark>(marks: readonly M[]): MarkTable<M> {
  const tags = marks.filter(({ bytes }) => bytes[0] === LESS)
  const pairs = new Uint8Array(1024)
  for (const { bytes, free } of marks) {
    // Cast: a mark has at least three bytes.
    const [, one, two] = bytes as unknown as [number, number, number]
    pairs[pair(one, two)] = 1
    if (!free) continue
    for (const first of [one, upper(one)])
      for (const second of [two, upper(two)]) pairs[pair(first, second)] = 1
  }
  const firsts = new Uint8Array(256)
  for (const { bytes } of marks) firsts[bytes[0]!] = 1
  return {
    tags,
    firsts,
    others: marks
      .filter(({ bytes }) => bytes[0] !== LESS)
      .map((mark) => ({ mark, rare: mark.bytes.subarray(mark.rare ?? 0) })),
    pairs,
    longest:
      MAX_QUOTES + marks.reduce((most, { bytes, free }) => Math.max(most, bytes.length + (free ? 1 : 0)), 0),
  }
}

/**
 * Finds the next of several marks. Nearly all begin with `<`, and are found in one pass: a native search for
 * each would cost as much as everything else that is done with a log. Positions must not go back, except over
 * what was found.
 */
export class MarkSearch<M extends Mark> {
  /** What was found, and one past it. */
  mark: M | undefined
  to = 0
  readonly #scan: Scan
  readonly #marks: MarkTable<M>
  /** For those that begin with another byte than `<`. */
  readonly #others: readonly { readonly mark: M; readonly search: ByteSearch }[]
  /** Marks that begin with another byte are looked for up to here. */
  #within: number
  /** Where the mark is that was found; or a position before which there is none. */
  #hit = 0
  /** Where a mark begins that ends past the end of the tape. */
  #partial = NOWHERE

  /**
   * `within`: marks that begin with another byte than `<` count only if the first of them begins before this
   * position. Each costs a search of its own, a twentieth of the time for a log without any.
   */
  constructor(scan: Scan, marks: MarkTable<M>, within = NOWHERE) {
    this.#scan = scan
    this.#within = within
    this.#marks = marks
    this.#others = marks.others.map(({ mark, rare }) => ({ mark, search: new ByteSearch(scan.tape, rare) }))
  }

  get longest(): number {
    return this.#marks.longest
  }

  /** The next mark at or after `from`; NOWHERE if none has arrived whole. */
  next(from: number): number {
    if (this.mark && this.#hit >= from) return this.#hit
    this.mark = undefined
    this.#partial = NOWHERE
    const { end } = this.#scan.tape
    // Asked after every frame, nearly always when all was searched already.
    const start = Math.max(from, this.#hit)
    if (start >= end) return NOWHERE
    if (end - start <= MAX_LOOP) return this.#nextInLoop(start, end)
    const tag = this.#nextTag(start)
    if (this.#others.length === 0 || start >= this.#within) return tag
    return this.#nextOther(start, Math.min(tag, this.#partial))
  }

  /** Where part of a mark begins at the end of the tape, or NOWHERE. */
  partial(): number {
    return this.#scan.ended ? NOWHERE : this.#partial
  }

  #nextInLoop(start: number, end: number): number {
    const { view, base } = this.#scan.tape
    const { firsts, pairs } = this.#marks
    for (let index = start - base; index < end - base; index++) {
      if (firsts[view[index]!] === 0) continue
      // As below: nothing may be called for it.
      if (index + 2 < view.length && pairs[pair(view[index + 1]!, view[index + 2]!)] === 0) continue
      const at = index + base
      if (this.#decide(at, this.#markAt(at))) return this.mark ? at : NOWHERE
    }
    this.#hit = end
    return NOWHERE
  }

  /** Whether the search ends at a position where a mark ends at `to`, or where not all of one has arrived. */
  #decide(at: number, to: number): boolean {
    if (to === 0 || (to < 0 && this.#scan.ended)) return false
    if (to < 0) {
      this.mark = undefined
      this.#partial = at
    } else {
      this.#partial = NOWHERE
      if (this.#scan.byte(at) !== LESS) this.#within = NOWHERE
    }
    this.#hit = at
    return true
  }

  #nextTag(start: number): number {
    const { view, base, end } = this.#scan.tape
    const { tags, pairs } = this.#marks
    const from = tags.length > 0 ? start : end
    for (let index = view.indexOf(LESS, from - base); index >= 0; index = view.indexOf(LESS, index + 1)) {
      // In a log this is asked for every tag of HTML: nothing may be called for it.
      if (index + 2 < view.length && pairs[pair(view[index + 1]!, view[index + 2]!)] === 0) continue
      const at = index + base
      if (this.#decide(at, this.#markAt(at))) return this.mark ? at : NOWHERE
    }
    this.#hit = end
    return NOWHERE
  }

  /** One past the mark that begins at a position; 0 if there is none, -1 if not all of it has arrived. */
  #markAt(at: number): number {
    const { view, base } = this.#scan.tape
    const index = at - base
    if (view[index] !== LESS) return at < this.#within ? this.#otherAt(at) : 0
    const isShort = index + 2 >= view.length
    let found = 0
    for (const mark of this.#marks.tags) {
      // Nearly always this is enough.
      if (!isShort && lower(view[index + 2]!) !== lower(mark.bytes[2]!)) continue
      const to = this.#endOf(mark, at)
      if (to > 0) return to
      if (to < 0) found = -1
    }
    return found
  }

  #otherAt(at: number): number {
    for (const { mark } of this.#others) {
      const to = this.#endOf(mark, at)
      if (to !== 0) return to
    }
    return 0
  }

  /** As above, for one mark. */
  #endOf(mark: M, at: number): number {
    const { view, base } = this.#scan.tape
    const size = sizeAt(view, at - base, mark)
    if (size <= 0) return size
    const to = mark.quotable ? this.#unlessNamed(mark, at, at + size) : at + size
    if (to > 0) {
      this.mark = mark
      this.to = to
    }
    return to
  }

  /** Whatever was found is at `before`. Marks that begin with another byte than `<` may precede it. */
  #nextOther(start: number, before: number): number {
    const { view, base, end } = this.#scan.tape
    let first = before
    for (const { mark, search } of this.#others) {
      const rare = mark.rare ?? 0
      for (let hit = search.next(start + rare); hit - rare < first; hit = search.next(hit + 1))
        if (hit - rare < this.#within && this.#decide(hit - rare, this.#endOf(mark, hit - rare)))
          first = hit - rare
    }
    // The part of one that is at the end of the tape has not all of its rare bytes.
    const last = Math.max(start, end - this.#marks.longest)
    for (let at = last; at < Math.min(first, end); at++)
      if (this.#marks.firsts[view[at - base]!] === 1 && this.#decide(at, this.#markAt(at))) first = at
    return this.mark ? first : NOWHERE
  }

  //  The mark `</think>` ends it.        <think> run `x`</think>`{"a":1}`        ```</think>```json
  //            ^ named                               other code ^  ^ other code     ^ a fence ^ another
  /** `to`; 0 if the mark is in quotes or backticks of its own, -1 if that is not known yet. */
  #unlessNamed({ rest }: M, at: number, to: number): number {
    const scan = this.#scan
    const quote = scan.head.byteBefore(at)
    if (quote !== BACKTICK && quote !== QUOTE && quote !== APOSTROPHE) return to
    const { view, base } = scan.tape
    const size = rest ? sizeAt(view, to - base, { bytes: rest }) : 0
    if (size < 0) return scan.ended ? to : -1
    const from = to + size
    let behind = from
    while (behind < from + MAX_QUOTES - 1 && scan.byte(behind) === quote) behind++
    const next = scan.byte(behind)
    if (next === undefined && !scan.ended) return -1
    if (behind === from) return to
    // Behind the quote that ends a mention comes no value, and no language of a fence.
    const isFence = behind - from === MAX_FENCE && (next === LF || next === CR || isWordCharacter(next ?? 0))
    return isBracket(next) || (quote === BACKTICK && isFence) ? to : 0
  }
}

function pair(one: number, two: number): number {
  return (one * 31 + two) & 1023
}

/** How many bytes the mark at `index` has; 0 if it is not there, -1 if not all of it has arrived. */
function sizeAt(view: Bytes, index: number, { bytes, free }: Mark): number {
  const end = Math.min(view.length, index + bytes.length)
  for (let at = index; at < end; at++) {
    const byte = view[at]!
    if ((free ? lower(byte) : byte) !== bytes[at - index]) return 0
  }
  if (index + bytes.length > view.length) return -1
  return free ? tagSize(view, index, index + bytes.length) : bytes.length
}

//  <think time="3s">
//        ^ from
/** The size of a tag, with its attributes. Nothing in them may open anything else. */
function tagSize(view: Bytes, index: number, from: number): number {
  if (view[from] === GREATER) return from + 1 - index
  if (from < view.length && !isBlank(view[from])) return 0
  for (let at = from; at < Math.min(view.length, from + MAX_ATTRIBUTES); at++) {
    const byte = view[at]!
    if (byte === GREATER) return at + 1 - index
    if (byte === LF || NOT_IN_TAG.has(byte)) return 0
  }
  return view.length < from + MAX_ATTRIBUTES ? -1 : 0
}

const MAX_ATTRIBUTES = 200
/** The marks of a fence, and one byte behind them. */
const MAX_FENCE = 3
const MAX_QUOTES = MAX_FENCE + 1
/** Up to here a loop over the bytes is faster than native searches, each of which has to be called. */
const MAX_LOOP = 256
/** `<`, `{`, `[`, a backtick and a tilde. */
const NOT_IN_TAG: ReadonlySet<number> = new Set([LESS, 0x7b, 0x5b, BACKTICK, 0x7e])

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
}

function upper(byte: number): number {
  return byte >= 0x61 && byte <= 0x7a ? byte & 0xdf : byte
}
