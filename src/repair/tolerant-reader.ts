import { mayFollowString } from '../json/after-value.ts'
import { backslashesBefore } from '../json/strings.ts'
import {
  APOSTROPHE,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  EQUALS,
  HASH,
  isBlank,
  LESS,
  LETTER_U,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  OPEN_PAREN,
  PLUS,
  QUOTE,
  SEMICOLON,
  SLASH,
  SPACE,
  TILDE,
  WIDE_COLON,
  WIDE_COMMA,
} from '../text/characters.ts'
import { codeEnd, constructedAt, isJsonWord, MAX_WORD, spellingOf } from './bare-words.ts'
import type { ChangeKind } from './change.ts'
import type { Edit } from './edits.ts'
import { closingQuote, isCleanString, isQuote, plainStringEnd, spellString } from './quotes.ts'

/** What the reader expects next. */
export type State = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma' | 'end'

/** An open bracket. */
export interface Level {
  readonly array: boolean
  /** Where it is; -1 if it is before the text. */
  readonly from: number
  readonly up: Level | undefined
  /** Python's tuple: `(1)` is no tuple, so its comma must be seen. */
  readonly tuple?: 'without a comma' | 'with a comma'
}

/** The last token, kept so that a guess can read it again. */
export interface Token {
  /** A doubtful string may not be what it seems: only a guess that reads it again may take it. */
  readonly kind: 'string' | 'doubtful string' | 'word' | 'other'
  readonly from: number
  /** One past it; for a string, its closing quote is the character before. */
  readonly to: number
  readonly key: boolean
  /** The edits before it was read. */
  readonly edits: Edit | undefined
}

interface Effort {
  spent: number
  quotes?: boolean
  comments?: boolean
}

/** The error that a guess assumes in the text. A reading makes guesses of one kind only. */
export type GuessKind =
  | 'comma'
  | 'colon'
  | 'opening quote'
  | 'closing quote'
  | 'inner quote'
  | 'word'
  | 'path'
  | 'line'
  | 'bracket'

/**
 * One reading of a text that is almost JSON. It changes what has only one meaning: other quotes, trailing and
 * leading commas, comments, unusual blanks, keys without quotes, Python's literals and tuples, raw control
 * characters, backslashes that were not escaped, joined strings, dates without quotes. Where more than one
 * meaning is possible it stops, and `guesses.ts` says how it may continue.
 *
 * A class, because a reading that stops is copied for each guess.
 */
export class Reading {
  readonly text: string
  at = 0
  state: State = 'value'
  level: Level | undefined = undefined
  /** The level of the value that is read: for an element, inside its container. */
  base: Level | undefined = undefined
  edits: Edit | undefined = undefined
  token: Token = NO_TOKEN
  /** The last comma, if a closing bracket would make it a trailing one; -1 for none. */
  comma = -1
  /** One past the last value: a missing comma is added there. */
  valueEnd = 0
  guess: GuessKind | undefined = undefined
  guesses = 0
  /** Counts keys with and without quotes: a text that mixes them gets no bare words. */
  quotedKeys = 0
  bareKeys = 0
  /** Keys in double quotes. */
  plainKeys = 0
  /** What follows the first comma between two values: the writer's style. */
  spacing: Spacing | undefined = undefined
  /** The string that begins at `at` has no closing quote. */
  unclosed = false
  /** There is another reading that no guess leads to: it is not believed, even if it is the only one. */
  doubtful = false
  /** An inner object began with a comma: rather its closing bracket is missing, if one is missing at all. */
  commaFirst = false
  /** How many tuples are open. Parentheses are in prose, too: nothing is guessed in them. */
  tuples = 0

  /** Characters read for guesses, and whether there are quotes or comments: the same for all readings. */
  readonly effort: Effort

  constructor(text: string, effort: Effort = { spent: 0 }) {
    this.text = text
    this.effort = effort
  }

