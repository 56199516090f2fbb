import type { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { APOSTROPHE, BACKTICK, GREATER, isBlank, LESS, LF, QUOTE } from '../text/characters.ts'
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
}

/** What a search for several marks needs to know of them. */
export interface MarkTable<M extends Mark> {
  /** Those that begin with `<`, and the others. */
  readonly tags: readonly M[]
  readonly others: readonly { readonly mark: M; readonly rare: Bytes }[]
  /** Whether one of them may begin with `<` and two more bytes; nearly always this says no. */
  readonly pairs: Uint8Array
  /** The length of the longest mark, without attributes. */
  readonly longest: number
}

/** Made once for marks that are looked for again: in a short text it would be half of the work. */
export function markTable<M extends Mark>(marks: readonly M[]): MarkTable<M> {
  const tags = marks.filter(({ bytes }) => bytes[0] === LESS)
  const pairs = new Uint8Array(1024)
  for (const { bytes, free } of tags) {
    // Cast: a mark has at least three bytes.
    const [, one, two] = bytes as unknown as [number, number, number]
    pairs[pair(one, two)] = 1
    if (!free) continue
    for (const first of [one, upper(one)])
      for (const second of [two, upper(two)]) pairs[pair(first, second)] = 1
  }
  return {
    tags,
    others: marks
      .filter(({ bytes }) => bytes[0] !== LESS)
      .map((mark) => ({ mark, rare: mark.bytes.subarray(mark.rare ?? 0) })),
    pairs,
    longest: marks.reduce((most, { bytes, free }) => Math.max(most, bytes.length + (free ? 1 : 0)), 0),
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
  readonly #others: readonly { readonly mark: M; readonly search: ByteSearch; readonly whole: ByteSearch }[]
  /** Marks that begin with another byte are looked for up to here. */
  #within: number
  /** Where the mark is that was found; or the last `<` that may begin one: nothing before it is a tag. */
  #hit = 0
  /** The bytes of a mark that ends behind the tape begin here. */
  #partial = NOWHERE

  /**
   * `within`: marks that begin with another byte than `<` count only if the first of them begins before this
   * position. Each costs a search of its own, a twentieth of the time for a log without any.
   */
  constructor(scan: Scan, marks: MarkTable<M>, within = NOWHERE) {
    this.#scan = scan
    this.#within = within
    this.#marks = marks
    this.#others = marks.others.map(({ mark, rare }) => ({
      mark,
      search: new ByteSearch(scan.tape, rare),
      whole: new ByteSearch(scan.tape, mark.bytes),
    }))
  }

  get longest(): number {
    return this.#marks.longest
  }

  /** The next mark at or after `from`; NOWHERE if none has arrived whole. */
  next(from: number): number {
    if (this.mark && this.#hit >= from) return this.#hit
    this.mark = undefined
    this.#partial = NOWHERE
    const tag = this.#marks.tags.length > 0 ? this.#nextTag(from) : NOWHERE
    const other = this.#others.length > 0 && from < this.#within ? this.#nextOther(from, tag) : NOWHERE
    return Math.min(tag, other)
  }

  /** Where the part of a mark begins that is at the end of the tape; NOWHERE if there is none. */
  partial(): number {
    if (this.#scan.ended) return NOWHERE
    let at = this.#partial
    if (this.#scan.tape.end - this.#marks.longest >= this.#within) return at
    for (const { whole } of this.#others) at = Math.min(at, whole.partial())
    return at === this.#scan.tape.end ? NOWHERE : at
  }

  #nextTag(from: number): number {
    const { view, base, end } = this.#scan.tape
    let at = Math.max(from, this.#hit)
    for (;;) {
      // Asked after every frame, nearly always when all was searched already.
      const index = at < end ? view.indexOf(LESS, at - base) : -1
      if (index < 0) {
        this.#hit = end
        return NOWHERE
      }
      at = index + base
      const isShort = index + 2 >= view.length
      if (isShort || this.#marks.pairs[pair(view[index + 1]!, view[index + 2]!)] === 1) {
        const to = this.#tagAt(at)
        if (to > 0 || (to < 0 && !this.#scan.ended)) {
          this.#hit = at
          if (to > 0) return at
          this.mark = undefined
          this.#partial = at
          return NOWHERE
        }
      }
      at++
    }
  }

  /** One past the tag that begins at a position; 0 if there is none, -1 if not all of it has arrived. */
  #tagAt(at: number): number {
    const { view, base } = this.#scan.tape
    const index = at - base
    let found = 0
    for (const mark of this.#marks.tags) {
      const { bytes } = mark
      // Nearly always this is enough.
      if (index + 2 < view.length && lower(view[index + 2]!) !== lower(bytes[2]!)) continue
      const size = sizeAt(view, index, mark)
      const to = size > 0 && mark.quotable ? this.#unlessNamed(at, at + size) : size > 0 ? at + size : size
      if (to > 0) {
        this.mark = mark
        this.to = to
        return to
      }
      if (to < 0) found = -1
    }
    return found
  }

  #nextOther(from: number, before: number): number {
    let first = before
    const { view, base } = this.#scan.tape
    for (const { mark, search } of this.#others) {
      const rare = mark.rare ?? 0
      for (let hit = search.next(from + rare); hit - rare < first; hit = search.next(hit + 1)) {
        const at = hit - rare
        if (at >= this.#within) break
        if (at < base || sizeAt(view, at - base, mark) <= 0) continue
        const past = at + mark.bytes.length
        const to = mark.quotable ? this.#unlessNamed(at, past) : past
        if (to === 0) continue
        first = at
        if (to > 0) this.#within = NOWHERE
        this.mark = to > 0 ? mark : undefined
        this.#partial = to > 0 ? NOWHERE : at
        this.#hit = at
        this.to = to
      }
    }
    if (first === before) return NOWHERE
    return this.mark ? first : NOWHERE
  }

  /** `to`; 0 if the mark is in quotes or backticks, -1 if that is not known yet. */
  #unlessNamed(at: number, to: number): number {
    const quote = this.#scan.head.byteBefore(at)
    if (quote !== BACKTICK && quote !== QUOTE && quote !== APOSTROPHE) return to
    const next = this.#scan.byte(to)
    if (next === undefined && !this.#scan.ended) return -1
    return next === quote ? 0 : to
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
/** `<`, `{`, `[`, a backtick and a tilde. */
const NOT_IN_TAG: ReadonlySet<number> = new Set([LESS, 0x7b, 0x5b, BACKTICK, 0x7e])

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
}

function upper(byte: number): number {
  return byte >= 0x61 && byte <= 0x7a ? byte & 0xdf : byte
}
