import type { ChangeKind } from './change.ts'

/** A word as JSON spells it, and the change that makes. */
export interface Spelling {
  readonly text: string
  readonly kind: ChangeKind
}

/** Maximum length of a word, a number or a key without quotes. */
export const MAX_WORD = 256

/** Whether it is a number or a literal as JSON spells it. */
export function isJsonWord(word: string): boolean {
  return number.test(word) || literals.has(word)
}

/** Whether it is a number or a literal, in JSON's spelling or another. */
export function isScalarWord(word: string): boolean {
  return isJsonWord(word) || spellingOf(word) !== undefined
}

/**
 * Spells another language's literal or number as JSON does; `undefined` if it is neither. No value is
 * invented: `tru` and `undefined` are neither, nor is `02134`, which may be a code and not a number, nor a
 * hexadecimal number that would lose digits.
 *
 * @example
 * spellingOf('None') // { text: 'null', kind: 'spelled a literal as JSON' }
 */
export function spellingOf(word: string): Spelling | undefined {
  const literal = foreignLiterals.get(word)
  if (literal) return { text: literal, kind: 'spelled a literal as JSON' }
  if (word.length > MAX_NUMBER) return undefined
  if (hexadecimal.test(word)) {
    const digits = word.replace('-', '')
    const value = Number(digits)
    if (!Number.isSafeInteger(value)) return undefined
    return { text: `${digits === word ? '' : '-'}${value}`, kind: 'spelled a number as JSON' }
  }
  const parts = foreignNumber.exec(word)
  if (!parts) return undefined
  const [, sign = '', whole = '', rest = ''] = parts
  // A sign or an exponent alone is not a number.
  if (whole === '' && rest[0] !== '.') return undefined
  const digits = whole.replaceAll('_', '') || '0'
  const text = `${sign === '-' ? '-' : ''}${digits}${rest.replace(/\.(?!\d)|_/g, '')}`
  return number.test(text) ? { text, kind: 'spelled a number as JSON' } : undefined
}

//  {"day": 2024-01-02, "at": 10:30:00, "host": 10.0.0.1, "id": 550e8400-e29b-41d4-a716-446655440000}
/**
 * The end of a date, a time, a version, an IP address or a UUID without quotes at `at`, or -1. Not in an
 * array if it may be a range, `[10:20]`, or two numbers, `[0.49.5]`.
 */
export function codeEnd(text: string, at: number, inArray: boolean): number {
  const rest = text.slice(at, at + MAX_CODE)
  const found = codes.map((code) => code.exec(rest)?.[0]).find((one) => one !== undefined)
  return found === undefined || (inArray && /^(?:\d+:\d+|\d+\.\d\d+\.\d+)$/.test(found))
    ? -1
    : at + found.length
}

//  {"_id": ObjectId("65a1"), "at": new Date("2024-01-02"), "n": NumberLong(5)}
//          ^ at           ^ end
/**
 * The constructor of a database shell or of JavaScript at `at`: where it ends, and its argument as JSON,
 * which keeps its type. `NumberLong("5")` is a number, or a text.
 */
export function constructedAt(text: string, at: number): { end: number; argument: string } | undefined {
  const found = namedType.exec(text.slice(at, at + MAX_CALL))
  if (!found) return undefined
  const [call, double, single, digits] = found
  if (digits !== undefined && !number.test(digits)) return undefined
  return { end: at + call.length, argument: digits ?? JSON.stringify(double ?? single) }
}

/**
 * Whether this text without quotes may be a string that lost both. Not if it is closer to a literal or a
 * number than to a word: `tru`, `ture`, `5px` and `1 000` would change their type. With `colons`, it may
 * contain one before a blank.
 */
export function isPlainText(text: string, colons: boolean): boolean {
  if (text.length > MAX_WORD || notTexts.some((one) => one.test(text))) return false
  const plain = text.replaceAll('\\\\', '  ')
  if (!beginsText.test(text) || forbidden.test(colons ? plain.replaceAll(': ', '  ') : plain)) return false
  // `5 px` is a number with its unit; a sentence may begin with a number.
  if (/^\p{Nd}/u.test(text) && !sentence.test(text)) return false
  return ![...new Set(text.split(/[^A-Za-z]+/))].some(isNearLiteral)
}

//  [$1,200]    [红，绿]    {"a": [Circular], "b": [REDACTED]}
//   ^^          ^^^^            ^^^^^^^^^^        ^^^^^^^^^^
/**
 * Whether a word in an array, from `at` to `end`, is rather half of a number, two words, or all that a
 * printer or a filter left of a value.
 */
export function isNoElement(text: string, at: number, end: number): boolean {
  const word = text.slice(at, end)
  if (/\d,\d{3}(?!\d)/.test(text.slice(end - 1, end + 5))) return true
  // A writer who separates elements with plain commas puts the others into texts.
  if (/[，；、]/.test(word) && text[end] !== ',' && !/,\s{0,99}$/.test(text.slice(Math.max(0, at - 100), at)))
    return true
  // `[red green]`: two elements, or one.
  return text[at - 1] === '[' && text[end] === ']' && (word.includes(' ') || leftOver.test(word))
}

/** Whether a whole payload may be a word, or a few, without quotes. */
export function isFewWords(text: string): boolean {
  return text.length <= MAX_WORD && /^[^\s{}[\]"][^\n{}[\]"]*$/.test(text)
}

/** Whether the start of a text without quotes, at the end of a cut input, can only become a string. */
export function isStartOfText(word: string): boolean {
  const lower = word.toLowerCase()
  const mayBeLiteral = [...literals, ...otherLiterals].some((one) => one.startsWith(lower))
  // With a dot it is rather the start of a call: `np.float64(0.87)`.
  return !mayBeLiteral && /^\p{L}+$/u.test(word) && isPlainText(word, false)
}

