import { isStructureAt } from '../json/after-value.ts'
import { backslashesBefore, stringEnd } from '../json/strings.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isBlank,
  isBracket,
  OPEN_BRACE,
  QUOTE,
  SLASH,
} from '../text/characters.ts'
import { guessesFor, isKeyAt } from './guesses.ts'
import { closingQuote, isQuote } from './quotes.ts'
import { Search } from './search.ts'
import { isHalfBlank, type Level, Reading, skipBlanks } from './tolerant-reader.ts'

export interface ElementPlace {
  /** In an array; else a member of an object. */
  readonly inArray: boolean
  /** The container of that array or object. */
  readonly outer: 'none' | 'array' | 'object'
  /** Nothing follows the text. */
  readonly final: boolean
}

/** The end; or the text breaks off in the element, more text is needed, or the end cannot be known. */
export type Ending = number | 'cut' | 'more' | 'unknown'

/**
 * Finds the end of the element that a text begins with, which is not JSON: where the reader of the ladder
 * ends it, if all its readings with the fewest guesses agree and a neighbour follows.
 *
 *     {"a":"5" tall", /* } *\/ b: [1]},{"a":"7"},…
 *                                    ^ end      ^ the neighbour is read, too
 *
 * What the ladder cannot read, like `{"a":}`, ends where its brackets say, if its quotes are in order.
 */
export function elementEnd(text: string, place: ElementPlace): Ending {
  const { ends, cut, more, breaksOff, stopped } = readFrom(text, 0, place, true)
  if (more || (cut && !place.final)) return 'more'
  if (ends.size === 1) return [...ends][0]!
  if (ends.size > 1) return 'unknown'
  const plain = plainEnd(text, 0, place.inArray)
  const follows = plain < 0 ? false : isFollowed(text, plain, place, true)
  if (follows === 'more') return 'more'
  if (follows === true) return plain
  if (breaksOff || follows === 'nothing') return 'cut'
  return !place.final && text.length < stopped + ENOUGH ? 'more' : 'unknown'
}

/** This much text after the place that is not JSON shows whether it can be read. */
const ENOUGH = 2048

interface Readings {
  /** Ends of the value in the readings with the fewest guesses. */
  readonly ends: ReadonlySet<number>
  /** A reading reaches the end of the text inside the value. */
  readonly cut: boolean
  /** What follows the value has not arrived. */
  readonly more: boolean
  /** The unchanged text ends inside the value, or right after it. */
  readonly breaksOff: boolean
  /** Where the first reading stopped. */
  readonly stopped: number
}

/** Reads the value at `at`, as `mend` reads a whole text. With `looksOn`, what follows must fit after it. */
function readFrom(text: string, at: number, place: ElementPlace, looksOn: boolean): Readings {
  const level: Level = { array: place.inArray, from: -1, up: undefined }
  const first = new Reading(text)
  first.at = at
  first.level = level
  first.base = level
  const search = new Search<number>(text.length - at)
  search.add(first)
  let cut = false
  let more = false
  let breaksOff = false
  let stopped = 0
  for (let reading = search.next(); reading; reading = search.next()) {
    const run = search.ended
    if (reading === first) {
      stopped = reading.at
      breaksOff = run === 'cut' || reading.unclosed
    }
    if (reading.state === 'end') {
      const { valueEnd, guesses } = reading
      if (hasOddComment(reading)) continue
      const follows = looksOn ? isFollowed(text, valueEnd, place, guesses > 0) : true
      if (follows === 'more') more = true
      // At the end of a text that breaks off, a guess proves nothing.
      else if (follows === 'nothing' && guesses > 0) breaksOff = true
      else if (follows) search.take(valueEnd, guesses)
      else if (search.mayGuess(reading)) {
        //  ["a "b" c","d"]   [{"a":1,} {"a":2}]
        //      ^ it goes on           ^ a comma is missing
        const goesOn = reading.copy()
        goesOn.state = 'comma'
        for (const next of guessesFor(goesOn)) {
          if (next.guess !== 'comma') search.add(next)
          else if (isCommaMissing(text, next.at, place)) search.take(valueEnd, next.guesses)
        }
      }
    } else if (run === 'cut' || (reading.unclosed && !place.final)) {
      cut = true
    } else {
      if (reading.unclosed) cut = true
      if (search.mayGuess(reading)) search.guess(reading)
    }
  }
  if (search.exhausted) return { ends: new Set([-1, -2]), cut: false, more: false, breaksOff: false, stopped }
  return { ends: new Set(search.found), cut, more, breaksOff, stopped }
}

