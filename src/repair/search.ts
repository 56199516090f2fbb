import { applyEdits, type Mended } from './edits.ts'
import { guessesFor } from './guesses.ts'
import { spellString } from './quotes.ts'
import { Reading, wordEnd } from './syntax.ts'
import { unescapeOnce } from './unescape.ts'

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
  const unescaped = cut ? undefined : unescapeOnce(text)
  if (unescaped) return unescaped
  const first = new Reading(text)
  const end = first.run()
  if (cut && first.unclosed) spellCutString(first)
  const isCut = end === 'cut' || first.unclosed || (cut && dropCutWord(first))
  if (end === 'whole' || (cut && isCut)) return mended(text, first)
  if (end === 'cut' || cut) return { kind: isCut ? 'cut' : 'broken', at: first.at }
  const { best, rival } = search(text, first)
  if (best && !rival) return best
  if (rival) return { kind: 'ambiguous', at: first.at }
  if (first.state === 'end') return { kind: 'followed', at: first.valueEnd }
  return { kind: first.unclosed ? 'cut' : 'broken', at: first.at }
}

/**
 * Follows every guess. Of the readings that reach the end of the text, those with the fewest guesses count;
 * if they disagree, the text is ambiguous. The work is bounded to a multiple of the text's length.
 */
function search(text: string, first: Reading): { best: Good | undefined; rival: boolean } {
  const open = guessesFor(first).reverse()
  const { effort } = first
  const most = MAX_READS * text.length + LEAST_WORK
  let found: Good[] = []
  let fewest = Number.POSITIVE_INFINITY
  for (let reading = open.pop(); reading; reading = open.pop()) {
    if (reading.guesses > fewest) continue
    const from = reading.at
    const end = reading.run()
    effort.spent += reading.at - from + WORK_PER_GUESS
    if (effort.spent > most) return { best: undefined, rival: true }
    const mayGuess = reading.guesses < Math.min(fewest, MAX_GUESSES)
    if (end === 'stopped' && mayGuess) open.push(...guessesFor(reading).reverse())
    if (end !== 'whole') continue
    effort.spent += text.length
    if (reading.guesses < fewest) found = []
    fewest = reading.guesses
    found.push(mended(text, reading))
  }
  // Nearly always there is one, and its meaning need not be compared.
  if (found.length < 2) return { best: found[0], rival: false }
  const meanings = found.map((made) => meaningOf(made.text))
  const known = new Set(meanings.filter((meaning) => meaning !== undefined))
  return { best: found.find((_, n) => meanings[n] !== undefined), rival: known.size > 1 }
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

//  {a: [True, Fal      {a: 1, ke      {a: 1 /* on
//             ^ at            ^ at          ^ at
/** Drops the half word or half comment at the end of a cut text. False if it was cut in something else. */
function dropCutWord(reading: Reading): boolean {
  const { text, at, state } = reading
  const comment = text.startsWith('/*', at)
  if (!comment && (state === 'colon' || state === 'comma' || state === 'end')) return false
  if (!comment && wordEnd(text, at) !== text.length) return false
  reading.add(at, text.length, '', comment ? 'dropped a comment' : 'dropped a cut word')
  return true
}

/**
 * A text that needs more guesses is not JSON with an error or two; and following 8,000 of them would take 50
 * ms.
 */
const MAX_GUESSES = 2000
const MAX_READS = 24
const LEAST_WORK = 1 << 14
/** Cost of a guess in addition to the text it reads, in characters. */
const WORK_PER_GUESS = 64

type Good = Mended & { readonly kind: 'mended' }

function mended(text: string, reading: Reading): Good {
  return { kind: 'mended', ...applyEdits(text, reading.edits) }
}

/** The meaning of a text, to compare two readings; undefined if it is not JSON after all. */
function meaningOf(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}
