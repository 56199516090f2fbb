import { closes, ESCAPES, nextQuote } from '../json/strings.ts'
import { APOSTROPHE, BACKSLASH, DOLLAR, LETTER_U, QUOTE, quoteFamily, SPACE } from '../text/characters.ts'
import type { Edit } from './edits.ts'

/** Any character that a model may put around a string. */
export function isQuote(unit: number): boolean {
  return quoteFamily(unit) !== 0
}

/**
 * The quote that ends the string which opens at `open`, or -1. A backslash escapes what follows it, and an
 * apostrophe between two letters ends nothing.
 *
 * @example
 * closingQuote("'it\\'s'", 0) // 6
 */
export function closingQuote(text: string, open: number, limit = text.length): number {
  const opening = text.charCodeAt(open)
  const single = isSingle(opening)
  return nextQuote(
    text,
    open + 1,
    Math.min(limit, text.length),
    (unit, at) => closes(unit, opening) && !(single && isApostrophe(text, at)),
  )
}

/**
 * The same for a string in double quotes, the common case, and whether it is clean: the index of its closing
 * quote if JSON allows the string, `-2 - index` if not, and -1 if it has no end. One pass instead of two.
 */
export function plainStringEnd(text: string, open: number): number {
  let clean = true
  for (let at = open + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit > BACKSLASH) continue
    if (unit === QUOTE) return clean ? at : -2 - at
    if (unit < SPACE) clean = false
    else if (unit === BACKSLASH) {
      if (!isEscape(text, at) || isDrive(text, at, open)) clean = false
      at++
    }
  }
  return -1
}

/** Whether the string from `open` to `close` is known to be valid JSON as it is. */
export function isCleanString(text: string, open: number, close: number): boolean {
  return text.charCodeAt(open) === QUOTE && plainStringEnd(text, open) === close
}

/** Whether it is a quote between two letters, as in `it's`. */
export function isApostrophe(text: string, at: number): boolean {
  return (
    isSingle(text.charCodeAt(at)) && isLetter(text.charCodeAt(at - 1)) && isLetter(text.charCodeAt(at + 1))
  )
}

function isSingle(unit: number): boolean {
  return quoteFamily(unit) === APOSTROPHE
}

function isLetter(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || (unit >= 0xc0 && unit < 0x2000)
}

/** Whether the backslash at `at` is the first of a path, `C:\\`. */
function isDrive(text: string, at: number, open: number): boolean {
  return text[at - 1] === ':' && at - 2 > open && /[A-Za-z]/.test(text[at - 2]!) && !isLineBreak(text, at)
}

//  "Q:\nHow?\nA:\n\nSo"    "C:\new"
//     ^^ a line break        ^^ a directory, or a line break
/** Whether no file name begins like what follows the backslash at `at`, so that it is a line break. */
function isLineBreak(text: string, at: number): boolean {
  return /^\\(?:r\\)?n(?:[\s\p{Lu}\p{Lo}*#>-]|\\[nrt])/u.test(text.slice(at, at + 7))
}

/**
 * Spells a string as JSON does: its quotes, raw control characters, unescaped quotes and backslashes. Returns
 * the edits, after those in `before`; `undefined` if the meaning of a backslash is unclear. Without an
 * opening quote (`open` is then the position before the text) or a closing one the edit adds it.
 */
export function spellString(
  text: string,
  place: { readonly from: number; readonly to: number; readonly opened: boolean; readonly closed: boolean },
  before: Edit | undefined,
): { readonly edits: Edit | undefined } | undefined {
  const { from, to, opened, closed } = place
  const start = opened ? from + 1 : from
  let edits = before
  const add = (at: number, end: number, by: string, kind: Edit['kind']): void => {
    edits = { from: at, to: end, by, kind, before: edits }
  }
  // The opening quote of a string that was joined to another one is gone.
  const joined = before !== undefined && before.to > from
  const inset = opened && closed && isInset(text, from, to) ? 1 : 0
  if (!opened) add(from, from, '"', 'added a missing quote')
  else if (text.charCodeAt(from) !== QUOTE && !joined) add(from, start + inset, '"', 'replaced a quote')
  let backslashes: Backslashes | undefined
  for (let at = start + inset; at < to - inset; at++) {
    const unit = text.charCodeAt(at)
    if (unit < SPACE) add(at, at + 1, escapeOf(unit), 'escaped a control character')
    else if (unit === QUOTE) add(at, at, '\\', 'escaped a quote')
    else if (unit === BACKSLASH) {
      backslashes ??= meaningOf(text, start, to)
      if (backslashes === 'unknown') return undefined
      const next = text.charCodeAt(at + 1)
      const valid = at + 1 < to && isEscape(text, at)
      if (backslashes === 'text' && !(valid && next === QUOTE)) add(at, at, '\\', 'escaped a backslash')
      else if (valid) at++
      // `it'\''s`: for a shell, these four are one apostrophe.
      else if (at > start && at + 2 < to && text.startsWith("'\\''", at - 1)) return undefined
      else if (isQuote(next) || (next === DOLLAR && backslashes !== 'pattern')) {
        add(at, at + 1, '', 'dropped a backslash')
        at++
      } else if (isHexEscape(text, at, to)) {
        add(at, at + 4, `\\u00${text.slice(at + 2, at + 4)}`, 'decoded an escape')
        at += 3
      } else add(at, at, '\\', 'escaped a backslash')
    }
  }
  if (!closed) add(to, to, '"', 'added a missing quote')
  else if (text.charCodeAt(to) !== QUOTE) add(to - inset, to + 1, '"', 'replaced a quote')
  return { edits }
}

/** French puts a blank inside its quotes, « so ». */
function isInset(text: string, from: number, to: number): boolean {
  return text[from] === '«' && /^\s\S(?:[^\n]*\S)?\s$/.test(text.slice(from + 1, to))
}

/** How JSON spells a control character inside a string. */
export function escapeOf(unit: number): string {
  return shortEscapes.get(unit) ?? `\\u${unit.toString(16).padStart(4, '0')}`
}

const shortEscapes = new Map([
  [8, '\\b'],
  [9, '\\t'],
  [10, '\\n'],
  [12, '\\f'],
  [13, '\\r'],
])

/** Whether the backslash at `at` begins an escape that JSON knows. */
function isEscape(text: string, at: number): boolean {
  const letter = text.charCodeAt(at + 1)
  if (letter === LETTER_U) return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))
  return ESCAPES[letter] !== undefined
}

