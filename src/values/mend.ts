import { isWord } from './balanced.ts'
import { escapeOf } from './control.ts'

/** A text that was made JSON, and what was changed in it. */
export interface Mended {
  readonly text: string
  readonly changes: readonly string[]
}

/**
 * Makes JSON of what is almost JSON, in one pass: trailing and missing commas, comments, unquoted keys and
 * words, other quotes, Python's `True`, `False` and `None`, raw control characters, quotes and backslashes
 * that were not escaped. It changes spelling only. Where a value would have to be invented (`{"a":}`,
 * `[1,,2]`, a word like `tru`, a number like `12.`) it gives `undefined`.
 *
 * With `cut`, the text may stop anywhere; what is there is mended and the end is left as it is.
 *
 * @example
 * mend("{key: 'val', }")?.text // '{"key": "val" }'
 */
export function mend(text: string, cut = false): Mended | undefined {
  const machine = new Mender(text, cut)
  return machine.run() ? machine.result() : undefined
}

type State = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma' | 'end'

class Mender {
  readonly #text: string
  readonly #cut: boolean
  /** In the order of their making: a trailing comma is known as such only behind the blanks after it. */
  readonly #edits: Edit[] = []
  /** How often each kind of change was made. */
  readonly #changes = new Map<string, number>()
  #at = 0
  #state: State = 'value'
  /** True for an array, false for an object. */
  readonly #open: boolean[] = []
  /** Where the comma stands that a closing bracket would make a trailing one. */
  #comma = -1
  /** One past the last value: a missing comma is added there. */
  #valueEnd = 0

  constructor(text: string, cut: boolean) {
    this.#text = text
    this.#cut = cut
  }

