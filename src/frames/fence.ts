import { BACKTICK, isBlank, LF, SPACE } from '../json/characters.ts'
import { type Container, type FenceHit, openings } from './fence-opening.ts'
import { Needle } from './needle.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

/** CommonMark fenced blocks. */
export interface FenceMachine {
  /** The next line that opens a fence, at or after `from`; its position is that of its first mark. */
  next(from: number): FenceHit
  /** Where one or two marks stand at the very end of the tape, to which more may come. */
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

/**
 *     > ```json
 *     > {"a":1}        the body, without its `> `
 *     > ```
 *       ^ at least as long as the opener, nothing behind it
 */
export function fenceMachine(scan: Scan): FenceMachine {
  const { tape } = scan
  const lf = new Needle(tape, '\n')
  const backticks = openings(scan, '```')
  const tildes = openings(scan, '~~~')
  let opener: Opener = { quotes: 0, indent: 0, from: 0, mark: 0, length: 0, info: '', body: 0 }
  let body = bodyLines(0)

  const fence: Inside = {
    keep() {
      return opener.from
    },
    look() {
      const limit = scan.limit(opener.from)
      const closer = findCloser(Math.min(limit, tape.end), scan.ended && tape.end < limit)
      if (closer) {
        cut(closer.from, closer.to, false)
        return true
      }
      if (tape.end < limit) return false
      scan.enter(tooLong(scan, 'fenced block', opener.from, skip))
      return true
    },
    finish() {
      cut(tape.end, tape.end, true)
    },
  }

  function skip() {
    const closer = findCloser(tape.end, scan.ended)
    if (closer) return { done: true, at: closer.to }
    // What a closer is judged by: its own line so far, or the indentation before its marks.
    return { done: false, at: Math.max(opener.from, body.midLine ? body.at - opener.indent - 4 : body.line) }
  }

  /** How far the search for the closer has come; made anew for each block. */
  function bodyLines(line: number) {
    return { line, at: line, midLine: false, stage: 'quote' as LineStage, quotes: 0, spaces: 0, marks: 0 }
  }

  function startLine(line: number): void {
    body = bodyLines(line)
    if (opener.quotes === 0) body.stage = 'indent'
  }

  /** The line that ends the block: `from` is where the body ends, `to` where prose goes on. */
  function findCloser(bound: number, ended: boolean): { from: number; to: number } | undefined {
    for (;;) {
      if (body.midLine) {
        const line = nextLine(bound)
        if (line === undefined) return undefined
        startLine(line)
      }
      const verdict = judgeLine(bound, ended)
      if (verdict === 'wait') return undefined
      if (verdict === 'outside') return { from: body.line, to: body.line }
      if (verdict === 'closes') return { from: body.line, to: body.at }
      body.midLine = true
    }
  }

  /** The next line worth a look. Without quote marks, those are only the lines that begin with a fence mark. */
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
    const textTo = bodyEnd > textFrom && scan.byte(bodyEnd - 1) === LF ? bodyEnd - 1 : bodyEnd
    const plain = opener.quotes === 0 && opener.indent === 0
    const text = plain ? scan.decode(textFrom, textTo) : unindented(textFrom, textTo)
    scan.cut({ kind: 'fence', from, to, text, textFrom, textTo, label: info || undefined, open })
  }

  /** The body with quote marks and indentation taken from each line. */
  function unindented(from: number, to: number): string {
    const lines: string[] = []
    for (let line = from; line <= to; ) {
      const found = tape.view.indexOf(LF, line - tape.base)
      const end = found < 0 ? to : Math.min(to, found + tape.base)
      let at = afterQuotes(line, end)
      for (let spaces = 0; spaces < opener.indent && at < end && scan.byte(at) === SPACE; spaces++) at++
      lines.push(scan.decode(at, end))
      line = end + 1
    }
    return lines.join('\n')
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
      const info = runEnd === lineEnd ? '' : scan.decode(runEnd, lineEnd).trim()
      const bodyFrom = Math.min(lineEnd + 1, tape.end)
      opener = { quotes, indent, from, mark, length: runEnd - from, info, body: bodyFrom }
      startLine(opener.body)
      scan.enter(fence)
      scan.opened?.('fence', from, bodyFrom, info)
    },
  }
}

type LineStage = 'quote' | 'gap' | 'indent' | 'marks' | 'blanks'

const GREATER = 0x3e
