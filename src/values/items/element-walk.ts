import { Bytes } from '../../base/platform.ts'
import type { Scan } from '../../frames/scan.ts'
import type { ChangeKind } from '../../repair/change.ts'
import { type ElementPlace, elementEnd, isElementOver } from '../../repair/element-end.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  CR,
  isBlank,
  isBracket,
  LESS,
  LF,
  OPEN_BRACE,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
} from '../../text/characters.ts'
import { characterStart } from '../../text/decode.ts'
import type { DocumentEnd, DocumentState } from './document.ts'
import type { Guess } from './guess.ts'
import { Walk, type Walked } from './walk.ts'

/** A piece of a document, in clean positions. */
export interface ElementPiece {
  readonly from: number
  readonly to: number
  /** Its place in the document, as a JSON pointer. */
  readonly path: string
  /** How the document itself needed repair. */
  readonly why: ChangeKind | undefined
}

/** Receives what a document emits. */
export interface ItemSink {
  /** Takes a guess: returns false, without any effect, unless the piece is JSON as it is. */
  guessed(piece: ElementPiece): boolean
  /** A complete element, valid or not. */
  item(piece: ElementPiece): void
  /** An element without a known end, as far as it was read. Its document emits nothing more. */
  itemLost(piece: ElementPiece): void
  /** An element inside which the document broke off. */
  itemCut(piece: ElementPiece): void
  /** The element at `from` grew past `maxFrame`. */
  itemTooLong(path: string, from: number): void
  /** A document from the original offset `from` broke off at `end`, between elements in `path`. */
  documentCut(path: string, from: number, end: number): void
  /** The place of the items was found, with or without items in it. */
  found(): void
}

export interface ElementOptions {
  readonly end: DocumentEnd
  readonly sink: ItemSink
  readonly guess: Guess
}

/**
 * Walks over an element whose end could not be guessed, and emits it if it is an item, which means a selected
 * element. Only an item is held, and only up to `maxFrame`; of anything else no more than the reader of the
 * ladder may need.
 *
 *     walk ──end──▶ over? ──▶ end            a strict element, and what follows it
 *       │             │
 *       ╰─────odd─────┴──▶ broken ──▶ end, tag or lost
 */
export class ElementWalk {
  readonly #scan: Scan
  readonly #walk: Walk
  readonly #options: ElementOptions
  #mode: 'walk' | 'after' | 'broken' = 'walk'
  /** Start of the element. */
  #from = 0
  #first: number | undefined = 0
  /** It is held, to be emitted. */
  #item = false
  #path = ''
  #inArray = false
  #outer: ElementPlace['outer'] = 'none'
  /** It was too long, and that was reported. */
  #reported = false
  /** How much of a broken element, and of what follows, is read next. */
  #size = 0
  #indent = -1
  /** How many bytes broken elements may read again beyond their own length, which is paid back. */
  #credit = MAX_CREDIT

  constructor(scan: Scan, options: ElementOptions) {
    this.#scan = scan
    this.#walk = new Walk(scan, options.end)
    this.#options = options
  }

  /** Begins with the current element of the document; `item` if it is to be emitted. */
  begin(doc: DocumentState, path: string, item: boolean): void {
    const outer = doc.levels.at(-2)
    this.#mode = 'walk'
    this.#from = doc.at
    this.#first = this.#scan.byte(doc.at)
    this.#item = item
    this.#reported = false
    this.#path = path
    this.#inArray = doc.levels.at(-1)?.array === true
    this.#outer = outer === undefined ? 'none' : outer.array ? 'array' : 'object'
    this.#walk.begin(doc.at)
  }

