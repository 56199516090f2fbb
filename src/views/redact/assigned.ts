import { BACKSLASH, COLON, EQUALS, STAR, TILDE } from '../../text/characters.ts'
import { type NameFamily, roleOf } from './names.ts'
import { escapeAt, isBlank, isNameUnit, isQuote, type Secret } from './secret.ts'
import { type Search, secretIn, spanAt, valueAt } from './value.ts'

/** Maximum characters of a name. */
export const MAX_NAME = 64
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
    let start = to - 1
    while (text.charCodeAt(start - 1) === BACKSLASH && to - start < 9) start--
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
export function labelled({ text, label }: Search, at: number): NameFamily | undefined {
  if (!label || at - label.at > MAX_APART) return undefined
  return text.slice(label.at, at).includes(label.until) ? undefined : label.family
}

/** Whether a value and the name after it belong to two objects, tags or items of a list. */
function isApart(text: string, from: number, to: number): boolean {
  return to < from || to - from > MAX_APART || /[{}<>]|- /.test(text.slice(from, to))
}
