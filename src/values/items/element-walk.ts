import type { Scan } from '../../frames/scan.ts'
import type { DocumentState } from './document-state.ts'
import { type Guess, headAt } from './guess.ts'
import type { ItemSink } from './item-sink.ts'
import type { Level } from './level.ts'
import { Walk } from './walk.ts'
import type { Walked, WalkRules } from './walk-state.ts'

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
