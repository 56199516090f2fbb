import { isStartOfText } from './bare-words.ts'
import { applyEdits, type Mended } from './edits.ts'
import { guessesFor } from './guesses.ts'
import { spellString } from './quotes.ts'
import { isHalfBlank, Reading, skipBlanks, wordEnd } from './tolerant-reader.ts'
import { breaksUnescaped, unescapeOnce } from './unescape.ts'

/**
 * Makes JSON of what is almost JSON. It changes spelling, never meaning: a text is repaired only if there is
 * exactly one way to read it with the fewest guesses, all of one kind, and no value is invented.
 *
 * With `cut`, the text may stop anywhere; its end is left open.
 *
 * @example
 * mend("{key: 'val', }") // { kind: 'mended', text: '{"key": "val" }', changes: […] }
 * mend('{"a":}') // { kind: 'broken', at: 5 }
 */
export function mend(text: string, cut = false): Mended {
  const unescaped = cut ? undefined : (unescapeOnce(text, mend) ?? breaksUnescaped(text))
  if (unescaped) return unescaped
  const first = new Reading(text)
  const end = first.run()
  if (cut && first.unclosed) spellCutString(first)
  const isCut = end === 'cut' || first.unclosed || (cut && endCutWord(first))
  if (end === 'whole' || (cut && isCut)) return mended(text, first)
  if (end === 'cut' || cut) return { kind: isCut ? 'cut' : 'broken', at: first.at }
  const { best, rival } = search(text, first)
  if (best && !rival) return best
  if (rival) return { kind: 'ambiguous', at: first.at }
  if (first.state === 'end') return { kind: 'followed', at: first.valueEnd }
  return { kind: first.unclosed || endsInside(first) ? 'cut' : 'broken', at: first.at }
}

//  {"a":1 /* x     {"a":"x⏎ "
//         ^ at               ^ at: nothing that could close the value follows
function endsInside({ text, at }: Reading): boolean {
  if (skipBlanks(text, at) >= text.length) return true
  return isHalfBlank(text, at) && !/[}\]]/.test(text.slice(at))
}

/**
 * Follows the guesses of readings that stopped. Only those with the fewest guesses count. The work is bounded
 * to a multiple of the text's length.
 */
export class Search<T> {
  /** What was found with the fewest guesses. */
  found: T[] = []
  /** Too much was read. */
  exhausted = false
  /** How the last reading ended. */
  ended: ReturnType<Reading['run']> = 'stopped'
  readonly #open: Reading[] = []
  readonly #most: number
  #fewest = Number.POSITIVE_INFINITY

  constructor(size: number) {
    this.#most = MAX_READS * size + LEAST_WORK
  }

  add(reading: Reading): void {
    this.#open.push(reading)
  }

