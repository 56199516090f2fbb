import type { Completed } from './branch.ts'
import { GrowingValue } from './growing-value-before.ts'
import {
  CLOSE_LIST,
  CLOSE_MAP,
  COLON,
  COMMA,
  isSpace,
  MINUS,
  NINE,
  OPEN_LIST,
  OPEN_MAP,
  plainEnd,
  QUOTE,
  ZERO,
} from './json-characters.ts'
import { MAX_TOKEN, numberOf, tokenEnd, words } from './json-token.ts'
import { KeyCache } from './key-cache.ts'
import { StringReader } from './string-reader.ts'

/** Parses one JSON document from pieces, and holds the value as far as it is known. */
export interface Live {
  /** Reads from `at` to the end of the piece, the end of the document, or what cannot be JSON; says where. */
  push(text: string, at: number): number
  /** Nothing follows: finishes a number or a literal at the root. */
  end(): void
  /** The document is complete. */
  done(): boolean
  /** What came cannot be JSON, or is nested too deep. */
  failed(): boolean
  /** Enough was seen to tell a document from a brace in prose. */
  begun(): boolean
  /** The value that grows, in place. */
  value(): unknown
  /** What has become complete since this was asked before. */
  takeCompleted(): Completed
}

/*
 * Where the parser stands. Numbers, not words: they make the switch a jump table, which takes a quarter off
 * the time of the whole parser.
 *
 *     {"a": [12, "x\n"], "b": true}
 *      ^^^^^                         AT_FIRST_KEY, AT_KEY, AT_COLON (a key passes through IN_STRING too)
 *           ^^^^                     AT_VALUE, AT_FIRST_ITEM, IN_NUMBER, IN_WORD
 *                ^^^^                IN_STRING
 *                    ^               AFTER_VALUE
 */
const AT_VALUE = 0
const AT_FIRST_ITEM = 1
const AT_FIRST_KEY = 2
const AT_KEY = 3
const AT_COLON = 4
const AFTER_VALUE = 5
const IN_STRING = 6
const IN_NUMBER = 7
const IN_WORD = 8
const DONE = 9
const FAILED = 10

/**
 * Makes a parser whose work is proportional to the text it is given, whatever the size of the pieces: a
 * piece is read once, the value is built in place, and nothing recurses.
 *
 * Strings show as far as they are known (never half a surrogate pair); numbers and literals only when
 * they are complete, because a cut `12` may become `123`.
 */
export function live(maxDepth: number): Live {
  let state = AT_VALUE
  const grown = new GrowingValue()
  const string = new StringReader()
  const keys = new KeyCache()
  /** The string in work is a key. */
  let isKey = false
  /** What is known of the number or literal in work. */
  let token = ''
  let begun = false

  function push(text: string, start: number): number {
    let at = start
    while (at < text.length) {
      switch (state) {
        case IN_STRING:
          at = goOnString(text, at)
          continue
        case IN_NUMBER:
        case IN_WORD:
          at = goOnToken(text, at)
          continue
        case DONE:
        case FAILED:
          return at
      }
      const c = text.charCodeAt(at)
      if (isSpace(c)) {
        at++
        continue
      }
      switch (state) {
        case AT_VALUE:
          at = openValue(text, at, c)
          continue
        case AFTER_VALUE:
          at++
          if (c === COMMA) {
            state = grown.top!.list !== undefined ? AT_VALUE : AT_KEY
            continue
          }
          if (c === (grown.top!.list !== undefined ? CLOSE_LIST : CLOSE_MAP)) {
            close()
            continue
          }
          break
        case AT_COLON:
          at++
          if (c === COLON) {
            state = AT_VALUE
            continue
          }
          break
        case AT_FIRST_KEY:
        case AT_KEY:
          at++
          if (c === QUOTE) {
            isKey = true
            at = openString(text, at)
            continue
          }
          if (c === CLOSE_MAP && state === AT_FIRST_KEY) {
            close()
            continue
          }
          break
        case AT_FIRST_ITEM:
          if (c === CLOSE_LIST) {
            close()
            at++
            continue
          }
          at = openValue(text, at, c)
          continue
      }
      state = FAILED
      return at - 1
    }
    if (!isKey && state === IN_STRING) grown.replace(string.known)
    return at
  }

  function openValue(text: string, at: number, c: number): number {
    if (c === QUOTE) {
      isKey = false
      return openString(text, at + 1)
    }
    if (c === OPEN_MAP) open({}, undefined)
    else if (c === OPEN_LIST) open(undefined, [])
    else if (c === MINUS || (c >= ZERO && c <= NINE)) return openNumber(text, at)
    else {
      state = IN_WORD
      token = ''
      return at
    }
    return at + 1
  }

  function open(map: Record<string, unknown> | undefined, list: unknown[] | undefined): void {
    if (grown.top !== undefined && grown.top.depth + 1 >= maxDepth) {
      state = FAILED
      return
    }
    grown.open(map, list)
    state = map !== undefined ? AT_FIRST_KEY : AT_FIRST_ITEM
  }

  /** `at` is just after the quote. Most strings end in the same piece and need no escapes. */
  function openString(text: string, at: number): number {
    begun = true
    const end = plainEnd(text, at)
    if (text.charCodeAt(end) === QUOTE) {
      if (isKey) endKey(keys.take(text, at, end))
      else complete(text.slice(at, end))
      return end + 1
    }
    string.begin()
    if (!isKey) grown.put('')
    state = IN_STRING
    return at
  }

  function goOnString(text: string, at: number): number {
    const end = string.read(text, at)
    if (string.ended()) endString()
    else if (string.failed()) state = FAILED
    return end
  }

  function endString(): void {
    if (isKey) endKey(string.known)
    else {
      grown.replace(string.known)
      grown.complete()
      afterValue()
    }
  }

  function endKey(key: string): void {
    grown.name(key)
    state = AT_COLON
  }

  function openNumber(text: string, at: number): number {
    // Whole numbers that end in this piece: no text is made of them.
    let end = at
    let sum = 0
    let c = text.charCodeAt(end)
    while (c >= ZERO && c <= NINE && end - at < 15) {
      sum = sum * 10 + (c - ZERO)
      c = text.charCodeAt(++end)
    }
    const leadingZero = end - at > 1 && text.charCodeAt(at) === ZERO
    if (
      end > at &&
      end < text.length &&
      !leadingZero &&
      (c === COMMA || c === CLOSE_LIST || c === CLOSE_MAP)
    ) {
      complete(sum)
      return end
    }
    state = IN_NUMBER
    token = ''
    return at
  }

  function goOnToken(text: string, at: number): number {
    const end = tokenEnd(text, at)
    token += text.slice(at, end)
    if (token.length > MAX_TOKEN) state = FAILED
    else if (end < text.length) endToken()
    return state === FAILED ? at : end
  }

  function endToken(): void {
    const value = state === IN_WORD ? words.get(token) : numberOf(token)
    if (value === undefined) state = FAILED
    else complete(value)
  }

  function complete(value: unknown): void {
    grown.put(value)
    grown.complete()
    afterValue()
  }

  function close(): void {
    grown.close()
    afterValue()
  }

  function afterValue(): void {
    begun = true
    state = grown.top === undefined ? DONE : AFTER_VALUE
  }

  return {
    push,
    end() {
      if (grown.top === undefined && (state === IN_NUMBER || state === IN_WORD)) endToken()
    },
    done: () => state === DONE,
    failed: () => state === FAILED,
    begun: () => begun,
    value: () => grown.root,
    takeCompleted: () => grown.takeCompleted(),
  }
}
