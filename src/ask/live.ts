/** A container that is being built, and where it hangs. `key` is its own key in its parent. */
export interface Branch {
  readonly parent: Branch | undefined
  readonly key: string | number
  readonly depth: number
  readonly map: Record<string, unknown> | undefined
  readonly list: unknown[] | undefined
  /** False if it hangs below a key that was dropped. */
  readonly shown: boolean
  /** Its JSON pointer, once somebody has asked. */
  path: string | undefined
}

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
  /** How many values are complete, in the order they were completed. */
  count(): number
  /** The nth completed value: the container it is in (none for the root) and its key there. */
  branch(n: number): Branch | undefined
  key(n: number): string | number
}

/*
 * Where the parser stands. Numbers, not words: they make the switch a jump table, which takes a quarter off
 * the time of the whole parser.
 *
 *     {"a": [12, "x\n"], "b": true}
 *      ^^^^^                         AT_FIRST_KEY, AT_KEY, AT_COLON (a key passes through IN_STRING too)
 *           ^^^^                     AT_VALUE, AT_FIRST_ITEM, IN_NUMBER, IN_WORD
 *                ^^^^                IN_STRING, IN_ESCAPE, IN_HEX
 *                    ^               AFTER_VALUE
 */
const AT_VALUE = 0
const AT_FIRST_ITEM = 1
const AT_FIRST_KEY = 2
const AT_KEY = 3
const AT_COLON = 4
const AFTER_VALUE = 5
const IN_STRING = 6
const IN_ESCAPE = 7
const IN_HEX = 8
const IN_NUMBER = 9
const IN_WORD = 10
const DONE = 11
const FAILED = 12

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const ZERO = 48
const NINE = 57
const COLON_SIGN = 58
const OPEN_LIST = 91
const BACKSLASH = 92
const CLOSE_LIST = 93
const OPEN_MAP = 123
const CLOSE_MAP = 125
const FIRST_PRINTABLE = 32
const LETTER_U = 117

/** No number or literal of JSON that means anything is longer. */
const MAX_TOKEN = 1_000
/** A direct-mapped cache: the same few keys come again and again, and need not be made anew. */
const KEY_SLOTS = 256

/**
 * Makes a parser whose work is proportional to the text it is given, whatever the size of the pieces: a
 * piece is read once, the value is built in place, and nothing recurses.
 *
 * Strings show as far as they are known (never half a surrogate pair); numbers and literals only when
 * they are complete, because a cut `12` may become `123`.
 */