  /**
   * Reads the bytes that have arrived. An item that grew past `maxFrame` is dropped, and the walk continues.
   * `odd` is for a document that must be JSON to count as one; otherwise, an element whose end is unknown is
   * `lost`.
   */
  run(doc: DocumentState): Walked | 'too long' | 'lost' {
    const { end, sink } = this.#options
    if (this.#mode === 'walk') {
      const limit = this.#item ? this.#scan.limit(this.#from) : Number.POSITIVE_INFINITY
      const limited = end.bound >= limit
      const walked = this.#walk.run(limited ? limit : end.bound)
      if (walked === 'wait' && limited) {
        sink.itemTooLong(this.#path, this.#from)
        this.#item = false
        this.#reported = true
        return 'too long'
      }
      if (walked === 'wait' || walked === 'tag') return walked
      if (walked === 'odd') {
        if (doc.isDoubtful()) return 'odd'
        this.#break()
      } else if (this.#item && this.#walk.closed) this.#mode = 'after'
      else return this.#endAt(doc, this.#walk.to)
    }
    if (this.#mode === 'after') {
      const over = this.#isOver()
      if (over === undefined) return 'wait'
      if (over) return this.#endAt(doc, this.#walk.to)
      this.#break()
    }
    return this.#readBroken(doc)
  }

  /** The document ended inside the element: true if that was an item, which is then emitted up to there. */
  breakOff(doc: DocumentState, to: number): boolean {
    if (!this.#item) return false
    this.#options.sink.itemCut(this.#piece(doc, to))
    return true
  }

  /** The same for an item that is a complete string whose end was not certain: true if it was one. */
  takeString(doc: DocumentState): boolean {
    if (!this.#item || this.#mode !== 'walk' || !this.#walk.wholeString) return false
    this.#endAt(doc, this.#walk.to)
    return true
  }

  /** Start of the element. */
  get from(): number {
    return this.#from
  }

  /** Its first byte. */
  get first(): number | undefined {
    return this.#first
  }

  /** Indentation inside a lost item; -1 if unknown. */
  get indent(): number {
    return this.#indent
  }

  /** Current position; when the element has ended, where to continue. */
  get at(): number {
    return this.#walk.at
  }

  /** Start of the string whose end was not seen yet; -1 outside strings. */
  get openString(): number {
    return this.#mode === 'walk' ? this.#walk.openString : -1
  }

  /** The first position that is still needed. */
  get keep(): number {
    return this.#item || this.#isHeld() ? this.#from : this.#walk.lastToken
  }

  /** An element that is not an item is still held while the ladder may be asked where it ends. */
  #isHeld(): boolean {
    return this.#mode !== 'walk' || this.#walk.at - this.#from <= MAX_BROKEN
  }

  #break(): void {
    this.#mode = 'broken'
    this.#size = this.#walk.at - this.#from + FIRST_LOOK
  }

  //  {"a":1}  , {"a":2}       {"a":1}},{"a":2}
  //         ^^^^^ as expected    ^ a bracket too many
  /** Whether what follows can follow a whole value; undefined if more bytes are needed. */
  #isOver(): boolean | undefined {
    const { end } = this.#options
    const { view, base } = this.#scan.tape
    const from = this.#walk.to - base
    const full = end.bound - base - from >= LOOK_AFTER
    const stop = full ? from + LOOK_AFTER : end.bound - base
    let i = from
    while (i < stop && isBlank(view[i])) i++
    if (this.#inArray && view[i] === COMMA && i < stop) {
      do i++
      while (i < stop && isBlank(view[i]))
      if (i < stop && isBracket(view[i])) return true
    }
    if (i < stop && view[i] === LESS) {
      const tag = end.tagAt(i + base, end.bound)
      if (tag !== false) return tag
    }
    const final = end.final && !full
    // Half a character decides nothing: the other half may still arrive.
    const text = view.toString('utf8', from, final ? stop : Math.max(from, characterStart(view, stop)))
    const over = isElementOver(text, this.#place(final), final || full)
    // After that many blanks, the element counts as complete.
    return over === undefined && full ? i >= stop || view[i] !== SLASH : over
  }

  /** Asks the reader of the ladder where the element ends, giving it more and more of what follows. */
  #readBroken(doc: DocumentState): Walked | 'lost' {
    const { end } = this.#options
    const { view, base } = this.#scan.tape
    const from = this.#from - base
    while (from >= 0 && this.#size <= MAX_BROKEN && this.#credit > 0) {
      let stop = from + this.#size
      // A tag may begin before the stop and end after it.
      const seen = stop + end.closer.length
      const known = end.bound - base
      if (known < seen && !end.final) return 'wait'
      const tag = end.firstTag(this.#walk.lastToken, Math.min(seen, known) + base) - base
      const final = known <= stop || (tag >= 0 && tag < stop)
      if (final) stop = tag >= 0 ? tag : known
      while (!final && isContinuation(view[stop])) stop--
      const text = view.toString('utf8', from, stop)
      // Invalid UTF-8 would shift the positions in the text.
      if (Bytes.byteLength(text) !== stop - from) break
      this.#credit -= text.length
      const ending = elementEnd(text, this.#place(final))
      if (typeof ending === 'number') {
        // Anything indented less than the inside of the element is its neighbour.
        if (holdsNeighbour(text.slice(0, ending), this.#innerIndent())) break
        return this.#endAt(doc, this.#from + Bytes.byteLength(text.slice(0, ending)))
      }
      if (ending === 'cut' || (ending === 'more' && final)) {
        this.#walk.at = stop + base
        return tag >= 0 ? 'tag' : 'wait'
      }
      if (ending === 'unknown') break
      this.#size *= 4
    }
    return this.#lose(doc)
  }

  #lose(doc: DocumentState): 'lost' {
    const { sink } = this.#options
    this.#indent = this.#item && this.#inArray && !this.#isNextBroken() ? this.#innerIndent() : -1
    const to = this.#lostTo()
    if (this.#item && this.#walk.at > this.#scan.limit(this.#from)) sink.itemTooLong(this.#path, this.#from)
    else if (!this.#reported) sink.itemLost(this.#piece(doc, to))
    this.#item = false
    return 'lost'
  }

  //  {"a":1},"b":2},{"a":3}
  //         ^ one too many, or the next element has one too few
  #isNextBroken(): boolean {
    if (!this.#walk.closed) return false
    const { view, base } = this.#scan.tape
    let i = this.#walk.to - base
    while (isBlank(view[i])) i++
    return view[i] !== CLOSE_BRACE && view[i] !== CLOSE_BRACKET
  }

  //  {
  //    "a": 1
  //  ^^ this many blanks
  #innerIndent(): number {
    const { view, base } = this.#scan.tape
    let i = this.#from - base
    if (i < 0 || view[i] !== OPEN_BRACE) return -1
    if (view[++i] === CR) i++
    if (view[i] !== LF) return -1
    const line = ++i
    while (view[i] === SPACE || view[i] === TAB) i++
    return view[i] === QUOTE && i > line ? i - line : -1
  }

  /** Where the frame of a lost element ends: before its possible neighbour. */
  #lostTo(): number {
    const { view, base } = this.#scan.tape
    const stop = this.#walk.at - base
    const from = this.#from - base
    if (from < 0) return this.#walk.at
    for (let lf = view.indexOf(LF, from); lf >= 0 && lf < stop; lf = view.indexOf(LF, lf + 1)) {
      let i = lf + 1
      while (view[i] === SPACE || view[i] === TAB) i++
      if (i - lf - 1 < this.#indent) return lf + base
    }
    return this.#walk.at
  }

  #endAt(doc: DocumentState, to: number): 'end' {
    const { sink, guess } = this.#options
    const broken = this.#mode === 'broken'
    if (broken) this.#walk.at = to
    if (this.#item) {
      guess.read(this.#from, to)
      if (to > this.#scan.limit(this.#from)) sink.itemTooLong(this.#path, this.#from)
      else sink.item(this.#piece(doc, to))
      doc.odd = false
    } else if (broken) doc.odd = true
    this.#credit = Math.min(MAX_CREDIT, this.#credit + (to - this.#from) * PAID_BACK)
    return 'end'
  }

  #piece(doc: DocumentState, to: number): ElementPiece {
    return { from: this.#from, to, path: this.#path, why: doc.whyNow() }
  }

  #place(final: boolean): ElementPlace {
    return { inArray: this.#inArray, outer: this.#outer, final }
  }
}

/** Maximum to read of a broken element. The ladder does not repair more, either. */
const MAX_BROKEN = 1 << 16
/** How much to read at first after the place that is not JSON. */
const FIRST_LOOK = 1024
const LOOK_AFTER = 512
const MAX_CREDIT = 1 << 22
const PAID_BACK = 256

/** Whether a byte of UTF-8 continues a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

//  {
//    "a": 1 /*
//  },
//  {            of the same layout, but indented less than the inside
//    "a": */ 2
/** Whether a text holds a neighbour of the object that it begins with, judging by the layout. */
function holdsNeighbour(text: string, indent: number): boolean {
  if (indent < 0) return false
  const inner = text.slice(1, text.indexOf('\n') + 1 + indent)
  for (let at = text.indexOf(`{${inner}`, 1); at >= 0; at = text.indexOf(`{${inner}`, at + 1)) {
    const line = text.lastIndexOf('\n', at) + 1
    if (at - line < indent && text.slice(line, at).trim() === '' && text[at + 1 + inner.length] === '"')
      return true
  }
  return false
}
