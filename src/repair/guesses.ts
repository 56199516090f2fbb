import { backslashesBefore, closes, nextQuote } from '../json/strings.ts'
import {
  APOSTROPHE,
  BACKSLASH,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  classTable,
  isBlank,
  isBracket,
  isDigit,
  LF,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  quoteFamily,
} from '../text/characters.ts'
import { isJsonWord, isNoElement, isPlainText, isScalarWord, MAX_WORD, spellingOf } from './bare-words.ts'
import type { Edit } from './edits.ts'
import { closingQuote, isApostrophe, isQuote, pathEnd, spellString } from './quotes.ts'
import {
  bareKeyEnd,
  endsInComma,
  type GuessKind,
  isFirstOnLine,
  isJoined,
  isUnusualBlank,
  Reading,
  skipBlanks,
  spacingAfter,
  wordEnd,
} from './tolerant-reader.ts'

/**
 * The ways in which a reading that stopped may continue. Each assumes one error in the text near the
 * position, and none lets a string swallow what reads as structure: a quote before a colon, before a comma
 * and the next value, or before a closing bracket.
 *
 *     {"a":"Ada,"b":1}      a closing quote is missing      {"a":"Ada","b":1}
 *     {"a":"24" tall"}      a quote was not escaped         {"a":"24\" tall"}
 *     {"a":Ada","b":1}      an opening quote is missing     {"a":"Ada","b":1}
 *     {"a":1 "b":2}         a comma is missing              {"a":1,"b":2}
 *     {"a" 1}               a colon is missing              {"a":1}
 *     {"a":high}            both quotes are missing         {"a":"high"}
 *     {"a":"C:\x\","b":1}   the last backslash is text      {"a":"C:\\x\\","b":1}
 *     {"a":"one "⏎ "two"}   two lines make one string       {"a":"one two"}
 *     {"a":[1,2}            a closing bracket is missing    {"a":[1,2]}
 *     {"a":[1},"b":2}       one is of the wrong type        {"a":[1],"b":2}
 */
export function guessesFor(stopped: Reading): Reading[] {
  const found: Reading[] = []
  if (stopped.tuples > 0) return found
  const add = (kind: GuessKind, make: (stopped: Reading) => Iterable<Reading>): void => {
    if (stopped.guess !== undefined && stopped.guess !== kind) return
    for (const next of make(stopped)) {
      next.guess = kind
      next.guesses++
      next.unclosed = false
      found.push(next)
    }
  }
  const isDoubtful = stopped.token.kind === 'doubtful string'
  const isString = isDoubtful || stopped.token.kind === 'string'
  const afterString = isString && stopped.token.to === endOfToken(stopped)
  if (stopped.unclosed) {
    add('closing quote', closingQuoteAtEnd)
    add('path', pathBeforeQuote)
  } else if (stopped.state === 'comma') {
    if (afterString) {
      add('inner quote', innerQuotes)
      add('closing quote', missingClosingQuote)
      add('path', pathBeforeQuote)
    }
    add('opening quote', openingQuoteBeforeToken)
    if (isDoubtful) return found
    add('comma', missingComma)
    if (afterString) add('line', stringOnNextLine)
    add('bracket', missingBracket)
    add('bracket', wrongBracket)
  } else if (stopped.state === 'colon') {
    add('colon', missingColon)
    if (afterString) {
      add('inner quote', innerQuotes)
      add('closing quote', missingClosingQuote)
    }
  } else if (stopped.state === 'key' || stopped.state === 'first key') {
    add('opening quote', missingOpeningQuote)
    add('bracket', missingBracket)
    add('bracket', wrongBracket)
  } else if (stopped.state === 'value' || stopped.state === 'first value') {
    add('opening quote', missingOpeningQuote)
    add('word', bareText)
    add('path', pathBeforeQuote)
    add('bracket', wrongBracket)
  }
  return found
}

function endOfToken({ state, valueEnd, token }: Reading): number {
  return state === 'comma' ? valueEnd : token.to
}

