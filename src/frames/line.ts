import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CR,
  isBracket,
  isProtected,
  NUL,
  QUOTE,
  SPACE,
  TAB,
} from '../json/characters.ts'
import { Needle } from './needle.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

/**
 * A line that begins with `{` or `[`. It is a record if it also ends like one.
 *
 *     {"type":"turn.started"}\r\n
 *     ^ from                 ^ last    ^ lf
 *
 * `giveUp` is called for a line that is none: its bytes are scanned once more, for objects.
 */
export function lineMachine(
  scan: Scan,
  objects: boolean,
  giveUp: (lineEnd: number) => void,
): (from: number) => void {
  const lf = new Needle(scan.tape, '\n')
  let from = 0
  const line: Inside = {
    keep() {
      return from
    },
    look() {
      const end = lf.next(from)
      const limit = scan.limit(from)
      if (end < limit) settle(end, end + 1)
      else if (scan.tape.end >= limit) scan.enter(tooLong(scan, 'line', from, findLineEnd))
      else return false
      return true
    },
    finish() {
      const { end } = scan.tape
      if (endsLikeRecord(end) && isClosed(end)) cut(end, end, false)
      else if (objects) giveUp(end)
      else cut(end, end, true)
    },
  }

  function settle(end: number, to: number): void {
    if (endsLikeRecord(end)) cut(end, to, false)
    else giveUp(end)
  }

  function endsLikeRecord(end: number): boolean {
    let last = end - 1
    for (;;) {
      const byte = scan.byte(last)
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return true
      if (last <= from || (byte !== SPACE && byte !== CR && byte !== TAB && byte !== NUL)) return false
      last--
    }
  }

  /**
   * Without its LF, a line may have been cut right behind an inner closer: `{"a":[1]`. Asked once, at the end of
   * input, so a byte loop will do.
   */
  function isClosed(end: number): boolean {
    const { view, base } = scan.tape
    let depth = 0
    let inString = false
    for (let at = from - base; at < end - base; at++) {
      const byte = view[at]
      if (byte === QUOTE && !isProtected(view, at, from - base)) inString = !inString
      else if (!inString && isBracket(byte)) depth++
      else if (!inString && (byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) depth--
    }
    return !inString && depth <= 0
  }

  function cut(end: number, to: number, open: boolean): void {
    const textTo = to > end && scan.byte(end - 1) === CR ? end - 1 : end
    scan.cut({ kind: 'line', from, to, text: scan.decode(from, textTo), textFrom: from, textTo, open })
    // Record after record is the common case: no search is needed to find the next one.
    if (to > end && isBracket(scan.byte(to))) enter(to)
  }

  function findLineEnd(seek: number) {
    const end = lf.next(seek)
    return end < scan.tape.end ? { done: true, at: end + 1 } : { done: false, at: scan.tape.end }
  }

  function enter(position: number): void {
    from = position
    scan.enter(line)
    scan.opened?.('line', from, from + 1)
  }

  return enter
}
