import type { Scan } from '../../frames/scan.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isBlank,
  LESS,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
} from '../../json/characters.ts'
import { Ahead, END, HASH, MORE, STAR, unusualAt } from './ahead.ts'
import type { ContainerStage, DocumentEnd, DocumentState, Step } from './document.ts'
import { ElementWalk, type ItemSink, learnHead } from './element-walk.ts'
import { Guess } from './guess.ts'
import { isListOfItems, type Level, newLevel, pathIn, placeIn, type Selection } from './item-paths.ts'

export interface ContainerOptions {
  readonly selections: readonly Selection[]
  readonly end: DocumentEnd
  readonly sink: ItemSink
}

/** Reads the containers of a document. */
export interface ContainerReader {
  /** Begins with the bracket that the document is at. */
  begin(document: DocumentState): 'on'
  readonly steps: Readonly<Record<ContainerStage, () => Step>>
  /** The first position that is still needed. */
  keep(): number
  /** The input is over inside the document: hands out what there is, and answers where prose goes on. */
  finish(): number
}

/**
 * Reads the containers on the way to the selections, byte by byte. What is in them is guessed or walked over
 * whole, and handed out if it is selected.
 *
 *     {"summary":"…","issues":[{"a":1},{"a":2}]}
 *     ^ level 0               ^ level 1  ^ element /issues/1
 *
 * What is not JSON here is passed over, so that the rest can go on.
 */
