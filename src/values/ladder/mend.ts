import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isBlank,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from '../../json/characters.ts'
import { escapeOf } from './control.ts'
import { Edits, type Mended } from './edits.ts'
import { closes, HARMLESS, isEscape, isQuote } from './mend-quotes.ts'
import { isBarePart, isJsonWord, isKeyPart, isNumberOrLiteralAt, MAX_WORD, spellingOf } from './mend-words.ts'

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
  readonly #edits = new Edits()
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
    return this.#edits.applyTo(this.#text)
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
        if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) return this.#close(unit)
        if (this.#at === this.#valueEnd && !isQuote(unit) && unit !== OPEN_BRACE && unit !== OPEN_BRACKET)
          return false
        if (unit === COLON) return false
        this.#edits.add(this.#valueEnd, this.#valueEnd, ',', 'added a missing comma')
        this.#state = this.#inArray() ? 'value' : 'key'
        return true
      case 'first key':
      case 'key':
        if (unit === CLOSE_BRACE) return this.#close(unit)
        return this.#key(unit)
      case 'first value':
      case 'value':
        if (unit === CLOSE_BRACKET && this.#open.length > 0 && this.#inArray()) return this.#close(unit)
        return this.#value(unit)
    }
  }

  /** Blanks and comments. False for a comment that never ends. */
  #skip(): boolean {
    const text = this.#text
    while (this.#at < text.length) {
      const unit = text.charCodeAt(this.#at)
      if (isBlank(unit)) this.#at++
      else if (unit === 0xa0 || unit === 0xfeff || unit === 0x2028 || unit === 0x2029 || unit === 0x3000) {
        this.#edits.add(this.#at, this.#at + 1, ' ', 'replaced unusual blanks')
        this.#at++
      } else if (unit === SLASH) {
        const line = text[this.#at + 1] === '/'
        if (!line && text[this.#at + 1] !== '*') return true
        const found = text.indexOf(line ? '\n' : '*/', this.#at + 2)
        if (found < 0 && !line) return false
        const end = found < 0 ? text.length : line ? found : found + 2
        this.#edits.add(this.#at, end, '', 'dropped comments')
        this.#at = end
      } else break
    }
    return true
  }

  #value(unit: number): boolean {
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      this.#open.push(unit === OPEN_BRACKET)
      this.#state = unit === OPEN_BRACKET ? 'first value' : 'first key'
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
    this.#edits.add(from, i, `"${this.#text.slice(from, i)}"`, 'quoted keys')
    this.#at = i
    return true
  }

  #close(unit: number): boolean {
    if (this.#open.pop() !== (unit === CLOSE_BRACKET)) return false
    if (this.#comma >= 0) this.#edits.add(this.#comma, this.#comma + 1, '', 'dropped trailing commas')
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
    if (opening !== QUOTE) this.#edits.add(this.#at, this.#at + 1, '"', 'replaced other quotes')
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
          this.#edits.add(i, i, '\\', 'escaped backslashes')
          i++
          continue
        }
        if (kind === "'" || kind === '`') this.#edits.add(i, i + 1, '', 'dropped needless backslashes')
        i += 2
      } else if (closes(unit, opening)) {
        if (key || this.#endsValue(i + 1)) {
          if (unit !== QUOTE) this.#edits.add(i, i + 1, '"', 'replaced other quotes')
          this.#at = i + 1
          return true
        }
        if (unit === QUOTE) this.#edits.add(i, i, '\\', 'escaped quotes')
        i++
      } else {
        if (unit === QUOTE) this.#edits.add(i, i, '\\', 'escaped quotes')
        else if (unit < 32) this.#edits.add(i, i + 1, escapeOf(unit), 'escaped control characters')
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
    while (isBlank(text.charCodeAt(i))) if (text.charCodeAt(i++) === LF) broke = true
    const unit = text.charCodeAt(i)
    if (i >= text.length || unit === CLOSE_BRACE || unit === CLOSE_BRACKET) return true
    if (unit === SLASH) return text[i + 1] === '/' || text[i + 1] === '*'
    // A missing comma: only believed at a line break.
    if (isQuote(unit)) return broke
    if (unit !== COMMA) return false
    i++
    while (isBlank(text.charCodeAt(i))) i++
    const next = text.charCodeAt(i)
    if (i >= text.length || isQuote(next) || next === SLASH) return true
    if (next === CLOSE_BRACE || next === CLOSE_BRACKET) return true
    if (this.#inArray()) return next === OPEN_BRACE || next === OPEN_BRACKET || isNumberOrLiteralAt(text, i)
    const word = i
    while (i < word + MAX_WORD && isKeyPart(text.charCodeAt(i))) i++
    while (isBlank(text.charCodeAt(i))) i++
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
    if (isJsonWord(word)) return true
    const spelling = spellingOf(word)
    if (!spelling) return false
    this.#edits.add(from, i, spelling.text, spelling.change)
    return true
  }

  /** A word that the end of the text touches may be half a word. */
  #dropCut(from: number): boolean {
    if (this.#cut) this.#edits.add(from, this.#text.length, '', 'dropped a cut word')
    this.#at = this.#text.length + 1
    return this.#cut
  }

  #inArray(): boolean {
    return this.#open[this.#open.length - 1] === true
  }
}
