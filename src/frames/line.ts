import { ByteBalance } from '../json/byte-balance.ts'
import {
  beginsLiteral,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CR,
  DOT,
  isBracket,
  isDigit,
  isWordCharacter,
  MINUS,
  NUL,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
} from '../text/characters.ts'
import { Needle } from '../text/needle.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

interface LineOptions {
  /** Objects are cut, too: a line that does not end like a record may begin an object of several lines. */
  readonly objects: boolean
  /** Every line that is not blank is a frame. */
  readonly everyLine: boolean
}

/** `json`: begins like a record, so it is one, valid or not. `maybe`: a record if it parses. */
type Shape = 'json' | 'maybe' | 'none'

/** A number or literal is never longer than this. */
const MAX_TOKEN = 4096

/**
 * A line whose first byte is one that JSON may begin with.
 *
 *     {"type":"turn.started"}\r\n      a record, whatever else it holds
 *     ^ from                 ^ last    ^ lf
 *     [1,2]\n   "text"\n   12\n        if they parse
 *     [INFO] x\n                       none
 *
 * `giveUp` is called for a line that is not a record: its bytes are scanned again, for objects.
 */
export function lineMachine(
  scan: Scan,
  { objects, everyLine }: LineOptions,
  giveUp: () => void,
): (from: number) => void {
  const { tape } = scan
  const lf = new Needle(tape, '\n')
  let from = 0
  let shape: Shape | undefined
  const line: Inside = {
    keep() {
      return from
    },
    look() {
      const limit = scan.limit(from)
      const end = lf.next(from)
      if (shape === undefined) shape = shapeOfArray(end, Math.min(limit, tape.end))
      if (shape === 'none') giveUp()
      else if (end < limit) settle(end, end + 1)
      else if (tape.end >= limit) scan.enter(tooLong(scan, 'line', from, findLineEnd))
      else return false
      return true
    },
    finish() {
      const { end } = tape
      if (shape === undefined) giveUp()
      else if (shape === 'maybe') settle(end, end)
      else {
        const open = isBracket(scan.byte(from)) && !isClosed(end)
        if (objects && (open || !endsLikeRecord(end))) giveUp()
        else cut(end, end, open)
      }
    },
  }

  function settle(end: number, to: number): void {
    if (shape === 'maybe' ? parses(end) : !objects || endsLikeRecord(end)) cut(end, to, false)
    else giveUp()
  }

  //  [ {"a":1}]   [ 1]     [INFO] x
  //    ^ json       ^ maybe ^ none
  function shapeOfArray(end: number, bound: number): Shape | undefined {
    let at = from + 1
    while (at < bound && isGap(scan.byte(at))) at++
    if (at === bound) return undefined
    if (at === end) return 'none'
    const byte = scan.byte(at)
    if (isBracket(byte) || byte === QUOTE) return 'json'
    return byte === CLOSE_BRACKET || beginsToken(byte) ? 'maybe' : 'none'
  }

  function endsLikeRecord(end: number): boolean {
    if (scan.byte(end - 1) === CLOSE_BRACE) return true
    const byte = scan.byte(lastByte(end))
    return byte === CLOSE_BRACE || byte === CLOSE_BRACKET
  }

  /** The last byte of the line that is not blank. */
  function lastByte(end: number): number {
    let last = end - 1
    while (last > from && (isGap(scan.byte(last)) || scan.byte(last) === NUL)) last--
    return last
  }

  /**
   * A failed JSON.parse is expensive, so cheap checks come first: the last byte, or every byte of a number.
   */
  function parses(end: number): boolean {
    const first = scan.byte(from)
    const last = lastByte(end)
    if (first === OPEN_BRACKET) return scan.byte(last) === CLOSE_BRACKET && isJson(from, last + 1)
    if (first === QUOTE) return last > from && scan.byte(last) === QUOTE && isJson(from, last + 1)
    if (last - from >= MAX_TOKEN) return false
    for (let at = from; at <= last; at++) if (!isTokenByte(scan.byte(at))) return false
    return isJson(from, last + 1)
  }

  function isJson(start: number, end: number): boolean {
    try {
      JSON.parse(scan.decodeClean(start, end))
      return true
    } catch {
      return false
    }
  }

  /**
   * Without its LF, a line may have been cut right after an inner closer: `{"a":[1]`. Called once, at the end
   * of the input.
   */
  function isClosed(end: number): boolean {
    const balance = new ByteBalance()
    for (let at = from; at < end; ) at = balance.walk(tape.view, tape.base, at, end, from, false)
    return !balance.inString && balance.depth <= 0
  }

  function cut(end: number, to: number, open: boolean): void {
    const textTo = to > end && scan.byte(end - 1) === CR ? end - 1 : end
    scan.cut({ kind: 'line', from, to, text: scan.decode(from, textTo), textFrom: from, textTo, open })
    // Common case: record after record. No search is needed to find the next one.
    if (to > end && isBracket(scan.byte(to))) enter(to)
  }

  function findLineEnd(seek: number) {
    const end = lf.next(seek)
    return end < tape.end ? { done: true, at: end + 1 } : { done: false, at: tape.end }
  }

  function enter(position: number): void {
    from = position
    const byte = scan.byte(from)
    shape = everyLine || byte === OPEN_BRACE ? 'json' : byte === OPEN_BRACKET ? undefined : 'maybe'
    scan.enter(line)
    scan.opened?.('line', from, from + 1)
  }

  return enter
}

/** Whether a line of one JSON string, number or literal may begin with this byte. */
export function beginsScalarLine(byte: number | undefined): boolean {
  return byte === QUOTE || beginsToken(byte)
}

function beginsToken(byte: number | undefined): boolean {
  return byte !== undefined && (isDigit(byte) || byte === MINUS || beginsLiteral(byte))
}

function isTokenByte(byte: number | undefined): boolean {
  return isWordCharacter(byte) || byte === DOT || byte === PLUS
}

function isGap(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === CR
}
