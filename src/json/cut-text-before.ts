import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './characters.ts'

/**
 * Cut JSON: a text that is the beginning of a JSON text and stops somewhere inside it.
 */

/** A cut text, closed. */
export interface Closed {
  /** Valid JSON: the finished part, with its open strings and brackets closed. */
  readonly text: string
  /** What the input did not finish, as JSON pointers, from the root down. */
  readonly incomplete: readonly string[]
}

/**
 * Closes a cut JSON text, or gives `undefined` if it is not the beginning of one. Nothing half is handed
 * out as finished: a number that the end touches (`12` may be `123`) and a cut string are kept and listed as
 * incomplete; a cut literal, half a number like `1.`, a key without a value and half an escape are dropped.
 *
 * @example
 * closeCut('{"a":[1,2') // { text: '{"a":[1,2]}', incomplete: ['', '/a', '/a/1'] }
 */
export function closeCut(text: string): Closed | undefined {
  const cut = scanCut(text)
  if (!cut) return undefined
  const { open, kept, tail, cutEntry } = cut
  return { text: text.slice(0, kept) + tail + open.closers(), incomplete: open.paths(text, cutEntry) }
}

/**
 * Is the text the beginning of a JSON object or array (or all of one)?
 *
 * @example
 * isBeginning('{"a":[1,') // true
 * isBeginning('{cmd') // false
 */
export function isBeginning(text: string): boolean {
  return scanCut(text) !== undefined
}

/** What is known where a cut text stops. */
interface Cut {
  readonly open: OpenLevels
  /** One past the last finished value or opening bracket: what is kept of the text. */
  readonly kept: number
  /** What is added to the kept part before the brackets are closed: the quote of a cut string. */
  readonly tail: string
  /** The entry under way (a key whose value is missing or cut) is listed too. */
  readonly cutEntry: boolean
}

function scanCut(text: string): Cut | undefined {
  const open = new OpenLevels()
  let state: State = 'value'
  let kept = 0
  let tail = ''
  let cutEntry = false
  let at = 0

  scan: while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit === 32 || unit === 10 || unit === 13 || unit === 9) {
      at++
      continue
    }
    switch (state) {
      case 'value':
      case 'first value': {
        if (state === 'first value' && unit === CLOSE_BRACKET) {
          open.pop()
          state = after(open)
          kept = ++at
          continue
        }
        if (unit === QUOTE) {
          const end = scanString(text, at)
          if (end.broken) return undefined
          if (!end.closed) {
            kept = end.at
            tail = '"'
            cutEntry = true
            break scan
          }
          at = end.at
        } else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
          open.push(unit === OPEN_BRACKET)
          state = unit === OPEN_BRACE ? 'first key' : 'first value'
          kept = ++at
          continue
        } else if (unit === MINUS || isDigit(unit)) {
          const end = scanNumber(text, at)
          if (end < 0) return undefined
          if (end === text.length) {
            if (isDigit(text.charCodeAt(end - 1))) kept = end
            cutEntry = true
            break scan
          }
          at = end
        } else {
          const word = unit === 116 ? 'true' : unit === 102 ? 'false' : unit === 110 ? 'null' : ''
          if (word === '') return undefined
          const found = text.slice(at, at + word.length)
          if (!word.startsWith(found)) return undefined
          if (found.length < word.length) {
            cutEntry = true
            break scan
          }
          at += word.length
        }
        kept = at
        state = after(open)
        continue
      }
      case 'first key':
      case 'key': {
        if (state === 'first key' && unit === CLOSE_BRACE) {
          open.pop()
          state = after(open)
          kept = ++at
          continue
        }
        if (unit !== QUOTE) return undefined
        const end = scanString(text, at)
        if (end.broken) return undefined
        if (!end.closed) break scan
        open.setKey(at, end.at)
        at = end.at
        state = 'colon'
        continue
      }
      case 'colon':
        if (unit !== COLON) return undefined
        state = 'value'
        at++
        continue
      case 'comma': {
        const array = open.inArray()
        if (unit === COMMA) {
          if (array) open.nextIndex()
          state = array ? 'value' : 'key'
        } else if (unit === (array ? CLOSE_BRACKET : CLOSE_BRACE)) {
          open.pop()
          state = after(open)
          kept = at + 1
        } else return undefined
        at++
        continue
      }
      case 'end':
        return undefined
    }
  }

  // The colon may be missing or the value may not have begun: the key is known, so it can be listed.
  if (state === 'colon' || (state === 'value' && open.depth > 0 && !open.inArray())) {
    cutEntry = true
  }
  if (open.depth === 0 && tail === '' && state !== 'end') return undefined
  return { open, kept, tail, cutEntry }
}