/** Whether a comment contains the start of another one: then the first may not have been a comment. */
function hasOddComment({ text, edits }: Reading): boolean {
  for (let edit = edits; edit; edit = edit.before) {
    if (edit.kind === 'dropped a comment' && text.slice(edit.from + 2, edit.to).includes('/*')) return true
  }
  return false
}

/** Only between two objects or strings a comma is likely missing. In an object, a key must follow. */
function isCommaMissing(text: string, at: number, { inArray }: ElementPlace): boolean {
  if (!inArray) return isKeyAt(text, at)
  const unit = text.charCodeAt(at)
  return unit === text.charCodeAt(0) && (unit === OPEN_BRACE || (unit === QUOTE && !isKeyAt(text, at)))
}

/**
 * Whether what follows can follow a complete element; `nothing` if the text has ended. If the end is a
 * `guess`, the neighbour must be of the same kind.
 */
function isFollowed(
  text: string,
  end: number,
  place: ElementPlace,
  guess: boolean,
): boolean | 'nothing' | 'more' {
  const { inArray, outer, final } = place
  const at = skipBlanks(text, end)
  const following = skipBlanks(text, at + 1)
  if (at >= text.length) return final ? 'nothing' : 'more'
  const unit = text.charCodeAt(at)
  if (unit === (inArray ? CLOSE_BRACKET : CLOSE_BRACE)) {
    if (following >= text.length) return final ? true : 'more'
    const next = text.charCodeAt(following)
    if (outer === 'none') return !isStructureAt(text, at + 1)
    if (next === (outer === 'array' ? CLOSE_BRACKET : CLOSE_BRACE)) return true
    return next === COMMA && (outer === 'array') !== isKeyAt(text, skipBlanks(text, following + 1))
  }
  if (unit !== COMMA) return false
  if (following >= text.length) return final ? true : 'more'
  if (text.charCodeAt(following) === (inArray ? CLOSE_BRACKET : CLOSE_BRACE)) return true
  if (isKeyAt(text, following) === inArray) return false
  if (!inArray) return true
  const kind = kindOf(text, following)
  if (guess && kind !== '' && kind !== kindOf(text, 0)) return false
  const next = readFrom(text, following, place, false)
  for (const end of next.ends) {
    const then = skipBlanks(text, Math.max(end, 0))
    if (then >= text.length) return final ? true : 'more'
    if (end >= 0 && (',]'.includes(text[then]!) || isBracket(text.charCodeAt(then)))) return true
  }
  if (next.ends.size > 0) return false
  if (next.cut) return final ? true : 'more'
  return plainEnd(text, following, true) >= 0
}

/** First character of a value; blank for words and numbers. */
function kindOf(text: string, at: number): string {
  return '{["'.includes(text[at]!) ? text[at]! : ''
}

/**
 * Whether a strict element is complete, judging by the next few characters; undefined if they are not enough.
 * Unless `all` of the text is here, the answer is one that no further character can change.
 */