export function containerReader(scan: Scan, options: ContainerOptions): ContainerReader {
  const { tape } = scan
  const { selections, end, sink } = options
  const ahead = new Ahead()
  const guess = new Guess(tape)
  const element = new ElementWalk(scan, { end, sink, guess })
  const memberName = new MemberName(scan, end)
  let doc: DocumentState

  function enter(bracket: number, path: string, leading: readonly Selection[]): 'on' {
    const level = newLevel(bracket === OPEN_BRACKET, path, doc.levels.length, leading)
    doc.levels.push(level)
    doc.at++
    doc.stage = level.array ? 'value' : 'key'
    if (isListOfItems(level)) found()
    return 'on'
  }

  function expectValue(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    const level = doc.levels.at(-1) as Level
    switch (byte) {
      case COMMA:
        if (doc.notJson()) return leave(doc.at)
        return toNext(level, true)
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return close(byte)
      case LESS: {
        const step = stopAtTag()
        if (step) return step
      }
    }
    const place = placeIn(level, doc.name)
    if (place.selected) return expectItem(level, byte)
    if (place.deeper.length > 0 && (byte === OPEN_BRACE || byte === OPEN_BRACKET)) {
      return enter(byte, pathIn(level, doc.name), place.deeper)
    }
    return startWalk(undefined)
  }

  function expectItem(level: Level, byte: number): Step {
    found()
    if (doc.neighbour) {
      const isOne = isNeighbour(doc.neighbour)
      if (isOne === undefined) return 'wait'
      if (!isOne) {
        doc.stage = 'lost'
        return 'on'
      }
      doc.neighbour = undefined
    }
    const from = doc.at
    const path = pathIn(level, doc.name)
    if (level.array && byte === OPEN_BRACE) {
      const to = guess.end(from, Math.min(scan.limit(from), end.bound))
      if (to >= 0) {
        if (sink.guessed({ from, to, path, why: doc.whyNow(), unbalanced: false })) {
          guess.read(from, to)
          if (!level.head) learnHead(level, scan, from, to)
          doc.odd = false
          doc.at = guess.next
          level.index++
          return 'on'
        }
        guess.missed(from, to)
      }
    }
    return startWalk(path)
  }

  /** Whether the element at hand begins as it must; undefined if the bytes at hand do not tell. */
  function isNeighbour(head: Buffer | 'unknown'): boolean | undefined {
    if (head === 'unknown') return false
    const { view, base } = tape
    const i = doc.at - base
    const length = Math.min(head.length, end.bound - doc.at)
    if (view.compare(head, 0, length, i, i + length) !== 0) return false
    if (length === head.length) return true
    return end.final ? false : undefined
  }

  //  [{"a":[1]],"b":[{"a":2}]},{"a":3}]
  //           ^ one too many: what follows may be an element, or may be inside one, so nothing is handed out
  /** Passes over the rest of a document, to the tag that ends it, or to its end. */
  function passLost(): Step {
    const { view, base } = tape
    for (; doc.at < end.bound; doc.at++) {
      if (view[doc.at - base] !== LESS) continue
      const tag = end.tagAt(doc.at, end.bound)
      if (tag === undefined) return 'wait'
      if (tag) return leave(doc.at)
    }
    return 'wait'
  }

  /** Walks over the element; `path` is undefined if it is not handed out. */
  function startWalk(path: string | undefined): 'on' {
    element.begin(doc, path)
    doc.stage = 'walk'
    return 'on'
  }

  function walkOn(): Step {
    const walked = element.run(doc)
    switch (walked) {
      case 'wait':
        return 'wait'
      case 'too long':
        return 'on'
      case 'odd':
        return leave(element.at)
      case 'tag':
        return leaveAtTag(element.at)
      case 'end':
        doc.at = element.at
        doc.stage = 'comma'
        return element.passedComma ? toNext(doc.levels.at(-1) as Level, false) : 'on'
      default:
        return walked satisfies never
    }
  }

  function expectKey(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    const closed = doc.closed ?? doc.lost
    doc.closed = undefined
    doc.name = undefined
    switch (byte) {
      case QUOTE:
        return startName(true)
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return close(byte)
      case LESS: {
        const step = stopAtTag()
        if (step) return step
      }
    }
    if (doc.notJson()) return leave(doc.at)
    switch (byte) {
      case COMMA:
        doc.at++
        return 'on'
      case COLON:
        doc.stage = 'colon'
        return 'on'
      case OPEN_BRACE:
      case OPEN_BRACKET:
        // The bracket that closed the array before was one too many.
        if (closed && doc.levels.length === closed.depth) {
          doc.levels.push(closed)
          closed.index++
        }
        doc.stage = 'value'
        return 'on'
    }
    return startName(false)
  }

  function startName(quoted: boolean): 'on' {
    memberName.begin(doc.at, quoted)
    doc.stage = 'in key'
    return 'on'
  }

  function readName(): Step {
    if (!memberName.read()) return 'wait'
    doc.at = memberName.at
    doc.name = memberName.text()
    doc.stage = 'colon'
    return 'on'
  }

  function expectColon(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    doc.stage = 'value'
    if (byte === COLON) doc.at++
    else if (doc.notJson()) return leave(doc.at)
    return 'on'
  }

  function expectComma(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    const level = doc.levels.at(-1) as Level
    switch (byte) {
      case COMMA:
        return toNext(level, true)
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return close(byte)
      case LESS: {
        const step = stopAtTag()
        if (step) return step
      }
    }
    if (doc.notJson()) return leave(doc.at)
    return toNext(level, false)
  }

  function toNext(level: Level, pastComma: boolean): 'on' {
    if (pastComma) doc.at++
    level.index++
    doc.stage = level.array ? 'value' : 'key'
    return 'on'
  }

  /** A closing bracket also closes the containers that were left open inside its pair. */
  function close(byte: number): Step {
    const array = byte === CLOSE_BRACKET
    const index = doc.levels.findLastIndex((level) => level.array === array)
    if (index !== doc.levels.length - 1 && doc.notJson()) return leave(doc.at)
    if (index === 0 && (doc.lost || (array && doc.sure))) {
      const goesOn = goesOnAfter(doc.at + 1)
      if (goesOn === undefined) return 'wait'
      if (goesOn) {
        // One too many, in the element before: its document is not over.
        doc.at++
        doc.odd = true
        doc.levels.length = 1
        doc.stage = 'comma'
        return 'on'
      }
    }
    doc.at++
    if (index < 0) return 'on'
    doc.closed = array && doc.levels[index - 1]?.array === false ? doc.levels[index] : undefined
    doc.levels.length = index
    if (index === 0) return 'over'
    doc.stage = 'comma'
    return 'on'
  }

  /** What a `<` comes to: nothing, unless it may be a tag that ends the document. */
  function stopAtTag(): 'wait' | 'left' | undefined {
    const tag = end.tagAt(doc.at, end.bound)
    if (tag === undefined) return 'wait'
    return tag ? leaveAtTag(doc.at) : undefined
  }

  function leaveAtTag(at: number): 'left' {
    breakOff(at)
    return leave(at)
  }

  /** The document is over before its end: says so, if it was one. */
  function breakOff(to: number): void {
    if (doc.stage === 'lost') return
    if (doc.stage === 'walk' && element.breakOff(doc, to)) return
    if (!doc.isDoubtful()) sink.documentCut(doc.levels.at(-1)?.path ?? '', doc.origin, to)
  }

  function leave(position: number): 'left' {
    scan.leave(position)
    return 'left'
  }

  function found(): void {
    if (!doc.found) sink.found()
    doc.found = true
  }

  /** The next byte that is neither blank nor in a comment; undefined if it has not come yet. */
  function nextByte(): number | undefined {
    for (;;) {
      if (doc.comment && !passComment()) return undefined
      const { view, base } = tape
      const stop = end.bound - base
      let i = doc.at - base
      while (i < stop && isBlank(view[i])) i++
      doc.at = i + base
      if (i >= stop) return undefined
      const byte = view[i] as number
      if (byte < 0x80 && byte !== SLASH && byte !== HASH) return byte
      // In prose, what is not JSON is the end of the matter.
      if (doc.isDoubtful()) return byte
      const passed = passOddBlank(byte)
      if (passed !== true) return passed === undefined ? undefined : byte
    }
  }

  /** Passes over a blank that JSON does not know, or into a comment; undefined if the bytes at hand do not tell. */
  function passOddBlank(byte: number): boolean | undefined {
    const { view, base } = tape
    const i = doc.at - base
    const stop = end.bound - base
    if (byte >= 0x80) {
      const width = unusualAt(view, i, stop)
      if (width === MORE && !end.final) return undefined
      if (width !== 2 && width !== 3) return false
      doc.at += width
    } else if (byte === HASH) {
      doc.comment = 'line'
    } else {
      if (i + 1 >= stop) return end.final ? false : undefined
      if (view[i + 1] !== SLASH && view[i + 1] !== STAR) return false
      doc.comment = view[i + 1] === SLASH ? 'line' : 'block'
      doc.at += 2
    }
    doc.odd = true
    return true
  }

  /** Goes on in a comment between two tokens: false if it has not ended yet. */
  function passComment(): boolean {
    const { view, base } = tape
    const block = doc.comment === 'block'
    for (; doc.at < end.bound; doc.at++) {
      const byte = view[doc.at - base]
      const tag = byte === LESS ? end.tagAt(doc.at, end.bound) : false
      if (tag === undefined) return false
      if (!tag) {
        if (byte !== (block ? STAR : LF)) continue
        if (block && doc.at + 1 >= end.bound) return false
        if (block && view[doc.at + 1 - base] !== SLASH) continue
        doc.at += block ? 2 : 1
      }
      doc.comment = undefined
      return true
    }
    return false
  }

  /**
   * Whether the document goes on after its last bracket; undefined if the bytes at hand do not tell. After an
   * element whose brackets do not match that is easily believed, otherwise only where another element follows.
   */
  function goesOnAfter(position: number): boolean | undefined {
    ahead.begin(tape.view, position - tape.base, end.bound - tape.base, end.final)
    const next = ahead.next()
    if (next === MORE) return undefined
    if (doc.lost && doc.levels[0]?.array) return next !== END && next !== LESS
    if (doc.lost) return next === COMMA || next === COLON || next === CLOSE_BRACE || next === CLOSE_BRACKET
    if (next !== COMMA) return false
    const then = ahead.next()
    return then === MORE ? undefined : then === OPEN_BRACE || then === OPEN_BRACKET || then === QUOTE
  }

  return {
    begin(document) {
      doc = document
      return enter(scan.byte(doc.at) as number, '', selections)
    },
    steps: {
      value: expectValue,
      key: expectKey,
      'in key': readName,
      colon: expectColon,
      comma: expectComma,
      walk: walkOn,
      lost: passLost,
    },
    keep() {
      const needed = doc.stage === 'walk' ? element.keep : doc.stage === 'in key' ? memberName.keep : doc.at
      return Math.min(needed, end.bound)
    },
    finish() {
      const string = doc.stage === 'walk' ? element.openString : -1
      const closer = end.block && string >= 0 ? end.nextCloser(string) : -1
      if (closer >= 0) {
        // A string that never ends: the tag in it was the end of the block.
        breakOff(closer)
        return closer + end.closer.length
      }
      if (doc.stage === 'walk' && element.takeString(doc)) doc.stage = 'comma'
      breakOff(end.bound)
      return end.bound
    },
  }
}

