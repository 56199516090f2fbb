import { knownIds } from './shapes.ts'

/** Shorter words are more often names, versions and ids than secrets. */
const MIN_RANDOM = 28
/** Longer ones are data: an image, a signature, a ciphertext. */
const MAX_RANDOM = 200
/** Bits per character: 32 random characters of base64 have 4.5 on average, a name in camel case 3.7. */
const MIN_BITS = 4
/**
 * Changes of kind (lowercase, uppercase, digit) between neighbours: 62 % of random characters, 30 % of a long
 * name or a path.
 */
const MIN_CHANGES = 0.36
/** Lowercase letters in a row: more of them are a word. */
const MAX_ROW = 12

/** Kind of a character; 0 for others. */
function kindOf(unit: number): 0 | 1 | 2 | 3 {
  if (unit >= 97 && unit <= 122) return 1
  if (unit >= 65 && unit <= 90) return 2
  return unit >= 48 && unit <= 57 ? 3 : 0
}

/**
 * The parts of a word that are as random as keys are: lowercase and uppercase letters and digits in no order.
 * A hex hash and a UUID are not, because they have one case. The word consists of letters, digits, `+`, `/`,
 * `_` and `-`.
 */
export function randomIn(text: string, from: number, to: number): [number, number][] {
  if (to - from < MIN_RANDOM) return []
  if (isRandom(text, from, to)) return [[from, to]]
  const parts = text.slice(from, to).split('/')
  const found: [number, number][] = []
  let start = from
  for (const { length } of parts.length > 1 ? parts : []) {
    if (isRandom(text, start, start + length)) found.push([start, start + length])
    start += length + 1
  }
  return found
}

function isKnownId(text: string, from: number): boolean {
  // A fingerprint of a key, a checksum of a Go module.
  if (text.endsWith('SHA256:', from) || text.endsWith('h1:', from)) return true
  return knownIds.some((prefix) => text.startsWith(prefix, from))
}

function isRandom(text: string, from: number, to: number): boolean {
  const length = to - from
  if (length < MIN_RANDOM || length > MAX_RANDOM) return false
  let [small, capital, digits, changes] = [0, 0, 0, 0]
  /** Letters of one case in a row: a path contains words. */
  let row = 0
  let last = -1
  for (let i = from; i < to; i++) {
    const kind = kindOf(text.charCodeAt(i))
    row = kind === last ? row + 1 : 1
    if (kind === 1 && row > MAX_ROW) return false
    // A separator does not count as a change: a date would be full of them.
    if (kind === 0) continue
    if (kind === 1) small++
    else if (kind === 2) capital++
    else digits++
    if (last >= 0 && kind !== last) changes++
    last = kind
  }
  if (small < 3 || capital < 3 || digits < 1) return false
  if (changes / (small + capital + digits) < MIN_CHANGES) return false
  return bitsOf(text, from, to) >= MIN_BITS && !isKnownId(text, from)
}

/** Shannon entropy, in bits per character. Only computed for words that passed all other checks. */
function bitsOf(text: string, from: number, to: number): number {
  const counts = new Map<string, number>()
  for (let i = from; i < to; i++) counts.set(text[i]!, (counts.get(text[i]!) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / (to - from)) * Math.log2(count / (to - from))
  return bits
}
