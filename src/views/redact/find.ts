import { sequenceEnd } from '../../repair/control-characters.ts'
import { COLON, EQUALS, isDigit, MINUS, STAR } from '../../text/characters.ts'
import { assignedAt, leadDetectors, nameBefore, pgpassAt } from './leads.ts'
import { isOpaqueName } from './names.ts'
import { backslashesBefore, escapeAt, isBlank, isQuote, isWordUnit, type Secret } from './secret.ts'
import { keyBlocks, knownIds, shapeDetectors } from './shapes.ts'
import { cellSecrets } from './tables.ts'
import { bareEnds, type Search } from './value.ts'

/** Pairs of characters that a secret, or the words before it, can begin with. */
const isPair = new Uint8Array(128 * 128)
for (const pair of [...shapeDetectors.pairs(), ...leadDetectors.pairs()]) isPair[pair] = 1

/**
 * Finds the secrets of a text, reading each character a bounded number of times, in order. Names and values
 * are found in JSON text, also escaped, as well as in plain text, and with colors between their characters.
 * A name can be some lines before its value (`linesBefore`); no value but a private key has a line end in it.
 * Words that look random are ignored in a text that is `opaque`: an id, or data.
 */
export function findSecrets(text: string, opaque: boolean): Secret[] {
  const found = searched(text, opaque)
  const clean = withoutSequences(text)
  if (clean) {
    const { at, plain } = clean
    // Both texts are searched: an address in a link of the terminal is inside of a sequence.
    for (const secret of apart(searched(plain, opaque)))
      found.push({ ...secret, from: at(secret.from), to: at(secret.to - 1) + 1 })
  }
  return found.length < 2 ? found : apart(found)
}

function searched(text: string, opaque: boolean): Secret[] {
  const found: Secret[] = cellSecrets(text)
  const search: Search = { text, bareEnd: bareEnds(text), label: undefined, field: undefined }
  const block = keyBlocks(text)
  /** Start of the current word; -1 between words. */
  let word = -1
  let previous = 0
  for (let i = 0; i <= text.length; i++) {
    const unit = i < text.length ? text.charCodeAt(i) : 0
    const inWord = unit < 128 && isWordUnit[unit] === 1
    if (!inWord && word >= 0) {
      if (i - word >= 20 && !opaque) addRandom(text, word, i, found)
      word = -1
    } else if (inWord && word < 0) word = i
    let hit: Secret | undefined
    if (unit < 128 && isPair[(previous << 7) | unit] === 1) {
      if (previous === MINUS && unit === MINUS) hit = block(i - 1)
      hit ??= shapeDetectors.at(search, i - 1) ?? leadDetectors.at(search, i - 1)
    }
    if (!hit && (unit === COLON || unit === EQUALS)) {
      hit = assignedAt(search, i)
      const next = unit === COLON && !hit ? text.charCodeAt(i + 1) : 0
      if (isDigit(next) || next === STAR) hit = pgpassAt(search, i)
    }
    previous = unit < 128 ? unit : 0
    if (!hit) continue
    found.push(hit)
    // A value that comes before its name is passed already.
    if (hit.to <= i) continue
    i = hit.to - 1
    word = -1
    previous = 0
  }
  return found
}

/** Sorted, without overlaps; two that overlap become one. */
export function apart(found: Secret[]): Secret[] {
  found.sort((a, b) => a.from - b.from || b.to - a.to)
  const result: Secret[] = []
  for (const secret of found) {
    const last = result.at(-1)
    if (!last || secret.from >= last.to) result.push(secret)
    else if (secret.to > last.to) result[result.length - 1] = { ...last, to: secret.to }
  }
  return result
}

//  ghp_\u001b[01;31mabc      "ghp_\\u001b[01;31mabc"
//      ^^^^^^^^^^^^^              ^^^^^^^^^^^^^^
const SEQUENCE = /[\u001b\u009b]|\\(?:u001b|x1b|033|e)(?=\[)/gi

/** The text without the sequences of terminals, and where a character of it was; undefined without any. */
function withoutSequences(text: string): { plain: string; at: (index: number) => number } | undefined {
  const kept: string[] = []
  /** Starts of the kept pieces: in the plain text, and in the original. */
  const starts: number[] = []
  const origins: number[] = []
  let [length, from] = [0, 0]
  const keep = (to: number) => {
    starts.push(length)
    origins.push(from)
    kept.push(text.slice(from, to))
    length += to - from
  }
  for (const { index, 0: lead } of text.matchAll(SEQUENCE)) {
    if (index < from) continue
    keep(index - (lead.length > 1 ? backslashesBefore(text, index) : 0))
    from = sequenceEnd(text, index + lead.length - 1)
  }
  if (from === 0) return undefined
  keep(text.length)
  let piece = 0
  const at = (index: number) => {
    // Asked for in order.
    while (piece + 1 < starts.length && starts[piece + 1]! <= index) piece++
    return origins[piece]! + index - starts[piece]!
  }
  return { plain: kept.join(''), at }
}

function addRandom(text: string, from: number, to: number, found: Secret[]): void {
  const random = randomIn(text, from + escapeAt(text, from), to)
  if (random.length === 0 || isOpaqueHere(text, from)) return
  for (const [start, end] of random) found.push({ kind: 'random', from: start, to: end })
}

/** Whether the name before a value means an id, or data: `"id": "…"`, `;base64,…`. */
function isOpaqueHere(text: string, from: number): boolean {
  if (text.endsWith(';base64,', from)) return true
  let at = from
  if (isQuote(text.charCodeAt(at - 1))) at--
  at -= Math.min(6, backslashesBefore(text, at))
  while (isBlank(text.charCodeAt(at - 1)) && from - at < 9) at--
  const unit = text.charCodeAt(at - 1)
  if (unit !== COLON && unit !== EQUALS) return false
  const name = nameBefore(text, at - 1)
  return name !== undefined && isOpaqueName(name.name)
}

/** Shorter words are more often names, versions and ids than secrets. */
const MIN_RANDOM = 28
/** Longer ones are data: an image, a signature, a ciphertext. */
const MAX_RANDOM = 200
/** Bits per character: 32 random characters of base64 have 4.5 on average, a name in camel case 3.7. */
const MIN_BITS = 4
/** Changes of kind (case, digit) between neighbours: 62 % if random, 30 % in a long name or path. */
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
 * A hex hash and a UUID have one case. The word has letters, digits, `+`, `/`, `_` and `-`.
 */
function randomIn(text: string, from: number, to: number): [number, number][] {
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