//  {"a":1 "b":2}   ["x""y"]
//        ^ at          ^ at
function* missingComma(stopped: Reading): Iterable<Reading> {
  const { text, at, token, valueEnd } = stopped
  const unit = text.charCodeAt(at)
  if (unit === COLON) return
  if (endsInComma(text, token)) return
  if (isQuote(unit) && ',]}'.includes(text[at + 1] ?? ' ')) return
  // `["x"" // 5"⏎]`: rather the quote is one too many, and a comment has the last one.
  if (isQuote(unit) && /^\s{0,9}(?:\/[/*]|#\s)/.test(text.slice(at + 1, at + 12))) return
  // Two backticks are rather what is left of a fence mark than an empty string.
  if ([at, token.to - 2].some((place) => text.startsWith('``', place))) return
  if (token.kind === 'string') {
    // `"x, // 5"⏎`: a comma and a comment are in it, so it has ended before.
    if (/,\s{0,9}(?:\/[/*]|#\s)/.test(text.slice(token.from + 1, token.to))) return
    // In `["x"␣""]` without the blank there is a comma too few, or a quote too many.
    const isEmpty = token.to - token.from === 2 || text[at + 1] === text[at]
    if (stopped.inArray() && at === token.to && isQuote(unit) && isEmpty) return
  }
  if (isQuote(unit) && text.charCodeAt(at + 1) === COLON && !stopped.inArray()) return
  if (stopped.inArray()) {
    if (!isQuote(unit) && !isBracket(unit) && isQuote(text.charCodeAt(wordEnd(text, at)))) return
    if (!isValueAt(text, at)) return
    // `[[1,][]]`: rather the two brackets in the middle changed places.
    if (unit === OPEN_BRACKET && at === valueEnd && endsLike(text, valueEnd, /[[,]\s{0,99}\]$/)) return
    // `1 000` is one number, or two; `⏎2 "a",` and `⏎2. "a",` begin with the number of the line.
    const isNumber = token.kind === 'word' && /[\d.]/.test(text[token.to - 1]!)
    const isDoubtful = isDigit(unit) || unit === MINUS || isFirstOnOwnLine(text, token.from)
    if (isNumber && isDoubtful && !text.slice(valueEnd, at).includes('\n')) return
  } else if (!isKeyAt(text, at) || (token.kind === 'string' && token.to === at && !isQuote(unit))) return
  // `{"a":1,}"b":2}`: rather the bracket is one too many.
  else if (!stopped.base && endsLike(text, valueEnd, /,\s{0,99}[}\]]$/)) return
  const next = stopped.copy()
  next.add(valueEnd, valueEnd, ',', 'added a missing comma')
  next.state = next.inArray() ? 'value' : 'key'
  yield next
}

/** Whether the text before `at` ends in a pattern of at most 101 characters. */
function endsLike(text: string, at: number, pattern: RegExp): boolean {
  return pattern.test(text.slice(Math.max(0, at - 101), at))
}

//  {"a":[1,2}   {"a":[1,2,"b":3}   [{"a":1,{"a":2}]
//           ^ at              ^ at        ^ at: the container of another type goes on
function* missingBracket(stopped: Reading): Iterable<Reading> {
  const { text, at, level, state, base } = stopped
  const up = level?.up
  // Where an element of a list ends without it cannot be known.
  if (!up || base || up.array === level.array) return
  const end = endBeforeOther(stopped)
  if (end < 0) return
  const bracket = level.array ? ']' : '}'
  const isKey = text.charCodeAt(at) === COLON
  // `[[1,2}`: it is missing after the 1, or after the 2. `["a]"}`: two characters changed places.
  const isBehindOther =
    text[end - 1] === bracket || isReplaced(isKey ? stopped.token.edits : stopped.edits, end)
  if (isBehindOther || text[end - 2] === bracket) return
  const goesOn = isKey ? stopped.token.from : at
  const sibling = state === 'key' || isKey ? level.from : up.from
  if (isFirstOnOwnLine(text, goesOn)) {
    const indent = indentOf(text, goesOn)
    if (indent !== indentOf(text, sibling)) return
    // It closes what begins on this indent, with a bracket of the wrong type.
    if (
      sibling === up.from &&
      indent !== '' &&
      indent === indentOf(text, level.from) &&
      text.slice(up.from, level.from).includes('\n')
    )
      return
  }
  if (level.array) {
    // `"a":[1}`: rather the opening one is too many.
    const first = new Reading(text, stopped.effort)
    first.at = level.from + 1
    first.level = first.base = { array: true, from: -1, up: undefined }
    first.run()
    stopped.effort.spent += first.at - level.from
    if (first.state !== 'end' || first.valueEnd >= end) return
  }
  const next = stopped.copy()
  if (isKey) next.edits = stopped.token.edits
  next.add(end, end, bracket, 'added a missing bracket')
  next.level = up
  next.valueEnd = end
  next.token = { kind: 'other', from: end, to: end, key: false, edits: next.edits }
  if (state === 'key') next.state = 'value'
  else if (isKey) {
    next.at = goesOn
    next.comma = text.lastIndexOf(',', next.at)
    next.state = 'key'
  }
  yield next
}

//  {"a":[1},"b":2}   {"a":[1}]
//         ^ at               ^^ at: as many close as were opened, but two have changed places
function* wrongBracket(stopped: Reading): Iterable<Reading> {
  const { text, at, level, state, comma } = stopped
  if (!level || stopped.base || text[at] !== (level.array ? '}' : ']')) return
  if (stopped.guesses > 0 && !(stopped.guesses === 1 && isReplaced(stopped.edits, stopped.valueEnd))) return
  // Of `[}` either may be wrong; of `[1,},` and `[1,]],` rather an opening one is missing.
  if (state !== 'comma' && (comma < 0 || level.up)) return
  if (endsLike(text, at, /,\s{0,49}\]\s{0,49}$/)) return
  // A bracket that opens a block of lines is closed on a line of its own, on the same indent.
  const isOnOwnLine = isFirstOnOwnLine(text, at)
  if (isOnOwnLine !== /^[ \t\r]*\n/.test(text.slice(level.from + 1, level.from + 256))) return
  if (isOnOwnLine && indentOf(text, at) !== indentOf(text, level.from)) return
  const next = stopped.copy()
  if (comma >= 0) next.add(comma, comma + 1, '', 'dropped a comma')
  next.add(at, at + 1, level.array ? ']' : '}', 'replaced a bracket')
  next.level = level.up
  next.token = { kind: 'other', from: at, to: at + 1, key: false, edits: next.edits }
  next.endValue(at + 1)
  yield next
}

/** Whether the last edit replaced the bracket before `at`. */
function isReplaced(last: Edit | undefined, at: number): boolean {
  return last?.kind === 'replaced a bracket' && last.to === at
}

/** One past the last value of an array or object, if what follows belongs around it; -1 if not. */
function endBeforeOther({ text, at, level, state, comma, token, valueEnd }: Reading): number {
  const unit = text.charCodeAt(at)
  if (state === 'key') {
    if (unit !== OPEN_BRACE || comma < 0) return -1
    // Another object that begins with the same key is the next one in the list.
    const key = FIRST_KEY.exec(text.slice(level!.from, level!.from + MAX_KEY))
    return key && FIRST_KEY.exec(text.slice(at, at + MAX_KEY))?.[1] === key[1] ? valueEnd : -1
  }
  if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) return valueEnd
  if (unit !== COLON || token.kind !== 'string' || token.to !== valueEnd || !level!.array) return -1
  const from = Math.max(level!.from, token.from - MAX_KEY)
  const before = text.slice(from, token.from).trimEnd()
  const end = before.endsWith(',') ? from + before.slice(0, -1).trimEnd().length : -1
  const last = token.edits
  // A comment before the comma, or a change after it: the value ends before them.
  return last && (last.to > end || (last.to === end && last.by.trim() === '')) ? -1 : end
}

function isFirstOnOwnLine(text: string, at: number): boolean {
  return /\n[ \t]*$/.test(text.slice(Math.max(0, at - 256), at))
}

/** The blanks that the line of `at` begins with. */
function indentOf(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(from, Math.max(from, at)))![0]
}

const MAX_KEY = 128
const FIRST_KEY = /^\{\s*("[^"\\]*")\s*:/

//  {"a" 1}   {"a""x"}
//       ^ at     ^ at
function* missingColon(stopped: Reading): Iterable<Reading> {
  const { text, at, token } = stopped
  if (token.kind !== 'string' || !isValueAt(text, at)) return
  // A string and a value on two lines are rather elements without a comma.
  if (text.slice(token.from, at).includes('\n')) return
  if (/[,:]\s{0,9}$/.test(text.slice(Math.max(token.from, token.to - 11), token.to - 1))) return
  if (isQuote(text.charCodeAt(at)) && isSeparator(text.charCodeAt(at + 1))) return
  const next = stopped.copy()
  next.add(token.to, token.to, ':', 'added a missing colon')
  next.state = 'value'
  yield next
}

//  {"a":"he said "hi" twice","b":1}
//                ^ at: the string before it continues up to a quote that ends a value
function* innerQuotes(stopped: Reading): Iterable<Reading> {
  const { text, token } = stopped
  const { from, key } = token
  const opening = text.charCodeAt(from)
  if ((key || stopped.inArray()) && isBeforeValue(text, token.to - 1)) return
  let before = -1
  let close = token.to - 1
  for (let inner = 0; inner < MAX_INNER; inner++) {
    if (looksLikeOpening(text, from, close) || isJoined(text, close) || isBeforeBracket(text, close)) return
    const following = skipBlanks(text, close + 1)
    const follows = text.charCodeAt(following)
    if (follows === (key ? COMMA : COLON)) return
    // A comma is missing, and the next key was escaped.
    if (follows === BACKSLASH) return
    // Two quotes with nothing between them end one string and start another.
    if (before >= 0 && skipBlanks(text, before + 1) === close) return
    before = close
    close = nextClosing(text, close + 1, opening)
    stopped.effort.spent += Math.max(following, close < 0 ? text.length : close) - before
    if (close < 0) return
    if (!endsHere(stopped, close, key) || isBeforeQuotingComment(text, close)) continue
    const comma = skipBlanks(text, close + 1)
    if (text.charCodeAt(comma) === COMMA && isBeforeQuotingComment(text, comma)) return
    if (key && !isInnerOfKey(text, token, before, close)) return
    if (holdsJoined(text, from, close)) return
    stopped.effort.spent += close - from
    if (isDoubtfulInner(stopped, from, close, opening)) return
    if (holdsEscapedEnd(stopped, from, close)) return
    const spelled = spellString(text, { from, to: close, opened: true, closed: true }, token.edits)
    if (!spelled) return
    const next = stopped.copy()
    next.edits = spelled.edits
    next.token = { kind: 'string', from, to: close + 1, key, edits: token.edits }
    if (key) {
      next.at = close + 1
      next.state = 'colon'
    } else next.endValue(close + 1)
    yield next
    return
  }
}

//  'one "two" + "three"'
//           ^^^^^^^ strings in double quotes that are joined are not the text of another one
function holdsJoined(text: string, from: number, close: number): boolean {
  return text.charCodeAt(from) !== QUOTE && /"\s{0,99}\+\s{0,99}"/.test(text.slice(from, close))
}

//  ""users" // not a comment"
//         ^ at: what reads as a comment is the rest of the string
function isBeforeQuotingComment(text: string, at: number): boolean {
  return text.slice(at + 1, skipBlanks(text, at + 1)).includes('"')
}

//  ["a" 1 "b"]   {"a" 1 "b":2}
//     ^ quote       ^ quote: two commas are missing, or a colon and a comma
function isBeforeValue(text: string, quote: number): boolean {
  // `"the "24" models"` has a blank before its inner quote.
  if (isBlank(text.charCodeAt(quote - 1))) return false
  const at = skipBlanks(text, quote + 1)
  if (isQuote(text.charCodeAt(at)) || !isValueAt(text, at)) return false
  return isBracket(text.charCodeAt(at)) || isValueAt(text, skipBlanks(text, wordEnd(text, at)))
}

/** A key is short, on one line, and has no quote at its edges, where one may be doubled. */
function isInnerOfKey(text: string, token: Reading['token'], inner: number, close: number): boolean {
  if (inner === token.from + 1 || inner === close - 1 || close - token.from > MAX_WORD) return false
  return !/[\n:,]/.test(text.slice(token.from + 1, close))
}

/** Maximum number of quotes inside one string. */
const MAX_INNER = 256

//  {"a":"Ada, or so,"b":1}
//       ^ from      ^ at: the supposed closing quote opens the next string
function* missingClosingQuote(stopped: Reading): Iterable<Reading> {
  const { token, text } = stopped
  yield* endedEarlier(stopped, token.from, token.to - 1, token.key)
  // For a key without its colon, `{"a:1,"b":2}`, the place of the colon is known.
  if (!token.key) return
  const end = token.to - 1
  let tries = 0
  for (let at = token.from; at < end && tries < MAX_ENDS; at++) {
    if (text.charCodeAt(at) !== COLON) continue
    tries++
    yield* stringEndsAt(stopped, token.from, at, true)
  }
}

//  {"a":"Ada}
//       ^ from, and no quote follows
function* closingQuoteAtEnd(stopped: Reading): Iterable<Reading> {
  const { text, at, state } = stopped
  if (state === 'key' || state === 'first key') return
  // `{"a":"x, b: 1}` has lost one quote, or three; `{"a":"x} b: 1}` ends before, or not.
  stopped.effort.spent += text.length - at
  if (/[,}\]]\s{0,99}[\p{L}_$][\p{L}\p{N}_$-]{0,99}\s{0,9}:(?!\/)/u.test(text.slice(at))) return
  yield* endedEarlier(stopped, at, text.length, false)
}