//  {"name": 1, name: 1, 'name': 1}
//    ^^^^^     ^^^^     ^^^^^^

/** Reads the name of a member, whatever the chunks and the quotes. Reused for every member. */
export class MemberName {
  /** How far it has come. */
  at = 0
  readonly #scan: Scan
  readonly #end: DocumentEnd
  #from = 0
  #quoted = false

  constructor(scan: Scan, end: DocumentEnd) {
    this.#scan = scan
    this.#end = end
  }

  /** Begins at the first byte of a name, which may be its quote. */
  begin(from: number, quoted: boolean): void {
    this.at = quoted ? from + 1 : from
    this.#from = from
    this.#quoted = quoted
  }

  /** Goes on as far as there are bytes: true when the name has ended. */
  read(): boolean {
    const { view, base } = this.#scan.tape
    let i = this.at - base
    let ended = false
    const stop = this.#end.bound - base
    while (i < stop && !ended) {
      const byte = view[i] as number
      if (this.#quoted) {
        i += byte === BACKSLASH ? 2 : 1
        ended = byte === QUOTE
      } else if (WORD_ENDS.includes(byte)) ended = true
      else i++
    }
    this.at = i + base
    return ended
  }

  /** What was read; undefined for a name that is too long to be one that is asked for. */
  text(): string | undefined {
    return this.#isLong() ? undefined : nameOf(this.#scan.decode(this.#from, this.at))
  }

  /** The first position that is still needed. */
  get keep(): number {
    return this.#isLong() ? this.at : this.#from
  }

  #isLong(): boolean {
    return this.at - this.#from > MAX_NAME
  }
}

/** Longer names are not read. */
const MAX_NAME = 4096
/** What a name without quotes cannot hold. */
const WORD_ENDS = Buffer.from(':,{}[]"<')

/** The name that a key spells, in whatever quotes. */
function nameOf(key: string): string {
  if (key[0] === '"' && key.includes('\\')) {
    try {
      return String(JSON.parse(key))
    } catch {
      return key.slice(1, -1)
    }
  }
  const word = key.trim()
  const quoted = word.length > 1 && (word[0] === '"' || word[0] === "'") && word.at(-1) === word[0]
  return quoted ? word.slice(1, -1) : word
}