  run(): boolean {
    for (;;) {
      if (!this.#skip()) return this.#cut
      if (this.#at >= this.#text.length) return this.#cut || this.#state === 'end'
      if (!this.#step()) return false
      // A token that stopped at the end of a cut text was taken as far as it goes.
      if (this.#at > this.#text.length) return this.#cut
    }
  }

  result(): Mended {
    const pieces: string[] = []
    let copied = 0
    for (const { from, to, by } of this.#edits.sort((a, b) => a.from - b.from)) {
      pieces.push(this.#text.slice(copied, from), by)
      copied = to
    }
    pieces.push(this.#text.slice(copied))
    const changes = [...this.#changes].map(([what, times]) => `${what} (${times})`)
    return { text: pieces.join(''), changes }
  }

  #step(): boolean {
    const unit = this.#text.charCodeAt(this.#at)
    switch (this.#state) {
      case 'end':
        return false
      case 'colon':
        if (unit !== COLON) return false
        this.#at++
        this.#state = 'value'
        return true
      case 'comma':
        if (unit === COMMA) {
          this.#comma = this.#at++
          this.#state = this.#inArray() ? 'value' : 'key'
          return true
        }
        if (unit === CLOSING_BRACE || unit === CLOSING_BRACKET) return this.#close(unit)
        if (this.#at === this.#valueEnd && !isQuote(unit) && unit !== BRACE && unit !== BRACKET) return false
        if (unit === COLON) return false
        this.#edit(this.#valueEnd, this.#valueEnd, ',', 'added a missing comma')
        this.#state = this.#inArray() ? 'value' : 'key'
        return true
      case 'first key':
      case 'key':
        if (unit === CLOSING_BRACE) return this.#close(unit)
        return this.#key(unit)
      case 'first value':
      case 'value':
        if (unit === CLOSING_BRACKET && this.#open.length > 0 && this.#inArray()) return this.#close(unit)
        return this.#value(unit)
    }
  }

  /** Blanks and comments. False for a comment that never ends. */
  #skip(): boolean {
    const text = this.#text
    while (this.#at < text.length) {
      const unit = text.charCodeAt(this.#at)
      if (unit === 32 || unit === 10 || unit === 13 || unit === 9) this.#at++
      else if (unit === 0xa0 || unit === 0xfeff || unit === 0x2028 || unit === 0x2029 || unit === 0x3000) {
        this.#edit(this.#at, this.#at + 1, ' ', 'replaced unusual blanks')
        this.#at++
      } else if (unit === SLASH) {
        const line = text[this.#at + 1] === '/'
        if (!line && text[this.#at + 1] !== '*') return true
        const found = text.indexOf(line ? '\n' : '*/', this.#at + 2)
        if (found < 0 && !line) return false
        const end = found < 0 ? text.length : line ? found : found + 2
        this.#edit(this.#at, end, '', 'dropped comments')
        this.#at = end
      } else break
    }
    return true
  }

  #value(unit: number): boolean {
    if (unit === BRACE || unit === BRACKET) {
      this.#open.push(unit === BRACKET)
      this.#state = unit === BRACKET ? 'first value' : 'first key'
      this.#comma = -1
      this.#at++
      return true
    }
    const done = isQuote(unit) ? this.#string(false) : this.#bare()
    if (done) this.#afterValue()
    return done
  }

  #key(unit: number): boolean {
    this.#state = 'colon'
    if (isQuote(unit)) return this.#string(true)
    const from = this.#at
    let i = from
    while (isKeyPart(this.#text.charCodeAt(i))) i++
    if (i === from) return false
    if (i === this.#text.length) return this.#dropCut(from)
    this.#edit(from, i, `"${this.#text.slice(from, i)}"`, 'quoted keys')
    this.#at = i
    return true
  }

  #close(unit: number): boolean {
    if (this.#open.pop() !== (unit === CLOSING_BRACKET)) return false
    if (this.#comma >= 0) this.#edit(this.#comma, this.#comma + 1, '', 'dropped trailing commas')
    this.#at++
    this.#afterValue()
    return true
  }

  #afterValue(): void {
    this.#comma = -1
    this.#valueEnd = this.#at
    this.#state = this.#open.length === 0 ? 'end' : 'comma'
  }

  //  "he said "hi" twice", 'it\'s', “so”
  //           ^  ^ inner quotes: what follows does not look like the end of a value
  #string(key: boolean): boolean {
    const text = this.#text
    const opening = text.charCodeAt(this.#at)
    if (opening !== QUOTE) this.#edit(this.#at, this.#at + 1, '"', 'replaced other quotes')
    let i = this.#at + 1
    while (i < text.length) {
      const unit = text.charCodeAt(i)
      if (unit < 128 && HARMLESS[unit] === 1) {
        i++
        continue
      }
      if (unit === BACKSLASH) {
        const kind = text[i + 1]
        if (kind === undefined) break
        if (kind !== "'" && kind !== '`' && !isEscape(text, i)) {
          this.#edit(i, i, '\\', 'escaped backslashes')
          i++
          continue
        }
        if (kind === "'" || kind === '`') this.#edit(i, i + 1, '', 'dropped needless backslashes')
        i += 2
      } else if (closes(unit, opening)) {
        if (key || this.#endsValue(i + 1)) {
          if (unit !== QUOTE) this.#edit(i, i + 1, '"', 'replaced other quotes')
          this.#at = i + 1
          return true
        }
        if (unit === QUOTE) this.#edit(i, i, '\\', 'escaped quotes')
        i++
      } else {
        if (unit === QUOTE) this.#edit(i, i, '\\', 'escaped quotes')
        else if (unit < 32) this.#edit(i, i + 1, escapeOf(unit), 'escaped control characters')
        i++
      }
    }
    this.#at = text.length + 1
    return this.#cut
  }

  /** Does what follows a quote look like the end of a value? */
  #endsValue(from: number): boolean {
    const text = this.#text
    let i = from
    let broke = false
    while (isSpace(text.charCodeAt(i))) if (text.charCodeAt(i++) === LF) broke = true
    const unit = text.charCodeAt(i)
    if (i >= text.length || unit === CLOSING_BRACE || unit === CLOSING_BRACKET) return true
    if (unit === SLASH) return text[i + 1] === '/' || text[i + 1] === '*'
    // A missing comma: only believed at a line break.
    if (isQuote(unit)) return broke
    if (unit !== COMMA) return false
    i++
    while (isSpace(text.charCodeAt(i))) i++
    const next = text.charCodeAt(i)
    if (i >= text.length || isQuote(next) || next === SLASH) return true
    if (next === CLOSING_BRACE || next === CLOSING_BRACKET) return true
    if (this.#inArray()) return next === BRACE || next === BRACKET || isNumberOrWord(text, i)
    const word = i
    while (i < word + MAX_WORD && isKeyPart(text.charCodeAt(i))) i++
    while (isSpace(text.charCodeAt(i))) i++
    return text.charCodeAt(i) === COLON
  }

  /** A number, a literal, or a word without quotes. */
  #bare(): boolean {
    const text = this.#text
    const from = this.#at
    let i = from
    while (i < text.length && isBarePart(text.charCodeAt(i))) i++
    if (i === text.length && this.#cut) return this.#dropCut(from)
    if (i === from || i - from > MAX_WORD) return false
    const word = text.slice(from, i)
    this.#at = i
    if (number.test(word) || literals.has(word)) return true
    const python = pythonic.get(word)
    if (python) {
      this.#edit(from, i, python, 'spelled literals as JSON does')
      return true
    }
    if (/^[+]?\.?\d/.test(word)) {
      const plain = word.replace(/^\+/, '').replace(/^\./, '0.')
      if (!number.test(plain)) return false
      this.#edit(from, i, plain, 'spelled numbers as JSON does')
      return true
    }
    if (!plainWord.test(word) || isCutLiteral(word)) return false
    this.#edit(from, i, JSON.stringify(word), 'quoted words')
    return true
  }

  /** A word that the end of the text touches may be half a word. */
  #dropCut(from: number): boolean {
    if (this.#cut) this.#edit(from, this.#text.length, '', 'dropped a cut word')
    this.#at = this.#text.length + 1
    return this.#cut
  }

  #inArray(): boolean {
    return this.#open[this.#open.length - 1] === true
  }

  #edit(from: number, to: number, by: string, change: string): void {
    this.#edits.push({ from, to, by })
    this.#changes.set(change, (this.#changes.get(change) ?? 0) + 1)
  }
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly by: string
}

/** A word or a number without quotes is at most so long. */
const MAX_WORD = 256

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const plainWord = /^-?[\p{L}_$][\p{L}\p{N}_$./@-]*$/u
const literals = new Set(['true', 'false', 'null'])
const pythonic = new Map([
  ['True', 'true'],
  ['TRUE', 'true'],
  ['False', 'false'],
  ['FALSE', 'false'],
  ['None', 'null'],
  ['NULL', 'null'],
])

/**
 * `tru` and `Fal` are literals that were cut short, and `undefined` is no value: quoting them would invent one.
 */
export function isCutLiteral(word: string): boolean {
  const lower = word.toLowerCase()
  return (
    word === 'undefined' ||
    ['true', 'false', 'null', 'none'].some((whole) => whole.startsWith(lower) && whole !== lower)
  )
}

function isQuote(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK || (unit >= 0x2018 && unit <= 0x201f)
}

/** Typographic quotes end at any of their kind, because models mix the two halves up. */
function closes(unit: number, opening: number): boolean {
  if (opening <= BACKTICK) return unit === opening
  return opening <= 0x201b ? unit >= 0x2018 && unit <= 0x201b : unit >= 0x201c && unit <= 0x201f
}

function isEscape(text: string, at: number): boolean {
  const kind = text[at + 1]!
  if (kind === 'u') return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))
  return '"\\/bfnrt'.includes(kind)
}

function isKeyPart(unit: number): boolean {
  return isWord(unit) || unit === MINUS || unit === DOT
}

/** All that can belong to a number or a word without quotes; what kind of word it is, is asked later. */
function isBarePart(unit: number): boolean {
  return isKeyPart(unit) || unit === PLUS || unit === AT || unit === SLASH
}

function isNumberOrWord(text: string, at: number): boolean {
  let i = at
  while (i < at + MAX_WORD && isBarePart(text.charCodeAt(i))) i++
  const word = text.slice(at, i)
  return number.test(word) || literals.has(word) || pythonic.has(word)
}

function isSpace(unit: number): boolean {
  return unit === 32 || unit === LF || unit === 13 || unit === 9
}

const LF = 10
const QUOTE = 34
const APOSTROPHE = 39
const PLUS = 43
const COMMA = 44
const MINUS = 45
const DOT = 46
const SLASH = 47
const COLON = 58
const AT = 64
const BRACKET = 91
const BACKSLASH = 92
const CLOSING_BRACKET = 93
const BACKTICK = 96
const BRACE = 123
const CLOSING_BRACE = 125

/** One for the ASCII that a string may hold as it is: no control characters, backslashes or quotes of any kind. */
const HARMLESS = new Uint8Array(128).fill(1, 32)
for (const unit of [QUOTE, APOSTROPHE, BACKTICK, BACKSLASH]) HARMLESS[unit] = 0