/** The string from `from` ended at a delimiter before `to`, and at the end of its line at the latest. */
function* endedEarlier(stopped: Reading, from: number, to: number, key: boolean): Iterable<Reading> {
  if (key) return
  const { text } = stopped
  const lineEnd = text.indexOf('\n', from)
  const last = lineEnd >= 0 && lineEnd < to ? lineEnd : to
  let tries = 0
  if (last < to) yield* stringEndsAt(stopped, from, text[last - 1] === '\r' ? last - 1 : last, false)
  for (let at = last - 1; at > from && tries < MAX_ENDS; at--) {
    const unit = text.charCodeAt(at)
    if (unit !== COMMA && unit !== CLOSE_BRACE && unit !== CLOSE_BRACKET) continue
    tries++
    yield* stringEndsAt(stopped, from, at, false)
  }
  stopped.effort.spent += last - from
}

/** Maximum number of delimiters before a quote to try as the end of a string. */
const MAX_ENDS = 12

/** How often the text of a string is read before its end is accepted. */
const CHECKS = 4

function* stringEndsAt(stopped: Reading, from: number, end: number, key: boolean): Iterable<Reading> {
  const { text } = stopped
  stopped.effort.spent += CHECKS * (end - from)
  if (!hasPairs(text, from + 1, end) || endsWithLoneQuote(text, from + 1, end)) return
  if (holdsEscapedEnd(stopped, from, end)) return
  // The blank belongs to the string or to the layout.
  if (
    end > from + 1 &&
    (isBlank(text.charCodeAt(from + 1)) ||
      text[end - 1] === ' ' ||
      text[end - 1] === '\t' ||
      (text[end - 1] === ',' && text[skipBlanks(text, end)] === ',') ||
      /[，、،]/.test(text[end - 1]!) ||
      isUnusualBlank(text.charCodeAt(end - 1)))
  )
    return
  if (key && (/[:\s]/.test(text[end - 1]! + text[from + 1]!) || !isKeyText(text, from, end))) return
  // `{"a\\": 1}`: the backslash is one too many, or the quote belongs to the key.
  if (key && isQuote(text.charCodeAt(end - 1))) return
  if (!key && isOtherValue(text, from + 1, end)) return
  const content = text.slice(from + 1, end)
  const isPlain = text.charCodeAt(from) === QUOTE
  if (!isPlain && content.includes('"')) return
  if (/['’”`] {0,9}[,:]|\\" {0,9}:/.test(content) || holdsComment(content, false)) return
  const next = stopped.copy()
  const before = stopped.token.from === from ? stopped.token.edits : stopped.edits
  const spelled = spellString(text, { from, to: end, opened: true, closed: false }, before)
  if (!spelled) return
  next.edits = spelled.edits
  // `{"a":1,"b":'5px}`: the quote may be a slip, and the rest a number.
  const isNumber = !isPlain && stopped.plainKeys > 0 && /^[-+.]?\d/.test(content)
  next.doubtful ||= isNumber || (key ? /[,{}[\]]/.test(content) : mayHoldValues(stopped, content, end))
  next.token = { kind: 'other', from, to: end, key, edits: before }
  if (key) {
    next.at = end
    next.state = 'colon'
  } else next.endValue(end)
  yield next
}

//  {"a":"x,b:1,"c":2}    ["one, two]    [",1]    {"a":"x\\" || y,"b":1}
//         ^^^ a member         ^ two elements ^ nothing ^ its end
/** Whether the content of a string that lost its closing quote may be that string and more. */
function mayHoldValues(stopped: Reading, content: string, end: number): boolean {
  if (content[0] === ',' || MEMBER.test(content)) return true
  // `["one +]`: the plus may join it to a string that is lost.
  if (/\\" {0,9}(?:[|&?+*=<>]|as )|\s\+$/.test(content)) return true
  if (!stopped.inArray()) return false
  return stopped.text.charCodeAt(end) === CLOSE_BRACKET && content.includes(',')
}

/** A key without quotes, and the start of its value. */
const MEMBER = /,\s{0,9}[\p{L}_$][\p{L}\p{N}_$-]{0,99}\s{0,9}:\s{0,9}(?:["{[\d-]|(?:true|false|null)\b)/u

//  {"a: 1,⏎b: 2}     {"http://x": 1}     {"a:" 1}
//         ^ end            ^ end              ^ end, or the colon and the quote have changed places
function isKeyText(text: string, from: number, end: number): boolean {
  if (text.startsWith('://', end) || text.slice(from, end).includes('\n')) return false
  if (!isQuote(text.charCodeAt(end + 1))) return true
  return !/^(?:\s|[-[{\d]|true|false|null)/.test(text.slice(end + 2, end + 7))
}

//  {"a":"x\", "b":1}
//         ^^ may be the end of the string, whose last character is a backslash; of a pair, the second is not
function holdsEscapedEnd(stopped: Reading, from: number, end: number): boolean {
  const { text } = stopped
  const family = quoteFamily(text.charCodeAt(from))
  let quotes = 0
  for (let at = text.indexOf('\\', from + 1); at >= 0 && at < end; at = text.indexOf('\\', at + 1)) {
    if (quoteFamily(text.charCodeAt(at + 1)) !== family) continue
    if (backslashesBefore(text, at + 1, from + 1) % 2 === 0 || quotes++ % 2 === 1) continue
    const next = skipBlanks(text, at + 2)
    if (stopped.inArray() ? ',]'.includes(text[next] ?? ']') : text[next] === '}') return true
    if (!stopped.inArray() && endsHere(stopped, at + 1, false)) return true
    if (text[next] === ',' && isQuote(text.charCodeAt(skipBlanks(text, next + 1)))) return true
  }
  // `"C:\x\" || 3`: after a path any backslash may be its last character.
  return pathEnd(text, from) >= 0
}

//  {"dir":"C:\temp\","n":1}
//         ^ from   ^ quote
function* pathBeforeQuote(stopped: Reading): Iterable<Reading> {
  const { text, token, state } = stopped
  const afterString = state === 'comma'
  const from = afterString ? token.from : stopped.at
  if (afterString ? token.key : state.endsWith('key')) return
  const quote = pathEnd(text, from)
  if (quote < 0 || !endsHere(stopped, quote, false) || isBeforeQuotingComment(text, quote)) return
  const next = stopped.copy()
  next.edits = afterString ? token.edits : stopped.edits
  for (let at = text.indexOf('\\', from); at >= 0 && at < quote; at = text.indexOf('\\', at + 1))
    next.add(at, at, '\\', 'escaped a backslash')
  next.token = { kind: 'other', from, to: quote + 1, key: false, edits: stopped.edits }
  next.endValue(quote + 1)
  stopped.effort.spent += CHECKS * (quote - from)
  yield next
}

//  {"a": "one "
//        "two"}
//        ^ at
/** As in Python and C. In an array they are two strings without a comma. */
function* stringOnNextLine(stopped: Reading): Iterable<Reading> {
  const { text, at, token, valueEnd } = stopped
  if (stopped.inArray() || token.key || text[at] !== text[token.from]) return
  if (!/^[ \t\r]*\n\s*$/.test(text.slice(valueEnd, at)) || isFirstOnLine(text, token.from, token.to - 1))
    return
  // Two quotes may be one that was doubled.
  if (token.to - token.from === 2 || text[at + 1] === text[at] || isKeyAt(text, at)) return
  const next = stopped.copy()
  if (!next.join(at)) return
  stopped.effort.spent += next.at - at
  yield next
}

/** Whether a text ends with an unpaired quote of another kind, which may be its closing quote. */
function endsWithLoneQuote(text: string, from: number, end: number): boolean {
  let last = end - 1
  while (last > from && (isPunctuation(text.charCodeAt(last)) || text[last] === ' ')) last--
  if (last < from || backslashesBefore(text, last, from) % 2 === 1) return false
  if (quoteFamily(text.charCodeAt(last)) === APOSTROPHE) return true
  return [QUOTE, BACKTICK].some((family) => isLone(text, family, from, end))
}

/** Whether a quote of another kind is unpaired between `from` and `end`. Apostrophes look the same. */
function isLoneQuote(text: string, quote: number, from: number, end: number): boolean {
  const family = quoteFamily(text.charCodeAt(quote))
  return family === APOSTROPHE || (family !== 0 && isLone(text, family, from, end))
}

/** Whether the number of quotes of a family is odd, not counting escaped ones. */
function isLone(text: string, family: number, from: number, end: number): boolean {
  const isOne = (unit: number) => quoteFamily(unit) === family
  let quotes = 0
  for (let at = from - 1; ; quotes++) {
    at = nextQuote(text, at + 1, end, isOne)
    if (at < 0) return quotes % 2 === 1
  }
}

/** Whether quotes around it would swallow a value: `{"a":"12,"b":1}` lacks a quote, or has one more. */
function isOtherValue(text: string, from: number, end: number): boolean {
  const content = text.slice(from, end).trim().replace(/,$/, '')
  const quoted =
    content.length > 1 && isQuote(content.charCodeAt(0)) && isQuote(content.charCodeAt(content.length - 1))
  // Empty: `{"a":"}` was cut rather than left without a quote.
  if (quoted || content === '') return true
  if (content.length <= MAX_WORD && isScalarWord(content)) return true
  if (
    content.length <= 256 &&
    content.includes(',') &&
    content.split(',').every((part) => isScalarWord(part.trim()))
  )
    return true
  if (/,\s{0,9}\.\.\.$/.test(content.slice(-16))) return true
  const last = content.at(-1)
  if (last !== '}' && last !== ']') return false
  return content[0] === '{' || content[0] === '[' || content.includes(',[') || content.includes(',{')
}

/** Whether brackets are balanced: a string is unlikely to end inside them. */
function hasPairs(text: string, from: number, to: number): boolean {
  let open = 0
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at)
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) open++
    else if (unit !== CLOSE_BRACE && unit !== CLOSE_BRACKET) continue
    else if (open > 0) open--
    else if (at === to - 1) return false
  }
  return open === 0
}

//  {"a":Ada","b":1}   {"a":1,b":2}
//       ^ at                 ^ at
function* missingOpeningQuote(stopped: Reading): Iterable<Reading> {
  const { at, state } = stopped
  yield* openedAt(stopped, at, state === 'key' || state === 'first key')
}

//  {"a":12","b":1}   {"a":“smart” words","b":1}
//         ^ at                   ^ at: the token before it is the text of a string
function* openingQuoteBeforeToken(stopped: Reading): Iterable<Reading> {
  const { text, token } = stopped
  const joined = token.edits !== undefined && token.edits.to > token.from
  const foreign = token.kind.endsWith('string') && text.charCodeAt(token.from) !== QUOTE && !joined
  if (token.kind !== 'word' && !foreign) return
  const next = stopped.copy()
  next.edits = token.edits
  yield* openedAt(next, token.from, false)
}

function* openedAt(stopped: Reading, from: number, key: boolean): Iterable<Reading> {
  const { text } = stopped
  const first = text.charCodeAt(from)
  if (SPECIAL[first]) return
  // `5' 10"` has no lost quote: these are feet and inches.
  if (!key && /^\d{1,4}\s?['’′]\s?\d/.test(text.slice(from, from + 12))) return
  // `{"a":{b: c"}}`: the string may begin before the colon.
  if (!key && stopped.bareKeys > 0 && stopped.quotedKeys > 0) return
  const close = nextClosing(text, from, QUOTE)
  stopped.effort.spent += (close < 0 ? text.length : close) - from
  if (close < 0 || !endsHere(stopped, close, key)) return
  if (isQuote(first) && isLoneQuote(text, from, from, close)) return
  if (holdsComment(text.slice(from, close), stopped.inArray())) return
  // `[a, b"]` has one element, or two; not if each has its own line.
  if (stopped.inArray() && !/\n[ \t]*$/.test(text.slice(Math.max(0, from - 99), from))) {
    if (text.slice(from, close).includes(',')) return
  }
  if (text.slice(from, close).includes('\n') || (!key && isOtherValue(text, from, close))) return
  if (key && /[,{}[\]]/.test(text.slice(from, close))) return
  const spelled = spellString(text, { from, to: close, opened: false, closed: true }, stopped.edits)
  if (!spelled) return
  const next = stopped.copy()
  next.edits = spelled.edits
  next.token = { kind: 'other', from, to: close + 1, key, edits: stopped.edits }
  if (key) {
    next.at = close + 1
    next.comma = -1
    next.state = 'colon'
  } else next.endValue(close + 1)
  yield next
}

//  [1, // 5",     ["a", //cdn.example/x",
//      ^^^^^ a comment       ^^^^^^^^^^^^^^^ an address
function holdsComment(content: string, inArray: boolean): boolean {
  if (/,\s*(?:\/[/*]|#\s)/.test(content)) return true
  return inArray && /(?:^|\s)(?:\/[/*]|#\s|<!--)/.test(content) && !/^\/\/[\w.-]+\/\S*$/.test(content)
}

//  {"a":high, "b":two words}
//       ^^^^      ^^^^^^^^^
function* bareText(stopped: Reading): Iterable<Reading> {
  const { text, at } = stopped
  let end = urlEnd(text, at)
  if (end < 0) {
    end = at
    while (end < at + MAX_WORD && end < text.length && !',}]"\n\r'.includes(text[end]!)) end++
    // `either // or` is a word and a comment, or a text.
    const comment = /[ \t](?:\/\/|\/\*|# )/.exec(text.slice(at, end))
    if (comment?.[0].endsWith('//')) return
    if (comment) end = at + comment.index
  }
  while (end > at && (' \t'.includes(text[end - 1]!) || isUnusualBlank(text.charCodeAt(end - 1)))) end--
  const word = text.slice(at, end)
  // `{"a":⏎b: 1}`: on a line of its own, a word and a colon are rather a key.
  const mayHoldColons = !stopped.inArray() && stopped.plainKeys > 0 && !isFirstOnOwnLine(text, at)
  if (!isUrl(word) && !isPlainText(word, mayHoldColons)) return
  if (isQuote(text.charCodeAt(end - 1)) || /^[eE][+-]?\d+$/.test(word)) return
  // `[1, TODO 2]` has a word too many, or a text.
  if (stopped.inArray() && isJsonWord(word.slice(word.lastIndexOf(' ') + 1))) return
  if (stopped.inArray() && isNoElement(text, at, end)) return
  const delimiter = skipBlanks(text, end)
  // `{"a":high "b":2}`: the comma is missing, too.
  const isBeforeKey = !stopped.inArray() && delimiter > end && isKeyAt(text, delimiter)
  if (!isBeforeKey && !',}]'.includes(text[delimiter] ?? ' ')) return
  if (stopped.inArray()) {
    const isListed = !word.includes(' ') && !stopped.hasQuotes()
    if (!isAlone(stopped, delimiter, isListed) && !isInListOfWords(stopped)) return
  } else if (stopped.bareKeys > 0 && stopped.quotedKeys > 0) return
  const next = stopped.copy()
  // Its escapes stay as they were between its quotes.
  next.add(at, end, `"${word}"`, 'quoted a word')
  next.token = { kind: 'other', from: at, to: end, key: false, edits: stopped.edits }
  next.endValue(end)
  if (isBeforeKey) {
    next.add(end, end, ',', 'added a missing comma')
    next.state = 'key'
    next.guesses++
  }
  yield next
}

/**
 * In an array, a comma may belong to a text without quotes. It does not if the other commas look the same,
 * and no other bare text is next to it. With `listed` it is a single word of a writer who uses no quotes at
 * all, and another one may be next to it.
 */
function isAlone(stopped: Reading, delimiter: number, listed: boolean): boolean {
  const { text, comma, token, spacing } = stopped
  if (comma >= 0) {
    const after = spacingAfter(text, comma)
    if (
      !listed &&
      after !== 'line' &&
      stopped.valueEnd === token.to &&
      token.kind === 'other' &&
      stopped.guess === 'word'
    )
      return false
    if (spacing !== undefined && after !== spacing) return false
  }
  if (text[delimiter] !== ',') return true
  const after = spacingAfter(text, delimiter)
  if (after === 'line') return true
  if ((spacing ?? after) !== after) return false
  return listed || isValueAt(text, skipBlanks(text, delimiter + 1))
}

//  [red, green, 3]    [1,one,two]    ["a", b, c]    [first, second and third]
//  ^^^^^^^^^^^^^^^ a list   ^ texts whose commas may be their own
/** Whether the array holds only single words and scalars, without quotes, with a blank after each comma. */
function isInListOfWords(stopped: Reading): boolean {
  const { text, at, spacing } = stopped
  if (spacing === 'tight') return false
  const before = /\[([^[\]{}"'“”‘’`:]*)$/.exec(text.slice(Math.max(0, at - MAX_LIST), at))
  const after = /^([^[\]{}"'“”‘’`:]*)\]/.exec(text.slice(at, at + MAX_LIST))
  stopped.effort.spent += (before?.[0].length ?? MAX_LIST) + (after?.[0].length ?? MAX_LIST)
  const list = before && after ? (before[1]! + after[1]!).trim() : ''
  return /^[^\s,]+(?:, [^\s,]+)+$/.test(list.endsWith(',') ? list.slice(0, -1).trimEnd() : list)
}

const MAX_LIST = 1024

/** The next quote at or after `from` that may close a string opened by `opening`; -1 for none. */
function nextClosing(text: string, from: number, opening: number): number {
  // A plain quote may close a typographic one, but not if others of its own kind come first.
  return nextQuote(
    text,
    from,
    text.length,
    (unit) => closes(unit, opening) && (unit !== QUOTE || opening === QUOTE),
  )
}

/** Whether what follows the quote at `close` looks like what follows a value (or a key) here. */
function endsHere(reading: Reading, close: number, key: boolean): boolean {
  const { text } = reading
  const at = skipBlanks(text, close + 1)
  const unit = text.charCodeAt(at)
  if (key) return unit === COLON
  const array = reading.inArray()
  if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
    if (array !== (unit === CLOSE_BRACKET)) return false
    const following = skipBlanks(text, at + 1)
    return following >= text.length || ',}]'.includes(text[following]!)
  }
  if (unit !== COMMA) return false
  const next = skipBlanks(text, at + 1)
  const follows = text.charCodeAt(next)
  if (follows === (array ? CLOSE_BRACKET : CLOSE_BRACE)) return true
  return array ? isValueAt(text, next) : isKeyAt(text, next)
}

/** A quote, a bracket, a number or a literal, JSON's or Python's. */
function isValueAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  if (isQuote(unit) || unit === OPEN_BRACE || unit === OPEN_BRACKET) return true
  const word = text.slice(at, wordEnd(text, at))
  if (isDigit(unit) || unit === MINUS) return isScalarWord(word)
  return isJsonWord(word) || spellingOf(word)?.kind === 'spelled a literal as JSON'
}

/** A key, with or without quotes, and its colon. */
export function isKeyAt(text: string, at: number): boolean {
  if (!isQuote(text.charCodeAt(at))) return bareKeyEnd(text, at) >= 0
  const close = closingQuote(text, at, at + MAX_WORD)
  return close >= 0 && text.charCodeAt(skipBlanks(text, close + 1)) === COLON
}

/** Whether the quote is where an opening quote would be: right after punctuation, or first on its line. */
function looksLikeOpening(text: string, from: number, quote: number): boolean {
  if (',:[{'.includes(text[quote - 1] ?? ' ') && quote - 1 > from) return true
  let at = quote - 1
  while (at > from && (text[at] === ' ' || text[at] === '\t')) at--
  return at > from && text.charCodeAt(at) === LF
}

/** A quote before a closing bracket ends a string. */
function isBeforeBracket(text: string, quote: number): boolean {
  const unit = text.charCodeAt(skipBlanks(text, quote + 1))
  return unit === CLOSE_BRACE || unit === CLOSE_BRACKET
}

function isSeparator(unit: number): boolean {
  return unit === COMMA || unit === COLON
}

function isPunctuation(unit: number): boolean {
  return SPECIAL[unit] === 1
}

/** What a text without its opening quote does not begin with: punctuation, and what a string has inside. */
const SPECIAL = /* @__PURE__ */ classTable([1, ',:[]{}'], [2, '"\\'])

/** One past a URL without quotes at `at`, or -1. */
function urlEnd(text: string, at: number): number {
  const found = url.exec(text.slice(at, at + MAX_URL))
  return found ? at + found[0].length : -1
}

function isUrl(word: string): boolean {
  return url.exec(word)?.[0] === word
}

const MAX_URL = 2048
const url = /^(?:https?|ftp|file|mailto|data|irc):\/\/[A-Za-z0-9\-._~:/?#@!$&'()*+;=%]+/

/**
 * Whether the inner quotes of a string may be something else: the quotes of its neighbours, a quote that was
 * doubled, an operator or a comment after the string. What is certain are pairs around words, `the "best"
 * one`, and the apostrophe in `the users' names`. In an object inches, `24" tall`, or one other quote may be
 * text, because a key must follow; an array has no keys, and `["a 1" b", "c"]` may have lost a quote.
 */
function isDoubtfulInner(stopped: Reading, from: number, close: number, opening: number): boolean {
  const { text } = stopped
  let inner = 0
  let others = 0
  let open = false
  let opens = false
  let before = from
  for (
    let at = nextClosing(text, from + 1, opening);
    at >= 0 && at < close;
    at = nextClosing(text, at + 1, opening)
  ) {
    inner++
    if (isApostrophe(text, at)) continue
    if (/[,:;，：=>][ \t\n]{0,99}$/.test(text.slice(Math.max(from + 1, at - 100), at))) opens = true
    if (notInner.test(text.slice(at + 1, Math.min(at + 24, close))) || backslashesBefore(text, at, from) > 0)
      return true
    const begins = at === from + 1 || mayOpenWord(text, at)
    const ends = at + 1 === close || mayEndWord(text, at)
    if (open) {
      if ((begins && !ends) || betweenStrings.test(text.slice(before - 1, at + 2))) return true
      open = false
    } else if (begins) open = true
    else if (at + 1 === close || /^\s{0,9}[|&?+*=<>]/.test(text.slice(at + 1, at + 11))) return true
    else if (!/s['’]/i.test(text.slice(at - 1, at + 1))) {
      if (stopped.inArray()) return true
      if (ends && !isDigit(text.charCodeAt(at - 1))) others++
    }
    before = at
  }
  if (open || (others > 0 && inner > 1)) return true
  // `""x""` has both quotes doubled, or quotes inside.
  if (inner === 2 && text[from + 1] === text[from] && text[close - 1] === text[close]) return true
  if (inner % 2 === 0) return false
  return opens || isJsonWord(text.slice(from + 1, Math.min(close, from + MAX_WORD)).replaceAll('"', ''))
}

//  "甲"、"乙"   "甲"和"乙"   "他说"好"就走了"
//    ^^^          ^^^^          ^^^^ a word
/** A sign or a conjunction in quotes, which may join two strings in a script without blanks between words. */
const betweenStrings =
  /^[\u2e80-\uffff].(?:[\p{P}\p{S}]{1,3}|[和或与與及とや과]|以及|还有|및|또는).[\u2e80-\uffff]$/u

//  ", ."   ",⏎   ", // c   "/, // c   " as const, // c
/** What follows a quote that is not inside a string: more punctuation, or a comment. */
const notInner =
  /^\s{0,9}(?:[,;，.]\s{0,9}[,;，."]|,[ \t]{0,9}\r?\n|(?:[^\w\s]|[\w ]{0,16},)?,?\s{0,9}(?:\/[/*]|#\s))/

function mayOpenWord(text: string, quote: number): boolean {
  const before = text.charCodeAt(quote - 1)
  const after = text.charCodeAt(quote + 1)
  return (isBlank(before) || before >= 0x2e80 || '([{<=:,;/-–—'.includes(text[quote - 1]!)) && !isBlank(after)
}

function mayEndWord(text: string, quote: number): boolean {
  const before = text.charCodeAt(quote - 1)
  const after = text.charCodeAt(quote + 1)
  return (
    (isBlank(after) || after >= 0x2e80 || ')]}>.,:;!?/-–—'.includes(text[quote + 1]!)) && !isBlank(before)
  )
}
