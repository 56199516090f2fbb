import type { Scan } from '../../frames/scan.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  isBlank,
  LESS,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
} from '../../json/characters.ts'
import type { DocumentState } from './document.ts'
import { type Guess, headAt } from './guess.ts'
import type { Level } from './item-paths.ts'

/** A piece of a document, in clean positions. */
export interface Piece {
  readonly from: number
  readonly to: number
  /** Where in the document, as a JSON pointer. */
  readonly path: string
  /** How the document itself needed help. */
  readonly why: string | undefined
}

/** What a document hands out. */
export interface ItemSink {
  /** Takes a guess: false, and as if nothing had been, unless the piece is JSON as it is. */
  guessed(piece: Piece): boolean
  /** A whole element, good or bad. */
  item(piece: Piece): void
  /** An element in which the document broke off. */
  itemCut(piece: Piece): void
  /** The element at `from` outgrew `maxFrame`. */
  itemTooLong(path: string, from: number): void
  /** A document that began at the original offset `from` broke off at `end`, between two elements in `path`. */
  documentCut(path: string, from: number, end: number): void
  /** The place of the items was found, with or without items in it. */
  found(): void
}

export interface ElementOptions {
  readonly tagAt: WalkRules['tagAt']
  readonly sink: ItemSink
  readonly guess: Guess
}

/**
 * Walks over an element whose end could not be guessed, and hands it out if it is an item, which is one that is
 * selected. Only an item is held, and only up to `maxFrame`; of anything else the bytes go by.
 */
export class ElementWalk {
  readonly #scan: Scan
  readonly #walk: Walk
  readonly #options: ElementOptions
  /** Where the item begins; -1 while what is walked over is not wanted, or too long to be held. */
  #from = -1
  #path = ''

  constructor(scan: Scan, options: ElementOptions) {
    this.#scan = scan
    this.#walk = new Walk(scan)
    this.#options = options
  }

