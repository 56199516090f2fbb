import { Bytes } from '../../base/platform.ts'
import type { Scan } from '../../frames/scan.ts'
import { WhatFollows } from '../../frames/what-follows.ts'
import { endsInBraces } from '../../json/after-value.ts'
import { byteStringEnd, stringValue } from '../../json/strings.ts'
import { isQuote } from '../../repair/quotes.ts'
import { isUnusualBlank } from '../../repair/tolerant-reader.ts'
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
  WIDE_COLON,
} from '../../text/characters.ts'
import type { Tape } from '../../text/tape.ts'
import type { ContainerStage, DocumentEnd, DocumentState, WalkStep } from './document.ts'
import { ElementWalk, type ItemSink } from './element-walk.ts'
import { Guess } from './guess.ts'
import { isListOfItems, type Level, newLevel, pathIn, placeIn, type Selection } from './item-paths.ts'

export interface ContainerOptions {
  readonly selections: readonly Selection[]
  readonly end: DocumentEnd
  readonly sink: ItemSink
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
export class ContainerReader {
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #selections: readonly Selection[]
  readonly #end: DocumentEnd
  readonly #sink: ItemSink
  readonly #guess: Guess
  readonly #element: ElementWalk
  readonly #memberName: MemberName
  readonly #follows: WhatFollows
  /** The position after a document, if what follows it is being looked at. */
  #followed = -1
  #doc!: DocumentState

  constructor(scan: Scan, { selections, end, sink }: ContainerOptions) {
    this.#scan = scan
    this.#tape = scan.tape
    this.#selections = selections
    this.#end = end
    this.#sink = sink
    this.#guess = new Guess(scan.tape)
    this.#element = new ElementWalk(scan, { end, sink, guess: this.#guess })
    this.#memberName = new MemberName(scan, end)
    this.#follows = new WhatFollows(scan)
  }

  /** Begins with the bracket at the current position of the document. */
  begin(doc: DocumentState): 'on' {
    this.#doc = doc
    return this.#enter(this.#scan.byte(doc.at) as number, '', this.#selections)
  }

  step(stage: ContainerStage): WalkStep {
    switch (stage) {
      case 'value':
        return this.#expectValue()
      case 'key':
        return this.#expectKey()
      case 'in key':
        return this.#readName()
      case 'colon':
        return this.#expectColon()
      case 'comma':
        return this.#expectComma()
      case 'walk':
        return this.#walkOn()
      case 'lost':
        return this.#passLost()
      default:
        return stage satisfies never
    }
  }

  /** The first position that is still needed. */
  keep(): number {
    const { stage, at } = this.#doc
    const needed = stage === 'walk' ? this.#element.keep : stage === 'in key' ? this.#memberName.keep : at
    return Math.min(needed, this.#end.bound)
  }

  /** The input ended inside the document: emits what there is, and returns where prose continues. */
  finish(): number {
    const doc = this.#doc
    const end = this.#end
    const key = doc.stage === 'in key' ? this.#memberName.openString : -1
    const string = doc.stage === 'walk' ? this.#element.openString : key
    const closer = end.block && string >= 0 ? end.nextCloser(string) : -1
    if (closer >= 0) {
      // A string that never ends: the tag inside it was the end of the block.
      this.#breakOff(closer)
      return closer + end.closer.length
    }
    if (doc.stage === 'walk' && this.#element.takeString(doc)) doc.stage = 'comma'
    this.#breakOff(end.bound)
    return end.bound
  }

  #enter(bracket: number, path: string, leading: readonly Selection[]): 'on' {
    const doc = this.#doc
    const level = newLevel(bracket === OPEN_BRACKET, path, doc.levels.length, leading)
    doc.levels.push(level)
    doc.at++
    doc.stage = level.array ? 'value' : 'key'
    if (isListOfItems(level)) this.#found()
    return 'on'
  }

  #expectValue(): WalkStep {
    const doc = this.#doc
    const byte = this.#nextByte()
    if (byte === undefined) return 'wait'
    const level = doc.levels.at(-1) as Level
    if (byte === COMMA) {
      // A surplus comma, before the element or instead of it.
      if (doc.notJson()) return this.#leave(doc.at)
      doc.at++
      return 'on'
    }
    const end = this.#endAt(byte)
    if (end) return end
    const place = placeIn(level, doc.name)
    if (place.selected) return this.#expectItem(level, byte)
    if (place.deeper.length > 0 && isBracket(byte)) {
      return this.#enter(byte, pathIn(level, doc.name), place.deeper)
    }
    return this.#startWalk(pathIn(level, doc.name), false)
  }

