import { InString } from '../json/strings.ts'
import {
  CLOSE_BRACKET,
  COMMA,
  isBlank,
  isBracket,
  isDigit,
  OPEN_BRACKET,
  OPEN_PAREN,
  QUOTE,
} from '../text/characters.ts'
import type { Scan } from './scan.ts'

/*
 * Arrays that prose uses for something else: citations, indexes, the texts of links. The scanner of frames
 * asks once an array is closed; the reader of items asks before it hands out the first element.
 */

/** An array that is longer than this is no citation. */
const MAX_CITATION = 1024
/** Nor is a list of numbers that is longer than this. */
const MAX_NUMBERS = 200
/** How much of what follows an array on its line shows whether it is one. */
export const MAX_BEHIND = 64

//  see [1].   list[0]   [1](url)      scores: [7]   x = [7]   [7]
//      ^          ^     ^ aside               ^         ^     ^ alone on its line
/**
 * Whether what is from `from` to `to` is an array that prose uses for something else; `after` is what follows
 * it. The first thing of the input begins a line, and no other array can be before it.
 */
export function isAside(scan: Scan, from: number, to: number, after: string, first: boolean): boolean {
  const { head } = scan
  if (scan.byte(from) !== OPEN_BRACKET) return false
  if (head.isGlued(from) || after.charCodeAt(0) === OPEN_PAREN) return true
  if (to - from > MAX_CITATION || isBracket(scan.byte(from + 1))) return false
  const array = scan.decodeClean(from, to)
  const startsLine = first || head.blank(from)
  if (startsLine && isCitation(array, after)) return true
  if (head.isAfterColon(from)) return false
  if (IS_ONE_SCALAR.test(array)) return !startsLine || HAS_WORDS.test(after)
  return !first && isBesideCitation(head.before(from), array, after)
}

/** One past the closer of an array that may be an aside by what is in it; 0 for anything else. */
export function endOfAside(scan: Scan, from: number, bound: number): number | undefined {
  if (scan.byte(from) !== OPEN_BRACKET) return 0
  const string = new InString()
  let inString = false
  let isNumbers = true
  for (let at = from + 1; at <= from + MAX_CITATION; at++) {
    if (at >= bound) return undefined
    const byte = scan.byte(at)!
    if (inString) inString = !string.ends(byte)
    else if (byte === QUOTE) {
      inString = true
      string.open(byte)
    } else if (byte === CLOSE_BRACKET) return at + 1
    else if (isBracket(byte) || (byte === COMMA && (!isNumbers || at - from > MAX_NUMBERS))) return 0
    isNumbers &&= byte === COMMA || isDigit(byte) || isBlank(byte)
  }
  return 0
}

const IS_ONE_SCALAR = /^\[(?:"[^"]*(?:"|$)|[^",{[])*$/

//  [1] Smith      [2, 3] say so      [0.5, 1] are the limits
/**
 * Whether an array at the start of a line is a citation: one value, or whole numbers, with words behind it on
 * its line.
 */
export function isCitation(array: string, after: string): boolean {
  if (!/^\[(?:[^[\]{},]{0,1024}|\s?\d{1,4}(?:\s?,\s?\d{1,4})?\s?)\]$/.test(array)) return false
  return (array.includes(',') ? /^[ \t\r]{0,9}(?:[A-Za-z]|[^\0-\x7f])/ : HAS_WORDS).test(after)
}

/** Something follows on the line. */
const HAS_WORDS = /^[ \t\r]*[^ \t\r\n]/

//  See [1] and [2, 3] for details.      As [1] says, it is [80, 90].
//              ^ another citation                         ^ a value
/** Whether whole numbers in brackets are a citation, because one is joined to them. */
export function isBesideCitation(before: string, array: string, after: string): boolean {
  if (!/^\[\s?\d{1,4}(?:\s?,\s?\d{1,4}){0,20}\s?\]$/.test(array)) return false
  return (
    /(?:^|[\s(])\[\d{1,4}\](?:,? (?:and|or|&)|[,;]) ?$/.test(before.slice(-40)) ||
    /^(?:,? (?:and|or|&)|[,;]) ?\[\d{1,4}\]/.test(after)
  )
}
