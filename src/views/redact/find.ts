import { sequenceEnd } from '../../repair/control-characters.ts'
import { COLON, EQUALS } from '../../text/characters.ts'
import { argumentsAt, pipedTo } from './commands.ts'
import { eachPlace } from './hints.ts'
import {
  addressAt,
  changedTo,
  encodedAddressAt,
  insertedAt,
  loginAt,
  nameAround,
  namedValue,
  pgpassAt,
} from './named.ts'
import { isOpaqueName } from './names.ts'
import {
  backslashesBefore,
  escapeAt,
  isBlank,
  isNameUnit,
  isQuote,
  isWordUnit,
  type Secret,
} from './secret.ts'
import { isToken, keyBlocks, knownIds, shapeDetectors } from './shapes.ts'
import { cellSecrets } from './tables.ts'
import { bareEnds, type Search, type ValuePlace, valueAt } from './value.ts'

/** Pairs of characters that a secret can begin with. */
const isPair = new Uint8Array(128 * 128)
for (const pair of shapeDetectors.pairs()) isPair[pair] = 1

/**
 * Finds the secrets of a text, reading each character a bounded number of times: those with a shape of their
 * own in long words, all others at a name that says secret, by the grammar of name, link and value. Both are
 * found in JSON text, also escaped, as well as in plain text, and with colors between their characters.
 * A name can be some lines before its value (`linesBefore`); no value but a private key has a line end in it.
 * Words that look random are ignored in a text that is `opaque`: an id, or data.
 */