  #expectItem(level: Level, byte: number): WalkStep {
    const doc = this.#doc
    this.#found()
    const from = doc.at
    const path = pathIn(level, doc.name)
    if (level.array && byte === OPEN_BRACE) {
      const to = this.#guess.end(from, Math.min(this.#scan.limit(from), this.#end.bound))
      if (to >= 0) {
        if (this.#sink.guessed({ from, to, path, why: doc.whyNow() })) {
          this.#guess.read(from, to)
          doc.odd = false
          doc.at = this.#guess.next
          level.index++
          return 'on'
        }
        this.#guess.missed(from, to)
      }
    }
    return this.#startWalk(path, true)
  }

  /** Walks over the element; `item` if it is to be emitted. */
  #startWalk(path: string, item: boolean): 'on' {
    this.#element.begin(this.#doc, path, item)
    this.#doc.stage = 'walk'
    return 'on'
  }

  #walkOn(): WalkStep {
    const doc = this.#doc
    const element = this.#element
    const walked = element.run(doc)
    switch (walked) {
      case 'wait':
        return 'wait'
      case 'too long':
        return 'on'
      case 'odd':
        return this.#leave(element.at)
      case 'tag':
        return this.#leaveAtTag(element.at)
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

  #expectKey(): WalkStep {
    const doc = this.#doc
    const byte = this.#nextByte()
    if (byte === undefined) return 'wait'
    doc.name = undefined
    if (byte === QUOTE) return this.#startName(true)
    const end = this.#endAt(byte)
    if (end) return end
    if (doc.notJson()) return this.#leave(doc.at)
    switch (byte) {
      case COMMA:
        doc.at++
        return 'on'
      case COLON:
        doc.stage = 'colon'
        return 'on'
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return this.#lose()
    }
    return this.#startName(false)
  }

  #startName(quoted: boolean): 'on' {
    this.#memberName.begin(this.#doc.at, quoted)
    this.#doc.stage = 'in key'
    return 'on'
  }

  #readName(): WalkStep {
    const doc = this.#doc
    if (!this.#memberName.read()) return 'wait'
    doc.at = this.#memberName.at
    doc.name = this.#memberName.text()
    doc.stage = 'colon'
    return 'on'
  }

  #expectColon(): WalkStep {
    const doc = this.#doc
    const byte = this.#nextByte()
    if (byte === undefined) return 'wait'
    if (byte === COLON) doc.at++
    else {
      if (doc.notJson()) return this.#leave(doc.at)
      if (!this.#passOddColon(byte)) return 'wait'
    }
    doc.stage = 'value'
    return 'on'
  }

  /** Skips `=`, `=>` or a wide colon; false if more bytes are needed. */
  #passOddColon(byte: number): boolean {
    const doc = this.#doc
    if (byte === EQUALS) {
      if (doc.at + 1 >= this.#end.bound && !this.#end.final) return false
      doc.at += this.#scan.byte(doc.at + 1) === GREATER ? 2 : 1
    } else if (byte >= 0x80) {
      const unit = this.#unitAt(doc.at)
      if (unit === undefined) return false
      if (unit === WIDE_COLON) doc.at += 3
    }
    return true
  }

  #expectComma(): WalkStep {
    const doc = this.#doc
    const byte = this.#nextByte()
    if (byte === undefined) return 'wait'
    const level = doc.levels.at(-1) as Level
    if (byte === COMMA) return this.#toNext(level, true)
    const end = this.#endAt(byte)
    if (end) return end
    if (doc.notJson()) return this.#leave(doc.at)
    // A comma is missing, or the element before was not complete: two of a kind are side by side.
    const alike = byte === this.#element.first && (byte === OPEN_BRACE || byte === QUOTE)
    return alike || !level.array ? this.#toNext(level, false) : this.#lose()
  }

  #toNext(level: Level, pastComma: boolean): 'on' {
    if (pastComma) this.#doc.at++
    level.index++
    this.#doc.stage = level.array ? 'value' : 'key'
    return 'on'
  }

  /** Handles a closing bracket, or a tag that ends the document; undefined for any other byte. */
  #endAt(byte: number): WalkStep | undefined {
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return this.#close(byte)
    return byte === LESS ? this.#stopAtTag() : undefined
  }

  #close(byte: number): WalkStep {
    const doc = this.#doc
    const level = doc.levels.at(-1) as Level
    if (level.array !== (byte === CLOSE_BRACKET)) return doc.notJson() ? this.#leave(doc.at) : this.#lose()
    if (doc.levels.length === 1 && !doc.isDoubtful()) {
      const goesOn = this.#continuesAfter(doc.at + 1)
      if (goesOn === undefined) return 'wait'
      if (goesOn) {
        doc.at++
        return this.#lose()
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
  #lose(): 'on' {
    const doc = this.#doc
    const { path } = doc.levels.at(-1) as Level
    this.#sink.itemLost({
      from: doc.at,
      to: Math.min(doc.at + 1, this.#end.bound),
      path,
      why: undefined,
    })
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
  #passLost(): WalkStep {
    const doc = this.#doc
    const end = this.#end
    const { view, base } = this.#tape
    const found = end.firstTag(doc.at, end.bound)
    const bound = found >= 0 ? found : end.final ? end.bound : end.bound - end.closer.length
    while (doc.at < bound) {
      const lf = doc.indent < 0 ? -1 : view.indexOf(LF, doc.at - base)
      if (lf < 0 || lf + base >= bound) {
        doc.at = bound
        break
      }
      doc.at = lf + base
      const head = this.#lineHead(doc.at + 1, bound)
      if (head === undefined && found < 0 && !end.final) return 'wait'
      if (head === 'neighbour') {
        doc.at = this.#nextOf(doc.at)
        return this.#toNext(doc.levels.at(-1) as Level, false)
      }
      if (head === 'stranger') doc.indent = -1
      doc.at++
    }
    return found >= 0 && doc.at >= found ? this.#leave(found) : 'wait'
  }

  #nextOf(lf: number): number {
    let at = lf + 1
    while (isIndent(this.#scan.byte(at))) at++
    return at
  }

  /** What a line begins with, after a lost element; undefined if more bytes are needed. */
  #lineHead(line: number, bound: number): 'neighbour' | 'inside' | 'stranger' | undefined {
    const doc = this.#doc
    let at = line
    while (at < bound && at - line < doc.indent && isIndent(this.#scan.byte(at))) at++
    if (at - line >= doc.indent) return 'inside'
    if (at >= bound) return undefined
    const byte = this.#scan.byte(at)
    if (byte === CLOSE_BRACE || byte === COMMA || byte === LF || byte === CR) return 'inside'
    if (byte !== OPEN_BRACE) return 'stranger'
    at++
    if (this.#scan.byte(at) === CR) at++
    const first = at + 1
    if (first + doc.indent >= bound) return undefined
    if (this.#scan.byte(at) !== LF) return 'stranger'
    for (at = first; isIndent(this.#scan.byte(at)) && at - first <= doc.indent; at++);
    return at - first === doc.indent ? 'neighbour' : 'stranger'
  }

  /** Handles a `<`: undefined unless it may be a tag that ends the document. */
  #stopAtTag(): 'wait' | 'left' | undefined {
    const tag = this.#end.tagAt(this.#doc.at, this.#end.bound)
    if (tag === undefined) return 'wait'
    return tag ? this.#leaveAtTag(this.#doc.at) : undefined
  }

  #leaveAtTag(at: number): 'left' {
    this.#breakOff(at)
    return this.#leave(at)
  }

  /** The document broke off before its end: reports that, if it was a document. */
  #breakOff(to: number): void {
    const doc = this.#doc
    if (doc.stage === 'lost') return
    if (doc.stage === 'walk' && this.#element.breakOff(doc, to)) return
    if (!doc.isDoubtful()) this.#sink.documentCut(doc.levels.at(-1)?.path ?? '', doc.origin, to)
  }

  #leave(position: number): 'left' {
    this.#scan.leave(position)
    return 'left'
  }

  #found(): void {
    if (!this.#doc.found) this.#sink.found()
    this.#doc.found = true
  }

  /** The next byte that is neither blank nor in a comment; undefined if it has not arrived yet. */
  #nextByte(): number | undefined {
    const doc = this.#doc
    for (;;) {
      if (doc.comment && !this.#passComment()) return undefined
      const { view, base } = this.#tape
      const stop = this.#end.bound - base
      let i = doc.at - base
      while (i < stop && isBlank(view[i])) i++
      doc.at = i + base
      if (i >= stop) return undefined
      const byte = view[i] as number
      if (byte < 0x80 && byte !== SLASH && byte !== HASH) return byte
      // In prose, anything that is not JSON ends the document.
      if (doc.isDoubtful()) return byte
      const passed = this.#passOddBlank(byte)
      if (passed !== true) return passed === undefined ? undefined : byte
    }
  }

  /** Skips a blank that JSON does not know, or enters a comment; undefined if more bytes are needed. */
  #passOddBlank(byte: number): boolean | undefined {
    const doc = this.#doc
    const end = this.#end
    const { view, base } = this.#tape
    const i = doc.at - base
    const stop = end.bound - base
    if (byte >= 0x80) {
      const unit = this.#unitAt(doc.at)
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
  #passComment(): boolean {
    const doc = this.#doc
    const end = this.#end
    const { view, base } = this.#tape
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
  #unitAt(position: number): number | undefined {
    const end = this.#end
    const first = this.#scan.byte(position) as number
    const width = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    if (position + width > end.bound && !end.final) return undefined
    const i = position - this.#tape.base
    return this.#tape.view.toString('utf8', i, Math.min(i + width, end.bound - this.#tape.base)).charCodeAt(0)
  }

  /** Whether the document continues after its last bracket; undefined if more bytes are needed. */
  #continuesAfter(position: number): boolean | undefined {
    const end = this.#end
    const { view, base } = this.#tape
    const { levels, sure } = this.#doc
    if (position < end.bound && this.#scan.byte(position) === OPEN_BRACE && levels[0]?.array) return true
    const stop = Math.min(end.bound, position + LOOK_AFTER)
    const tag = end.firstTag(position, stop)
    const isAll = tag >= 0 || end.final || stop === position + LOOK_AFTER
    if (this.#followed !== position) this.#follows.begin(position, sure ? 'document' : 'prose')
    this.#followed = position
    const at = this.#follows.look(tag >= 0 ? tag : stop, isAll)
    if (at !== undefined && at < 0) return false
    return at === undefined || !isAll
      ? undefined
      : !this.#endsInBraces(view.toString('utf8', at - base, stop - base))
  }

  /** Whether nothing but braces too many is between the last bracket and the end of the block or input. */
  #endsInBraces(rest: string): boolean {
    const end = this.#end
    const closer = end.block ? rest.indexOf(end.closer.toString()) : -1
    if (!this.#doc.sure || (closer < 0 && !(end.final && rest.length < LOOK_AFTER))) return false
    return endsInBraces(closer < 0 ? rest : rest.slice(0, closer), 0)
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

  /** Where the string begins that the input left open; -1 for none. */
  get openString(): number {
    return this.#quoted && !this.#isLong() ? this.#from : -1
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