  /** Reads on from the next guess that may count; undefined if there is none. */
  next(): Reading | undefined {
    for (let reading = this.#open.pop(); reading; reading = this.#open.pop()) {
      if (reading.guesses > this.#fewest) continue
      const { at, effort } = reading
      this.ended = reading.run()
      effort.spent += reading.at - at + WORK_PER_GUESS
      this.exhausted = effort.spent > this.#most
      return this.exhausted ? undefined : reading
    }
    return undefined
  }

  /** Whether a reading may be continued with one more guess. */
  mayGuess(reading: Reading): boolean {
    return reading.guesses < this.#fewest
  }

  guess(stopped: Reading): void {
    for (const next of guessesFor(stopped).reverse()) this.#open.push(next)
  }

  take(found: T, guesses: number): void {
    if (guesses < this.#fewest) this.found = []
    this.#fewest = Math.min(this.#fewest, guesses)
    this.found.push(found)
  }
}

/** Of the readings that reach the end of the text, those with the fewest guesses count: they must agree. */
function search(text: string, first: Reading): { best: Good | undefined; rival: boolean } {
  const readings = new Search<{ made: Good; doubtful: boolean }>(text.length)
  readings.guess(first)
  for (let reading = readings.next(); reading; reading = readings.next()) {
    if (readings.ended === 'stopped' && readings.mayGuess(reading) && reading.guesses < MAX_GUESSES)
      readings.guess(reading)
    if (readings.ended !== 'whole') continue
    reading.effort.spent += text.length
    const made = mended(text, reading)
    const { guess, commaFirst } = reading
    const doubtful =
      reading.doubtful || (guess === 'bracket' && (commaFirst || losesKeys(made.text, reading)))
    readings.take({ made, doubtful }, reading.guesses)
  }
  if (readings.exhausted) return { best: undefined, rival: true }
  if (readings.found.some(({ doubtful }) => doubtful)) return { best: undefined, rival: true }
  const found = readings.found.map(({ made }) => made)
  // Nearly always there is one, and its meaning need not be compared.
  if (found.length < 2) return { best: found[0], rival: false }
  const meanings = found.map((made) => meaningOf(made.text))
  const known = new Set(meanings.filter((meaning) => meaning !== undefined))
  return { best: found.find((_, n) => meanings[n] !== undefined), rival: known.size > 1 }
}

/** Whether a key is twice in an object: then it is rather in two, and another bracket is missing. */
function losesKeys(text: string, { quotedKeys, bareKeys }: Reading): boolean {
  let keys = -1
  const value = meaningOf(text, function (this: unknown, _key, inner: unknown) {
    if (!Array.isArray(this)) keys++
    return inner
  })
  return value !== undefined && keys < quotedKeys + bareKeys
}

//  {a: 'it
//      ^ at
/** Spells the string inside which a text was cut, and leaves it open. */
function spellCutString(reading: Reading): void {
  const { text, at, edits } = reading
  const place = { from: at, to: halfEscape(text, at + 1), opened: true, closed: false }
  const spelled = spellString(text, place, edits)
  // The last edit closes the string.
  if (spelled) reading.edits = spelled.edits?.before
}

//  "x\   "x\u00
//    ^     ^ start of an escape that the end of the text cut; the end of the text if there is none
function halfEscape(text: string, from: number): number {
  const last = text.lastIndexOf('\\')
  if (last < from || !/^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(last, last + 6))) return text.length
  let first = last
  while (first > from && text[first - 1] === '\\') first--
  // In an even run, the last one is escaped.
  return (last - first) % 2 === 0 ? last : text.length
}

//  {a: [True, Fal      {a: 1, ke      {a: 1 /* on      {a: hel
//             ^ at            ^ at          ^ at           ^ at: a string, like one in quotes
/**
 * Drops the half word or half comment at the end of a cut text, or quotes a word that can only become a
 * string. False if it was cut in something else.
 */
function endCutWord(reading: Reading): boolean {
  const { text, at, state } = reading
  const comment = text.startsWith('/*', at)
  if (!comment && (state === 'colon' || state === 'comma' || state === 'end')) return false
  if (!comment && wordEnd(text, at) !== text.length) return false
  if (!comment && !state.endsWith('key') && isStartOfText(text.slice(at)))
    reading.add(at, at, '"', 'added a missing quote')
  else reading.add(at, text.length, '', comment ? 'dropped a comment' : 'dropped a cut word')
  return true
}

/** A text that needs more guesses is not JSON with an error or two; 8,000 would take 50 ms. */
const MAX_GUESSES = 2000
const MAX_READS = 24
const LEAST_WORK = 1 << 14
/** Cost of a guess in addition to the text it reads, in characters. */
const WORK_PER_GUESS = 64

type Good = Mended & { readonly kind: 'mended' }

function mended(original: string, reading: Reading): Good {
  const { text, changes, origin } = applyEdits(original, reading.edits)
  return { kind: 'mended', text, changes, origin }
}

/** The meaning of a text, to compare two readings; undefined if it is not JSON after all. */
function meaningOf(text: string, visit?: Parameters<typeof JSON.parse>[1]): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text, visit))
  } catch {
    return undefined
  }
}
