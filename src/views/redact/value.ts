import { BACKSLASH, CR, ESC, LF, NUL, QUOTE } from '../../text/characters.ts'
import { afterScheme, isCredential, isSecretValue, type NameFamily, type Sureness } from './names.ts'
import {
  backslashesAt,
  backslashesBefore,
  endsLine,
  isBlank,
  isQuote,
  type Secret,
  startsLine,
} from './secret.ts'
import { shapeDetectors } from './shapes.ts'

export const MAX_VALUE = 4096
/** Characters of a value to judge: the rest of a long one is like its start. */
export const MAX_JUDGED = 256

/** A text that is searched, with what finds the ends of its values. */
export interface Search {
  readonly text: string
  readonly bareEnd: BareEnd
  /** Flags before this place have been looked at: a command with many of them is not read again from each. */
  flagsDone?: number
}

/** Where a value is, without its quotes. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly quoted: boolean
}

/** How a value was found. */
export interface ValuePlace {
  readonly family: NameFamily
  /** The quote after the name: then a bare number is JSON. */
  readonly keyQuote?: string
  /** Another character that ends the value. */
  readonly stop?: number
  readonly sure: Sureness
  /** Start of the name: if name and value fill a line, a bare word is a value. */
  readonly nameFrom?: number
  /** Nothing is between name, sign and value: then the same holds in a list of settings. */
  readonly tight?: boolean
  /** A value in quotes counts no more than others: code is full of them. */
  readonly strict?: boolean
}

/** The secret that begins here, behind a name. */
export function valueAt(search: Search, at: number, place: ValuePlace): Secret | undefined {
  const { family, keyQuote = '', stop = 0 } = place
  const span = spanAt(search, at, keyQuote, family === 'cookie' || family === 'authorization', stop)
  return span && secretIn(search.text, span, place)
}

/** The secret in this span, unless its value is a placeholder or code. */
export function secretIn(text: string, span: Span, place: ValuePlace): Secret | undefined {
  const { family, keyQuote = '', nameFrom = -1 } = place
  const { quoted, to } = span
  let { from } = span
  if (family === 'authorization') {
    from = afterScheme(text, from, to)
    if (!isCredential(text, from, to)) return undefined
  }
  const value = text.slice(from, Math.min(to, from + (family === 'cookie' ? MAX_VALUE : MAX_JUDGED)))
  // A shell runs what is in backticks.
  if (text[from - 1] === '`' && value.includes(' ')) return undefined
  const isBare = place.sure === 'code' && !quoted && nameFrom >= 0
  const ownLine = isBare && (fillsLine(text, nameFrom, to) || (place.tight && isSetting(text, nameFrom, to)))
  const sure = quoted && !place.strict ? 'any' : ownLine ? 'line' : place.sure
  if (!isSecretValue(value, { family, quoted, sure })) return undefined
  const shape = shapeDetectors.at({ text }, from)
  const kind = shape?.to === to ? shape.kind : kindOf(family)
  const bare = !quoted && keyQuote !== '' && /^\d{1,256}$/.test(value)
  // Remember only values that are long enough not to match elsewhere by accident.
  const certain = family !== 'cookie' && family !== 'authorization'
  return { kind, from, to, ...(bare && { quote: keyQuote }), ...(certain && { certain }) }
}

/** What the mark of a value says. */
export function kindOf(family: NameFamily): string {
  return family === 'key' ? 'secret' : family
}

/** The value that begins here: up to the closing quote, or to a blank. */
export function spanAt(
  { text, bareEnd }: Search,
  at: number,
  keyQuote = '',
  wholeLine = false,
  stop = 0,
): Span | undefined {
  const start = at + backslashesAt(text, at)
  if (!isQuote(text.charCodeAt(start))) {
    const to = bareEnd(at, wholeLine, stop)
    return to > at ? { from: at, to, quoted: false } : undefined
  }
  const [quote, from] = [text.slice(at, start + 1), start + 1]
  // A blank follows a closing quote: "`password=` or `token=`".
  if (isClosing(text, from, quote, keyQuote) || isBlank(text.charCodeAt(from))) return undefined
  const to = closing(text, from, quote)
  return to > from ? { from, to, quoted: true } : undefined
}

//  + password: letmein      'X-Api-Key: letmein'      config.yml:3:password: letmein
//    ^ from           ^ to
/** Whether nothing else is on the line, or between the quotes, of this stretch. */
export function fillsLine(text: string, from: number, to: number): boolean {
  let [start, end] = [from, to]
  while (from - start < 80 && LINE_STARTS.includes(text[start - 1] ?? '?')) start--
  while (end - to < 80 && isBlank(text.charCodeAt(end))) end++
  const isOpened = startsLine(text, start) || text[start - 1] === ':' || isQuote(text.charCodeAt(from - 1))
  return isOpened && (endsLine(text, end) || isQuote(text.charCodeAt(to)) || text[end] === '#')
}

//  host=db password=letmein user=a      Server=db;Password=letmein
/** Whether blanks or semicolons are around this stretch, as in a list of settings; code has commas. */
function isSetting(text: string, from: number, to: number): boolean {
  return ' ;'.includes(text[from - 1] ?? ' ') && text[from - 2] !== ',' && /[ ;]/.test(text[to] ?? ' ')
}

const LINE_STARTS = ' \t+->*|→0123456789'

//  {"text":"password=","next":1}     ["\"password\":", 5]
//                    ^ from                          ^ from
/** Whether the quote before does not open the value, but closes the JSON string with the name. */
function isClosing(text: string, from: number, quote: string, keyQuote: string): boolean {
  if (keyQuote !== '') return keyQuote.at(-1) === quote.at(-1) && keyQuote !== quote
  return isStringEnd(text, from) || ';)'.includes(text[from] ?? ';')
}

//  ["password= 'abc", 5]
//                  ^ the end
/** The closing quote, escaped like the opening one; else the end of the line or the JSON string. */
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
  const escapes = backslashesAt(text, from)
  return text[from + escapes] === '"' && escapes < backslashesBefore(text, from - 1)
}

/** The end of a value without quotes, which may be the rest of the line. */
export type BareEnd = (from: number, wholeLine: boolean, stop: number) => number

/** Remembers the last end: many names without a value would be read again from each. */
export function bareEnds(text: string): BareEnd {
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
    if (unit === LF || unit === CR || isQuote(unit) || unit === ESC || unit === NUL) break
    if ((stop !== 0 && unit === stop) || (!wholeLine && isBlank(unit))) break
    if (unit !== BACKSLASH) continue
    // The escape of a line end or a quote, also in JSON in JSON, ends it; other backslashes do not.
    let following = end + 1
    while (following < last && text.charCodeAt(following) === BACKSLASH) following++
    if (following === last || 'nrtu"\'`'.includes(text[following]!)) break
    end = following
  }
  return end
}
