import { familyOf, isOpaqueName, isSecretValue, type NameFamily } from './names.ts'
import { randomIn } from './random.ts'
import { type Shape, shapes } from './shapes.ts'

/** A secret in a text. */
export interface Secret {
  readonly kind: string
  readonly from: number
  readonly to: number
  /** It was a bare number in JSON: the mark that replaces it needs these quotes. */
  readonly quote?: string
  /** Its name or its place shows that it is a secret; the same text elsewhere is the same secret. */
  readonly certain?: true
}

/**
 * Maximum characters of a name before `=` or `:`, of a value after it, of the part of an address before its
 * host.
 */
const MAX_NAME = 64
const MAX_VALUE = 4096
const MAX_AUTHORITY = 400
/** Characters of a value to judge: the rest of a long one is like its start. */
const MAX_JUDGED = 256
/** Maximum characters of a private key; an RSA key of 16,384 bits has 13,000. */
const MAX_KEY_BLOCK = 24 * 1024

const [TAB, LF, CR, SPACE, QUOTE, AND, APOSTROPHE, DASH] = [9, 10, 13, 32, 34, 38, 39, 45]
const [SLASH, COLON, EQUALS, AT, BACKSLASH, BACKTICK] = [47, 58, 61, 64, 92, 96]

/** Shapes by the first two characters of their prefixes: nearly all text is skipped with one table lookup. */
const byPair = new Map<number, Shape[]>()
const isPair = new Uint8Array(128 * 128)
for (const shape of shapes) {
  const pair = (shape.prefix.charCodeAt(0) << 7) | shape.prefix.charCodeAt(1)
  isPair[pair] = 1
  byPair.set(pair, [...(byPair.get(pair) ?? []), shape])
}
isPair[(DASH << 7) | DASH] = 1

/** Characters of the words of keys: letters, digits, `+`, `/`, `_`, `-`. */
const isWordUnit = new Uint8Array(128)
for (const c of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-')
  isWordUnit[c.charCodeAt(0)] = 1

export interface FindOptions {
  /** Ignore words that look random: the text is an id, or data. */
  readonly opaque?: boolean
}

/**
 * Finds the secrets of a text in one pass, reading each character a bounded number of times. Except private
 * keys, none crosses the end of a line, so a text can be searched line by line. Names and values are found in
 * JSON text, also escaped, as well as in plain text.
 */
export function findSecrets(text: string, { opaque = false }: FindOptions = {}): Secret[] {
  const found: Secret[] = []
  const block = keyBlocks(text)
  const bareEnd = bareEnds(text)
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
      hit =
        previous === DASH && unit === DASH
          ? (block(i - 1) ?? flagAt(text, i - 1, bareEnd))
          : shapeAt(text, i - 1, (previous << 7) | unit)
    }
    if (!hit && (unit === COLON || unit === EQUALS)) hit = assignedAt(text, i, bareEnd)
    if (!hit && unit === DASH && text.startsWith('-u ', i)) hit = userFlagAt(text, i, bareEnd)
    previous = unit < 128 ? unit : 0
    if (!hit) continue
    found.push(hit)
    i = hit.to - 1
    word = -1
    previous = 0
  }
  return found
}

function shapeAt(text: string, at: number, pair: number): Secret | undefined {
  for (const { kind, prefix, start, end, alone } of byPair.get(pair) ?? []) {
    if (!text.startsWith(prefix, at) || (alone && !startsWord(text, at))) continue
    const from = start ? start(text, at) : at
    if (from < 0) continue
    const to = end(text, at + prefix.length)
    if (to < 0) continue
    // The scheme of a header stays: it shows what was hidden.
    return prefix.endsWith(' ') ? { kind, from: at + prefix.length, to } : { kind, from, to }
  }
  return undefined
}

/**
 * Whether a word can begin here. The letter of an escape such as `\n`, and the end of a color code, belong to
 * no word.
 */
function startsWord(text: string, at: number): boolean {
  const unit = text.charCodeAt(at - 1)
  if (at === 0 || unit >= 128 || isWordUnit[unit] !== 1 || unit === SLASH || unit === 43) return true
  if (isAfterEscape(text, at)) return true
  return unit === 109 && text.slice(Math.max(0, at - 16), at).includes('[')
}

/**
 * Whether the letter before this position, or `u` with four digits, belongs to an escape in JSON text, also
 * in JSON in JSON.
 */
function isAfterEscape(text: string, at: number): boolean {
  if (text.charCodeAt(at - 2) === BACKSLASH && ESCAPES.includes(text[at - 1]!)) return true
  return text[at - 5] === 'u' && text.charCodeAt(at - 6) === BACKSLASH
}

