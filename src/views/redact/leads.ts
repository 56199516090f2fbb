import { COLON, EQUALS, GREATER, MINUS, SPACE, STAR, TILDE } from '../../text/characters.ts'
import { familyOf, isSecretValue, type NameFamily, roleOf } from './names.ts'
import {
  backslashesBefore,
  escapeAt,
  isBlank,
  isNameUnit,
  isQuote,
  type Secret,
  startsLine,
} from './secret.ts'
import { type Detector, Detectors } from './shapes.ts'
import { fillsLine, MAX_VALUE, type Search, secretIn, spanAt, valueAt } from './value.ts'

/**
 * Places of secrets that are no assignment. To add one, give the words it begins with, and the function that
 * finds the value from the start of these words.
 */
export const leadDetectors = new Detectors<Search>([
  { prefix: '--', read: flagAt },
  ...after(shortFlagAt, '-a', '-p', '-P', '-u', '-w'),
  { prefix: '</', read: elementAt },
  { prefix: '//', read: addressAt },
  ...after(settingAt, 'ENV ', 'setenv ', 'setx ', 'SETX ', 'set -gx ', 'set -x '),
  ...after(settingAt, 'config set ', 'configure set '),
  { prefix: 'variable ', read: variableAt },
  ...after(statementAt, 'password ', 'PASSWORD ', 'IDENTIFIED BY ', 'identified by ', 'requirepass '),
  ...after(sentenceAt, ' is ', ' is: ', ' was ', ' to '),
])

type Read = (search: Search, at: number, prefix: string) => Secret | undefined

function after(read: Read, ...prefixes: readonly string[]): Detector<Search>[] {
  return prefixes.map((prefix) => ({ prefix, read: (search, at) => read(search, at, prefix) }))
}

/** `--password letmein1`; a value after `=` is found elsewhere. */
function flagAt(search: Search, at: number): Secret | undefined {
  if (search.text.charCodeAt(at + 2) === MINUS) return undefined
  const named = nameAt(search.text, at + 2)
  return named && valueAt(search, named.to + 1, { family: named.family, sure: 'line' })
}

/** Commands and the flag before their password: with a blank between them, without one, or either. */
const commands: readonly (readonly [flag: string, glue: ' ' | '' | '*', command: RegExp])[] = [
  ['-p', ' ', /\b(?:login|mongo|mongosh|mongodump|mongorestore|cqlsh)\b/],
  ['-p', '', /\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump|7z)\b/],
  ['-p', '*', /\bsshpass\b/],
  ['-P', '*', /\b(?:sqlcmd|bcp|unzip|zip)\b/],
  ['-a', ' ', /\bredis-cli\b/],
  ['-w', ' ', /\bldap(?:search|modify|add|whoami|passwd)\b/],
]

/** Whether a command has its password after this flag. */
export function isPasswordFlag(before: string, flag: string, joined: boolean): boolean {
  const command = before.split(/[;|&\n]|\\[nt]/).at(-1)!
  return commands.some(
    ([known, glue, words]) =>
      known === flag && (glue === '*' || joined === (glue === '')) && words.test(command),
  )
}

/** `curl -u name:password`, `sshpass -p password` */
function shortFlagAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  if (!isBlank(text.charCodeAt(at - 1))) return undefined
  const flag = text.slice(at, at + 2)
  const joined = !isBlank(text.charCodeAt(at + 2)) && text.charCodeAt(at + 2) !== EQUALS
  const span = spanAt(search, joined ? at + 2 : at + 3)
  // `-p 8080:80` is a port.
  if (!span || PORTS.test(text.slice(span.from, Math.min(span.to, span.from + 20)))) return undefined
  if (flag === '-u') {
    const colon = joined ? -1 : text.slice(span.from, Math.min(span.to, span.from + 100)).indexOf(':')
    if (colon < 1) return undefined
    return secretIn(text, { ...span, from: span.from + colon + 1 }, { family: 'password', sure: 'any' })
  }
  const before = text.slice(Math.max(0, at - MAX_COMMAND), at)
  return isPasswordFlag(before, flag, joined)
    ? secretIn(text, span, { family: 'password', sure: 'any' })
    : undefined
}

