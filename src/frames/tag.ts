import {
  BACKTICK,
  isBlank,
  isProtected,
  LESS,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  TILDE,
} from '../text/characters.ts'
import { Needle } from '../text/needle.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

/** One kind of tag: its opener is a needle of prose, `open` begins a block there. */
export interface TagMachine {
  readonly opener: Needle
  open(from: number): void
}

/**
 * The block of one tag.
 *
 *     text <json>{"a":"</json>"}</json> text
 *          ^ from     ^ in a string    ^ the end
 *
 * Whether a closer or an opener is in a string follows from the parity of the quotes before it on its line,
 * and is checked only for lines that have one: a body without tags costs two native searches.
 */
export function tagMachine(scan: Scan, name: string, needsPayload: boolean): TagMachine {
  const { tape } = scan
  const lf = new Needle(tape, '\n')
  const opener = new Needle(tape, `<${name}>`)
  const closer = new Needle(tape, `</${name}>`)
  let block = newBlock(0)

  function newBlock(from: number) {
    return {
      from,
      body: from + opener.length,
      /** Closers and openers before this position were handled. */
      seek: from + opener.length,
      /** With `needsPayload`: a payload is known to follow the opener. */
      judged: !needsPayload,
      /** Quotes before this position were counted; it is always on the line of `seek`, or before it. */
      counted: from + opener.length,
      inString: false,
      /** The first in-string closer of the block, and of the current line; -1 for none. */
      firstCloser: -1,
      lineCloser: -1,
    }
  }

  const tag: Inside = {
    keep() {
      return block.from
    },
    look() {
      const limit = scan.limit(block.from)
      const bound = Math.min(limit, tape.end)
      if (!block.judged) {
        const opens = followedByPayload(bound)
        if (opens === false) {
          scan.leave(block.body)
          return true
        }
        block.judged = opens === true
        if (!block.judged) return outgrown(limit)
      }
      for (;;) {
        const close = closer.next(block.seek)
        const open = opener.next(block.seek)
        const hit = Math.min(close, open)
        const fits = hit + (hit === close ? closer.length : opener.length) <= bound
        if (settleLine(fits ? hit : bound)) return true
        if (!fits) return outgrown(limit)
        countTo(hit)
        if (hit === close) {
          if (!block.inString) {
            cut(block.from, close)
            return true
          }
          noteCloser(close)
          block.seek = close + closer.length
        } else {
          if (!block.inString) {
            if (block.firstCloser >= 0) endAt(block.firstCloser)
            else scan.leave(open)
            return true
          }
          block.seek = open + opener.length
        }
      }
    },
    finish() {
      if (block.firstCloser >= 0) endAt(block.firstCloser)
      else if (block.judged && opensLikeJson()) {
        const { end } = tape
        scan.cut({
          kind: 'tag',
          from: block.from,
          to: end,
          text: scan.decode(block.body, end),
          textFrom: block.body,
          textTo: end,
          label: name,
          open: true,
        })
      } else if (scan.rereadTag) scan.leave(tape.end)
      else {
        // Read again as prose, but only once: `"<json>` on every line would cause one pass per line.
        scan.rereadTag = true
        goBackTo(block.body)
        scan.leave(block.body)
      }
    },
  }

  /** True if the block is over because it is too long; false to wait for more. */
  function outgrown(limit: number): boolean {
    if (tape.end < limit) return false
    if (block.firstCloser >= 0) endAt(block.firstCloser)
    else {
      // A closer or opener that crosses the limit was not checked yet.
      const from = Math.max(block.body, limit - closer.length + 1)
      opener.reset(from)
      closer.reset(from)
      scan.enter(tooLong(scan, `<${name}> block`, block.from, (seek) => skip(Math.max(seek, from))))
    }
    return true
  }

  /** Too long: to the next closer, or to the next opener, strings or not. */
  function skip(from: number) {
    const close = closer.next(from)
    const open = opener.next(from)
    if (close < open) return { done: true, at: close + closer.length }
    if (open < close) return { done: true, at: open }
    return { done: false, at: Math.max(from, tape.end - closer.length + 1) }
  }

  /** If a line with an in-string closer ends before `to` inside a string, that closer was the end. */
  function settleLine(to: number): boolean {
    if (block.lineCloser < 0) return false
    const end = lf.next(block.lineCloser)
    if (end >= to) return false
    countTo(end)
    if (block.inString) {
      endAt(block.lineCloser)
      return true
    }
    block.lineCloser = -1
    return false
  }

  function noteCloser(at: number): void {
    if (block.firstCloser < 0) block.firstCloser = at
    if (block.lineCloser < 0) block.lineCloser = at
  }

  /** Moves the string state to `position`. */
  function countTo(position: number): void {
    const { view, base } = tape
    const lineEnd = view.subarray(block.counted - base, position - base).lastIndexOf(LF)
    if (lineEnd >= 0) {
      block.counted += lineEnd + 1
      block.inString = false
    }
    const to = position - base
    const floor = block.body - base
    for (let at = block.counted - base; at < to; at++) {
      if (view[at] === QUOTE && !isProtected(view, at, floor)) block.inString = !block.inString
    }
    block.counted = position
  }

  /**
   * Ends the block at an in-string closer; if a retry broke off inside a string, at the retry's own opener.
   */
  function endAt(close: number): void {
    cut(lastOpener(close), close)
    goBackTo(scan.position)
  }

  /**
   * The last opener before `close`. All but the block's own are in strings: any other would have restarted
   * it.
   */
  function lastOpener(close: number): number {
    for (let at = close; ; ) {
      at = opener.last(at, block.body)
      if (at < 0) return block.from
      if (!needsPayload || beginsPayload(at + opener.length, close) === true) return at
    }
  }

  /** What was searched after this position is searched again, by another block or by prose. */
  function goBackTo(position: number): void {
    for (const needle of [opener, closer, lf]) needle.reset(position)
  }

  function cut(from: number, close: number): void {
    const textFrom = from + opener.length
    const text = scan.decode(textFrom, close)
    scan.cut({ kind: 'tag', from, to: close + closer.length, text, textFrom, textTo: close, label: name })
  }

  function followedByPayload(bound: number): boolean | undefined {
    while (block.seek < bound && isBlank(scan.byte(block.seek))) block.seek++
    return beginsPayload(block.seek, bound)
  }

  /** Whether `{`, `[`, `<` or a fence follows, blanks skipped; undefined if that is not known yet. */
  function beginsPayload(from: number, bound: number): boolean | undefined {
    let at = from
    while (at < bound && isBlank(scan.byte(at))) at++
    if (at >= bound) return undefined
    const byte = scan.byte(at)
    if (byte !== BACKTICK && byte !== TILDE)
      return byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === LESS
    for (const next of [at + 1, at + 2]) {
      if (next >= bound) return undefined
      if (scan.byte(next) !== byte) return false
    }
    return true
  }

  function opensLikeJson(): boolean {
    let at = block.body
    while (isBlank(scan.byte(at))) at++
    return scan.byte(at) === OPEN_BRACE || scan.byte(at) === OPEN_BRACKET
  }

  return {
    opener,
    open(from) {
      block = newBlock(from)
      scan.enter(tag)
      scan.opened?.('tag', from, block.body)
    },
  }
}
