import { Bytes } from '../../base/platform.ts'
import type { Scan } from '../../frames/scan.ts'
import { byteStringEnd, stringValue } from '../../json/strings.ts'
import { isQuote } from '../../repair/quotes.ts'
import { isStructureAt } from '../../repair/structure.ts'
import { isUnusualBlank, WIDE_COLON } from '../../repair/syntax.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  EQUALS,
  GREATER,
  HASH,
  isBlank,
  isBracket,
  LESS,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  SPACE,
  STAR,
  TAB,
} from '../../text/characters.ts'
import type { ContainerStage, DocumentEnd, DocumentState, Step } from './document.ts'
import { ElementWalk, type ItemSink } from './element-walk.ts'
import { Guess } from './guess.ts'
import { isListOfItems, type Level, newLevel, pathIn, placeIn, type Selection } from './item-paths.ts'

export interface ContainerOptions {
  readonly selections: readonly Selection[]
  readonly end: DocumentEnd
  readonly sink: ItemSink
}

/** Reads the containers of a document. */
export interface ContainerReader {
  /** Begins with the bracket at the current position of the document. */
  begin(document: DocumentState): 'on'
  readonly steps: Readonly<Record<ContainerStage, () => Step>>
  /** The first position that is still needed. */
  keep(): number
  /** The input ended inside the document: emits what there is, and returns where prose continues. */
  finish(): number
}

/**
 * Reads the containers on the way to the selections, byte by byte. The end of each element in them is guessed
 * or found by a walk, and the element is emitted if it is selected.
 *
 *     {"summary":"…","issues":[{"a":1},{"a":2}]}
 *     ^ level 0               ^ level 1  ^ element /issues/1
 *
 * A missing comma or colon is tolerated here. After a bracket out of place nothing more is emitted: what
 * follows may be inside anything.
 */
