import { Bytes } from '../base/platform.ts'
import {
  APOSTROPHE,
  BACKTICK,
  bomAt,
  COLON,
  COMMA,
  classTable,
  EQUALS,
  GREATER,
  isBlank,
  isWordCharacter,
  LF,
  MINUS,
  NUL,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from '../text/characters.ts'
import { LastBytes } from '../text/last-bytes.ts'
import type { Tape } from '../text/tape.ts'
import { MAX_BEFORE } from './within.ts'

/** What precedes a fence or an object on its line, as far as it matters for the lines of its body. */
export interface Container {
  /** How many `>` each body line carries. */
  readonly quotes: number
  /** Columns from the last `>` to the fence: that many spaces are removed from each body line. */
  readonly indent: number
}

export const AT_COLUMN_0: Container = { quotes: 0, indent: 0 }

/** Maximum length of a fence prefix; a longer one is prose. */
export const MAX_PREFIX = 64

/**
 * Tells what is between the start of a line and a position in it, looking back only over bytes that can
 * matter. Of bytes that the tape has dropped, only a few facts are kept.
 */
export class LineHead {
  /** Whether `hasBacktick` will be asked. */
  seesBackticks = false
  /** Whether `before` will be asked. */
  keepsBefore = false
  readonly #tape: Tape
  /** The facts below are about the bytes before this position. */
  #known = 0
  #bare = true
  #blank = true
  #nul = false
  #backtick = false
  #prefix: string | undefined = ''
  /** The last four bytes that are not blank, the last one lowest. */
  #tail = 0
  /** The last byte, blank or not. */
  #before: number | undefined
  readonly #past = new LastBytes(MAX_BEFORE)

  constructor(tape: Tape) {
    this.#tape = tape
  }

  /** True if only NULs and BOMs are before `position` on its line: a record may begin here. */
  bare(position: number): boolean {
    return this.#walk(position, isNul, this.#bare)
  }

  /** True if a NUL is before `position` on its line, which is blank up to there. */
  nul(position: number): boolean {
    const { view, base } = this.#tape
    for (let at = position; at > this.#known; at--) {
      const byte = view[at - 1 - base]
      if (byte === LF) return false
      if (byte === NUL) return true
    }
    return this.#nul
  }

  /** True if only blanks, NULs and BOMs are before `position` on its line. */
  blank(position: number): boolean {
    return this.#walk(position, isBlankOrNul, this.#blank)
  }

  /** True if a backtick is before `position` on its line. */
  hasBacktick(position: number): boolean {
    const { view, base } = this.#tape
    for (let at = position - 1 - base; at >= this.#known - base; at--) {
      const byte = view[at]
      if (byte === LF || byte === BACKTICK) return byte === BACKTICK
    }
    return this.#backtick
  }

  /** What is before `position` on its line, if it is short and could precede a fence, or is `//`. */
  prefix(position: number): string | undefined {
    const { view, base } = this.#tape
    let at = position
    while (at > this.#known && position - at <= MAX_PREFIX) {
      const byte = view[at - 1 - base]
      if (byte === LF) return this.#slice(at, position, '')
      if (!mayBeInPrefix(byte)) return undefined
      at--
    }
    return at > this.#known || this.#prefix === undefined
      ? undefined
      : this.#slice(at, position, this.#prefix)
  }

  /** The quote and list marks before `position`, if only such marks are before it on its line. */
  container(position: number): Container | undefined {
    const prefix = this.prefix(position)
    return prefix === undefined ? undefined : readPrefix(prefix)
  }

  /** True if only `//` is before `position` on its line. */
  isComment(position: number): boolean {
    return /^[ \t]*\/\/[ \t]*$/.test(this.prefix(position) ?? '')
  }

  /**
   * True if what precedes `position` looks like the inside of a larger document: `[`, `{`, `,`, or a colon
   * (or a sign that is read as a colon) after a quote. Blanks and line breaks are ignored.
   */
  attached(position: number): boolean {
    const tail = this.#tailAt(position)
    const colon = sizeOfColon(tail)
    const last = (tail >>> (8 * colon)) & 0xff
    if (colon > 0) return last === QUOTE || last === APOSTROPHE || last === BACKTICK
    return last === OPEN_BRACKET || last === OPEN_BRACE || last === COMMA
  }

  /** True if the last byte before `position` that is not blank may be inside a call, a tag, a row or code. */
  mayBeInside(position: number): boolean {
    return MAY_PRECEDE_PIECE[this.#tailAt(position) & 0xff] === 1
  }

  /** True if an equals sign, and maybe blanks, precede `position`. */
  isAssigned(position: number): boolean {
    return (this.#tailAt(position) & 0xff) === EQUALS
  }

  /** True if a colon or an equals sign, and maybe blanks, precede `position`. */
  isAfterColon(position: number): boolean {
    const tail = this.#tailAt(position)
    return sizeOfColon(tail) > 0 && (tail & 0xff) !== GREATER
  }

  /** The last 512 bytes before `position`, as Latin-1. */
  before(position: number): string {
    const { view, base } = this.#tape
    const from = Math.max(this.#known, position - MAX_BEFORE)
    const past = this.#past.text('latin1', MAX_BEFORE - (position - from))
    return past + view.toString('latin1', from - base, position - base)
  }

  /** The byte right before `position`, blank or not; undefined at the start of the input. */
  byteBefore(position: number): number | undefined {
    const { view, base } = this.#tape
    return position > this.#known ? view[position - 1 - base] : this.#before
  }

  /** True if a word of ASCII ends right before `position`: other scripts may have no blanks between words. */
  isGlued(position: number): boolean {
    const byte = this.byteBefore(position)
    return byte !== undefined && byte < 0x80 && byte !== MINUS && isWordCharacter(byte)
  }

  /** True if the last character before `position` that is not blank is a quote. */
  quoted(position: number): boolean {
    const last = this.#tailAt(position) & 0xff
    return last === QUOTE || last === APOSTROPHE || (last >= 0x98 && last <= 0x9f)
  }

  /** Stores the facts about the line at `position`, because the bytes before it are about to be dropped. */
  remember(position: number): void {
    if (position <= this.#known) return
    const { view, base } = this.#tape
    const before = view[position - 1 - base]
    const tail = this.#tailAt(position)
    // Nearly always: whole lines are dropped.
    const isStart = before === LF
    if (this.keepsBefore) this.#past.add(view, this.#known - base, position - base)
    const bare = isStart || this.bare(position)
    const blank = isStart || this.blank(position)
    this.#nul = !isStart && blank && this.nul(position)
    if (this.seesBackticks) this.#backtick = !isStart && this.#hasNewBacktick(position)
    this.#prefix = isStart ? '' : this.prefix(position)
    this.#bare = bare
    this.#blank = blank
    this.#tail = tail
    this.#before = before
    this.#known = position
  }

  /** Whole lines up to `position` were skipped: the facts about the start of a line hold there, too. */
  skip(position: number): void {
    this.#before = LF
    this.#known = position
  }

  /** A native search, because a line may go on for many chunks; small ones are faster in a loop. */
  #hasNewBacktick(position: number): boolean {
    if (position - this.#known < 64) return this.hasBacktick(position)
    const { view, base } = this.#tape
    const head = view.subarray(this.#known - base, position - base)
    const line = head.lastIndexOf(LF)
    return head.subarray(line + 1).includes(BACKTICK) || (this.#backtick && line < 0)
  }

  #tailAt(position: number): number {
    const { view, base } = this.#tape
    let tail = 0
    let shift = 0
    for (let at = position; at > this.#known && shift < 32; at--) {
      const byte = view[at - 1 - base]!
      if (isBlank(byte)) continue
      tail |= byte << shift
      shift += 8
    }
    return shift === 32 ? tail : tail | (this.#tail << shift)
  }

  #walk(position: number, passes: (byte: number | undefined) => boolean, before: boolean): boolean {
    const { view, base } = this.#tape
    let at = position
    while (at > this.#known) {
      const byte = view[at - 1 - base]
      if (byte === LF) return true
      if (passes(byte)) at--
      else if (byte === BOM_END && at - 3 >= this.#known && bomAt(view, at - 3 - base) === 3) at -= 3
      else return false
    }
    return before
  }

  #slice(from: number, to: number, before: string): string | undefined {
    const { view, base } = this.#tape
    const prefix = before + view.toString('latin1', from - base, to - base)
    return prefix.length <= MAX_PREFIX ? prefix : undefined
  }
}

/** How many bytes at the end of a text are a colon, or one of `=`, `=>` and `：`, as its last four say. */
function sizeOfColon(tail: number): number {
  const last = tail & 0xff
  if (last === COLON || last === EQUALS) return 1
  if ((tail & 0xffff) === ((EQUALS << 8) | GREATER)) return 2
  return (tail & 0xffffff) === WIDE_COLON_BYTES ? 3 : 0
}

const MAY_PRECEDE_PIECE = /* @__PURE__ */ classTable([1, '({,=[:>|"\''])
/** U+FF1A in UTF-8. */
const WIDE_COLON_BYTES = 0xefbc9a

function isNul(byte: number | undefined): boolean {
  return byte === NUL
}

function isBlankOrNul(byte: number | undefined): boolean {
  return byte === NUL || isBlank(byte)
}

/** The last byte of a BOM. */
const BOM_END = 0xbf

/** Spaces, tabs, `>`, list markers (`-`, `*`, `+`, `1.`, `1)`), `//` and the bytes of a BOM. */
function mayBeInPrefix(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return PREFIX_BYTES[byte] === 1
}

const PREFIX_BYTES = new Uint8Array(256)
for (const byte of Bytes.from(' \t>-*+0123456789.)/\ufeff')) PREFIX_BYTES[byte] = 1

/** The bytes of a BOM, as `prefix` has them. */
const BOM = '\u00ef\u00bb\u00bf'

/** Reads what precedes a fence; undefined if no fence can follow it. The prefix has at most 64 characters. */
function readPrefix(prefix: string): Container | undefined {
  if (prefix === '') return AT_COLUMN_0
  const text = prefix.startsWith(BOM) ? prefix.slice(3) : prefix
  let quotes = 0
  let indent = 0
  let at = 0
  for (;;) {
    const marker = /^ {0,3}(?:(>) ?|(?:[-*+]|\d{1,9}[.)])[ \t]+)/.exec(text.slice(at))
    if (!marker) break
    at += marker[0].length
    if (marker[1]) {
      quotes++
      indent = 0
    } else indent += marker[0].length
  }
  const rest = text.slice(at)
  return /^ {0,3}$/.test(rest) ? { quotes, indent: indent + rest.length } : undefined
}

/** Where a quoted line's content begins, after its `>` marks; the start of the line if it has none. */
export function afterQuotes({ view, base }: Tape, line: number, end: number, quotes: number): number {
  let at = line
  for (let quote = 0; quote < quotes; quote++) {
    let mark = at
    while (mark < Math.min(end, at + 3) && view[mark - base] === SPACE) mark++
    if (mark >= end || view[mark - base] !== GREATER) return at
    at = mark + 1
    if (at < end && view[at - base] === SPACE) at++
  }
  return at
}

/** The ranges of the lines of a body, as alternating starts and ends, without quote marks and indentation. */
export function withoutQuotes(tape: Tape, from: number, to: number, { quotes, indent }: Container): number[] {
  const { view, base } = tape
  const ranges: number[] = []
  for (let line = from; line <= to; ) {
    const found = view.indexOf(LF, line - base)
    const end = found < 0 ? to : Math.min(to, found + base)
    let at = afterQuotes(tape, line, end, quotes)
    for (let spaces = 0; spaces < indent && at < end && view[at - base] === SPACE; spaces++) at++
    ranges.push(at, end)
    line = end + 1
  }
  return ranges
}
