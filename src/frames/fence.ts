import { ByteBalance } from '../json/byte-balance.ts'
import { BACKTICK, isBlank, isBracket, LF, SPACE } from '../text/characters.ts'
import { Needle } from '../text/needle.ts'
import { type Container, type FenceHit, openings } from './fence-opening.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

/** CommonMark fenced blocks. */
export interface FenceMachine {
  /** The next line that opens a fence, at or after `from`, positioned at its first mark. */
  next(from: number): FenceHit
  /** Position of one or two marks at the very end of the tape, which may become a fence. */
  partial(): number
  /** Begins the block at a decided hit. */
  open(from: number): void
}

interface Opener extends Container {
  readonly from: number
  readonly mark: number
  readonly length: number
  readonly info: string
  /** Where the body begins; the end of the tape if the opener's line has no LF. */
  readonly body: number
}

/** A line that ends the block: the body ends at `from`, prose continues at `to`. */
interface Closer {
  readonly from: number
  readonly to: number
  /** It is the line after a block whose lines all carry quote marks. */
  readonly outside: boolean
}

/** A search for a later closer, because the first one is inside a JSON string of the body. */
interface Stretch {
  readonly first: Closer
  tries: number
}

/** Maximum distance between the opener of a stretched fence and its closer. */
const MAX_STRETCH = 65_536
/** Maximum number of bodies to parse before the first closer is used. */
const MAX_TRIES = 8

/**
 *     > ```json
 *     > {"a":1}        the body, without its `> `
 *     > ```
 *       ^ at least as long as the opener, nothing after it
 *
 * A string of the body may contain such a line, with its line breaks written raw. Then a later closer ends
 * the block, if the body up to it parses once those breaks are replaced by blanks. A search that failed is
 * not repeated for a fence in the range that it covered, so each byte is scanned twice at most.
 */