  /** Written out, because a text may need thousands of guesses, and `Object.assign` is slow. */
  copy(): Reading {
    const next = new Reading(this.text, this.effort)
    next.at = this.at
    next.state = this.state
    next.level = this.level
    next.base = this.base
    next.edits = this.edits
    next.token = this.token
    next.comma = this.comma
    next.valueEnd = this.valueEnd
    next.guess = this.guess
    next.guesses = this.guesses
    next.quotedKeys = this.quotedKeys
    next.bareKeys = this.bareKeys
    next.plainKeys = this.plainKeys
    next.spacing = this.spacing
    next.unclosed = this.unclosed
    next.doubtful = this.doubtful
    next.commaFirst = this.commaFirst
    next.tuples = this.tuples
    return next
  }

  /** Reads on while only one meaning is possible. */
  run(): 'whole' | 'cut' | 'stopped' {
    const { text } = this
    for (;;) {
      if (!this.#skip()) return 'stopped'
      if (this.at >= text.length) return this.state === 'end' ? 'whole' : 'cut'
      if (!this.#step(text.charCodeAt(this.at))) return 'stopped'
    }
  }

  add(from: number, to: number, by: string, kind: ChangeKind): void {
    this.edits = { from, to, by, kind, before: this.edits }
  }

  /** Whether the writer puts anything in quotes. */
  hasQuotes(): boolean {
    this.effort.quotes ??= /["'`“”‘’«「『]/.test(this.text)
    return this.effort.quotes
  }

  /** Whether anything may begin a comment. If not, no string needs to be searched for one. */
  #hasComments(): boolean {
    const { text, effort } = this
    effort.comments ??= ['//', '/*', '# '].some((mark) => isAfterBlank(text, mark))
    return effort.comments
  }

  inArray(): boolean {
    return this.level?.array === true
  }

  /** The current value ends before `at`. */
  endValue(at: number): void {
    this.at = at
    this.comma = -1
    this.valueEnd = at
    this.state = this.level === this.base ? 'end' : 'comma'
  }

  #step(unit: number): boolean {
    switch (this.state) {
      case 'end':
        if (unit === PLUS) return this.join(skipBlanks(this.text, this.at + 1))
        return (unit === COMMA || unit === SEMICOLON) && this.#dropLastComma()
      case 'colon':
        return this.#colon(unit)
      case 'comma':
        if (unit === COMMA) return this.#passComma()
        if (unit === SEMICOLON || isForeignComma(unit)) return this.#replaceComma()
        if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET || unit === CLOSE_PAREN) return this.#close(unit)
        return unit === PLUS && this.join(skipBlanks(this.text, this.at + 1))
      case 'first key':
      case 'key':
        if (unit === CLOSE_BRACE) return this.#close(unit)
        if (unit === COMMA) return this.state === 'first key' && this.#dropLeadingComma()
        if (PAIRED_QUOTES.has(unit)) return this.#pairedString(true)
        return isQuote(unit) || this.#dropPrefix(unit, true) ? this.#string(true) : this.#bareKey()
      case 'first value':
      case 'value':
        if (unit === OPEN_BRACE || unit === OPEN_BRACKET) return this.#open(unit === OPEN_BRACKET)
        if (unit === OPEN_PAREN) return this.#openTuple()
        if (unit === CLOSE_BRACKET || unit === CLOSE_PAREN) return this.inArray() && this.#close(unit)
        if (unit === COMMA) return this.state === 'first value' && this.#dropLeadingComma()
        if (PAIRED_QUOTES.has(unit)) return this.#pairedString(false)
        return isQuote(unit) || this.#dropPrefix(unit, false) ? this.#string(false) : this.#word()
      default:
        return this.state satisfies never
    }
  }