  /** Begins with the element at which the document stands; `path` is undefined if it is no item. */
  begin(doc: DocumentState, level: Level, path: string | undefined): void {
    const item = path !== undefined
    this.#from = item ? doc.at : -1
    this.#path = path ?? ''
    this.#walk.begin(doc.at, {
      tagAt: this.#options.tagAt,
      strict: doc.isDoubtful(),
      inArray: level.array,
      head: item && level.array ? this.#headFinder(doc.at) : undefined,
    })
  }

  /** Goes on as far as there are bytes. An item that outgrew `maxFrame` is let go, and the walk is not over then. */
  run(doc: DocumentState): Walked | 'too long' {
    const { tape } = this.#scan
    const limit = this.#from >= 0 ? this.#scan.limit(this.#from) : Number.POSITIVE_INFINITY
    const walked = this.#walk.run(Math.min(limit, tape.end))
    if (walked === 'wait' && tape.end >= limit) {
      this.#options.sink.itemTooLong(this.#path, this.#from)
      this.#from = -1
      return 'too long'
    }
    if (walked === 'end') {
      if (this.#from >= 0) this.#take(doc, this.#walk.to, false)
      else if (this.#walk.odd) doc.odd = true
    }
    return walked
  }

  /** The document is over inside the element: true if that was an item, which is handed out as far as it goes. */
  breakOff(doc: DocumentState, to: number): boolean {
    if (this.#from < 0) return false
    this.#take(doc, to, true)
    return true
  }

  /** The same for an item that is a whole string, of which only the end could not be sure: true if it was one. */
  takeString(doc: DocumentState): boolean {
    if (this.#from < 0 || !this.#walk.wholeString) return false
    this.#take(doc, this.#walk.to, false)
    return true
  }

  /** How far it has come; when it has ended, where to go on. */
  get at(): number {
    return this.#walk.at
  }

  /** The comma behind the element has been passed, too. */
  get passedComma(): boolean {
    return this.#walk.passedComma
  }

  /** Where the string begins whose end has not been seen; -1 outside strings. */
  get openString(): number {
    return this.#walk.openString
  }

  /** The first position that is still needed. */
  get keep(): number {
    return this.#from >= 0 ? this.#from : this.#walk.keep
  }

  #take(doc: DocumentState, to: number, cut: boolean): void {
    const { sink, guess } = this.#options
    guess.read(this.#from, to)
    const piece = { from: this.#from, to, path: this.#path, why: doc.whyNow() }
    if (cut) sink.itemCut(piece)
    else sink.item(piece)
    doc.odd = false
    this.#from = -1
  }

  #headFinder(from: number): () => Buffer | undefined {
    const { tape } = this.#scan
    let head: Buffer | undefined
    let known = false
    return () => {
      // The element is held while its head is asked for; when it is let go the answer stays.
      if (!known) head = headAt(tape.view, from - tape.base)
      known = true
      return head
    }
  }
}

/**
 * Walks over one JSON value and finds its end, whatever the chunks. It reads tokens, but judges only their
 * order: that numbers and escapes are right is left to JSON.parse.
 *
 *     [{"a":[1,"]"]},{"a":2}]
 *      ^ from       ^ to
 *
 * A value that is no JSON must not take its neighbours with it:
 * - A quote that was not escaped shows at once, by what follows its string. From that string on quotes are not
 *   believed any more and only brackets count, until they are balanced or the next neighbour begins.
 * - A closing bracket that does not fit closes what was left open inside.
 * - An opening one where a key should be means that the object before it was left open.
 */
export class Walk {
  readonly #state: WalkState

  constructor(scan: Scan) {
    this.#state = new WalkState(scan)
  }

  /** Begins at the first byte of a value. */
  begin(from: number, rules: WalkRules): void {
    this.#state.begin(from, rules)
  }

  /** Goes on to `bound` at most. */
  run(bound: number): Walked {
    const state = this.#state
    let walked: Walked | undefined
    while (walked === undefined) {
      switch (state.mode) {
        case 'tokens':
          walked = walkTokens(state, bound)
          break
        case 'scalar':
          walked = walkScalar(state, bound)
          break
        case 'brackets':
          walked = walkBrackets(state, bound)
          break
        case 'quotes':
          walked = walkQuotes(state, bound)
          break
        default:
          state.mode satisfies never
      }
    }
    return walked
  }

  /** How far it has come; when it has ended, where to go on. */
  get at(): number {
    return this.#state.at
  }

  /** One past the value, when it has ended. */
  get to(): number {
    return this.#state.to
  }

  /** The comma behind the value has been passed, too. */
  get passedComma(): boolean {
    return this.#state.passedComma
  }

  /** Something was not as JSON wants it. */
  get odd(): boolean {
    return this.#state.odd
  }

  /** Where the string begins whose end has not been seen; -1 outside strings, and in one too long to be kept. */
  get openString(): number {
    return this.#state.inString && this.#state.isStringKept() ? this.#state.string : -1
  }

  /** Whether the value is a whole string behind which only the separator is missing. */
  get wholeString(): boolean {
    return this.#state.mode === 'scalar' && this.#state.string >= 0 && !this.#state.inString
  }

  /** The first position that may be asked for again. A string is kept, in case it has to be read anew. */
  get keep(): number {
    return this.#state.isStringKept() ? this.#state.string : this.#state.at
  }
}

/**
 * Where a walk stands: it waits for bytes, its value has ended, a tag has ended the document, or (only if it
 * was told to be strict) this is no JSON.
 */
export type Walked = 'wait' | 'end' | 'tag' | 'odd'

/** How a walk is to go. */
export interface WalkRules {
  /** Whether a tag that ends the document stands between a position and a bound; undefined if it may yet. */
  readonly tagAt: (position: number, bound: number) => boolean | undefined
  /** Stop at the first byte that JSON does not allow. */
  readonly strict: boolean
  /** The value stands in an array, not in an object. */
  readonly inArray: boolean
  /** What the value begins with, and its neighbours too: a place to go on from when it is broken. */
  readonly head: (() => Buffer | undefined) | undefined
}

export type Mode = 'scalar' | 'tokens' | 'brackets' | 'quotes'
export type Expects = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma'

/** How far a walk has come: what its four modes share. One of it serves every value in turn. */
export class WalkState {
  /** How far it has come; when it has ended, where to go on. */
  at = 0
  /** One past the value, when it has ended. */
  to = 0
  /** The comma behind the value has been passed, too. */
  passedComma = false
  /** Something was not as JSON wants it. */
  odd = false
  readonly scan: Scan
  readonly brackets = new OpenBrackets()
  rules: WalkRules = NO_RULES
  mode: Mode = 'scalar'
  expects: Expects = 'value'
  inString = false
  inToken = false
  /** Where the string begins that is under way, or was the last token; -1 for none. */
  string = -1
  /** The last comma. */
  comma = -1
  /** The last byte that was no blank; only kept up to date where quotes are not believed. */
  last = 0
  /** What was seen last, where quotes alone are looked at. */
  quoted: 'text' | 'quote' | 'comma' = 'text'

  constructor(scan: Scan) {
    this.scan = scan
  }

  begin(from: number, rules: WalkRules): void {
    this.at = from
    this.to = from
    this.passedComma = false
    this.odd = false
    this.rules = rules
    this.mode = 'scalar'
    this.expects = 'value'
    this.brackets.depth = 0
    this.inString = false
    this.inToken = false
    this.string = -1
    this.comma = -1
  }

  endAt(to: number, next: number, passedComma = false): 'end' {
    this.to = to
    this.at = next
    this.passedComma = passedComma
    return 'end'
  }

  waitAt(position: number): 'wait' {
    this.at = position
    return 'wait'
  }

  /** Finishes the string or token that the last chunk broke off; answers where to go on in the view. */
  resume(end: number): number {
    const { view, base } = this.scan.tape
    let i = this.at - base
    if (this.inString) {
      i = stringEnd(view, i, end)
      if (i >= end) return i
      this.inString = false
      this.to = ++i + base
    } else if (this.inToken) {
      i = tokenEnd(view, i, end)
      this.inToken = i >= end
      this.to = i + base
    }
    return i
  }

  /** Something is not JSON: true if the walk is over then. */
  notJson(): boolean {
    this.odd = true
    return this.rules.strict
  }

  /** Whether the last string is still there to be read anew. */
  isStringKept(): boolean {
    return this.string >= 0 && this.at - this.string <= this.scan.maxFrame
  }

  /** Leaves quotes unbelieved, and goes back to the string that was none, unless it was too long to be kept. */
  readAgain(mode: 'brackets' | 'quotes'): void {
    this.mode = mode
    this.quoted = 'text'
    if (this.isStringKept()) this.at = this.string + 1
    this.string = -1
    this.last = QUOTE
  }
}

const NO_RULES: WalkRules = { tagAt: () => false, strict: false, inArray: true, head: undefined }

//  {"a":[1,"]"]}
//   ^^^^^^^^^^^^  inside brackets, every token in its place

/** Walks on inside brackets; undefined if the rest has to be read in another mode. What changes is held in locals. */
export function walkTokens(walk: WalkState, bound: number): Walked | undefined {
  const { brackets, rules } = walk
  const { view, base } = walk.scan.tape
  const end = bound - base
  const open = brackets.kinds
  let i = walk.resume(end)
  let expects = walk.expects
  let depth = brackets.depth
  let string = walk.string
  let walked: Walked | undefined = 'wait'
  /** Set where a byte is not as it should be. */
  let odd = false
  loop: while (i < end) {
    const byte = view[i] as number
    switch (CLASS[byte]) {
      case C_BLANK:
        i++
        continue
      case C_QUOTE:
        odd = expects === 'colon' || expects === 'comma'
        if (odd && walk.notJson()) break loop
        expects = expects === 'key' || expects === 'first key' ? 'colon' : 'comma'
        string = i + base
        i = stringEnd(view, i + 1, end)
        if (i >= end) {
          walk.inString = true
          break loop
        }
        i++
        continue
      case C_COMMA:
        odd = expects !== 'comma'
        if (odd && walk.notJson()) break loop
        walk.comma = i + base
        expects = open[depth - 1] === OPEN_BRACE ? 'key' : 'value'
        break
      case C_COLON:
        odd = expects !== 'colon'
        if (odd && walk.notJson()) break loop
        expects = 'value'
        break
      case C_OPEN:
        odd = expects !== 'value' && expects !== 'first value'
        if (odd && walk.notJson()) break loop
        if (expects === 'key') {
          const array = brackets.arrayBelow(depth, rules.inArray)
          if (array > 0) depth = array
          else if (array === 0) {
            walked = walk.endAt(walk.comma, i + base, true)
            break loop
          }
        }
        open[depth++] = byte
        expects = byte === OPEN_BRACE ? 'first key' : 'first value'
        break
      case C_CLOSE:
        odd = (open[depth - 1] !== byte - 2 && depth <= MAX_KNOWN) || !mayClose(expects)
        if (odd && walk.notJson()) break loop
        depth = brackets.depthAfter(byte, depth, rules.inArray)
        if (depth <= 0) {
          walked = depth === 0 ? walk.endAt(i + base + 1, i + base + 1) : walk.endAt(i + base, i + base)
          break loop
        }
        expects = 'comma'
        break
      default: {
        if (byte === LESS) {
          const tag = rules.tagAt(i + base, bound)
          if (tag !== false) {
            if (tag) walked = 'tag'
            break loop
          }
        }
        odd = CLASS[byte] !== C_TOKEN || (expects !== 'value' && expects !== 'first value')
        if (odd && walk.notJson()) break loop
        if (odd && string !== -1 && byte !== SLASH && (expects === 'comma' || expects === 'colon')) {
          // What was taken for the end of a string was none.
          walked = undefined
          break loop
        }
        if (!odd) {
          expects = 'comma'
          i = tokenEnd(view, i, end)
          string = -1
          walk.inToken = i >= end
          continue
        }
      }
    }
    string = -1
    i++
  }
  if (walked === 'end') return walked
  walk.at = i + base
  walk.expects = expects
  brackets.depth = depth
  walk.string = string
  if (odd && rules.strict && walked === 'wait') return 'odd'
  if (walked === undefined) walk.readAgain('brackets')
  return walked
}

function mayClose(expects: Expects): boolean {
  return expects === 'comma' || expects === 'first key' || expects === 'first value'
}

//  [12, "text" , /* no */ {"a":1}]
//   ^^  ^^^^^^   ^^^^^^^^^        a value without brackets, or what stands before one with brackets

/** Walks on outside brackets; undefined if the rest has to be read in another mode. */
export function walkScalar(walk: WalkState, bound: number): Walked | undefined {
  const { view, base } = walk.scan.tape
  const end = bound - base
  let i = walk.resume(end)
  for (; i < end; i++) {
    const byte = view[i] as number
    switch (CLASS[byte]) {
      case C_BLANK:
        continue
      case C_QUOTE:
        if (walk.expects === 'comma') return walk.endAt(walk.to, i + base)
        walk.expects = 'comma'
        walk.string = i + base
        i = stringEnd(view, i + 1, end)
        if (i >= end) {
          walk.inString = true
          return walk.waitAt(i + base)
        }
        walk.to = i + base + 1
        continue
      case C_COMMA:
      case C_CLOSE:
        return walk.endAt(walk.to, i + base)
      case C_OPEN:
        // Behind a plain value a comma is missing; behind anything else, this is the value.
        if (walk.expects === 'comma' && !walk.odd) return walk.endAt(walk.to, i + base)
        walk.brackets.kinds[0] = byte
        walk.brackets.depth = 1
        walk.expects = byte === OPEN_BRACE ? 'first key' : 'first value'
        walk.mode = 'tokens'
        walk.at = i + base + 1
        return undefined
      default: {
        if (byte === COLON && walk.expects === 'comma') return walk.endAt(walk.to, i + base)
        if (byte === LESS) {
          const tag = walk.rules.tagAt(i + base, bound)
          walk.at = i + base
          if (tag) return 'tag'
          if (tag === undefined) return 'wait'
        }
        if (CLASS[byte] === C_TOKEN && walk.expects === 'value') {
          walk.expects = 'comma'
          i = tokenEnd(view, i, end) - 1
          walk.inToken = i + 1 >= end
          walk.to = i + base + 1
          continue
        }
        if (walk.notJson()) {
          walk.at = i + base
          return 'odd'
        }
        if (walk.string !== -1) {
          walk.at = i + base
          walk.readAgain('quotes')
          return undefined
        }
        walk.to = i + base + 1
      }
    }
  }
  return walk.waitAt(i + base)
}

//  {"a":"5" tall","b":[1]},{"a":"7
//        ^^^^^^^^^^^^^^^^^       from the string that was none: brackets only

/**
 * Walks on inside brackets where quotes are not believed any more, until the brackets are balanced or the next
 * neighbour begins.
 */
export function walkBrackets(walk: WalkState, bound: number): Walked {
  const { brackets, rules, scan } = walk
  const { view, base, end: tapeEnd } = scan.tape
  const end = bound - base
  const head = rules.head?.()
  for (let i = walk.at - base; i < end; i++) {
    const byte = view[i] as number
    if (isBlank(byte)) continue
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (head && walk.last === COMMA && byte === OPEN_BRACE) {
        const same = beginsWith(view, i, end, head)
        if (same === undefined && (bound < tapeEnd || !scan.ended)) return walk.waitAt(i + base)
        if (same) return walk.endAt(walk.comma, i + base, true)
      }
      brackets.kinds[brackets.depth++] = byte
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      brackets.depth = brackets.depthAfter(byte, brackets.depth, rules.inArray)
      if (brackets.depth === 0) return walk.endAt(i + base + 1, i + base + 1)
      if (brackets.depth < 0) return walk.endAt(i + base, i + base)
    } else if (byte === COMMA) {
      walk.comma = i + base
    } else if (byte === LESS) {
      const tag = rules.tagAt(i + base, bound)
      if (tag !== false) {
        walk.at = i + base
        return tag ? 'tag' : 'wait'
      }
    }
    walk.last = byte
  }
  return walk.waitAt(Math.max(bound, walk.at))
}

/** Whether the head stands at `at`; undefined if the bytes end before that is known. */
function beginsWith(view: Buffer, at: number, end: number, head: Buffer): boolean | undefined {
  const length = Math.min(head.length, end - at)
  if (view.compare(head, 0, length, at, at + length) !== 0) return false
  return length === head.length ? true : undefined
}

//  {"a":"he said "hi", then left","b":1}
//        ^      ^  ^            ^ the end: a comma and a quote follow, or a closing bracket

/** Walks on over a string that has quotes inside, to the one that what follows it makes the last. */
export function walkQuotes(walk: WalkState, bound: number): Walked {
  const { view, base } = walk.scan.tape
  const end = bound - base
  let i = walk.at - base
  for (; i < end; i++) {
    const byte = view[i] as number
    if (byte === LESS) {
      const tag = walk.rules.tagAt(i + base, bound)
      walk.at = i + base
      if (tag) return 'tag'
      if (tag === undefined) return 'wait'
    }
    if (walk.quoted !== 'text') {
      if (isBlank(byte)) continue
      const quote = walk.quoted === 'quote'
      if (quote && (byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) return walk.endAt(walk.to, i + base)
      if (!quote && (walk.rules.inArray || byte === QUOTE)) return walk.endAt(walk.to, i + base, true)
      walk.quoted = quote && byte === COMMA ? 'comma' : 'text'
    }
    if (byte === BACKSLASH) i++
    else if (byte === QUOTE) {
      walk.quoted = 'quote'
      walk.to = i + base + 1
    }
  }
  return walk.waitAt(i + base)
}

/** So many open brackets are known by their kind. */
export const MAX_KNOWN = 1024
/** So far down a bracket looks for its pair; more would be quadratic where nothing fits. */
const MAX_BELOW = 16

/** The brackets that are open inside a value; how deep it is beyond `MAX_KNOWN` is only counted. */
export class OpenBrackets {
  readonly kinds = new Uint8Array(MAX_KNOWN)
  depth = 0

  /**
   * How deep it is after a closing bracket, which also closes what was left open inside its pair. -1: it is
   * the bracket around the value, which stands in an array or in an object. One that fits nothing near is
   * passed over.
   */
  depthAfter(closing: number, depth: number, inArray: boolean): number {
    const opening = closing - 2
    if (depth > MAX_KNOWN || this.kinds[depth - 1] === opening) return depth - 1
    const floor = Math.max(0, depth - MAX_BELOW)
    for (let below = depth - 1; below > floor; below--) {
      if (this.kinds[below - 1] === opening) return below - 1
    }
    if (floor > 0) return depth
    return (opening === OPEN_BRACKET) === inArray ? -1 : depth
  }

  /** How deep the nearest array is that holds the open objects: 0 is the one around the value, -1 for none. */
  arrayBelow(depth: number, inArray: boolean): number {
    const floor = Math.max(0, depth - MAX_BELOW)
    let below = Math.min(depth, MAX_KNOWN)
    while (below > floor && this.kinds[below - 1] === OPEN_BRACE) below--
    return below > floor ? below : floor === 0 && inArray ? 0 : -1
  }
}

// What a byte can be in JSON. Small numbers, because a switch over them is a jump.
const C_OTHER = 0
export const C_BLANK = 1
export const C_QUOTE = 2
export const C_COMMA = 3
export const C_COLON = 4
export const C_OPEN = 5
export const C_CLOSE = 6
/** What numbers and literals are made of. */
export const C_TOKEN = 7

/** The class of each byte. */
export const CLASS = new Uint8Array(256).fill(C_OTHER)
for (const byte of Buffer.from('+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz')) {
  CLASS[byte] = C_TOKEN
}
for (const byte of [SPACE, TAB, LF, CR]) CLASS[byte] = C_BLANK
for (const byte of [OPEN_BRACE, OPEN_BRACKET]) CLASS[byte] = C_OPEN
for (const byte of [CLOSE_BRACE, CLOSE_BRACKET]) CLASS[byte] = C_CLOSE
CLASS[QUOTE] = C_QUOTE
CLASS[COMMA] = C_COMMA
CLASS[COLON] = C_COLON

/** Where the closing quote stands, or `end` or one more (behind a backslash) if it is not there. */
export function stringEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end) {
    const byte = view[i]
    if (byte === QUOTE) return i
    i += byte === BACKSLASH ? 2 : 1
  }
  return i
}

/** Where the number or literal is over, or `end`. */
export function tokenEnd(view: Buffer, from: number, end: number): number {
  let i = from
  while (i < end && CLASS[view[i] as number] === C_TOKEN) i++
  return i
}
