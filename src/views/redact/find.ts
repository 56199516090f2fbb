import { sequenceEnd } from '../../repair/control-characters.ts'
import { COLON, DOT } from '../../text/characters.ts'
import { argumentsAt, pipedTo } from './commands.ts'
import { eachPlace } from './hints.ts'
import {
  addressAt,
  addressBefore,
  changedTo,
  charsBefore,
  encodedAddressAt,
  insertedAt,
  isAt,
  loginAt,
  nameAround,
  namedValue,
  pgpassAt,
} from './named.ts'
import { addRandom } from './random.ts'
import { backslashesBefore, escapeAt, isBlank, isNameUnit, isWordUnit, type Secret } from './secret.ts'
import { isKeyUnit, keyBlocks, mayBegin, shapeDetectors } from './shapes.ts'
import { cellSecrets } from './table-cells.ts'
import { bareEnds, type Search, type ValuePlace, valueAt } from './value.ts'

/**
 * Finds the secrets of a text, reading each character a bounded number of times: those with a shape of their
 * own in long words, all others at a name that says secret, by the grammar of name, link and value. Both are
 * found in JSON text, also escaped, as well as in plain text, and with colors between their characters.
 * A name can be some lines before its value (`linesBefore`); no value but a private key has a line end in it.
 * Words that look random are ignored in a text that is `opaque`: an id, or data.
 */
export function findSecrets(text: string, opaque: boolean, talkIn?: TalkIn): Secret[] {
  if (text.length < SHORTEST) return []
  const found = searched(text, opaque, talkIn)
  const clean = withoutSequences(text)
  if (clean) {
    const { at, plain } = clean
    // Both texts are searched: an address in a link of the terminal is inside of a sequence.
    for (const secret of apart(searched(plain, opaque, talkIn)))
      found.push({ ...secret, from: at(secret.from), to: at(secret.to - 1) + 1 })
  }
  return found.length < 2 ? found : apart(found)
}

/** What finds the names in a text that are only talked about: a bundle that only records leaves it out. */
export type TalkIn = (text: string) => (at: number) => number

/** `pwd=a` */
const SHORTEST = 5

function searched(text: string, opaque: boolean, talkIn?: TalkIn): Secret[] {
  const found: Secret[] = []
  const search: Search = { text, bareEnd: bareEnds(text) }
  const talkAt = talkIn?.(text)
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
      const talk = talkAt?.(at) ?? -1
      if (talk >= 0) {
        names.push(at)
        return talk
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
      while (from > 0 && isKeyUnit[text.charCodeAt(from - 1)] === 1) from--
      while (to < text.length && isKeyUnit[text.charCodeAt(to)] === 1) to++
      const isPublic = publicKeys.some(([start, end]) => from > start && to <= end)
      if (!isPublic) addFromWord(search, from, to, opaque, found)
      return to
    },
  })
  if (names.length > 0) found.push(...cellSecrets(text, names))
  return found
}

const PERCENT = 37
const MINUS = 45

/** The end of a block that is not a private key: what is in it is random, but not secret. */
function publicKeyEnd(text: string, at: number): number {
  const length = text.slice(at, at + MAX_BLOCK).indexOf('-----END ')
  return length < 0 ? at : at + length
}

const MAX_BLOCK = 24 * 1024

const AND = 38
const AT = 64
/** The beginning of a command that can have a password among its arguments. */
const COMMAND =
  /(?:7z |add_?user|alias set|bcp |certutil |coap-client|codecov |cqlsh|curl|db2 connect|http-basic\.|ldap|lftp |login|mariadb|mongo|mysql|ncftp|net use|nuget push|openssl |p4 |rdesktop |redis-cli|schtasks|security import|signtool |smbclient|snmp|sqlcmd|ssh-keygen |twine |unlock-keychain|useradd|xfreerdp |zip |sshpass|unzip|(?:ht|mosquitto_)passwd|setapikey|(?:change|wpa)_pass)[\w-]{0,20}(?<=[ .]|(?= ))/iy
const READS_INPUT =
  /(?:ch|smb)passwd|sudo -s|-{0,2}password[-_]stdin|--?with-token|secrets? (?:create|put|set|add)|cryptsetup|passphrase-fd|kinit|vncpasswd|passwd --stdin|passwd \w|convertto-securestring/iy
/** What is before a value that has no name, and what it is. */
const places: readonly (readonly [before: RegExp, place: ValuePlace])[] = [
  [/[?&]code=/y, { family: 'secret', sure: 'code', strict: true, stop: AND }],
  // A router's.
  [
    /(?:(?<=snmp-server )community|(?<=(?:isakmp|tacacs-server|radius-server) )key(?: \d)?) /iy,
    { family: 'secret', sure: 'any' },
  ],
  // Redis; a mail server.
  [
    /(?:(?<![\w.-])AUTH (?:default|PLAIN|LOGIN)|(?<=:\d{2,5}(?:\[\d{1,3}\])?> )auth(?: default)?) /iy,
    { family: 'secret', sure: 'code', strict: true },
  ],
  // `stats auth bob:X`
  [/(?<![\w.-])auth [\w.@-]{1,40}:(?=\S{6})/iy, { family: 'password', sure: 'code', strict: true }],
  [/(?<=[?&])key=(?=[\w-]{20})/y, { family: 'secret', sure: 'code', strict: true, stop: AND }],
  [/identified (?:with \S{1,40} )?by (?=\\{0,8}["'])/iy, { family: 'password', sure: 'any' }],
  [/identified by (?=\S{0,60}\d)/iy, { family: 'password', sure: 'code' }],
  // `sqlplus scott/X@orcl`
  [
    /(?:(?:sqlplus|(?:imp|exp)dp|rman target) (?:-\w{1,9} ){0,3}|:thin:)[\w$#]{1,30}\//iy,
    { family: 'password', sure: 'any', stop: AT },
  ],
  // `the login is bob / X`
  [
    /(?:log ?in|credential|cred|zugang(?:sdaten)?|anmeldedaten|identifiant)s?(?:| is| are| with| as| for \S{1,40} (?:is|are)) ?:? [\w.@-]{2,40} \/ (?=\S{8})/iy,
    { family: 'password', sure: 'code', strict: true },
  ],
  [/::add-mask::/y, { family: 'secret', sure: 'any' }],
]

/** A secret that its place shows, without a name. */
function placedAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  if (text.startsWith('://', at)) return addressAt(search, at)
  const unit = text.charCodeAt(at)
  if (unit === PERCENT) return encodedAddressAt(search, at)
  if (unit === AT) return addressBefore(search, at)
  for (const [before, place] of places)
    if (isAt(before, text, at)) return valueAt(search, before.lastIndex, place)
  const given = loginAt(search, at)
  if (given) return given
  if (unit === DOT) return charsBefore(search, at)
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

/** The secrets in a long word: what has the shape of a key, and what is random. */
function addFromWord(search: Search, from: number, to: number, opaque: boolean, found: Secret[]): void {
  const { text } = search
  let word = from
  const endWord = (end: number) => {
    if (end - word >= MIN_KEY && !opaque) addRandom(text, word, end, found)
  }
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i)
    const may = mayBegin(unit, text.charCodeAt(i + 1), text.charCodeAt(i + 2))
    const hit = may ? shapeDetectors.at(search, i) : undefined
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