/** Whether a literal with a character lost, doubled, added or swapped is this word. */
function isNearLiteral(word: string): boolean {
  if (word.length < 2 || word.length > 12) return false
  const lower = word.toLowerCase()
  if (/^(?:true|false|null)./.test(lower) || otherLiterals.some((literal) => literal.startsWith(lower)))
    return true
  return [...literals].some((literal) => {
    const foreign = [...lower].filter((letter) => !literal.includes(letter)).length
    if (foreign > 1) return false
    // Two edits lead from half of all short words to a literal; allow them only if no other letter came in.
    return editDistance(lower, literal) <= (foreign === 0 ? 2 : 1)
  })
}

/** Edits from one short word to another: a letter added, dropped, or swapped with its neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 2
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, before[j - 2]! + 1)
      }
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length]!
}

/** No meaningful JSON number is longer. */
const MAX_NUMBER = 400
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const hexadecimal = /^-?0[xX][0-9a-fA-F]+$/
//  +5, .5, -.5, 5., 5.e3, 1_000: a sign, digits or none, and the rest
const foreignNumber = /^([+-]?)(?=\.?\d)((?:\d+(?:_\d+)*)?)((?:\.(?:\d+(?:_\d+)*)?)?(?:[eE][+-]?\d+)?)$/
/** No date, version or address is longer. */
const MAX_CODE = 96
/** What is written without blanks, or with known ones, and ends before a blank, a comma or a bracket. */
const codes = [
  // 2024-01-02, 2024-01-02T10:30:00Z, 2024-01-02 10:30
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?(?=[\s,}\]])/,
  // 2024/1/2, 1/2/2024
  /^(?:\d{4}\/\d\d?\/\d\d?|\d\d?\/\d\d?\/\d{4})(?=[\s,}\]])/,
  // 10:30, 10:30:00.5, 9:30 AM
  /^\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm])?(?=[\s,}\]])/,
  // 550e8400-e29b-41d4-a716-446655440000
  /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?=[\s,}\]])/,
  // 10.0.0.1, 10.0.0.0/8, 10.0.0.1:8080
  /^(?:\d{1,3}\.){3}\d{1,3}(?:\/\d\d?)?(?::\d{1,5})?(?=[\s,}\]])/,
  // 1.2.3, v1.2.3-beta.1
  /^v?\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+.][\w.+-]{1,32})?(?=[\s,}\]])/,
]
const MAX_CALL = 256
const namedType =
  /^(?:(?:ObjectId|ISODate|UUID|new\s+Date)\(\s*(?:"([\w.:+ -]+)"|'([\w.:+ -]+)')|Number(?:Long|Int|Decimal)\(\s*(-?[\d.]+))\s*\)/
const beginsText = /^[\p{L}\p{N}\p{Extended_Pictographic}_$]/u
const sentence = /^\d+(?: \p{L}+){3,}/u
/**
 * Quotes, brackets and colons do not belong to plain text: its end would be a guess. With an operator it is
 * an expression, `a || 3`, or a type. An apostrophe is between letters.
 */
const forbidden = /["“”„‟`{}[\]:,()|&?+*=<>]|\\(?!n)|;(?! )|[\u0000-\u001f]|(?<!\p{L})['‘’]|['‘’](?!\p{L})/u
/** What the writer put in the place of a value. */
const notTexts = [
  // `string`, `an optional int`, `list of names`: a type
  /^(?:(?:optional|required|nullable|an?) )*(?:string|number|boolean|integer|object|array|any|str|int|float|bool|list|dict|double|char|bytes|void|datetime|[iu](?:8|16|32|64))$/i,
  /^(?:an? )?(?:array|list|number) of /i,
  // `b'x`: the start of a Python string
  /^[bfru]{1,2}'/i,
  // No value, in Ruby, Go or Python.
  /^(?:nil|Nil|NIL|NaT|Ellipsis|NotImplemented)$/,
  // `etc.`: more elements; `___`: a form to fill in
  /^(?:etc\.?|and (?:more|others|so on))$/i,
  /^[_$]+$/,
  // `n - 1`, `this.name`, `await x`, `new Foo`, `x as string`, `a if b else c`: an expression
  /^[\w$.]+ [-/%^] [\w$.]+$|^(?:this|self|process\.env|Math)\.\w|^lambda\b.*:/,
  /^(?:await|typeof|void) [\w$.]+$|^new [A-Z]\w*$|\w as (?:const|any|unknown|string|number|boolean)$/,
  /\w if .{1,99} else \w|\w for \w{1,99} in \w/,
  // `x，b: y`, `x; b: y`: two members
  /[，；、;][^，；、;:]*:/,
  // `１２`, `ｔｒｕｅ`: a number or a literal, full-width
  /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/,
]
/** What Node prints for what it does not show, and what filters leave. */
const leftOver =
  /^(?:Circular|Function|Getter|Setter|Getter\/Setter|class \w+|object \w+|native code|(?:redacted|filtered|masked|hidden|truncated|omitted|elided|snip)\.?)$/i
const literals = new Set(['true', 'false', 'null'])
const otherLiterals = ['none', 'nan', 'undefined', 'infinity']
const foreignLiterals = new Map([
  ['True', 'true'],
  ['TRUE', 'true'],
  ['False', 'false'],
  ['FALSE', 'false'],
  ['None', 'null'],
  ['Null', 'null'],
  ['NULL', 'null'],
  ['NaN', 'null'],
  ['Infinity', 'null'],
  ['-Infinity', 'null'],
])
