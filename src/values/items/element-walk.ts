import type { Scan } from '../../frames/scan.ts'
import { LF } from '../../json/characters.ts'
import type { ChangeKind } from '../ladder/change.ts'
import type { DocumentEnd, DocumentState } from './document.ts'
import { type Guess, headAt } from './guess.ts'
import type { Level } from './item-paths.ts'
import { Walk, type Walked } from './walk.ts'

/** A piece of a document, in clean positions. */
export interface Piece {
  readonly from: number
  readonly to: number
  /** Where in the document, as a JSON pointer. */
  readonly path: string
  /** How the document itself needed help. */
  readonly why: ChangeKind | undefined
  /** A bracket in it is missing or one too many, so where it ends is a guess, and its value would be one, too. */
  readonly unbalanced: boolean
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
  readonly end: DocumentEnd
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
    this.#walk = new Walk(scan, options.end)
    this.#options = options
  }

  /** Begins with the element at which the document is; `path` is undefined if it is no item. */
  begin(doc: DocumentState, path: string | undefined): void {
    const item = path !== undefined
    const outer = doc.levels.at(-2)
    this.#from = item ? doc.at : -1
    this.#path = path ?? ''
    this.#walk.begin(doc.at, {
      strict: doc.isDoubtful(),
      inArray: doc.levels.at(-1)?.array === true,
      outer: outer === undefined ? 'none' : outer.array ? 'array' : 'object',
      item,
    })
  }

  /** Goes on as far as there are bytes. An item that outgrew `maxFrame` is let go, and the walk is not over then. */
  run(doc: DocumentState): Walked | 'too long' {
    const { end, sink } = this.#options
    const limit = this.#from >= 0 ? this.#scan.limit(this.#from) : Number.POSITIVE_INFINITY
    const limited = end.bound >= limit
    const walked = this.#walk.run(limited ? limit : end.bound, limited)
    if (walked === 'wait' && limited && !this.#walk.closed) {
      sink.itemTooLong(this.#path, this.#from)
      this.#walk.letGo()
      this.#from = -1
      return 'too long'
    }
    if (walked === 'end') {
      if (this.#from >= 0) {
        this.#compare(doc.levels.at(-1) as Level, doc)
        this.#take(doc, this.#walk.to, false)
      } else if (this.#walk.odd) doc.odd = true
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

  /** The comma after the element has been passed, too. */
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

  /** Learns from a whole element what its neighbours begin with, or makes sure that they are asked for it. */
  #compare(level: Level, doc: DocumentState): void {
    const { ending, to } = this.#walk
    const { view, base } = this.#scan.tape
    const inside = view.subarray(this.#from + 1 - base, to - base)
    // With line breaks and indentation in it, what neighbours begin with is nowhere inside one of them.
    if (level.head?.includes(LF) && inside.includes(level.head)) this.#walk.unbalanced = true
    if (!this.#walk.unbalanced) {
      if (level.array) learnHead(level, this.#scan, this.#from, to)
      return
    }
    doc.lost = level
    if (ending === 'known') return
    const head = level.head ?? headAt(view, this.#from - base)
    const nested = head && inside.includes(head)
    doc.neighbour = !head || nested || level.nested || ending === 'unknown' ? 'unknown' : head
  }

  #take(doc: DocumentState, to: number, cut: boolean): void {
    const { sink, guess } = this.#options
    guess.read(this.#from, to)
    const { unbalanced } = this.#walk
    const piece = { from: this.#from, to, path: this.#path, why: doc.whyNow(), unbalanced }
    if (cut) sink.itemCut(piece)
    else sink.item(piece)
    doc.odd = false
    this.#from = -1
  }
}

/** Remembers what the first element that is an object begins with, and whether objects inside it begin alike. */
export function learnHead(level: Level, scan: Scan, from: number, to: number): void {
  if (level.head) return
  const { view, base } = scan.tape
  level.head = headAt(view, from - base)
  level.nested = level.head !== undefined && view.subarray(from + 1 - base, to - base).includes(level.head)
}
