import { applyEdits, type Mended } from './edits.ts'
import { guessesFor } from './guesses.ts'
import { Reading } from './tolerant-reader.ts'
import { unescapeOnce } from './unescape.ts'

/**
 * Makes JSON of what is almost JSON. It changes spelling, never meaning: a text is mended only if there is exactly one
 * way to read it with the fewest guesses, all of one kind, and no value is invented.
 *
 * With `cut`, the text may stop anywhere; what is there is mended and the end is left as it is.
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
  const isCut = end === 'cut' || first.unclosed
  if (end === 'whole' || (cut && isCut)) return mended(text, first)
  if (end === 'cut' || cut) return { kind: isCut ? 'cut' : 'broken', at: first.at }
  const { best, rival } = search(text, first)
  if (best && !rival) return best
  if (rival) return { kind: 'ambiguous', at: first.at }
  if (first.state === 'end') return { kind: 'followed', at: first.valueEnd }
  return { kind: first.unclosed ? 'cut' : 'broken', at: first.at }
}

/**
 * Follows every guess. Of the readings that come to the end of the text, those with the fewest guesses count; if they
 * disagree, the text is ambiguous. Work is bounded: so many times the text is read, and no more.
 */
function search(
  text: string,
  first: Reading,
): { best: (Mended & { kind: 'mended' }) | undefined; rival: boolean } {
  const open = guessesFor(first).reverse()
  let budget = MAX_READS * text.length + LEAST_WORK
  let best: Good | undefined
  let fewest = Number.POSITIVE_INFINITY
  let value = ''
  let rival = false
  for (let reading = open.pop(); reading; reading = open.pop()) {
    if (reading.guesses > fewest) continue
    const from = reading.at
    const end = reading.run()
    budget -= reading.at - from + WORK_PER_GUESS
    if (budget < 0) return { best: undefined, rival: true }
    if (end === 'stopped' && reading.guesses < fewest) open.push(...guessesFor(reading).reverse())
    if (end !== 'whole') continue
    const made = mended(text, reading)
    const spelled = meaningOf(made.text)
    if (spelled === undefined) continue
    if (reading.guesses < fewest) {
      best = made
      value = spelled
      fewest = reading.guesses
      rival = false
    } else if (spelled !== value) rival = true
  }
  return { best, rival }
}

const MAX_READS = 24
const LEAST_WORK = 1 << 14
/** What a guess costs beside the text it reads, in characters. */
const WORK_PER_GUESS = 64

type Good = Mended & { readonly kind: 'mended' }

function mended(text: string, reading: Reading): Good {
  return { kind: 'mended', ...applyEdits(text, reading.edits) }
}

/** What a text means, so that two readings can be compared; undefined if it is no JSON after all. */
function meaningOf(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}
