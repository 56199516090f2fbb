import { Fifo } from './fifo.ts'
import type { Position } from './position.ts'

/**
 * Number of anchors that may still prove wrong. The next record that both channels have shows whether one is.
 */
const MAX_ANCHORS = 1024

/** A record that stdout and the PTY both have: its position on the PTY, and its index on stdout. */
interface Anchor {
  readonly id: number
  readonly twin: number
  /** Key shared by all records that are equal. */
  readonly key: string
  /** This anchor was wrong: use that one instead. */
  instead: Anchor | undefined
}

/** A position on the PTY: after the last anchor before it, which may become known, or change, later. */
export class PtyPosition implements Position {
  readonly channel = 'pty'
  behind: number
  anchor: Anchor

  constructor(following: number, anchor: Anchor) {
    this.behind = following
    this.anchor = anchor
  }

  get after(): number {
    let last = this.anchor
    while (last.instead) last = last.instead
    // Path compression: follow the chain once.
    for (let at = this.anchor; at.instead; ) {
      const next: Anchor = at.instead
      if (next !== last) at.instead = last
      at = next
    }
    this.anchor = last
    return last.twin
  }

  /** It is this record of stdout. */
  become(twin: number): void {
    this.anchor = { id: -1, twin, key: '', instead: undefined }
    this.behind = -1
  }
}

/**
 * Puts the records of the PTY in the order of stdout. Equal records pair in the order they arrive, so if
 * stdout lost one, the PTY's first is paired with stdout's second. Such a pair crosses others. Of two that
 * cross, the one that is earlier on the PTY and later on stdout is wrong: it is dropped, and the next equal
 * record of the PTY replaces it.
 */
export class Anchors {
  readonly #window: number
  /** In order on both channels. */
  readonly #anchors: Anchor[] = []
  /** The position before all of them. */
  #start: Anchor = { id: -1, twin: -1, key: '', instead: undefined }
  /** Positions after which a record may still turn out to be an anchor, in order, at most `window`. */
  readonly #unplaced = new Fifo<PtyPosition>()
  /** Records of stdout whose PTY record has not arrived, by key: their first pair was wrong. */
  readonly #free = new Map<string, Fifo<number>>()

  constructor(window: number) {
    this.#window = window
  }

  /** The last record of stdout that the PTY has shown. */
  get shown(): number {
    return this.#last().twin
  }

  position(id: number, final: boolean): PtyPosition {
    const position = new PtyPosition(id, this.#last())
    if (final) return position
    this.#unplaced.push(position)
    if (this.#unplaced.length > this.#window) this.#unplaced.shift()
    return position
  }

  /** The PTY has a record at `id`. It may belong to a record of stdout whose earlier pair was wrong. */
  claim(id: number, key: string): void {
    const twin = this.#take(key)
    if (twin !== undefined) this.#add({ id, twin, key, instead: undefined })
  }

  /** The record of the PTY at `id`, its newest, pairs with the record `twin` of stdout. */
  show(id: number, twin: number, key: string): void {
    if (twin < 0) return
    if (this.#free.has(key)) this.#leave(key, twin)
    this.#add({ id, twin: this.#take(key) ?? twin, key, instead: undefined })
  }

  /**
   * The record `twin` of stdout, its newest, pairs with the one of the PTY at `id`; `next` is the next equal
   * one there, if it has arrived.
   */
  write(id: number, twin: number, key: string, next: number | undefined): void {
    const last = this.#last().id
    const place = id > last ? id : next !== undefined && next > last ? next : undefined
    if (place === undefined) this.#leave(key, twin)
    else this.#add({ id: place, twin, key, instead: undefined })
  }

  /** End of the PTY. */
  end(): void {
    this.#place(Number.POSITIVE_INFINITY)
  }

  #last(): Anchor {
    return this.#anchors.at(-1) ?? this.#start
  }

  #add(anchor: Anchor): void {
    while (this.#last().twin > anchor.twin && this.#anchors.length > 0) {
      const wrong = this.#anchors.pop()!
      wrong.instead = this.#last()
      this.#leave(wrong.key, wrong.twin)
    }
    this.#place(anchor.id)
    this.#anchors.push(anchor)
    if (this.#anchors.length < 2 * MAX_ANCHORS) return
    this.#start = this.#anchors[MAX_ANCHORS - 1]!
    this.#anchors.splice(0, MAX_ANCHORS)
  }

  #leave(key: string, twin: number): void {
    const known = this.#free.get(key)
    if (!known && this.#free.size >= MAX_ANCHORS) return
    const twins = known ?? new Fifo<number>()
    if (twins.length < MAX_ANCHORS) twins.push(twin)
    this.#free.set(key, twins)
  }

  #take(key: string): number | undefined {
    const twins = this.#free.get(key)
    const twin = twins?.shift()
    if (twins?.length === 0) this.#free.delete(key)
    return twin
  }

  #place(id: number): void {
    const anchor = this.#last()
    for (let first = this.#unplaced.first(); first && first.behind <= id; first = this.#unplaced.first()) {
      if (first.behind >= 0) first.anchor = anchor
      this.#unplaced.shift()
    }
  }
}