export function fenceMachine(scan: Scan): FenceMachine {
  const { tape } = scan
  const lf = new Needle(tape, '\n')
  const backticks = openings(scan, '```')
  const tildes = openings(scan, '~~~')
  let opener: Opener = { quotes: 0, indent: 0, from: 0, mark: 0, length: 0, info: '', body: 0 }
  let body = bodyLines(0)
  let stretch: Stretch | undefined
  /** Brackets and strings of the body, counted up to a position. */
  const balance = new ByteBalance()
  let counted = 0
  /** A fence before this offset of the channel is not stretched. */
  let searchedTo = 0

  const fence: Inside = {
    keep() {
      return opener.from
    },
    look() {
      if (stretch) return lookFurther(stretch)
      const limit = scan.limit(opener.from)
      const closer = findCloser(Math.min(limit, tape.end), scan.ended && tape.end < limit)
      if (closer) {
        stretch = stretchAfter(closer)
        if (stretch) return lookFurther(stretch)
        cut(closer.from, closer.to, false)
        return true
      }
      if (tape.end < limit) return false
      scan.enter(tooLong(scan, 'fenced block', opener.from, skip))
      return true
    },
    finish() {
      if (stretch) endAtFirst(stretch)
      else cut(tape.end, tape.end, true)
    },
  }

  /** A stretch if the body is JSON that is inside a string at this closer. */
  function stretchAfter(first: Closer): Stretch | undefined {
    if (first.outside || tape.origin(opener.from) < searchedTo || !isBracket(firstOfBody(first.from)))
      return undefined
    balance.reset(0)
    counted = opener.body
    countTo(first.from)
    if (!balance.inString) return undefined
    startLine(first.to)
    return { first, tries: 0 }
  }

  function firstOfBody(end: number): number | undefined {
    for (let line = opener.body; line < end; ) {
      const found = tape.view.indexOf(LF, line - tape.base) + tape.base
      let at = afterQuotes(line, found)
      while (at < found && isBlank(scan.byte(at))) at++
      if (at < found) return scan.byte(at)
      line = found + 1
    }
    return undefined
  }

  function countTo(position: number): void {
    const { view, base } = tape
    while (counted < position) counted = balance.walk(view, base, counted, position, opener.body, false)
  }

  function lookFurther(found: Stretch): boolean {
    const reach = Math.min(scan.limit(opener.from), tape.positionOf(tape.origin(opener.from) + MAX_STRETCH))
    for (;;) {
      const closer = findCloser(Math.min(reach, tape.end), scan.ended && tape.end < reach)
      if (!closer && tape.end < reach) return false
      if (!closer || closer.outside || found.tries === MAX_TRIES) break
      countTo(closer.from)
      if (!balance.inString && balance.depth <= 0) {
        found.tries++
        if (isJson(bodyText(closer.from, true))) {
          cut(closer.from, closer.to, false)
          return true
        }
      }
      startLine(closer.to)
    }
    endAtFirst(found)
    return true
  }

  /** No later closer works. Prose scans again what was searched after the first one. */
  function endAtFirst({ first }: Stretch): void {
    searchedTo = tape.origin(opener.from) + MAX_STRETCH
    cut(first.from, first.to, false)
    for (const needle of [lf, backticks.needle, tildes.needle]) needle.reset(first.to)
  }

  function skip() {
    const closer = findCloser(tape.end, scan.ended)
    if (closer) return { done: true, at: closer.to }
    // A closer is recognized by its own line so far, or by the indentation before its marks.
    return { done: false, at: Math.max(opener.from, body.midLine ? body.at - opener.indent - 4 : body.line) }
  }

  /** Progress of the search for the closer; new for each block. */
  function bodyLines(line: number) {
    return { line, at: line, midLine: false, stage: 'quote' as LineStage, quotes: 0, spaces: 0, marks: 0 }
  }

  function startLine(line: number): void {
    body = bodyLines(line)
    if (opener.quotes === 0) body.stage = 'indent'
  }

  /** The line that ends the block: `from` is where the body ends, `to` where prose continues. */
  function findCloser(bound: number, ended: boolean): Closer | undefined {
    for (;;) {
      if (body.midLine) {
        const line = nextLine(bound)
        if (line === undefined) return undefined
        startLine(line)
      }
      const verdict = judgeLine(bound, ended)
      if (verdict === 'wait') return undefined
      if (verdict === 'outside') return { from: body.line, to: body.line, outside: true }
      if (verdict === 'closes') return { from: body.line, to: body.at, outside: false }
      body.midLine = true
    }
  }

  /**
   * The next line that may close the block. Without quote marks, only lines that begin with a fence mark can.
   */
  function nextLine(bound: number): number | undefined {
    if (opener.quotes > 0) {
      const end = lf.next(body.at)
      if (end < bound) return end + 1
      body.at = Math.max(body.at, bound)
      return undefined
    }
    const { needle } = opener.mark === BACKTICK ? backticks : tildes
    for (;;) {
      const hit = needle.next(body.at)
      if (hit >= bound) {
        body.at = Math.max(body.at, bound - needle.length + 1)
        return undefined
      }
      let line = hit
      while (hit - line < opener.indent + 3 && scan.byte(line - 1) === SPACE) line--
      if (scan.byte(line - 1) === LF) return line
      body.at = hit + 1
    }
  }

  //  > > ```   LF
  //  ^^^^        quote, gap (one optional space)
  //      ^       indent
  //      ^^^     marks
  //         ^^^  blanks
  function judgeLine(bound: number, ended: boolean): 'closes' | 'outside' | 'no' | 'wait' {
    for (; body.at < bound; body.at++) {
      const byte = scan.byte(body.at) as number
      if (body.stage === 'quote') {
        if (byte === SPACE && body.spaces < 3) body.spaces++
        else if (byte === GREATER) {
          body.quotes++
          body.spaces = 0
          body.stage = 'gap'
        } else if (body.quotes === 0) return 'outside'
        else body.stage = 'indent'
        if (body.stage !== 'indent') continue
      }
      if (body.stage === 'gap') {
        body.stage = body.quotes < opener.quotes ? 'quote' : 'indent'
        if (byte === SPACE) continue
        if (body.stage === 'quote') {
          body.at--
          continue
        }
      }
      if (body.stage === 'indent') {
        if (byte === SPACE) {
          if (++body.spaces > opener.indent + 3) return 'no'
          continue
        }
        if (byte !== opener.mark) return 'no'
        body.stage = 'marks'
      }
      if (body.stage === 'marks') {
        if (byte === opener.mark) {
          body.marks++
          continue
        }
        if (body.marks < opener.length) return 'no'
        body.stage = 'blanks'
      }
      if (byte === LF) {
        body.at++
        return 'closes'
      }
      if (!isBlank(byte)) return 'no'
    }
    if (!ended) return 'wait'
    if (body.stage === 'blanks' || (body.stage === 'marks' && body.marks >= opener.length)) return 'closes'
    return body.stage === 'quote' && body.quotes === 0 && body.at > body.line ? 'outside' : 'wait'
  }

  function cut(bodyEnd: number, to: number, open: boolean): void {
    const { from, info } = opener
    const textFrom = Math.min(opener.body, bodyEnd)
    const textTo = beforeLf(textFrom, bodyEnd)
    const lines = isPlain() ? undefined : contents(textFrom, textTo)
    const text = bodyText(bodyEnd, false)
    stretch = undefined
    scan.cut({ kind: 'fence', from, to, text, textFrom, textTo, lines, label: info || undefined, open })
  }

  /**
   * The body up to `bodyEnd`, without quote marks and indentation; with `clean`, also without escape
   * sequences.
   */
  function bodyText(bodyEnd: number, clean: boolean): string {
    const from = Math.min(opener.body, bodyEnd)
    const to = beforeLf(from, bodyEnd)
    if (isPlain()) return clean ? scan.decodeClean(from, to) : scan.decode(from, to)
    const ranges = contents(from, to)
    const lines: string[] = []
    for (let index = 0; index < ranges.length; index += 2) {
      const start = ranges[index]!
      const end = ranges[index + 1]!
      lines.push(clean ? scan.decodeClean(start, end) : scan.decode(start, end))
    }
    return lines.join('\n')
  }

  /** The last LF of a body belongs to its closer. */
  function beforeLf(from: number, bodyEnd: number): number {
    return bodyEnd > from && scan.byte(bodyEnd - 1) === LF ? bodyEnd - 1 : bodyEnd
  }

  function isPlain(): boolean {
    return opener.quotes === 0 && opener.indent === 0
  }

  /** The ranges of the body's lines, as alternating starts and ends, without quote marks and indentation. */
  function contents(from: number, to: number): number[] {
    const ranges: number[] = []
    for (let line = from; line <= to; ) {
      const found = tape.view.indexOf(LF, line - tape.base)
      const end = found < 0 ? to : Math.min(to, found + tape.base)
      let at = afterQuotes(line, end)
      for (let spaces = 0; spaces < opener.indent && at < end && scan.byte(at) === SPACE; spaces++) at++
      ranges.push(at, end)
      line = end + 1
    }
    return ranges
  }

  /** Where the content of a body line begins, after its `>` marks. */
  function afterQuotes(line: number, end: number): number {
    let at = line
    for (let quote = 0; quote < opener.quotes; quote++) {
      let mark = at
      while (mark < end && mark - at < 3 && scan.byte(mark) === SPACE) mark++
      if (mark >= end || scan.byte(mark) !== GREATER) return at
      at = mark + 1
      if (at < end && scan.byte(at) === SPACE) at++
    }
    return at
  }

  return {
    next(from) {
      const backtick = backticks.next(from)
      const tilde = tildes.next(from)
      return backtick.at < tilde.at ? backtick : tilde
    },
    partial: () => Math.min(backticks.needle.partial(), tildes.needle.partial()),
    open(from) {
      const { mark, container, runEnd, lineEnd } = (scan.byte(from) === BACKTICK ? backticks : tildes).at(
        from,
      )
      const { quotes, indent } = container
      const info = runEnd === lineEnd ? '' : scan.decodeClean(runEnd, lineEnd).trim()
      const bodyFrom = Math.min(lineEnd + 1, tape.end)
      opener = { quotes, indent, from, mark, length: runEnd - from, info, body: bodyFrom }
      stretch = undefined
      startLine(opener.body)
      scan.enter(fence)
      scan.opened?.('fence', from, bodyFrom, info)
    },
  }
}

/** Whether a text is JSON if line breaks and tabs in its strings are allowed. Called for 64 KiB at most. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/[\n\r\t]/g, ' '))
    return true
  } catch {
    return false
  }
}

type LineStage = 'quote' | 'gap' | 'indent' | 'marks' | 'blanks'

const GREATER = 0x3e