export function live(maxDepth: number): Live {
  let state = AT_VALUE
  let root: unknown
  let top: Branch | undefined
  /** The key of the value that comes next in `top.map`. */
  let key = ''
  /** Whether that value may be seen: it does not hang below a key that reaches for a prototype. */
  let shown = true
  /** What is known of the string, number or literal in work. */
  let partial = ''
  /** The first half of a surrogate pair whose other half is on its way: not shown yet. */
  let half = ''
  let isKey = false
  let begun = false
  /** Digits of `\u….` so far, and how many. */
  let hex = 0
  let digits = 0
  const branches: (Branch | undefined)[] = []
  const keys: (string | number)[] = []
  let seenKeys: string[] | undefined

  function put(value: unknown): void {
    if (top === undefined) root = value
    else if (top.list !== undefined) top.list.push(value)
    else if (shown) set(top.map!, key, value)
  }

  /** Replaces the value that was put last by a longer one. */
  function replace(value: string): void {
    if (top === undefined) root = value
    else if (top.list !== undefined) top.list[top.list.length - 1] = value
    else if (shown) set(top.map!, key, value)
  }

  function complete(): void {
    begun = true
    state = top === undefined ? DONE : AFTER_VALUE
    if (!shown) return
    branches.push(top)
    keys.push(top === undefined ? '' : top.list !== undefined ? top.list.length - 1 : key)
  }

  function open(map: Record<string, unknown> | undefined, list: unknown[] | undefined): void {
    if (top !== undefined && top.depth + 1 >= maxDepth) {
      state = FAILED
      return
    }
    put(map ?? list)
    const ownKey = top === undefined ? '' : top.list !== undefined ? top.list.length - 1 : key
    top = {
      parent: top,
      key: ownKey,
      depth: top === undefined ? 0 : top.depth + 1,
      map,
      list,
      shown,
      path: undefined,
    }
    state = map !== undefined ? AT_FIRST_KEY : AT_FIRST_ITEM
  }

  function close(): void {
    begun = true
    const closed = top!
    top = closed.parent
    state = top === undefined ? DONE : AFTER_VALUE
    shown = closed.shown
    if (!shown) return
    branches.push(top)
    keys.push(closed.key)
  }

  /** `at` is just after the quote. Most strings end in the same piece and need no escapes. */
  function openString(text: string, at: number): number {
    begun = true
    const end = plainEnd(text, at)
    if (text.charCodeAt(end) === QUOTE) {
      if (isKey) {
        endKey(knownKey(text, at, end))
      } else {
        put(text.slice(at, end))
        complete()
      }
      return end + 1
    }
    partial = ''
    if (!isKey) put(partial)
    state = IN_STRING
    return at
  }

  function endKey(known: string): void {
    key = known
    shown = top!.shown && !(known.length === 9 && reachesForPrototype(known, top!))
    state = AT_COLON
  }

  function knownKey(text: string, at: number, end: number): string {
    const size = end - at
    if (size === 0) return ''
    const slot = (size * 31 + text.charCodeAt(at) * 7 + text.charCodeAt(end - 1)) & (KEY_SLOTS - 1)
    seenKeys ??= new Array<string>(KEY_SLOTS).fill('')
    const seen = seenKeys[slot]!
    if (seen.length === size && text.startsWith(seen, at)) return seen
    const made = text.slice(at, end)
    seenKeys[slot] = made
    return made
  }

  function goOnString(text: string, start: number): number {
    let at = start
    for (;;) {
      const end = plainEnd(text, at)
      if (end === text.length) {
        appendLast(text, at)
        return end
      }
      if (end > at) append(text.slice(at, end))
      const c = text.charCodeAt(end)
      at = end + 1
      if (c === BACKSLASH) {
        // The usual escape is one letter in the same piece: no change of state for it.
        const meant = at < text.length ? escapes[text.charCodeAt(at)] : undefined
        if (meant === undefined) {
          state = IN_ESCAPE
          return at
        }
        append(meant)
        at++
      } else if (c === QUOTE) {
        endString()
        return at
      } else {
        state = FAILED
        return end
      }
    }
  }

  function append(more: string): void {
    partial += half === '' ? more : half + more
    half = ''
  }

  /**
   * Appends the end of a piece, but for half a pair. Looking at the end of `partial` instead would make V8
   * write out the whole string for every piece.
   */
  function appendLast(text: string, at: number): void {
    if (at === text.length) return
    const unit = text.charCodeAt(text.length - 1)
    if (!isHigh(unit)) append(at === 0 ? text : text.slice(at))
    else {
      append(text.slice(at, -1))
      half = String.fromCharCode(unit)
    }
  }

  function endString(): void {
    if (half !== '') append('')
    if (isKey) endKey(partial)
    else {
      replace(partial)
      complete()
    }
  }

  function goOnEscape(text: string, at: number): number {
    const c = text.charCodeAt(at)
    if (c === LETTER_U) {
      state = IN_HEX
      hex = 0
      digits = 0
      return at + 1
    }
    const meant = escapes[c]
    if (meant === undefined) {
      state = FAILED
      return at
    }
    append(meant)
    state = IN_STRING
    return at + 1
  }

  function goOnHex(text: string, at: number): number {
    const digit = hexValue(text.charCodeAt(at))
    if (digit < 0) {
      state = FAILED
      return at
    }
    hex = hex * 16 + digit
    if (++digits === 4) {
      append('')
      if (isHigh(hex)) half = String.fromCharCode(hex)
      else partial += String.fromCharCode(hex)
      state = IN_STRING
    }
    return at + 1
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
      partial = ''
      return at
    }
    return at + 1
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
      put(sum)
      complete()
      return end
    }
    state = IN_NUMBER
    partial = ''
    return at
  }

  function goOnToken(text: string, at: number): number {
    let end = at
    while (end < text.length && isTokenPart(text.charCodeAt(end))) end++
    partial += text.slice(at, end)
    if (partial.length > MAX_TOKEN) state = FAILED
    else if (end < text.length) endToken()
    return state === FAILED ? at : end
  }

  function endToken(): void {
    const value = state === IN_WORD ? words.get(partial) : number.test(partial) ? Number(partial) : undefined
    if (value === undefined) {
      state = FAILED
      return
    }
    put(value)
    complete()
  }

  function push(text: string, start: number): number {
    let at = start
    while (at < text.length) {
      switch (state) {
        case IN_STRING:
          at = goOnString(text, at)
          continue
        case IN_ESCAPE:
          at = goOnEscape(text, at)
          continue
        case IN_HEX:
          at = goOnHex(text, at)
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
      if (c === 32 || c === 10 || c === 13 || c === 9) {
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
            state = top!.list !== undefined ? AT_VALUE : AT_KEY
            continue
          }
          if (c === (top!.list !== undefined ? CLOSE_LIST : CLOSE_MAP)) {
            close()
            continue
          }
          break
        case AT_COLON:
          at++
          if (c === COLON_SIGN) {
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
    if (!isKey && (state === IN_STRING || state === IN_ESCAPE || state === IN_HEX)) replace(partial)
    return at
  }

  return {
    push,
    end() {
      if (top === undefined && (state === IN_NUMBER || state === IN_WORD)) endToken()
    },
    done: () => state === DONE,
    failed: () => state === FAILED,
    begun: () => begun,
    value: () => root,
    count: () => keys.length,
    branch: (n) => branches[n],
    key: (n) => keys[n]!,
  }
}

/**
 * The value at a key of a branch; own values only.
 */
export function valueAt(branch: Branch, key: string | number): unknown {
  return branch.list !== undefined ? branch.list[key as number] : branch.map?.[key]
}

/** The path of a value in a branch, as a JSON pointer. */
export function pointer(branch: Branch | undefined, key: string | number): string {
  if (branch === undefined) return ''
  // From the nearest branch that knows its path: depth is bounded, but recursion would still be deep.
  const unknown: Branch[] = []
  let at: Branch | undefined = branch
  while (at !== undefined && at.path === undefined) {
    unknown.push(at)
    at = at.parent
  }
  for (let next = unknown.pop(); next !== undefined; next = unknown.pop()) {
    next.path = next.parent === undefined ? '' : `${next.parent.path}/${segment(next.key)}`
  }
  return `${branch.path}/${segment(key)}`
}

function segment(key: string | number): string | number {
  if (typeof key === 'number' || !(key.includes('~') || key.includes('/'))) return key
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** In one place, so that V8 learns the shapes of all values in one place. */
function set(map: Record<string, unknown>, key: string, value: unknown): void {
  map[key] = value
}

/**
 * `__proto__`, and `prototype` in a `constructor`: whoever copies a snapshot must not be led to a prototype.
 * Both names have nine letters.
 */
function reachesForPrototype(key: string, branch: Branch): boolean {
  return key === '__proto__' || (key === 'prototype' && branch.key === 'constructor')
}

/** The end of the run of characters that stand for themselves. */
function plainEnd(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === QUOTE || c === BACKSLASH || c < FIRST_PRINTABLE) break
  }
  return at
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isTokenPart(c: number): boolean {
  return c > 32 && c !== COMMA && c !== CLOSE_LIST && c !== CLOSE_MAP && c !== COLON_SIGN && c !== QUOTE
}

function hexValue(c: number): number {
  if (c >= ZERO && c <= NINE) return c - ZERO
  const lower = c | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const words = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
])
/** What a letter after a backslash means, by its code. */
const escapes: (string | undefined)[] = new Array(128).fill(undefined)
for (const [letter, meant] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  escapes[letter!.charCodeAt(0)] = meant!
}