/** Number of characters from this position that belong to an escape whose backslash is before it. */
function escapeAt(text: string, at: number): number {
  if (text.charCodeAt(at - 1) !== BACKSLASH) return 0
  return text[at] === 'u' ? 5 : ESCAPES.includes(text[at] ?? ' ') ? 1 : 0
}

const ESCAPES = 'nrtbf'

/** Adds words that look random. */
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
  while (text.charCodeAt(at - 1) === BACKSLASH && from - at < 6) at--
  while (isBlank(text.charCodeAt(at - 1)) && from - at < 9) at--
  const unit = text.charCodeAt(at - 1)
  if (unit !== COLON && unit !== EQUALS) return false
  const name = nameBefore(text, at - 1)
  return name !== undefined && isOpaqueName(name.name)
}

interface Name {
  readonly name: string
  /** The quote after it, with what escapes it; empty if there is none. */
  readonly quote: string
  readonly from: number
}

//  "api_key" : "…"        API_KEY=…
//   ^^^^^^^  ^ at         ^^^^^^^^ at
function nameBefore(text: string, at: number): Name | undefined {
  let to = at
  // `:=` of Go; `=>` is found by its `=`.
  if (text.charCodeAt(at) === EQUALS && text.charCodeAt(to - 1) === COLON) to--
  while (isBlank(text.charCodeAt(to - 1)) && at - to < 4) to--
  let quote = ''
  if (isQuote(text.charCodeAt(to - 1))) {
    let start = to - 1
    while (text.charCodeAt(start - 1) === BACKSLASH && to - start < 9) start--
    quote = text.slice(start, to)
    to = start
  }
  let from = to
  while (from > 0 && to - from < MAX_NAME && isNameUnit(text.charCodeAt(from - 1))) from--
  if (to - from < 3) return undefined
  // The letter of an escape belongs to the escape, and that at the end of a color code to the color code.
  from += escapeAt(text, from)
  if (text[from - 1] === '[' || text[from - 1] === ';') {
    const color = text.slice(from, from + 4).indexOf('m')
    if (color >= 0 && isNumber(text.slice(from, from + color))) from += color + 1
  }
  return { name: text.slice(from, to), quote, from }
}

function isNameUnit(unit: number): boolean {
  return unit < 128 && ((isWordUnit[unit] === 1 && unit !== SLASH && unit !== 43) || unit === 46)
}

function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB
}

function isQuote(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK
}

/** A value after `=` or `:`, or the password of an address. */
function assignedAt(text: string, at: number, bareEnd: BareEnd): Secret | undefined {
  if (text.charCodeAt(at) === COLON) {
    if (text.startsWith('//', at + 1)) return addressAt(text, at + 3)
    // `:=` is handled at its second character; `::` is a path.
    if (text.charCodeAt(at + 1) === EQUALS || text.charCodeAt(at + 1) === COLON) return undefined
  }
  const name = nameBefore(text, at)
  const family = name && familyOf(name.name)
  if (!family) return undefined
  let from = at + 1
  if (text.charCodeAt(at) === EQUALS) {
    // A comparison.
    if (text.charCodeAt(from) === EQUALS || text.charCodeAt(from) === 126) return undefined
    if (text[from] === '>') from++
  }
  while (isBlank(text.charCodeAt(from)) && from - at < 9) from++
  const tight = text.charCodeAt(at) === EQUALS && from === at + 1
  const inQuery = tight && '?&'.includes(text[name.from - 1] ?? ' ')
  return valueAt(text, from, bareEnd, {
    family,
    keyQuote: name.quote,
    stop: inQuery ? AND : 0,
    plain: tight && (name.name === name.name.toUpperCase() || inQuery),
  })
}

interface Place {
  readonly family: NameFamily
  /** The quote after the name: then a bare number is JSON. */
  readonly keyQuote: string
  /** Another character that ends the value. */
  readonly stop: number
  readonly plain: boolean
}