/** Characters of a command before its flag that are read. */
const MAX_COMMAND = 120

const PORTS = /^[\d.]{1,15}:\d/

//  <password>letmein</password>
//            ^ from ^ at
function elementAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  let [start, to] = [at + 2, at + 2]
  for (; to - at < MAX_NAME && (isNameUnit(text.charCodeAt(to)) || text[to] === ':'); to++)
    if (text[to] === ':') start = to + 1
  const name = text.slice(start, to)
  const role = text.charCodeAt(to) === GREATER ? roleOf(name) : undefined
  if (!role) return undefined
  const isData = text.endsWith(']]>', at)
  const end = isData ? at - 3 : at
  let from = end
  while (from > 0 && end - from < MAX_VALUE && text[from - 1] !== '<' && text[from - 1] !== '>') from--
  if (isData && text.startsWith(CDATA, from - 1)) from += CDATA.length - 1
  else if (text.charCodeAt(from - 1) !== GREATER) return undefined
  if (role === 'label') {
    search.label = labelOf(text.slice(from, end), name, to, '}')
    return undefined
  }
  const family = role === 'field' ? labelled(search, from) : role
  return family && secretIn(text, { from, to: end, quoted: true }, { family, sure: 'any' })
}

const CDATA = '<![CDATA['

//  ENV DB_PASSWORD letmein
//      ^ name
function settingAt(search: Search, at: number, prefix: string): Secret | undefined {
  const { text } = search
  const named = isInWord(text, at) ? undefined : nameAt(text, at + prefix.length)
  return named && valueAt(search, named.to + 1, { family: named.family, sure: 'any' })
}

/** The name of a secret from here to a blank. */
function nameAt(text: string, at: number): { family: NameFamily; to: number } | undefined {
  let to = at
  while (to - at < MAX_NAME && isNameUnit(text.charCodeAt(to))) to++
  const family = text.charCodeAt(to) === SPACE ? familyOf(text.slice(at, to)) : undefined
  return family && family !== 'authorization' && family !== 'cookie' ? { family, to } : undefined
}

/** Whether a letter is before this position; the sign of a diff, and the letter of an escape, are none. */
function isInWord(text: string, at: number): boolean {
  return /\w/.test(text[at - 1] ?? ' ') && !startsLine(text, at)
}

/** A variable of Terraform: its `default` follows. */
function variableAt(search: Search, at: number): undefined {
  const span = spanAt(search, at + 'variable '.length)
  if (span?.quoted)
    search.label = labelOf(search.text.slice(span.from, span.to), 'variable', span.to, '}') ?? search.label
}

/** A word before a value without a sign between them: in SQL with quotes, in .netrc after a login. */
function statementAt(search: Search, at: number, prefix: string): Secret | undefined {
  const { text } = search
  if (isInWord(text, at)) return undefined
  const span = spanAt(search, at + prefix.length)
  if (!span) return undefined
  const netrc = /\blogin\s{1,9}\S{1,99}(?:\\[nrt]|[^A-Za-z]){1,40}$/.test(
    text.slice(Math.max(0, at - 130), at),
  )
  const isConfig = netrc || (prefix === 'requirepass ' && startsLine(text, at))
  // Backticks are Markdown: "a process identified by `pid`".
  const quoted = span.quoted && text[span.from - 1] !== '`'
  return quoted || isConfig ? secretIn(text, span, { family: 'password', sure: 'any' }) : undefined
}