export function containerReader(scan: Scan, options: ContainerOptions): ContainerReader {
  const { tape } = scan
  const { selections, end, sink } = options
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
        // A surplus comma, before the element or instead of it.
        if (doc.notJson()) return leave(doc.at)
        doc.at++
        return 'on'
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
    if (place.deeper.length > 0 && isBracket(byte)) {
      return enter(byte, pathIn(level, doc.name), place.deeper)
    }
    return startWalk(pathIn(level, doc.name), false)
  }

  function expectItem(level: Level, byte: number): Step {
    found()
    const from = doc.at
    const path = pathIn(level, doc.name)
    if (level.array && byte === OPEN_BRACE) {
      const to = guess.end(from, Math.min(scan.limit(from), end.bound))
      if (to >= 0) {
        if (sink.guessed({ from, to, path, why: doc.whyNow() })) {
          guess.read(from, to)
          doc.odd = false
          doc.at = guess.next
          level.index++
          return 'on'
        }
        guess.missed(from, to)
      }
    }
    return startWalk(path, true)
  }

  /** Walks over the element; `item` if it is to be emitted. */
  function startWalk(path: string, item: boolean): 'on' {
    element.begin(doc, path, item)
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
        return 'on'
      case 'lost':
        doc.at = element.from
        doc.indent = element.indent
        doc.stage = 'lost'
        return 'on'
      default:
        return walked satisfies never
    }
  }

  function expectKey(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
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
        return lose()
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
    if (byte === COLON) doc.at++
    else {
      if (doc.notJson()) return leave(doc.at)
      if (!passOddColon(byte)) return 'wait'
    }
    doc.stage = 'value'
    return 'on'
  }

  /** Skips `=`, `=>` or a wide colon; false if more bytes are needed. */
  function passOddColon(byte: number): boolean {
    if (byte === EQUALS) {
      if (doc.at + 1 >= end.bound && !end.final) return false
      doc.at += scan.byte(doc.at + 1) === GREATER ? 2 : 1
    } else if (byte >= 0x80) {
      const unit = unitAt(doc.at)
      if (unit === undefined) return false
      if (unit === WIDE_COLON) doc.at += 3
    }
    return true
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
    // A comma is missing, or the element before was not complete: two of a kind are side by side.
    const alike = byte === element.first && (byte === OPEN_BRACE || byte === QUOTE)
    return alike || !level.array ? toNext(level, false) : lose()
  }

  function toNext(level: Level, pastComma: boolean): 'on' {
    if (pastComma) doc.at++
    level.index++
    doc.stage = level.array ? 'value' : 'key'
    return 'on'
  }

  function close(byte: number): Step {
    const level = doc.levels.at(-1) as Level
    if (level.array !== (byte === CLOSE_BRACKET)) return doc.notJson() ? leave(doc.at) : lose()
    if (doc.levels.length === 1 && !doc.isDoubtful()) {
      const goesOn = continuesAfter(doc.at + 1)
      if (goesOn === undefined) return 'wait'
      if (goesOn) {
        doc.at++
        return lose()
      }
    }
    doc.at++
    doc.levels.pop()
    if (doc.levels.length === 0) return 'over'
    doc.stage = 'comma'
    return 'on'
  }

  //  [{"a":1}],{"a":2}]      {"issues":[{"a":1}}
  //           ^ one too many                   ^ one is missing
  /** A bracket is out of place: what follows may be an element, or inside one. */
  function lose(): 'on' {
    const { path } = doc.levels.at(-1) as Level
    sink.itemLost({ from: doc.at, to: Math.min(doc.at + 1, end.bound), path, why: undefined })
    doc.indent = -1
    doc.stage = 'lost'
    return 'on'
  }

  //    {             indented less than the inside of the lost element: its neighbour
  //      "a": [1,
  //    },
  //    {
  //      "a": [2]
  /**
   * Skips what cannot be emitted: to the next element, if the layout shows clearly where that begins, to
   * the tag that ends the document, or to its end.
   */
  function passLost(): Step {
    const { view, base } = tape
    const found = end.firstTag(doc.at, end.bound)
    const bound = found >= 0 ? found : end.final ? end.bound : end.bound - end.closer.length
    while (doc.at < bound) {
      const lf = doc.indent < 0 ? -1 : view.indexOf(LF, doc.at - base)
      if (lf < 0 || lf + base >= bound) {
        doc.at = bound
        break
      }
      doc.at = lf + base
      const head = lineHead(doc.at + 1, bound)
      if (head === undefined && found < 0 && !end.final) return 'wait'
      if (head === 'neighbour') {
        doc.at = nextOf(doc.at)
        return toNext(doc.levels.at(-1) as Level, false)
      }
      if (head === 'stranger') doc.indent = -1
      doc.at++
    }
    return found >= 0 && doc.at >= found ? leave(found) : 'wait'
  }

  function nextOf(lf: number): number {
    let at = lf + 1
    while (isIndent(scan.byte(at))) at++
    return at
  }

  /** What a line begins with, after a lost element; undefined if more bytes are needed. */
  function lineHead(line: number, bound: number): 'neighbour' | 'inside' | 'stranger' | undefined {
    let at = line
    while (at < bound && at - line < doc.indent && isIndent(scan.byte(at))) at++
    if (at - line >= doc.indent) return 'inside'
    if (at >= bound) return undefined
    const byte = scan.byte(at)
    if (byte === CLOSE_BRACE || byte === COMMA || byte === LF || byte === CR) return 'inside'
    if (byte !== OPEN_BRACE) return 'stranger'
    at++
    if (scan.byte(at) === CR) at++
    const first = at + 1
    if (first + doc.indent >= bound) return undefined
    if (scan.byte(at) !== LF) return 'stranger'
    for (at = first; isIndent(scan.byte(at)) && at - first <= doc.indent; at++);
    return at - first === doc.indent ? 'neighbour' : 'stranger'
  }

  /** Handles a `<`: undefined unless it may be a tag that ends the document. */
  function stopAtTag(): 'wait' | 'left' | undefined {
    const tag = end.tagAt(doc.at, end.bound)
    if (tag === undefined) return 'wait'
    return tag ? leaveAtTag(doc.at) : undefined
  }

  function leaveAtTag(at: number): 'left' {
    breakOff(at)
    return leave(at)
  }

  /** The document broke off before its end: reports that, if it was a document. */
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

  /** The next byte that is neither blank nor in a comment; undefined if it has not arrived yet. */
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
      // In prose, anything that is not JSON ends the document.
      if (doc.isDoubtful()) return byte
      const passed = passOddBlank(byte)
      if (passed !== true) return passed === undefined ? undefined : byte
    }
  }

  /** Skips a blank that JSON does not know, or enters a comment; undefined if more bytes are needed. */
  function passOddBlank(byte: number): boolean | undefined {
    const { view, base } = tape
    const i = doc.at - base
    const stop = end.bound - base
    if (byte >= 0x80) {
      const unit = unitAt(doc.at)
      if (unit === undefined) return undefined
      if (!isUnusualBlank(unit)) return false
      doc.at += unit < 0x800 ? 2 : 3
    } else if (byte === HASH) {
      // The ladder has the same rule: a blank must follow.
      if (i + 1 >= stop && !end.final) return undefined
      if (!isBlank(view[i + 1])) return false
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

  /** Continues a comment between two tokens: false if it has not ended yet. */
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

  /** The character at a position, as a unit of a string; undefined if it has not arrived yet. */
  function unitAt(position: number): number | undefined {
    const first = scan.byte(position) as number
    const width = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    if (position + width > end.bound && !end.final) return undefined
    const i = position - tape.base
    return tape.view.toString('utf8', i, Math.min(i + width, end.bound - tape.base)).charCodeAt(0)
  }

  /** Whether the document continues after its last bracket; undefined if more bytes are needed. */
  function continuesAfter(position: number): boolean | undefined {
    const { view, base } = tape
    const stop = Math.min(end.bound - base, position - base + LOOK_AFTER)
    let i = position - base
    if (i < stop && view[i] === OPEN_BRACE && doc.levels[0]?.array) return true
    while (i < stop && isBlank(view[i])) i++
    const byte = view[i]
    if (i >= stop) return end.final || i - (position - base) >= LOOK_AFTER ? false : undefined
    if (byte !== COMMA && byte !== COLON && byte !== CLOSE_BRACKET && byte !== CLOSE_BRACE && byte !== QUOTE)
      return false
    if (!end.final && end.bound < position + LOOK_AFTER) return undefined
    return isStructureAt(view.toString('utf8', i, stop), 0)
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
        // A string that never ends: the tag inside it was the end of the block.
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

/** Reads the name of a member, across chunks and in any quotes. Reused for every member. */
class MemberName {
  /** Current position. */
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

  /** Reads the bytes that have arrived: true when the name has ended. */
  read(): boolean {
    const { view, base } = this.#scan.tape
    const stop = this.#end.bound - base
    let i = this.at - base
    if (this.#quoted) i = byteStringEnd(view, i, stop)
    else while (i < stop && !WORD_ENDS.includes(view[i] as number)) i++
    const ended = i < stop
    this.at = (ended && this.#quoted ? i + 1 : i) + base
    return ended
  }

  /** The name; undefined if it is too long to be one that is wanted. */
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

/** How far to look at what follows the last bracket of a document. */
const LOOK_AFTER = 512
/** Longer names are not read. */
const MAX_NAME = 4096
/** Characters that end a name without quotes. */
const WORD_ENDS = Bytes.from(':,{}[]"<')

/** The name that a key spells, in whatever quotes. */
function nameOf(key: string): string {
  if (key[0] === '"') {
    try {
      return stringValue(key, 0, key.length - 1)
    } catch {
      return key.slice(1, -1)
    }
  }
  const word = key.trim()
  const quoted = word.length > 1 && isQuote(word.charCodeAt(0)) && isQuote(word.charCodeAt(word.length - 1))
  return quoted ? word.slice(1, -1) : word
}

function isIndent(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}