export function isElementOver(text: string, place: ElementPlace, all = place.final): boolean | undefined {
  const { inArray, final } = place
  const at = skipBlanks(text, 0)
  if (at >= text.length) return final ? true : undefined
  if (!all && isHalfBlank(text, at)) return undefined
  const unit = text.charCodeAt(at)
  if (unit === COLON) return false
  if (!inArray) return unit !== CLOSE_BRACKET
  // A comment that may end later.
  if (unit === SLASH && !final) return undefined
  if (unit !== COMMA) return unit === CLOSE_BRACKET || isBracket(unit)
  const next = skipBlanks(text, at + 1)
  const first = text.charCodeAt(next)
  if (next >= text.length || first === SLASH) return final ? true : undefined
  if (!all && (isHalfBlank(text, next) || isHalfKey(text, next))) return undefined
  if (isBracket(first)) return true
  if (first === CLOSE_BRACE || isKeyAt(text, next)) return false
  const close = first === QUOTE ? stringEnd(text, next) : text.slice(next).search(/[,\]}]/)
  if (close < 0) return final ? true : undefined
  if (first !== QUOTE) return true
  // A string that is not a key is followed by another element, or it has lost a quote.
  const then = skipBlanks(text, close + 1)
  return then < text.length ? ',]'.includes(text[then]!) : final ? true : undefined
}

//  'a, b     "a" ~~     a:/
//       ^         ^       ^ a key, or a string that is not one, or a URL
/** Whether the text breaks off before it is clear whether a key is at `at`. */
function isHalfKey(text: string, at: number): boolean {
  if (!isQuote(text.charCodeAt(at))) return isKeyAt(text, at) && text.indexOf(':', at) + 2 >= text.length
  const close = closingQuote(text, at)
  const following = close < 0 ? text.length : skipBlanks(text, close + 1)
  return following >= text.length || isHalfBlank(text, following)
}

//  {"a":,"b":[1 2]}     tru     {\"a\":1}
//                 ^ end    ^ end        ^ end
/** The end of a value by its brackets alone; -1 if quotes are out of place, or brackets do not match. */
function plainEnd(text: string, from: number, inArray: boolean): number {
  const open: number[] = []
  const escaped = isEscapedOnce(text, from)
  let last = COMMA
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isBlank(unit)) continue
    if (escaped && unit === BACKSLASH && text.charCodeAt(at + 1) !== QUOTE) {
      at++
      continue
    }
    if (unit === QUOTE || (escaped && unit === BACKSLASH)) {
      const end = escaped ? escapedStringEnd(text, at + 2) : stringEnd(text, at)
      if (end < 0 || !OPENERS.has(last)) return -1
      at = end
      last = QUOTE
      continue
    }
    if (open.length === 0 && (unit === COMMA || unit === CLOSE_BRACE || unit === CLOSE_BRACKET)) {
      const closes = unit === COMMA || inArray === (unit === CLOSE_BRACKET)
      return closes && last !== QUOTE && last !== COMMA ? trimmedEnd(text, at) : -1
    }
    if (isBracket(unit)) {
      if (!OPENERS.has(last) || open.length > MAX_OPEN) return -1
      open.push(unit)
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
      if (open.pop() !== unit - 2) return -1
      if (open.length === 0) return at + 1
    } else if (isQuote(unit) || NEVER.includes(text[at]!) || (unit === COLON && open.length === 0)) return -1
    else if (last === QUOTE && unit !== COMMA && unit !== COLON) return -1
    last = unit
  }
  return -1
}

const MAX_OPEN = 1024
/** Characters that precede a string or a bracket. */
const OPENERS = new Set([...'{[,:'].map((one) => one.charCodeAt(0)))
/** Comments, and anything else that may hide a bracket. */
const NEVER = '/#\\<'

/** The closing quote of a string that was escaped once too often: inner quotes have three backslashes. */
function escapedStringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    const backslashes = backslashesBefore(text, at, 0)
    if (backslashes === 1) return at
    if (backslashes === 0) return -1
  }
  return -1
}

function isEscapedOnce(text: string, from: number): boolean {
  return /^[{[][\s\\nrt{[]{0,99}\\"/.test(text.slice(from, from + 128))
}

function trimmedEnd(text: string, end: number): number {
  let at = end
  while (isBlank(text.charCodeAt(at - 1))) at--
  return at
}