function isHexEscape(text: string, at: number, to: number): boolean {
  return text[at + 1] === 'x' && at + 4 <= to && /^[0-9a-fA-F]{2}$/.test(text.slice(at + 2, at + 4))
}

/**
 * What the backslashes of one string mean: JSON escapes; the same, with single ones that are text, as in a
 * pattern; all of them text (`C:\Users\new` has a `\n` that is not a line break); or unknown.
 */
type Backslashes = 'escapes' | 'pattern' | 'text' | 'unknown'

function meaningOf(text: string, from: number, to: number): Backslashes {
  const path = isWindowsPath(text, from)
  let foreign = 0
  let classes = 0
  let names = 0
  let letters = 0
  let doubled = 0
  let quotes = 0
  for (let at = text.indexOf('\\', from); at >= 0 && at < to; at = text.indexOf('\\', at + 2)) {
    const kind = text[at + 1] ?? ''
    const valid = at + 1 < to && isEscape(text, at)
    if (kind === '\\') doubled++
    else if (valid && kind !== '"' && kind !== '/') letters++
    else if (!valid && kind === 'u' && /^[0-9a-fA-F]/.test(text.slice(at + 2, at + 3))) return 'unknown'
    else if (isQuote(kind.charCodeAt(0))) {
      quotes++
    } else if (!valid && (path || !(kind === '$' || isHexEscape(text, at, to)))) {
      foreign++
      if ('dDsSwW'.includes(kind)) classes++
      if (/[\p{L}\p{Nd}]/u.test(kind)) names++
    }
  }
  // `"C:\dir\", "b"`: the path ends there, or a quote was escaped. Two of them are around a word.
  if (path && quotes % 2 === 1) return 'unknown'
  // `C:\\new` in a text that needs repair anyway: a path, or a line break.
  if (foreign === 0) return letters > 0 && path ? 'unknown' : 'escapes'
  if (path) {
    const start = text.startsWith('\\\\', from) ? 1 : 0
    return doubled <= start ? 'text' : 'unknown'
  }
  // One lone `\z` may be the rest of a line break; several, or `\d`, are a path or a pattern. Before signs
  // alone, `\*both\*`, they may be Markdown's.
  if (letters > 0 || doubled > 0) return 'unknown'
  if (names === foreign && isFormula(text.slice(from, to))) return 'pattern'
  return (foreign >= 2 && names > 0) || classes === foreign ? 'pattern' : 'unknown'
}

/** Whether a text has a command of TeX between two dollars, or before a brace: `$\alpha$`, `\sqrt{2}`. */
function isFormula(text: string): boolean {
  return /\$[^$\\]{0,99}\\[A-Za-z]{2,20}[^$]{0,99}\$|\\[A-Za-z]{2,20}\{/.test(text)
}

//  {"dir":"C:\temp\","n":1}
//                  ^ quote
/**
 * The quote before which a Windows path ends in a backslash, in the string that opens at `open`; -1 if it is
 * not a path, or if its backslashes are escaped.
 */
export function pathEnd(text: string, open: number): number {
  const found = endingPath.exec(text.slice(open, open + MAX_PATH))
  return found && isWindowsPath(text, open + 1) ? open + found[0].length - 1 : -1
}

const MAX_PATH = 4096
const endingPath = /^"(?:\\\\)?[^"\\\p{Cc}]*(?:\\[^"\\\p{Cc}]+)*\\"/u

/** `C:\dir`, `"at D:\x"` or `\\server\share`: a drive or a host before the backslash that is there. */
function isWindowsPath(text: string, from: number): boolean {
  const first = text.indexOf('\\', from)
  // `\\d+\s` is a pattern: the name of a host is longer.
  if (first === from) return /^\\\\[\w.-]{2,}/.test(text.slice(from, from + 4))
  if (text[first - 1] !== ':' || !/[A-Za-z]/.test(text[first - 2] ?? '')) return false
  if (isLineBreak(text, first)) return false
  return first - 2 === from || (first - 2 > from && !/\w/.test(text[first - 3] ?? ''))
}