//  the password for admin is letmein1
//                        ^ at
function sentenceAt(search: Search, at: number, prefix: string): Secret | undefined {
  const { text } = search
  const name = nameBefore(text, at)
  // To pass is a verb, too.
  let family = name && name.name.length > 4 ? familyOf(name.name) : undefined
  if (!family && / (?:for|of) /.test(text.slice(Math.max(0, at - MAX_COMMAND), at)))
    family = ABOUT_PASSWORD.test(text.slice(Math.max(0, at - MAX_COMMAND), at)) ? 'password' : undefined
  if (family !== 'password' && family !== 'secret') return undefined
  let from = at + prefix.length
  if (text.startsWith('**', from)) from += 2
  const span = spanAt(search, from)
  if (!span) return undefined
  // A full stop, and emphasis, are no part of it.
  let { to } = span
  while (!span.quoted && to > span.from && '.!?*'.includes(text[to - 1]!)) to--
  const value = text.slice(span.from, to)
  const isWord = !span.quoted && (!/\d/.test(value.slice(0, 99)) || value.includes('-'))
  return isWord && !/[!@#$%^&*]/.test(value.slice(0, 99))
    ? undefined
    : secretIn(text, { ...span, to }, { family, sure: 'code' })
}

const ABOUT_PASSWORD = /\b(?:password|passphrase|passwd|passcode) (?:for|of) [^\n.:;,]{1,40}$/i

/** Maximum characters of an address before its host. */
const MAX_AUTHORITY = 400

//  postgres://name:password@host/…      https://token@host/…
//           ^ at
function addressAt({ text }: Search, at: number): Secret | undefined {
  if (text.charCodeAt(at - 1) !== COLON) return undefined
  const from = at + 2
  const [authority] = AUTHORITY.exec(text.slice(from, from + MAX_AUTHORITY))!
  const [colon, host] = [authority.indexOf(':'), authority.lastIndexOf('@')]
  if (host < 0) return undefined
  const isNamed = colon >= 0 && colon < host - 1
  const [start, end] = isNamed ? [colon + 1, host] : [0, colon >= 0 && colon < host ? colon : host]
  const value = authority.slice(start, end)
  if (!isNamed && (value.length < 16 || !/\d/.test(value))) return undefined
  const family = isNamed ? 'password' : 'secret'
  return isSecretValue(value, { family, quoted: true, sure: 'any' })
    ? { kind: 'url', from: from + start, to: from + end, certain: true }
    : undefined
}

const AUTHORITY = /^[^\u0000- /"'`\\<>]*/

//  db.example.com:5432:app:admin:letmein
//                ^ at
/** A line of .pgpass: host, port, database, user and password. */
export function pgpassAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  PGPASS.lastIndex = at
  const [fields] = PGPASS.exec(text) ?? []
  if (!fields) return undefined
  let host = at
  while (at - host < 253 && (isNameUnit(text.charCodeAt(host - 1)) || text[host - 1] === '*')) host--
  host += escapeAt(text, host)
  const span = /[a-z*.]/i.test(text.slice(host, at))
    ? spanAt(search, at + fields.length, '', true)
    : undefined
  return span && fillsLine(text, host, span.to)
    ? secretIn(text, span, { family: 'password', sure: 'any' })
    : undefined
}

/** The database is no number, as in `file:line:column:`; a fingerprint goes on with pairs. */
const PGPASS = /:(?:\d{2,5}|\*):(?:[A-Za-z_][\w.-]{0,62}|\*):[\w.@*-]{1,63}:(?!\w\w:)/y

const MAX_NAME = 64
/** Maximum characters between a name and its value in another field. */
const MAX_APART = 200
const AND = 38

interface Name {
  readonly name: string
  /** The quote after it, with what escapes it; empty if there is none. */
  readonly quote: string
  readonly from: number
}

//  "api_key" : "…"        API_KEY=…
//   ^^^^^^^  ^ at         ^^^^^^^^ at
export function nameBefore(text: string, at: number): Name | undefined {
  let to = at
  // `:=` of Go; `=>` is found by its `=`.
  if (text.charCodeAt(at) === EQUALS && text.charCodeAt(to - 1) === COLON) to--
  while (isBlank(text.charCodeAt(to - 1)) && at - to < 4) to--
  let quote = ''
  if (isQuote(text.charCodeAt(to - 1))) {
    const start = to - 1 - backslashesBefore(text, to - 1)
    quote = text.slice(start, to)
    to = start
  }
  // `**Password:** …` is bold.
  while (text.charCodeAt(to - 1) === STAR && at - to < 4) to--
  let from = to
  while (from > 0 && to - from < MAX_NAME && isNameUnit(text.charCodeAt(from - 1))) from--
  // The letter of an escape belongs to the escape.
  from += escapeAt(text, from)
  return to - from < 3 ? undefined : { name: text.slice(from, to), quote, from }
}

/** A value after `=` or `:`: of a name that says secret, or of the field beside such a name. */
export function assignedAt(search: Search, at: number): Secret | undefined {
  const { text } = search
  // `:=` is handled at its second character; `::` is a path.
  const next = text.charCodeAt(at + 1)
  const isColon = text.charCodeAt(at) === COLON
  if (isColon && (next === EQUALS || next === COLON)) return undefined
  const name = nameBefore(text, at)
  const role = name && roleOf(name.name)
  // A comparison.
  if (!role || (!isColon && (next === EQUALS || next === TILDE))) return undefined
  let from = at + 1
  if (!isColon && text[from] === '>') from++
  while (text.charCodeAt(from) === STAR && from - at < 3) from++
  while (isBlank(text.charCodeAt(from)) && from - at < 9) from++
  if (role === 'label') return labelAt(search, name, from, isColon ? '}' : '>')
  if (role === 'field') return fieldAt(search, from, name)
  const tight = !isColon && from === at + 1
  const inQuery = tight && '?&#'.includes(text[name.from - 1] ?? ' ')
  const plain = tight && (name.name === name.name.toUpperCase() || inQuery)
  return valueAt(search, from, {
    family: role,
    keyQuote: name.quote,
    stop: inQuery ? AND : 0,
    sure: plain ? 'any' : name.name.startsWith('-') ? 'line' : 'code',
    tight,
    // `token = other` is code more often than a setting.
    ...((isColon || tight || role === 'password') && { nameFrom: name.from }),
  })
}

//  - name: DB_PASSWORD        <input value="…" name="password">
//          ^ at                                     ^ at
function labelAt(search: Search, { name, quote }: Name, at: number, until: '}' | '>'): Secret | undefined {
  const { text, field } = search
  const span = spanAt(search, at, quote)
  const label = span && labelOf(text.slice(span.from, span.to), name, span.to, until)
  // In `type="password" name="pw"` the name takes nothing back, and neither does a type after a name.
  if (label || (name === 'type') === search.label?.isType) search.label = label
  search.field = undefined
  if (!label || !field || isApart(text, field.to, at)) return undefined
  return secretIn(text, field, { family: label.family, sure: 'any' })
}

/** The label that a name gives to the next field, if it says secret. */
export function labelOf(value: string, name: string, at: number, until: '}' | '>'): Search['label'] {
  const role = value.length > MAX_NAME ? undefined : roleOf(value)
  const isFamily = role !== undefined && role !== 'label' && role !== 'field'
  const isType = name === 'type'
  // `type: token` is a kind of many things.
  return isFamily && (!isType || role === 'password') ? { family: role, at, until, isType } : undefined
}

/** The value of a field such as `value`, if the name beside it says secret. */
function fieldAt(search: Search, at: number, { quote }: Name): Secret | undefined {
  const family = labelled(search, at)
  if (family) return valueAt(search, at, { family, keyQuote: quote, sure: 'any' })
  search.field = spanAt(search, at, quote)
  return undefined
}

/** What the label before this position says, if it reaches here. */
function labelled({ text, label }: Search, at: number): NameFamily | undefined {
  if (!label || at - label.at > MAX_APART) return undefined
  return text.slice(label.at, at).includes(label.until) ? undefined : label.family
}

/** Whether a value and the name after it belong to two objects, tags or items of a list. */
function isApart(text: string, from: number, to: number): boolean {
  return to < from || to - from > MAX_APART || /[{}<>]|- /.test(text.slice(from, to))
}
