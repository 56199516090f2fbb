import { COLON, classTable, EQUALS } from '../../text/characters.ts'
import { isMix, isOpaqueName } from './names.ts'
import { backslashesBefore, escapeAt, isBlank, isNameUnit, isQuote, type Secret } from './secret.ts'
import { knownIds, mayBegin } from './shapes.ts'

/** What a character of a long word says about it; 0 for small letters. */
const [CAPITAL, DIGIT, JOINT, PATH, END] = [1, 2, 3, 4, 5]
const partOf = classTable(
  [CAPITAL, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'],
  [DIGIT, '0123456789'],
  [JOINT, '_-'],
  [PATH, '/'],
  [END, '=.~:$%'],
)

/**
 * Whether a long word may have a key. What has neither the beginning of a shape, nor the capitals and digits
 * of a random word, nor a long end behind a `_` or `-`, has none: names, paths, UUIDs. The word is ASCII, and
 * what follows it is behind its end.
 */
export function mayHaveKey(bytes: Uint8Array, from: number, to: number): boolean {
  let [start, capitals, digits] = [from, 0, 0]
  /** Where the last part of a name begins, and the digits before it. */
  let [body, before] = [to, 0]
  for (let i = from; i <= to; i++) {
    const unit = bytes[i]!
    const kind = i === to ? END : partOf[unit]
    if (kind === CAPITAL) capitals++
    else if (kind === DIGIT) digits++
    else if (kind === JOINT) [body, before] = [i + 1, digits]
    else if (kind === PATH) body = to
    else if (kind === END) {
      if (i - start >= MIN_RANDOM && capitals >= MIN_CAPITALS && digits > 0) return true
      if (i - body >= MIN_BODY && (digits > before || i - body >= MIN_HEX)) return true
      ;[start, capitals, digits, body] = [i + 1, 0, 0, to]
    }
    if (i < to && mayBegin(unit, bytes[i + 1]!, bytes[i + 2]!)) return true
  }
  return false
}

/** Adds what is random in a word, unless the name before it means an id, or data. */
export function addRandom(text: string, from: number, to: number, found: Secret[]): void {
  const start = from + escapeAt(text, from)
  const word = text.slice(Math.max(start, to - MAX_NAMED), to)
  const name = word.slice(word.lastIndexOf('/') + 1)
  if (isNamedKey(name) && !isKnownId(text, to - name.length)) {
    found.push({ kind: 'random', from: to - name.length, to })
    return
  }
  const random = randomIn(text, start, to)
  if (random.length === 0 || isOpaqueHere(text, from) || FILE.test(text.slice(to, to + 8))) return
  for (const [start, end] of random) found.push({ kind: 'random', from: start, to: end })
}

/** What a word is that is the name of a file. */
const FILE = /^\.(?:[cm]?[jt]sx?|css|woff2?|ttf|png|jpe?g|gif|svg|webp|map|html?|pdf)\b/

/** Characters of a key with the name of its service. */
const MAX_NAMED = 180

/** Characters of a key behind its name: the shortest, and the shortest in hex. */
const [MIN_BODY, MIN_HEX] = [14, 32]

/** Words that say what a key is for, in the name before it. */
const KEY_WORD = /^(?:live|test|prod|production|sandbox|sk|pat|api|key|secret|token|at|rt)$/i
/** Those that no file and no cache has in its name. */
const SECRET_WORD = /^(?:live|sk|pat|secret|token)$/i

//  crsr_0a1b…     app-key_live_X7a…     hcaik_k3j…
//       ^ body             ^ body             ^ body
/** Whether a word is the name of a service and a key, as many services write theirs. */
function isNamedKey(word: string): boolean {
  const at = Math.max(word.lastIndexOf('_'), word.lastIndexOf('-'))
  const length = word.length - at - 1
  if (at < 2 || at > 40 || length < MIN_BODY || length > 128) return false
  const body = word.slice(at + 1)
  const parts = word.slice(0, at).split(/[_-]/)
  const joined = word[at] === '_'
  // A publishable key is public.
  if (parts.length > 4 || parts[0] === 'pk' || !/^[A-Za-z][A-Za-z\d]{1,15}$/.test(parts[0]!)) return false
  const isKey = parts.some((part) => KEY_WORD.test(part))
  const isSecret = parts.some((part) => SECRET_WORD.test(part))
  // Of parts that say nothing there is one: the name.
  const isShort = parts
    .slice(1)
    .every((part) => KEY_WORD.test(part) || /^(?:v?\d|[a-z]{2}\d?|[\da-f]{16})$/.test(part))
  if (/^[\da-f]*$/.test(body))
    return length >= MIN_HEX && (joined ? (length >= 40 && isShort) || isKey : isSecret)
  if (isKey && length < MIN_RANDOM) return joined && isMix(body)
  return isShort && length >= 30 && isLowerKey(body)
}

/** Small letters, or capitals, among digits in no order. */
export function isLowerKey(body: string): boolean {
  if (!/^(?:[a-z\d]*|[A-Z\d]*)$/.test(body)) return false
  const changes = body.match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0
  return changes >= body.length * 0.2 && !/[a-z]{20}/i.test(body)
}

/** Whether the name before a value means an id, or data: `"id": "…"`, `;base64,…`. */
function isOpaqueHere(text: string, from: number): boolean {
  if (text.endsWith(';base64,', from)) return true
  let at = from
  if (isQuote(text.charCodeAt(at - 1))) at--
  at -= Math.min(6, backslashesBefore(text, at))
  // `ETag: W/"…"`
  if (text.endsWith('W/', at)) at -= 2
  while (isBlank(text.charCodeAt(at - 1)) && from - at < 9) at--
  const unit = text.charCodeAt(at - 1)
  if (unit !== COLON && unit !== EQUALS) return false
  return isOpaqueName(nameBefore(text, at - 1))
}

//  "call_id" : "…"
//   ^^^^^^^  ^ at
function nameBefore(text: string, at: number): string {
  let to = at
  while (isBlank(text.charCodeAt(to - 1)) && at - to < 4) to--
  if (isQuote(text.charCodeAt(to - 1))) to -= 1 + backslashesBefore(text, to - 1)
  let from = to
  while (from > 0 && to - from < 64 && isNameUnit(text.charCodeAt(from - 1))) from--
  return text.slice(from + escapeAt(text, from), to)
}

/** Shorter words are more often names, versions and ids than secrets. */
const MIN_RANDOM = 28
/** Capital letters, and small ones, of a random word. */
const MIN_CAPITALS = 3
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
  // A longer word is data, not a path with a key in it.
  if (to - from < MIN_RANDOM || to - from > MAX_RANDOM) return []
  // The path of an address: `.com/design/…`
  const isPath = text[from - 1] === '.' && /^[a-z]{2,6}\//.test(text.slice(from, from + 7))
  if (!isPath && isRandom(text, from, to)) return [[from, to]]
  const parts = text.slice(from, to).split('/')
  if (parts.length < 2 || isKnownId(text, from)) return []
  const found: [number, number][] = []
  let start = from
  for (const { length } of parts) {
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
  if (small < MIN_CAPITALS || capital < MIN_CAPITALS || digits < 1) return false
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