export function findSecrets(text: string, opaque: boolean): Secret[] {
  if (text.length < SHORTEST) return []
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

/** `pwd=a` */
const SHORTEST = 5

function searched(text: string, opaque: boolean): Secret[] {
  const found: Secret[] = []
  const search: Search = { text, bareEnd: bareEnds(text) }
  const block = keyBlocks(text)
  /** The ends of public keys and certificates, by their starts. */
  const publicKeys: (readonly [from: number, to: number])[] = []
  const names: number[] = []
  eachPlace(text, {
    hint(at) {
      const next = text.charCodeAt(at)
      if (next === MINUS && text.startsWith('-----', at)) {
        const key = block(at)
        if (key) found.push(key)
        else publicKeys.push([at, publicKeyEnd(text, at)])
        return key?.to ?? at + 5
      }
      const placed = placedAt(search, at)
      if (placed) found.push(placed)
      if (placed && placed.to > at) return placed.to
      const name = nameAround(text, at)
      if (typeof name === 'number') return name
      names.push(name.from)
      const value = namedValue(search, name)
      if (value) found.push(value, ...changedTo(search, value, name))
      else found.push(...insertedAt(search, name))
      return Math.max(name.to, value?.to ?? 0)
    },
    word(at) {
      let [from, to] = [at, at + 1]
      while (from > 0 && isKeyUnit(text.charCodeAt(from - 1))) from--
      while (to < text.length && isKeyUnit(text.charCodeAt(to))) to++
      const isPublic = publicKeys.some(([start, end]) => from > start && to <= end)
      if (!isPublic) addFromWord(search, from, to, opaque, found)
      return to
    },
  })
  if (names.length > 0) found.push(...cellSecrets(text, names))
  return found
}

function isKeyUnit(unit: number): boolean {
  return isToken[unit] === 1 || unit === COLON || unit === DOLLAR || unit === PERCENT
}

const DOLLAR = 36
const PERCENT = 37
const MINUS = 45

/** The end of a block that is no private key: what is in it is random, and no secret. */
function publicKeyEnd(text: string, at: number): number {
  const length = text.slice(at, at + MAX_BLOCK).indexOf('-----END ')
  return length < 0 ? at : at + length
}

const MAX_BLOCK = 24 * 1024

const AND = 38
const AT = 64
/** Words of commands; a password can be among the arguments. */
const COMMAND =
  /(?:curl|login|sshpass|htpasswd|mysql(?:dump|admin|import|sh)?|mariadb(?:-dump)?|mongo(?:sh|dump|restore)?|cqlsh|sqlcmd|bcp|(?:un)?zip|7z|redis-cli|ldap(?:search|modify|add|whoami|passwd)|smbclient|net user?|twine upload|openssl enc)\b/iy
const READS_INPUT = /chpasswd|sudo -s|--?password-stdin|--?with-token/iy
/** What is before a value that has no name, and what it is. */
const places: readonly (readonly [before: RegExp, place: ValuePlace])[] = [
  [/[?&]code=/y, { family: 'secret', sure: 'code', strict: true, stop: AND }],
  // A router's.
  [
    /(?:(?<=snmp-server )community|(?<=(?:isakmp|tacacs-server|radius-server) )key(?: \d)?) /iy,
    { family: 'secret', sure: 'any' },
  ],
  [/identified (?:with \S{1,40} )?by (?=\\{0,8}["'])/iy, { family: 'password', sure: 'any' }],
  // `sqlplus scott/X@orcl`
  [/(?:sqlplus (?:-\w{1,9} ){0,3}|:thin:)[\w$#]{1,30}\//iy, { family: 'password', sure: 'any', stop: AT }],
  [/::add-mask::/y, { family: 'secret', sure: 'any' }],
]

/** A secret that its place shows, without a name. */
function placedAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  if (text.startsWith('://', at)) return addressAt(search, at)
  const unit = text.charCodeAt(at)
  if (unit === PERCENT) return encodedAddressAt(search, at)
  for (const [before, place] of places)
    if (isAt(before, text, at)) return valueAt(search, before.lastIndex, place)
  const given = loginAt(search, at)
  if (given) return given
  if (unit === COLON) return pgpassAt(search, at)
  // ` -u name` of any command.
  if (isBlank(unit)) return argumentsAt(search, at)
  let from = at
  while (from > 0 && at - from < 12 && isNameUnit(text.charCodeAt(from - 1))) from--
  from += escapeAt(text, from)
  if (isAt(READS_INPUT, text, from)) return pipedTo(search, from)
  if (isAt(COMMAND, text, from)) {
    const argument = argumentsAt(search, from)
    if (argument) return argument
  }
  return shapeDetectors.at(search, at)
}

function isAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** The secrets in a long word: what has the shape of a key, and what is random. */
function addFromWord(search: Search, from: number, to: number, opaque: boolean, found: Secret[]): void {
  const { text } = search
  let word = from
  const endWord = (end: number) => {
    if (end - word >= MIN_KEY && !opaque) addRandom(text, word, end, found)
  }
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i)
    const hit =
      isPair[((unit & 127) << 7) | (text.charCodeAt(i + 1) & 127)] === 1
        ? shapeDetectors.at(search, i)
        : undefined
    if (hit) {
      endWord(Math.max(word, hit.from))
      found.push(hit)
      if (hit.to > i) i = hit.to - 1
      word = i + 1
    } else if (isWordUnit[unit] !== 1) {
      endWord(i)
      word = i + 1
    }
  }
  endWord(to)
}

const MIN_KEY = 20

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
  const mayHave = text.includes('\u001b') || text.includes('\u009b') || text.includes('\\')
  if (!mayHave) return undefined
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
  const start = from + escapeAt(text, from)
  // A UUID is shorter.
  const mayBeHex = to - start > 42
  if (mayBeHex && HEX_KEY.test(text.slice(start, Math.min(to, start + 100))) && !isKnownId(text, start)) {
    found.push({ kind: 'random', from: start, to })
    return
  }
  const random = randomIn(text, start, to)
  if (random.length === 0 || isOpaqueHere(text, from)) return
  for (const [start, end] of random) found.push({ kind: 'random', from: start, to: end })
}

/** `crsr_` and many digits: the name of a service before a key, as many of them write theirs. */
const HEX_KEY =
  /^[a-z][a-z\d]{1,11}(?:_(?:live|test|prod|production|sandbox|v\d|sk|pat|api|key|secret)){0,2}_[\da-f]{40,64}$/

/** Whether the name before a value means an id, or data: `"id": "…"`, `;base64,…`. */
function isOpaqueHere(text: string, from: number): boolean {
  if (text.endsWith(';base64,', from)) return true
  let at = from
  if (isQuote(text.charCodeAt(at - 1))) at--
  // `ETag: W/"…"`
  if (text.endsWith('W/', at)) at -= 2
  at -= Math.min(6, backslashesBefore(text, at))
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
  if (isRandom(text, from, to)) return [[from, to]]
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
