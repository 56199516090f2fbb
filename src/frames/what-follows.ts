import { goesOnAt, MAX_REST, mayFollowOpening } from '../json/goes-on.ts'
import {
  APOSTROPHE,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  classTable,
  isBlank,
  isBracket,
  isDigit,
  isWordCharacter,
  LF,
  MINUS,
  QUOTE,
} from '../text/characters.ts'
import { isLiteral, MAX_WORD } from './debris.ts'
import type { Scan } from './scan.ts'

interface WhatFollows {
  /** A value ends at `to`, and a quote precedes it or not. */
  begin(to: number, enclosed: boolean): void
  /**
   * Where the value goes on, -1 if it does not, undefined if more bytes are needed. Nothing from `bound` on
   * is looked at; `over` says that nothing is there.
   */
  look(bound: number, over: boolean): number | undefined
}

/**
 * Decides by what follows an object whether its last bracket was its end. A bracket, or a comma or colon
 * before another token, decides at once; otherwise the rest of the line must have arrived.
 *
 *     {"k":1}},"m":2}    {"k":1} , "m":2}    {'k': 'x} y', 'm': 2}    {"k":1}, as asked
 *            ^ goes on           ^ goes on              ^ goes on                     ^ over
 */
export function whatFollows(scan: Scan): WhatFollows {
  const { tape } = scan
  let stage: 'behind' | 'separated' | 'line' | 'below' = 'behind'
  let to = 0
  let enclosed = false
  /** Everything before it has been looked at. */
  let seek = 0
  /** The first byte behind the object that is not blank. */
  let start = 0
  /** The line has a quote, or a closing bracket. */
  let quoted = false
  let closed = false

  function look(bound: number, over: boolean): number | undefined {
    if (stage === 'behind') {
      const byte = nextByte(bound)
      if (byte === undefined) return over ? -1 : undefined
      start = seek
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return start
      if (byte === COMMA || byte === COLON) {
        seek++
        stage = 'separated'
      } else if (KINDS[byte] === QUOTED || isSameLine()) stage = 'line'
      else return -1
    }
    if (stage === 'separated') {
      const byte = nextByte(bound)
      if (byte === undefined) return over ? -1 : undefined
      const opens =
        isQuote(byte) || isBracket(byte) || isDigit(byte) ? true : opensWithWord(seek, bound, over)
      if (opens === undefined) return undefined
      if (opens) return start
      seek = start
      stage = 'line'
    }
    return lookAlong(bound, over)
  }

  function nextByte(bound: number): number | undefined {
    while (seek < bound && isBlank(scan.byte(seek))) seek++
    return seek < bound ? scan.byte(seek) : undefined
  }

  function isSameLine(): boolean {
    for (let at = to; at < start; at++) if (scan.byte(at) === LF) return false
    return true
  }

  /**
   * Whether a number, a literal or a bare key with its colon begins at `from`. At most one word is read
   * twice.
   */
  function opensWithWord(from: number, bound: number, over: boolean): boolean | undefined {
    let end = from
    while (end < bound && end - from <= MAX_WORD && isWordCharacter(scan.byte(end))) end++
    if (end === from || end - from > MAX_WORD) return false
    if (end === bound && !over) return undefined
    if (scan.byte(from) === MINUS) return end - from > 1 && isDigit(scan.byte(from + 1)!)
    return (end < bound && scan.byte(end) === COLON) || isLiteral(scan, from, end)
  }

  /** Waits for the end of the line and, if it may matter, for the next byte that is not blank. */
  function lookAlong(bound: number, over: boolean): number | undefined {
    const limit = start + MAX_REST
    const stop = Math.min(bound, limit)
    if (stage === 'line') {
      const { view, base } = tape
      for (; seek < stop; seek++) {
        const byte = view[seek - base]!
        if (KINDS[byte] === 0) continue
        if (byte === LF) break
        if (isBracket(byte) && !quoted) {
          const inner = opensValue(seek, stop)
          if (inner === undefined && stop < limit && !over) return undefined
          if (inner) return decide(inner)
        }
        quoted ||= KINDS[byte] === QUOTED
        closed ||= byte === CLOSE_BRACE || byte === CLOSE_BRACKET
      }
      if (seek < stop && mayGoOnBelow(seek)) stage = 'below'
    }
    if (stage === 'below') while (seek < stop && isBlank(scan.byte(seek))) seek++
    const end = seek + (stage === 'below' && scan.byte(seek) === CURLY ? 3 : 1)
    if (bound < Math.min(end, limit) && !over) return undefined
    return decide(Math.min(end, stop))
  }

  function decide(end: number): number {
    const { view, base } = tape
    // Without quotes and brackets, only the rest of a number or word can go on, on the line below.
    if (!quoted && !closed && stage !== 'below') return -1
    return goesOnAt(view.toString('utf8', to - 1 - base, end - base), 1, enclosed) ? start : -1
  }

  /**
   * If another value opens at `from`, the end of what shows that: without a quote before it, the rest does
   * not matter.
   */
  function opensValue(from: number, stop: number): number | undefined {
    let next = from + 1
    while (next < stop && isBlank(scan.byte(next))) next++
    if (next === stop) return undefined
    const byte = scan.byte(next)!
    if (isBracket(byte)) return next + 1
    if (!isQuote(byte)) return 0
    if (next + 1 === stop) return undefined
    return mayFollowOpening(scan.byte(next + 1)!) ? next + 2 : 0
  }

  /** Whether the line that ends at `end` may be the end of a string, number or word, and maybe a comma. */
  function mayGoOnBelow(end: number): boolean {
    let last = end - 1
    while (isBlank(scan.byte(last))) last--
    const byte = scan.byte(last)!
    return byte === COMMA || isQuote(byte) || isWordCharacter(byte)
  }

  return {
    begin(position, isEnclosed) {
      to = position
      enclosed = isEnclosed
      seek = position
      stage = 'behind'
      quoted = false
      closed = false
    },
    look,
  }
}

/** The first of the three bytes of a curly quote. */
const CURLY = 0xe2
/** What matters on the line: quotes, brackets and the line end. */
const QUOTED = 1
const KINDS = /* @__PURE__ */ classTable([QUOTED, '"\'\xe2'], [2, '{}[]\n'])

function isQuote(byte: number): boolean {
  return byte === QUOTE || byte === APOSTROPHE
}
