import { BACKSLASH, CR, EQUALS, LF, MINUS } from '../../text/characters.ts'
import { isBlank, isWordUnit, type Secret } from './secret.ts'

/** Maximum characters of a private key; an RSA key of 16,384 bits has 13,000. */
const MAX_KEY_BLOCK = 24 * 1024
const BEGIN = '-----BEGIN '
const END = '-----END '

/** Finds private keys, whole or cut off. */
export function keyBlocks(text: string): (at: number) => Secret | undefined {
  const nextEnd = nextPlace(text, END)
  const nextQuote = nextPlace(text, '"')
  return (at) => {
    if (!text.startsWith(BEGIN, at)) return undefined
    const head = text.slice(at, at + 80)
    const title = head.indexOf('-----', BEGIN.length)
    if (title < 0 || !head.slice(0, title).includes('PRIVATE KEY')) return undefined
    const [end, quote] = [nextEnd(at), nextQuote(at)]
    // No key contains a quote: the end belongs to another text.
    if (end - at < MAX_KEY_BLOCK && end < quote) {
      const tail = text.slice(end, end + 80).indexOf('-----', END.length)
      return { kind: 'private-key', from: at, to: end + (tail < 0 ? END.length : tail + 5) }
    }
    // Its end is missing: hide what looks like its body.
    let to = at + title + 5
    const last = Math.min(text.length, at + MAX_KEY_BLOCK)
    while (to < last && isBodyUnit(text.charCodeAt(to))) to++
    while (text.charCodeAt(to - 1) === BACKSLASH) to--
    return { kind: 'private-key', from: at, to }
  }
}

/** The next occurrence of a word, or infinity; each stretch is searched once. */
function nextPlace(text: string, word: string): (at: number) => number {
  let next = -1
  return (at) => {
    if (next < at) next = text.indexOf(word, at)
    if (next < 0) next = Number.POSITIVE_INFINITY
    return next
  }
}

function isBodyUnit(unit: number): boolean {
  if (unit < 128 && isWordUnit[unit] === 1) return unit !== MINUS
  return unit === LF || unit === CR || unit === BACKSLASH || unit === EQUALS || isBlank(unit)
}

/** Start of a private key in the text whose end has not arrived, or -1. */
export function openKeyBlock(text: string): number {
  const at = text.lastIndexOf(BEGIN)
  if (at < 0 || text.indexOf(END, at) >= 0) return -1
  return text.slice(at, at + 80).includes('PRIVATE KEY') ? at : -1
}
