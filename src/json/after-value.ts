import {
  APOSTROPHE,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  EQUALS,
  isBlank,
  isBracket,
  isDigit,
  isWordCharacter,
  LF,
  MINUS,
  QUOTE,
  quoteFamily,
  WIDE_COLON,
  WIDE_COMMA,
} from '../text/characters.ts'
import { closes, nextQuote } from './strings.ts'
import { pastBlanks, type Visitor, walk } from './walk.ts'

/*
 * Whether a value is over where its last bracket is, or goes on, for a text. `frames/what-follows.ts` answers
 * for the bytes that have arrived: it decides the plain cases without a text, and asks here for the others.
 */

/**
 * Whether what follows a value at `at` belongs to a larger one: a closing bracket, a comma or colon and a
 * value or a comment, a key, or the end of a string or number.
 *
 * @example
 * isStructureAt('{"k":1}},"m":2}', 7) // true
 * isStructureAt('{"k":1}, as asked', 7) // false
 */
export function isStructureAt(text: string, at: number, place: Place = 'document'): boolean {
  return structure.test(text.slice(at, at + MAX_LOOK)) || goesOnAt(text, at, place)
}

/** Where a value is: the first thing of a text, so that it may be all of it; after a quote; or elsewhere. */
export type Place = 'document' | 'after a quote' | 'prose'