  #colon(unit: number): boolean {
    if (unit === COLON) this.at++
    else if (unit === EQUALS || unit === WIDE_COLON) {
      const to = this.text[this.at + 1] === '>' ? this.at + 2 : this.at + 1
      this.add(this.at, to, ':', 'replaced a colon')
      this.at = to
    } else return false
    this.state = 'value'
    return true
  }

  #passComma(): boolean {
    this.comma = this.at++
    this.spacing ??= spacingAfter(this.text, this.comma)
    this.state = this.inArray() ? 'value' : 'key'
    if (this.tuples > 0 && this.level?.tuple) this.level = { ...this.level, tuple: 'with a comma' }
    return true
  }

  //  [1; 2]  {"a":1，"b":2}  {"a":1; "b":2;}  {"a":"x,"; "b":2}  [1, 2; 3, 4]
  //    ^            ^                     ^ dropped  ^ may be the comma   ^ a new row
  #replaceComma(): boolean {
    const { text, at } = this
    const next = skipBlanks(text, at + 1)
    // Only if it separates the members before it: a lone one may be the last character of a string.
    if (text[next] === '}' && this.#hasReplacedComma()) return this.#dropComma()
    if (next < text.length && '}],;，'.includes(text[next]!)) return false
    if (endsInComma(text, this.token) || isBetweenRows(text, at)) return false
    this.add(this.at, this.at + 1, ',', 'replaced a comma')
    this.at++
    this.state = this.inArray() ? 'value' : 'key'
    return true
  }

  #hasReplacedComma(): boolean {
    const from = this.level?.from ?? -1
    for (let edit = this.edits; edit && edit.from > from; edit = edit.before)
      if (edit.kind === 'replaced a comma') return true
    return false
  }

  //  {"a":1},
  //         ^ and nothing more
  #dropLastComma(): boolean {
    return skipBlanks(this.text, this.at + 1) >= this.text.length && this.#dropComma()
  }

  #dropComma(): true {
    this.add(this.at, this.at + 1, '', 'dropped a comma')
    this.at++
    return true
  }

  //  [, 1]  {, "a": 1}           "a": {,
  //   ^      ^ nothing is lost    "b": 1   is below: rather a bracket is missing
  #dropLeadingComma(): boolean {
    if (this.level?.up && isBelow(this.text, this.at)) return false
    this.commaFirst ||= this.level?.up !== undefined && !this.inArray()
    this.#dropComma()
    this.state = this.inArray() ? 'value' : 'key'
    return true
  }

  #open(array: boolean): boolean {
    this.level = { array, from: this.at, up: this.level }
    this.state = array ? 'first value' : 'first key'
    this.comma = -1
    this.at++
    return true
  }

  //  ("a", 1)   (1,)   ()
  //  ^ at: what follows is a value, or nothing
  #openTuple(): boolean {
    const next = skipBlanks(this.text, this.at + 1)
    const unit = this.text.charCodeAt(next)
    const isValue = isQuote(unit) || /^(?:[[{(\d.TFN)-]|$|u["'])/.test(this.text.slice(next, next + 2))
    if (!isValue) return false
    this.add(this.at, this.at + 1, '[', 'spelled a tuple as an array')
    this.#open(true)
    this.level = { array: true, from: this.at - 1, up: this.level?.up, tuple: 'without a comma' }
    this.tuples++
    return true
  }

  #close(unit: number): boolean {
    const { level } = this
    if (level === undefined) return false
    const tuple = this.tuples > 0 ? level.tuple : undefined
    if (unit !== (tuple ? CLOSE_PAREN : level.array ? CLOSE_BRACKET : CLOSE_BRACE)) return false
    if (tuple) {
      if (tuple === 'without a comma' && this.state !== 'first value') return false
      this.add(this.at, this.at + 1, ']', 'spelled a tuple as an array')
      this.tuples--
    }
    if (this.comma >= 0) this.add(this.comma, this.comma + 1, '', 'dropped a comma')
    this.level = level.up
    this.token = NO_TOKEN
    this.endValue(this.at + 1)
    return true
  }

  #string(key: boolean): boolean {
    const from = this.at
    if (!key && this.text[from + 1] === this.text[from] && this.#tripleQuoted(from)) return true
    const plain = this.text.charCodeAt(from) === QUOTE
    const close = plain ? plainStringEnd(this.text, from) : closingQuote(this.text, from)
    if (close === -1) {
      this.unclosed = true
      return false
    }
    // `"a": red,", b": 1`: a key that begins with a comma has the closing quote of the value before it.
    if (key && this.guesses > 0 && this.text.charCodeAt(from + 1) === COMMA) return false
    const end = close < 0 ? -2 - close : close
    if (!key && this.#hasComments() && holdsEndAndComment(this.text.slice(from + 1, end))) return false
    if (!plain || close < 0) return this.#spellString(from, end, key)
    if (key) this.plainKeys++
    this.#endString(from, close, key, this.edits)
    return true
  }

  //  {"code": """print("hi")""", "n": 1}
  //           ^ from         ^ close
  /** Takes a string in three quotes, as in Python, if a value may end after it. */
  #tripleQuoted(from: number): boolean {
    const { text, edits } = this
    const quotes = text[from]!.repeat(3)
    if (!/"""|'''/.test(quotes) || !text.startsWith(quotes, from) || text[from + 3] === text[from])
      return false
    const close = text.indexOf(quotes, from + 3)
    this.effort.spent += (close < 0 ? text.length : close) - from
    if (close < 0 || !',}]'.includes(text[skipBlanks(text, close + 3)] ?? ' ')) return false
    const opened: Edit = { from, to: from + 2, by: '', kind: 'replaced a quote', before: edits }
    const spelled = spellString(text, { from: from + 2, to: close, opened: true, closed: true }, opened)
    if (!spelled) return false
    this.edits = spelled.edits
    this.add(close + 1, close + 3, '', 'replaced a quote')
    this.token = { kind: 'other', from, to: close + 3, key: false, edits }
    this.endValue(close + 3)
    return true
  }

  //  {「a」: «b»}
  //   ^ from
  /** Takes a string in quotes that open and close differently, if it ends where one may end. */
  #pairedString(key: boolean): boolean {
    const { text, at, edits } = this
    const close = text.indexOf(PAIRED_QUOTES.get(text.charCodeAt(at))!, at + 1)
    this.effort.spent += (close < 0 ? text.length : close) - at
    const next = close < 0 ? '' : (text[skipBlanks(text, close + 1)] ?? '')
    if (!(key ? ':：' : ',}]，、،').includes(next) || next === '') return false
    if (/[\n"«»「」『』]/.test(text.slice(at + 1, close))) return false
    const spelled = spellString(text, { from: at, to: close, opened: true, closed: true }, edits)
    if (!spelled) return false
    this.edits = spelled.edits
    this.#endString(at, close, key, edits)
    return true
  }

  /** Takes the text between two quotes, which JSON does not allow as it is, as a string. */
  #spellString(from: number, close: number, key: boolean): boolean {
    const { text, edits } = this
    const isDoubtful =
      isFirstOnLine(text, from, close) ||
      (key && text.slice(from, close).includes('\n')) ||
      // `["a,"⏎ b", "c"]`: after a guess, this is rather what is between two strings.
      (this.guesses > 0 && /^\r?\n/.test(text.slice(from + 1, from + 3))) ||
      (!key && this.inArray() && mayBeElements(text, from, close))
    if (!isDoubtful) {
      const spelled = spellString(text, { from, to: close, opened: true, closed: true }, edits)
      if (!spelled) return false
      // A template has an expression in it.
      if (text[from] === '`' && text.slice(from, close).includes('${')) return false
      // Not if the writer puts other quotes around keys, too.
      if (text[from] !== '"' && swallows(text, from + 1, close, this.plainKeys > 0)) return false
      this.edits = spelled.edits
      if (key && text[from] === '"') this.plainKeys++
    }
    this.#endString(from, close, key, edits)
    if (isDoubtful) this.token = { ...this.token, kind: 'doubtful string' }
    return !isDoubtful
  }

  #endString(from: number, close: number, key: boolean, edits: Edit | undefined): void {
    this.token = { kind: 'string', from, to: close + 1, key, edits }
    if (key) this.#endKey(close + 1, true)
    else this.endValue(close + 1)
  }

  #endKey(at: number, quoted: boolean): void {
    this.at = at
    this.comma = -1
    this.state = 'colon'
    if (quoted) this.quotedKeys++
    else this.bareKeys++
  }

  //  {u'a': u'x'}
  //   ^ at
  /** Drops the letter before a string of Python 2, if the string ends where one may end. */
  #dropPrefix(unit: number, key: boolean): boolean {
    if ((unit | 32) !== LETTER_U) return false
    const { text, at } = this
    const quote = text[at + 1]
    if ((quote !== "'" && quote !== '"') || mayFollowString(text, at + 2)) return false
    const close = closingQuote(text, at + 1)
    this.effort.spent += (close < 0 ? text.length : close) - at
    if (close < 0 || (text[skipBlanks(text, close + 1)] === ':') !== key) return false
    if (!key && !mayFollowString(text, close + 1) && !text.startsWith(')', skipBlanks(text, close + 1)))
      return false
    this.add(at, at + 1, '', 'dropped a string prefix')
    this.at++
    return true
  }

  //  "one " + "two"
  //           ^ next
  /** Joins the string that was read and the one at `next`. */
  join(next: number): boolean {
    const { text } = this
    if (this.token.kind !== 'string' || this.token.key || !isQuote(text.charCodeAt(next))) return false
    const close = closingQuote(text, next)
    if (close < 0) return false
    const edits = editsBefore(this.edits, this.token.to - 1)
    // From the closing quote of the first to the opening one of the second, and any comments between them.
    const before: Edit = {
      from: this.token.to - 1,
      to: next + 1,
      by: '',
      kind: 'joined two strings',
      before: edits,
    }
    const spelled = isCleanString(text, next, close)
      ? { edits: before }
      : spellString(text, { from: next, to: close, opened: true, closed: true }, before)
    if (!spelled) return false
    this.edits = spelled.edits
    this.token = { ...this.token, from: next, to: close + 1, edits: before }
    this.endValue(close + 1)
    return true
  }

  //  {name: 1, first name: 2}
  //   ^^^^     ^^^^^^^^^^
  #bareKey(): boolean {
    const { text, at } = this
    const end = bareKeyEnd(text, at)
    // Text without quotes may hold a comma and a colon: `{"a":x, y: z}` has one member, or two.
    if (end < 0 || ((this.guess === 'word' || this.guess === 'closing quote') && this.quotedKeys > 0))
      return false
    this.add(at, end, JSON.stringify(text.slice(at, end)), 'quoted a key')
    this.token = NO_TOKEN
    this.#endKey(end, false)
    return true
  }

  /** A number or a literal. */
  #word(): boolean {
    const { text, at } = this
    let end = wordEnd(text, at)
    if (end === at) return false
    let word = text.slice(at, end)
    const { edits } = this
    let isJson = isJsonWord(word)
    if (!isJson) {
      // `nullfalse`, `1、2`: two values without a comma, or with a foreign one.
      const [first] = /^(?:true|false|null)(?=true$|false$|null$|-?\d)|^.+?(?=[、،])/.exec(word) ?? [word]
      if (isJsonWord(first)) {
        isJson = true
        word = first
        end = at + first.length
      }
    }
    const after = text.charCodeAt(end)
    const constructed = after === OPEN_PAREN || word === 'new' ? constructedAt(text, at) : undefined
    if (constructed) {
      this.add(at, constructed.end, constructed.argument, 'dropped a call')
      this.token = { kind: 'other', from: at, to: constructed.end, key: false, edits }
      this.endValue(constructed.end)
      return true
    }
    const spelling = isJson ? undefined : spellingOf(word)
    if ((!isJson && !spelling) || after === COLON || after === SLASH) {
      const to = codeEnd(text, at, this.inArray())
      if (to >= 0 && ',}]'.includes(text[skipBlanks(text, to)] ?? ' ')) {
        this.add(at, to, JSON.stringify(text.slice(at, to)), 'quoted a word')
        this.token = { kind: 'other', from: at, to, key: false, edits }
        this.endValue(to)
        return true
      }
    }
    if (!isJson) {
      if (!spelling) return false
      this.add(at, end, spelling.text, spelling.kind)
    }
    this.token = { kind: 'word', from: at, to: end, key: false, edits }
    this.endValue(end)
    return true
  }

  /** Blanks, comments and fence marks. False for a comment that never ends, or that may be something else. */
  #skip(): boolean {
    const { text } = this
    for (;;) {
      let { at } = this
      while (at < text.length && isBlank(text.charCodeAt(at))) at++
      this.at = at
      if (at === text.length) return true
      const to = unusualEnd(text, at)
      if (to === at) return true
      const unit = text.charCodeAt(at)
      if (to < 0 || (unit === SLASH && this.#isDoubtfulComment(to))) return false
      if (leavesOut(text.slice(at, to))) return false
      const kind = isUnusualBlank(unit)
        ? 'replaced a blank'
        : unit === BACKTICK || unit === TILDE
          ? 'dropped a fence mark'
          : 'dropped a comment'
      this.add(at, to, kind === 'replaced a blank' ? ' ' : '', kind)
      this.at = to
    }
  }

  //  ["a",                             {"a": "b" // c"
  //   //cdn.example/x",                          ^^^^^ a comment, or the rest of the string
  //   ^^^^^^^^^^^^^^^^ a comment, or a string that lost its opening quote
  /** Whether a string may end where the comment does. */
  #isDoubtfulComment(end: number): boolean {
    const { text, at, token } = this
    if (this.inArray() && endsLikeElement(text, end)) return true
    // `7 // 2` is a division in Python.
    if (this.state === 'comma' && token.kind === 'word' && /^\/\/ ?[\d.]+,?\s*$/.test(text.slice(at, end)))
      return true
    if (text[at + 1] !== '/' || token.kind !== 'string') return false
    if (this.state !== 'comma' && this.state !== 'colon') return false
    const parts = text.slice(at, end).split(text[token.from]!)
    return parts.length % 2 === 0 && /^\s*(?:[,:}\]]|$)/.test(parts.at(-1)!)
  }
}

/** Quotes that open, with those that close them. */
const PAIRED_QUOTES: ReadonlyMap<number, string> = new Map([
  [0xab, '»'],
  [0x300c, '」'],
  [0x300e, '』'],
])

/** `，`, `、` or `،`. */
function isForeignComma(unit: number): boolean {
  return unit === WIDE_COMMA || unit === 0x3001 || unit === 0x060c
}

/** Whether `mark` is somewhere after a blank. */
function isAfterBlank(text: string, mark: string): boolean {
  // Not a search for both: it stops at every blank.
  for (let at = text.indexOf(mark, 1); at > 0; at = text.indexOf(mark, at + 1))
    if (text.charCodeAt(at - 1) === SPACE) return true
  return false
}

//  ["x', 1 // 5",⏎]   ["x], # 5",⏎   ["x,1 // 5",⏎]
//     ^    ^^            ^  ^           ^  ^^ it may have ended before, and the comment has the last quote
function holdsEndAndComment(content: string): boolean {
  // Three searches from the end take three times as long as this.
  if (!/ (?:\/[/*]|# )/.test(content)) return false
  const comment = Math.max(content.lastIndexOf(' //'), content.lastIndexOf(' # '), content.lastIndexOf(' /*'))
  return comment > 0 && endBeforeComment.test(content.slice(0, comment))
}

const endBeforeComment = /['’”`]\s{0,9},|[\]}],$|,\s{0,9}(?:-?\d[\d.eE+-]*|true|false|null),?$/

/** `// ... rest unchanged` or `// more items ...`; `// loading...` is a comment like any other. */
function leavesOut(comment: string): boolean {
  if (!comment.includes('...') && !comment.includes('…')) return false
  if (BEGINS_WITH_DOTS.test(comment)) return true
  const words = comment.replace(/(?:\*\/|-->)$/, '').trimEnd()
  if (!words.endsWith('...') && !words.endsWith('…')) return false
  return LEAVING_OUT.test(words.slice(Math.max(words.lastIndexOf('\n') + 1, words.length - 110)))
}

const BEGINS_WITH_DOTS = /^(?:\/[/*]|#|<!--)\s*(?:\.{3}|…)/

const LEAVING_OUT = /\b(?:more|rest|others?|remaining|unchanged|omitted|truncated|same|similar|etc)\b/i

/** Whether numbers with commas are on both sides: for MATLAB, a semicolon ends a row of a matrix. */
function isBetweenRows(text: string, at: number): boolean {
  const before = /\d[ \t]{0,9},\s{0,99}-?[\d.]{1,99}[ \t]{0,9}$/.test(text.slice(Math.max(0, at - 256), at))
  return before && /^;\s{0,99}-?[\d.]{1,99}[ \t]{0,9},/.test(text.slice(at, at + 256))
}

/** The edits of what is before `at`. */
function editsBefore(edits: Edit | undefined, at: number): Edit | undefined {
  let edit = edits
  while (edit && edit.from >= at) edit = edit.before
  return edit
}

const NO_TOKEN: Token = { kind: 'other', from: 0, to: 0, key: false, edits: undefined }

//  [
//    "one,
//    two"
//    ^ indented like the string that seems to contain it
/**
 * Whether a string in a list has a comma at the end of a line and the next line has the same indentation: it
 * may be two strings that lost a quote each.
 */
function mayBeElements(text: string, from: number, close: number): boolean {
  let start = from
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start--
  if (text[start - 1] !== '\n') return false
  const inside = text.slice(from, close)
  const below = `\n${text.slice(start, from)}`
  for (let at = inside.indexOf(below); at >= 0; at = inside.indexOf(below, at + 1)) {
    const next = inside[at + below.length]
    const last = inside[at - 1] === '\r' ? inside[at - 2] : inside[at - 1]
    if (last === ',' && next !== ' ' && next !== '\t') return true
  }
  return false
}

/** Whether a string ends in a comma, which may be the one that is missing after it. */
export function endsInComma(text: string, { kind, from, to }: Token): boolean {
  return kind === 'string' && /,[ \t]{0,9}$/.test(text.slice(Math.max(from, to - 11), to - 1))
}

/** Whether the line ends after `at`, and the next one is not indented more. */
function isBelow(text: string, at: number): boolean {
  const next = /^[ \t\r]*\n([ \t]*)/.exec(text.slice(at + 1, at + 256))
  const own = next && /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at) + 1))
  return own !== null && next![1]!.length <= own[0].length
}

/** What a writer puts after a comma: nothing, a blank, or a line break. */
export type Spacing = 'tight' | 'blank' | 'line'

export function spacingAfter(text: string, comma: number): Spacing {
  let at = comma + 1
  for (; at < text.length && isBlank(text.charCodeAt(at)); at++) if (text.charCodeAt(at) === LF) return 'line'
  return at === comma + 1 ? 'tight' : 'blank'
}

/** The first index at or after `at` that is neither a blank, usual or unusual, nor in a comment. */
export function skipBlanks(text: string, at: number): number {
  let i = at
  while (i < text.length) {
    if (isBlank(text.charCodeAt(i))) {
      i++
      continue
    }
    const to = unusualEnd(text, i)
    if (to <= i) return i
    i = to
  }
  return i
}

/** One past the blank, comment or fence mark at `at`; `at` if there is none, -1 if it never ends. */
function unusualEnd(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (isUnusualBlank(unit)) return at + 1
  if (unit === SLASH) return commentEnd(text, at)
  if (unit === HASH) return hashCommentEnd(text, at)
  if (unit === LESS) return htmlCommentEnd(text, at)
  if (unit === BACKTICK || unit === TILDE) return markEnd(text, at)
  return at
}

//  ~~    #    <!-- one    ~~~json\r
//    ^ a mark   ^ a comment        ^ a label, or none of them
/** Whether the text breaks off in a comment or a fence mark at `at`, where `skipBlanks` stopped. */
export function isHalfBlank(text: string, at: number): boolean {
  const rest = text.slice(at)
  if (rest === '') return false
  if (unusualEnd(text, at) < 0 || (rest.length === 1 && '/#'.includes(rest)) || '<!--'.startsWith(rest))
    return true
  const marks = '`~'.includes(rest[0]!) && rest === rest[0]!.repeat(rest.length)
  return marks || ('`~'.includes(text[at - 1]!) && rest.endsWith('\r') && LABEL.test(`${rest}\n`))
}

export function isUnusualBlank(unit: number): boolean {
  if (unit < 0xa0) return unit === 0x0b || unit === 0x0c
  return (
    unit === 0xa0 ||
    unit === 0x180e ||
    (unit >= 0x2000 && unit <= 0x200d) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x2060 ||
    unit === 0x3000 ||
    unit === 0xfeff
  )
}

function commentEnd(text: string, at: number): number {
  const kind = text[at + 1]
  if (kind === '/') {
    const end = text.indexOf('\n', at)
    return end < 0 ? text.length : end
  }
  if (kind !== '*') return at
  const end = text.indexOf('*/', at + 2)
  return end < 0 ? -1 : end + 2
}

function htmlCommentEnd(text: string, at: number): number {
  if (!text.startsWith('<!--', at)) return at
  const end = text.indexOf('-->', at + 4)
  return end < 0 ? -1 : end + 3
}

/** A comment of Python or YAML: a `#` between blanks. One with quotes may be a torn value. */
function hashCommentEnd(text: string, at: number): number {
  const before = text[at - 1]
  const after = text[at + 1]
  if (before !== ' ' && before !== '\t' && before !== '\n' && before !== ',') return at
  if (after !== ' ' && after !== '\t') return at
  const found = text.indexOf('\n', at)
  const end = found < 0 ? text.length : found
  for (let i = at; i < end; i++) if (isQuote(text.charCodeAt(i)) && text[i] !== "'") return at
  return end
}

/** Three or more backticks or tildes, with their label if it ends the line. */
function markEnd(text: string, at: number): number {
  let end = at
  while (text[end] === text[at]) end++
  if (end - at < 3) return at
  const label = LABEL.exec(text.slice(end, end + 64))
  return end + (label?.[0].length ?? 0)
}

const LABEL = /^[A-Za-z][A-Za-z0-9]{0,15}[ \t]*(?=\r?\n|$)/

/** Whether a quote and a comma are the last characters before `end`. */
function endsLikeElement(text: string, end: number): boolean {
  let at = end - 1
  while (isBlank(text.charCodeAt(at))) at--
  return text[at] === ',' && isQuote(text.charCodeAt(at - 1))
}

/** One past the word at `at`. */
export function wordEnd(text: string, at: number): number {
  let i = at
  while (i < at + MAX_WORD && isWordPart(text.charCodeAt(i))) i++
  return i
}

function isWordPart(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 0x2b ||
    unit === 0x2d ||
    unit === 0x2e ||
    unit === 0x5f ||
    unit === 0x24 ||
    (unit >= 0xc0 &&
      !(unit >= 0x201c && unit <= 0x201f) &&
      unit !== WIDE_COMMA &&
      unit !== WIDE_COLON &&
      !isUnusualBlank(unit))
  )
}

/** One past a key without quotes at `at`, if its colon follows on the same line; else -1. */
export function bareKeyEnd(text: string, at: number): number {
  let end = at
  let i = at
  for (; i < at + MAX_WORD; i++) {
    const unit = text.charCodeAt(i)
    if (isKeyPart(unit)) end = i + 1
    else if (unit !== 32 && unit !== 9) break
  }
  // `-  a: 1` is a line of a diff, or an item of a list.
  const believed =
    end > at && text.charCodeAt(end - 1) !== APOSTROPHE && !/^[-+][ \t]/.test(text.slice(at, at + 2))
  return believed && text.charCodeAt(i) === COLON && !isUrl(text, i) ? end : -1
}

function isKeyPart(unit: number): boolean {
  return isWordPart(unit) || unit === 0x40 || unit === SLASH || unit === APOSTROPHE
}

/** `http://x` is not a key. */
function isUrl(text: string, colon: number): boolean {
  return text.startsWith('://', colon)
}

/**
 * Whether a text in other quotes contains a double quote that reads as structure. Then those other quotes are
 * not quotes: `{"a":'1,"b":2}` must not become one string. With `keys`, a quote before a colon counts, too.
 */
function swallows(text: string, from: number, to: number, keys: boolean): boolean {
  // Not `indexOf`: without a double quote it would read to the end of the text for each string.
  for (let at = from; at < to; at++) {
    if (text.charCodeAt(at) !== QUOTE) continue
    const backslashes = backslashesBefore(text, at, from)
    if (backslashes > 1) return true
    if (backslashes === 1) continue
    if (isJoined(text, at)) return true
    if (keys && text.charCodeAt(skipBlanks(text, at + 1)) === COLON) return true
  }
  return false
}

/** `" + "` joins two strings. */
export function isJoined(text: string, quote: number): boolean {
  const at = skipBlanks(text, quote + 1)
  return text[at] === '+' && isQuote(text.charCodeAt(skipBlanks(text, at + 1)))
}

export function isFirstOnLine(text: string, from: number, quote: number): boolean {
  if (!isBlank(text.charCodeAt(quote - 1))) return false
  return /\n[ \t]{1,99}$/.test(text.slice(Math.max(from + 1, quote - 100), quote))
}