function valueAt(text: string, from: number, bareEnd: BareEnd, place: Place): Secret | undefined {
  const { family, keyQuote, plain, stop } = place
  let start = from
  while (text.charCodeAt(start) === BACKSLASH && start - from < 8) start++
  const quoted = isQuote(text.charCodeAt(start))
  let end: number
  if (quoted) {
    const quote = text.slice(from, start + 1)
    from = start + 1
    if (isClosing(text, from, quote, keyQuote)) return undefined
    end = closing(text, from, quote)
  } else end = bareEnd(from, family === 'cookie' || family === 'authorization', stop)
  if (end <= from) return undefined
  if (family === 'authorization') from = afterScheme(text, from, end)
  const value = text.slice(from, Math.min(end, from + MAX_JUDGED))
  if (family === 'cookie' && !value.includes('=')) return undefined
  if (family === 'authorization' && !isCredential(text, from, end)) return undefined
  if (!isSecretValue(value, { family, quoted, plain })) return undefined
  const shape = shapeIn(text, from)
  const kind = shape?.to === end ? shape.kind : kinds[family]
  const bare = !quoted && keyQuote !== '' && isNumber(value)
  // Remember only values that are long enough not to match elsewhere by accident.
  const certain = family !== 'cookie' && family !== 'authorization'
  return { kind, from, to: end, ...(bare && { quote: keyQuote }), ...(certain && { certain }) }
}

//  {"text":"password=","next":1}     ["\"password\":", 5]
//                    ^ from                          ^ from
/**
 * Whether the quote before this position does not open the value, but closes the JSON string that contains
 * the name.
 */
function isClosing(text: string, from: number, quote: string, keyQuote: string): boolean {
  if (keyQuote !== '') return keyQuote.at(-1) === quote.at(-1) && keyQuote !== quote
  return isStringEnd(text, from)
}

const kinds: Readonly<Record<NameFamily, string>> = {
  password: 'password',
  secret: 'secret',
  authorization: 'authorization',
  cookie: 'cookie',
}

function shapeIn(text: string, at: number): Secret | undefined {
  const [first, second] = [text.charCodeAt(at), text.charCodeAt(at + 1)]
  if (!(first < 128 && second < 128)) return undefined
  return shapeAt(text, at, (first << 7) | second)
}

function isNumber(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i)
    if (unit < 48 || unit > 57) return false
  }
  return true
}

//  ["password= 'abc", 5]
//                  ^ the end
/**
 * The closing quote, escaped like the opening one; the end of the line, or of the JSON string it is in, if
 * there is none before.
 */
function closing(text: string, from: number, quote: string): number {
  const mark = quote.charCodeAt(quote.length - 1)
  const last = Math.min(text.length, from + MAX_VALUE)
  for (let i = from; i < last; i++) {
    const unit = text.charCodeAt(i)
    if (unit === LF || unit === CR) return i
    if (unit !== mark && (unit !== QUOTE || !isStringEnd(text, i + 1))) continue
    const backslashes = backslashesBefore(text, i)
    // Fewer than opened it close what is around it: `"{\"password\": \"abc"`.
    if (unit !== mark || backslashes <= quote.length - 1) return i - backslashes
  }
  return last
}

//  ["a", 5]     "[\"a\"]"     "\"a\""
//     ^ from          ^ from       ^ from
/** Whether what follows a quote is what follows a string in JSON, or the end of the JSON around it. */
function isStringEnd(text: string, from: number): boolean {
  let next = from
  while (isBlank(text.charCodeAt(next)) && next - from < 9) next++
  if (',:}]\r\n'.includes(text[next] ?? ',')) return true
  let outer = from
  while (outer - from < 16 && text.charCodeAt(outer) === BACKSLASH) outer++
  return text.charCodeAt(outer) === QUOTE && outer - from < backslashesBefore(text, from - 1)
}

/** How often the character here is escaped. */
function backslashesBefore(text: string, at: number): number {
  let count = 0
  while (count < 16 && text.charCodeAt(at - 1 - count) === BACKSLASH) count++
  return count
}

/** The end of a value without quotes, which may be the rest of the line. */
type BareEnd = (from: number, wholeLine: boolean, stop: number) => number

/**
 * Remembers the last end: otherwise a word with many names and no value would be read again from each of
 * them.
 */
function bareEnds(text: string): BareEnd {
  let known = { from: 0, end: 0, wholeLine: false, stop: 0 }
  return (from, wholeLine, stop) => {
    const same =
      known.wholeLine === wholeLine && known.stop === stop && from >= known.from && from < known.end
    if (!same) known = { from, end: bareEnd(text, from, wholeLine, stop), wholeLine, stop }
    let { end } = known
    while (end > from && (wholeLine ? ' \t' : ',;:)]}>').includes(text[end - 1]!)) end--
    return end
  }
}

/** A blank, a quote, an escape, or the end of the line. */
function bareEnd(text: string, from: number, wholeLine: boolean, stop: number): number {
  const last = Math.min(text.length, from + MAX_VALUE)
  let end = from
  for (; end < last; end++) {
    const unit = text.charCodeAt(end)
    if (unit === LF || unit === CR || isQuote(unit) || unit === 27 || unit === 0) break
    if ((stop !== 0 && unit === stop) || (!wholeLine && isBlank(unit))) break
    if (unit !== BACKSLASH) continue
    // The escape of a line end or a quote, also in JSON in JSON, is the end; any other backslash belongs to
    // the value.
    let following = end + 1
    while (following < last && text.charCodeAt(following) === BACKSLASH) following++
    if (following === last || 'nrtu"\'`'.includes(text[following]!)) break
    end = following
  }
  return end
}