type State = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma' | 'end'

/** The brackets that are open, from the root, and the entry each is at. Lists of numbers: a million levels are no million objects. */
class OpenLevels {
  readonly #arrays: boolean[] = []
  /** Where an array is: the index. Where an object is: the start and the end of the key. */
  readonly #from: number[] = []
  readonly #to: number[] = []

  get depth(): number {
    return this.#arrays.length
  }

  push(array: boolean): void {
    this.#arrays.push(array)
    this.#from.push(0)
    this.#to.push(0)
  }

  pop(): void {
    this.#arrays.pop()
    this.#from.pop()
    this.#to.pop()
  }

  inArray(): boolean {
    return this.#arrays[this.depth - 1] === true
  }

  nextIndex(): void {
    this.#from[this.depth - 1]!++
  }

  setKey(from: number, to: number): void {
    this.#from[this.depth - 1] = from
    this.#to[this.depth - 1] = to
  }

  closers(): string {
    return this.#arrays
      .map((array) => (array ? ']' : '}'))
      .reverse()
      .join('')
  }

  /** What is not finished, as JSON pointers; with `entry` the one at the end too. */
  paths(text: string, entry: boolean): string[] {
    const incomplete: string[] = []
    let path = ''
    for (const [level, array] of this.#arrays.entries()) {
      incomplete.push(path)
      if (level === this.depth - 1 && !entry) break
      const from = this.#from[level]!
      const key = array ? String(from) : (JSON.parse(text.slice(from, this.#to[level])) as string)
      path += `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    }
    if (entry) incomplete.push(path)
    return incomplete
  }
}

function after(open: OpenLevels): State {
  return open.depth === 0 ? 'end' : 'comma'
}

/**
 * Scans a string from its opening quote. `closed`: `at` is one past the closing quote. Cut: `at` is where
 * the usable part stops, before half an escape or half a surrogate pair. `broken`: it is no JSON string.
 */
function scanString(text: string, open: number): { at: number; closed: boolean; broken: boolean } {
  let i = open + 1
  let pair = -1
  while (i < text.length) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) return { at: i + 1, closed: true, broken: false }
    if (unit < 32) return { at: i, closed: false, broken: true }
    if (unit !== BACKSLASH) {
      i++
      continue
    }
    const kind = text[i + 1]
    if (kind === undefined) break
    if (kind !== 'u') {
      if (!'"\\/bfnrt'.includes(kind)) return { at: i, closed: false, broken: true }
      i += 2
      continue
    }
    const digits = text.slice(i + 2, i + 6)
    if (!/^[0-9a-fA-F]*$/.test(digits)) return { at: i, closed: false, broken: true }
    if (digits.length < 4) break
    if (/^d[89ab]/i.test(digits)) pair = i
    i += 6
  }
  // The first half of a pair, escaped (`\ud83d`) or raw, waits for its second half.
  if (pair >= 0 && pair + 6 === i) i = pair
  const last = text.charCodeAt(i - 1)
  if (last >= 0xd800 && last <= 0xdbff) i--
  return { at: i, closed: false, broken: false }
}

/** One past the number at `from`, or -1 if it is none. At the end of the text it may be half a number. */
function scanNumber(text: string, from: number): number {
  let i = from
  if (text.charCodeAt(i) === MINUS) i++
  if (i === text.length) return i
  if (text.charCodeAt(i) === 48) i++
  else {
    const digits = i
    while (isDigit(text.charCodeAt(i))) i++
    if (i === digits) return -1
  }
  if (text[i] === '.') {
    const digits = ++i
    while (isDigit(text.charCodeAt(i))) i++
    if (i === digits && i < text.length) return -1
  }
  if (text[i] === 'e' || text[i] === 'E') {
    i++
    if (text[i] === '+' || text[i] === '-') i++
    const digits = i
    while (isDigit(text.charCodeAt(i))) i++
    if (i === digits && i < text.length) return -1
  }
  return i
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}