const MAX_LOOK = 4096
const structure =
  /^[\s\u180e\u200b-\u200d\u2060]*(?:[}\]]|"(?:[^"\\]|\\.){0,256}"\s*[:=]|[,:][\s\u180e\u200b-\u200d\u2060,]*(?:["'“{[}\]\d#]|-\d|```[`\w\s-]{0,99}["'}\]]|`[^`]{1,99}`\s*:|[!%&()*/;<=>?@\\^|~]\s{0,9}"[^"]{1,200}"\s{0,9}:|\/[/*]|<!|\.{3}\s{0,9}[}\]]|(?:true|false|null)(?![\w$'-]|[^\0-\x7f])|(?:True|False|None)(?=[,)\]}])|[\p{L}_$][\p{L}\p{N}_$'./-]{0,255}"?:|[\p{L}_$](?<=\n[ \t]{0,99}.)[\p{L}\p{N}_$'./ -]{0,255}"?\s{0,9}:))/su

//  {"a":1}}    [1]}        {"a":1}]                                {"a":{"b":1},"c":2}}  {"a”:{b":1}}
//         ^       ^ dropped       ^ a fault: an opening one may be lost           ^ another's, too?     ^
/**
 * Whether only braces follow a value at `end`, up to three, and have one reading: none of the braces before
 * them can be the one too many, because no member follows any, and none is taken for text.
 */
export function endsInBraces(text: string, end: number): boolean {
  if (!/^\s*(?:\}\s*){1,3}$/.test(text.slice(end))) return false
  // By the layout, the last one closes the document, and an opening one is lost.
  if (/\n[ \t]+\}$/.test(text.slice(Math.max(0, end - 256), end)) && /^\s*\n\}/.test(text.slice(end)))
    return false
  return !/\}\s*,\s*[^\s{[]|"[^"\\]*['’”`] {0,9}: {0,9}\{[^"\\{}]*" {0,9}:/.test(text.slice(0, end))
}

/** Whether a text is nothing but brackets, colons, commas and blanks: a document, however broken. */
export function isOnlyStructure(text: string): boolean {
  return /^[\s\0\ufeff{}[\]:,]*$/.test(text) && /[{}[\]]/.test(text)
}

/** Whether what follows the first value at `end` belongs to it: structure, or keys and a bracket. */
export function isRestOfWhole(text: string, end: number): boolean {
  if (isStructureAt(text, end)) return true
  const rest = text.slice(end)
  if (!/["'’”\w]\s{0,99}:/.test(rest)) return false
  let depth = 0
  const brackets: Visitor = {
    open() {
      depth++
    },
    close: () => --depth < 0,
  }
  const stop = walk(rest, brackets)
  // At a string without an end: no later one has an end, either.
  if (depth >= 0) walk(rest.slice(stop).replaceAll('"', ' '), brackets)
  return depth < 0
}

/** How far the rest of a line is read. */
export const MAX_REST = 512

type Last =
  | 'other'
  | 'glued'
  | 'comma after glued'
  | 'quote'
  | 'end of a string'
  | 'comma after it'
  | 'separator'
  | 'separator in a document'

/**
 * Whether the line after a value shows that its last bracket was not its end, but one too many, or part of a
 * string whose quotes are lost or not double ones. `at` is the position after the bracket. Read up to the
 * line end and the first character after it, or up to where another value opens.
 *
 *     {"k":1}"m":2}      {"k": 'x} y', "m": 2}      {"k":1}23}      {"k":1}, the "key": 1
 *            ^^^^ a key          ^^ a string's end         ^^ a number's end         ^^^^^ prose
 *
 * @example
 * goesOnAt('{"k":1}"m":2}', 7) // true
 * goesOnAt('{"k":1} and "m": 2', 7) // false
 */
export function goesOnAt(text: string, at: number, place: Place = 'prose'): boolean {
  access.lastIndex = at
  if (access.test(text)) return true
  const own = text.charCodeAt(at - 1)
  const from = pastBlanks(text, at)
  const limit = Math.min(text.length, from + MAX_REST)
  // Not indexOf, which would read a long text to its end each time.
  let end = from
  while (end < limit && text.charCodeAt(end) !== LF) end++
  const past = pastComments(text, from, end)
  if (past > from) return isStructureAt(text[at - 1] + text.slice(past, pastBlanks(text, end) + 1), 1, place)
  /** What the last character that is not blank was. */
  let last = 'other' as Last
  /** The kind of quote that opened a string on this line, 0 for none, and where. */
  let opened = 0
  let openedAt = -1
  /** A string ended on this line that did not begin on it, and whether a comma followed it. */
  let hasEnd = false
  let hasComma = false
  let hasKey = false
  let hasBareKey = false
  let depth = 0
  /** The end of the word that is glued to the bracket, or of a bare key. */
  const wordEnd = endOfWord(text, from, end)
  for (let here = from; here < end; here++) {
    const unit = text.charCodeAt(here)
    if (isBlank(unit)) continue
    if (isQuote(unit)) {
      if (opened === quoteFamily(unit) && !isInWord(text, here)) {
        opened = 0
        last = hasEnd ? 'end of a string' : 'quote'
      } else if (opened !== 0) continue
      else if (here === at && mayEnclose(text, at, place)) last = 'quote'
      else if (last === 'comma after glued') return true
      else if (opensAt(text, here, from) && isClosedBefore(text, here, end)) {
        opened = quoteFamily(unit)
        openedAt = here
        last = 'other'
      } else if (!isInWord(text, here)) {
        last = 'end of a string'
        hasEnd = true
      }
      continue
    }
    if (opened !== 0) continue
    const wasGlued = here === wordEnd && from === at && wordEnd > at
    const wasEnd = last === 'end of a string'
    if (isBracket(unit)) {
      if (!hasEnd && !hasKey && opensValue(text, here, end)) return false
      depth++
    } else if (isClosing(unit)) {
      if (wasEnd || wasGlued || (depth === 0 && unit === own && (hasKey || hasBareKey || hasEnd))) return true
      depth = Math.max(0, depth - 1)
    } else if ((unit === COLON || unit === EQUALS) && last === 'quote' && openedAt === from) return true
    else if (unit === COLON) {
      if (wasEnd || hasComma) return true
      hasKey ||= last === 'quote'
      hasBareKey ||= here === wordEnd
    }
    last = here < wordEnd && from === at ? 'glued' : 'other'
    if (unit !== COMMA) continue
    hasComma ||= wasEnd
    last = wasEnd ? 'comma after it' : wasGlued ? 'comma after glued' : 'other'
  }
  if (hasEnd || !separator.test(text.slice(from, end))) return goesOnBelow(text, end, last)
  return goesOnBelow(text, end, place === 'document' ? 'separator in a document' : 'separator')
}

//  [1,2][0]   [1,2][1:]   {"a":1}["a"]   {"a":1}.a       {"a":1}[1]   {"a":1}.
//       ^^^        ^^^^          ^^^^^          ^^ goes on       ^^^ a citation, and a full stop
/** What takes an element or a member of the value before it: the text is code, and its value is not in it. */
const access =
  /\??\.[\p{Ll}_$]|(?<!\})\[(?:-?\d{1,9}|-?\d{0,9}:-?\d{0,9})\]|(?<!\])\[(?:"[^"\n]{1,99}"|'[^'\n]{1,99}')\]/uy

/** After the comments of a line at `from` that have a closing mark, if all of them end on it. */
function pastComments(text: string, from: number, end: number): number {
  let at = from
  for (;;) {
    const [open, closing] = COMMENTS.find(([mark]) => text.startsWith(mark, at)) ?? []
    if (!open || !closing) return at
    const inner = at + open.length
    const close = text.slice(inner, end).indexOf(closing)
    if (close < 0) return from
    at = pastBlanks(text, inner + close + closing.length)
  }
}

const COMMENTS = [
  ['/*', '*/'],
  ['<!--', '-->'],
] as const

//  {"k": 1}，       {"k": 1}!,       {"k": 1} // one
//   "m": 2}          "m": 2}          "m": 2}
/** A line that is another comma than JSON's, one with stray signs, or a comment: a key may follow below. */
const separator =
  /^(?=\S)(?:[;，；、|/=&^~%@\\]{1,2}|[^\p{L}\p{N}_\s"'{}[\]]{0,2},[!%&()*/;<=>?@\\^|~]?)?\s*(?:(?:\/[/*]|#\s).*)?$/u

function endOfWord(text: string, from: number, end: number): number {
  let at = from
  while (at < end && (isWordCharacter(text.charCodeAt(at)) || isFraction(text, at))) at++
  return at
}

function isFraction(text: string, at: number): boolean {
  return text.charCodeAt(at) === DOT && isDigit(text.charCodeAt(at + 1))
}

//  "k": "x} y",          "k": "x} y"      ["x} y",
//  "m": 2             }                    {"m": 2}]
//  ^ a key            ^ the end            ^ an element
/** Whether the line below continues a document whose string, or number, ended on this one. */
function goesOnBelow(text: string, from: number, last: Last): boolean {
  if (last === 'other' || last === 'quote') return false
  const unit = text.charCodeAt(pastBlanks(text, from))
  // In prose, it may be the end of the code around an object.
  if (isClosing(unit)) return last !== 'separator'
  if (last === 'comma after it' && (isBracket(unit) || isDigit(unit) || unit === MINUS)) return true
  return (last.startsWith('separator') || last.startsWith('comma')) && isQuote(unit)
}

/** Whether a quote right after a value may be the second of two around it. */
function mayEnclose(text: string, at: number, place: Place): boolean {
  if (place !== 'prose') return place === 'after a quote'
  const after = text.charCodeAt(at + 1)
  return after !== COMMA && !isClosing(after)
}

/** Whether a bracket opens another value: another bracket or a string follows, if only on the next line. */
function opensValue(text: string, at: number, end: number): boolean {
  const next = pastBlanks(text, at + 1)
  const unit = text.charCodeAt(next)
  return isBracket(unit) || (isQuote(unit) && (next >= end || mayFollowOpening(text.charCodeAt(next + 1))))
}

/**
 * Whether a quote opens a string: after a blank or a separator, or in a script that has no blanks between
 * words, and before what may be the first character of one.
 */
function opensAt(text: string, at: number, from: number): boolean {
  const before = text.charCodeAt(at - 1)
  if (at !== from && !isBlank(before) && before < 0x80 && !'(,:=[{>'.includes(text[at - 1]!)) return false
  return mayFollowOpening(text.charCodeAt(at + 1))
}

/** Whether a quote has a partner before `end`; that of a curly one is taken for granted. */
function isClosedBefore(text: string, at: number, end: number): boolean {
  const unit = text.charCodeAt(at)
  if (quoteFamily(unit) !== unit) return true
  for (let close = at + 1; close < end; close++)
    if (text.charCodeAt(close) === unit && !isInWord(text, close)) return true
  return false
}

/** Whether a string may begin with this: a separator, a bracket or a blank follows a closing quote. */
export function mayFollowOpening(character: number): boolean {
  if (Number.isNaN(character) || isBlank(character)) return false
  return character !== COMMA && character !== COLON && !isClosing(character)
}

/** An apostrophe, as in `it's`. */
function isInWord(text: string, at: number): boolean {
  return isWordCharacter(text.charCodeAt(at - 1)) && isWordCharacter(text.charCodeAt(at + 1))
}

function isClosing(unit: number): boolean {
  return unit === CLOSE_BRACE || unit === CLOSE_BRACKET
}

/** A quote of strings. Backticks are the quotes of prose. */
function isQuote(unit: number): boolean {
  const family = quoteFamily(unit)
  return family === QUOTE || family === APOSTROPHE
}

//  {'a': 'x}', 'b': 1}    {"a": “it’s}
//          ^ closes nothing           ^ neither
/**
 * Whether the last bracket of a text that is not JSON is inside a string in other quotes than double ones:
 * what cut the text there did not see the string.
 *
 * @example
 * endsInString(`{"a": 'x}`) // true
 * endsInString(`{"a": 'x'}`) // false
 */
export function endsInString(text: string): boolean {
  if (!/['`´‘-‟]/.test(text)) return false
  // A quote opens a string where a key or a value may begin, and closes it before what may follow.
  let last = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isBlank(unit)) continue
    const before = last
    last = unit
    if (quoteFamily(unit) === 0 || !mayPrecedeString(before)) continue
    const close = nextQuote(
      text,
      at + 1,
      text.length,
      (quote, here) => closes(quote, unit) && (unit === QUOTE || mayFollowString(text, here + 1)),
    )
    if (close < 0) return unit !== QUOTE
    at = close
    last = QUOTE
  }
  return false
}

/** Not `=`, which is in the text of many strings. */
function mayPrecedeString(unit: number): boolean {
  return isBracket(unit) || unit === COMMA || unit === COLON || unit === WIDE_COMMA || unit === WIDE_COLON
}

/** Whether what follows a string may be at `from`: a separator, a closing bracket, or the end of the text. */
export function mayFollowString(text: string, from: number): boolean {
  const at = pastBlanks(text, from)
  return at >= text.length || ',:}]，：;='.includes(text[at]!)
}