const schemes = [
  'bearer ',
  'basic ',
  'token ',
  'digest ',
  'apikey ',
  'api-key ',
  'negotiate ',
  'bot ',
  'key ',
]

/** `Authorization: Bearer …`: the scheme stays. */
function afterScheme(text: string, from: number, end: number): number {
  const head = text.slice(from, Math.min(end, from + 12)).toLowerCase()
  const scheme = schemes.find((known) => head.startsWith(known))
  return scheme ? from + scheme.length : from
}

/** Something after a scheme, or one word with a digit: not a sentence about authorization. */
function isCredential(text: string, from: number, end: number): boolean {
  if (schemes.some((scheme) => text.slice(Math.max(0, from - scheme.length), from).toLowerCase() === scheme))
    return true
  const value = text.slice(from, Math.min(end, from + 200))
  return value.startsWith('AWS4-HMAC') || (!value.includes(' ') && value.length >= 16)
}

/** `--password letmein1`; a value after `=` is found elsewhere. */
function flagAt(text: string, at: number, bareEnd: BareEnd): Secret | undefined {
  if (text.charCodeAt(at + 2) === DASH) return undefined
  let to = at + 2
  while (to - at < MAX_NAME && isNameUnit(text.charCodeAt(to))) to++
  if (text.charCodeAt(to) !== SPACE || to - at < 5) return undefined
  const name = text.slice(at + 2, to)
  const family = familyOf(name)
  if (family !== 'password' && family !== 'secret') return undefined
  return valueAt(text, to + 1, bareEnd, { family, keyQuote: '', stop: 0, plain: false })
}

/** `curl -u name:password` */
function userFlagAt(text: string, at: number, bareEnd: BareEnd): Secret | undefined {
  if (!isBlank(text.charCodeAt(at - 1))) return undefined
  let from = at + 3
  const quoted = isQuote(text.charCodeAt(from))
  if (quoted) from++
  const end = quoted ? closing(text, from, text[from - 1]!) : bareEnd(from, false, 0)
  const colon = text.slice(from, Math.min(end, from + 100)).indexOf(':')
  if (colon < 1) return undefined
  const value = text.slice(from + colon + 1, end)
  const secret = isSecretValue(value, { family: 'password', quoted: true, plain: true })
  return secret ? { kind: 'password', from: from + colon + 1, to: end, certain: true } : undefined
}

//  postgres://name:password@host/…      https://token@host/…
//             ^ at
function addressAt(text: string, at: number): Secret | undefined {
  const last = Math.min(text.length, at + MAX_AUTHORITY)
  let colon = -1
  let host = -1
  for (let i = at; i < last; i++) {
    const unit = text.charCodeAt(i)
    if (unit === COLON && colon < 0) colon = i
    else if (unit === AT) host = i
    else if (
      unit <= SPACE ||
      unit === SLASH ||
      isQuote(unit) ||
      unit === BACKSLASH ||
      unit === 60 ||
      unit === 62
    )
      break
  }
  if (host < 0) return undefined
  if (colon >= 0 && colon < host - 1) {
    const value = text.slice(colon + 1, host)
    const secret = isSecretValue(value, { family: 'password', quoted: true, plain: true }) || value.length < 4
    return secret ? { kind: 'url', from: colon + 1, to: host, certain: true } : undefined
  }
  const to = colon >= 0 && colon < host ? colon : host
  const secret = isSecretValue(text.slice(at, to), { family: 'secret', quoted: true, plain: false })
  return secret && to - at >= 16 ? { kind: 'url', from: at, to, certain: true } : undefined
}

const BEGIN = '-----BEGIN '
const END = '-----END '

/** Finds private keys, whole or cut off. */
function keyBlocks(text: string): (at: number) => Secret | undefined {
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
  if (unit < 128 && isWordUnit[unit] === 1) return unit !== DASH
  return unit === LF || unit === CR || unit === BACKSLASH || unit === EQUALS || isBlank(unit)
}

/** Start of a private key in the text whose end has not arrived, or -1. */
export function openKeyBlock(text: string): number {
  const at = text.lastIndexOf(BEGIN)
  if (at < 0 || text.indexOf(END, at) >= 0) return -1
  return text.slice(at, at + 80).includes('PRIVATE KEY') ? at : -1
}
