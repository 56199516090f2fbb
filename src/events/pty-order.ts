import type { Position } from './position.ts'
import { Fifo } from './same-record.ts'

/** Number of shared records that may still prove wrong; the next one shows whether one is. */
const MAX_SHARED = 1024

/** A record that stdout and the PTY both have: its position on the PTY, and its index on stdout. */
interface SharedRecord {
  readonly id: number
  readonly twin: number
  /** Key shared by all records that are equal. */
  readonly key: string
  /** It was wrong: use that one instead. */
  instead: SharedRecord | undefined
}

/** A position on the PTY: after the last shared record before it, which may become known or change later. */
export class PtyPosition implements Position {
  readonly channel = 'pty'
  behind: number
  last: SharedRecord

  constructor(following: number, last: SharedRecord) {
    this.behind = following
    this.last = last
  }

  get after(): number {
    let last = this.last
    while (last.instead) last = last.instead
    // Path compression: follow the chain once.
    for (let at = this.last; at.instead; ) {
      const next: SharedRecord = at.instead
      if (next !== last) at.instead = last
      at = next
    }
    this.last = last
    return last.twin
  }

  /** It is this record of stdout. */
  become(twin: number): void {
    this.last = { id: -1, twin, key: '', instead: undefined }
    this.behind = -1
  }
}

/**
 * Puts the records of the PTY in the order of stdout. Equal records pair in the order they arrive, so if
 * stdout lost one, the PTY's first is paired with stdout's second. Such a pair crosses others. Of two that
 * cross, the one that is earlier on the PTY and later on stdout is wrong: it is dropped, and the next equal
 * record of the PTY replaces it.
 */
export class PtyOrder {
  readonly #window: number
  /** The first record of the PTY with this key after this id that stdout does not have yet. */
  readonly #nextEqual: (key: string, id: number) => number | undefined
  /** In order on both channels. */
  readonly #shared: SharedRecord[] = []
  /** The position before all of them. */
  #start: SharedRecord = { id: -1, twin: -1, key: '', instead: undefined }
  /** Positions after which a record may still turn out to be shared, in order, at most `window`. */
  readonly #unplaced = new Fifo<PtyPosition>()
  /** Records of stdout whose PTY record has not arrived, by key, in order: their first pair was wrong. */
  readonly #free = new Map<string, number[]>()

  constructor(window: number, nextEqual: (key: string, id: number) => number | undefined) {
    this.#window = window
    this.#nextEqual = nextEqual
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
    if (this.#free.size > 0 && this.#free.has(key)) this.#leave(key, twin)
    this.#add({ id, twin: this.#take(key) ?? twin, key, instead: undefined })
  }

  /** The record `twin` of stdout, its newest, pairs with the one of the PTY at `id`, or with a later one. */
  write(id: number, twin: number, key: string): void {
    const last = this.#last().id
    const place = id > last ? id : this.#nextEqual(key, last)
    if (place === undefined) this.#leave(key, twin)
    else this.#add({ id: place, twin, key, instead: undefined })
  }

  /** End of the PTY. */
  end(): void {
    this.#place(Number.POSITIVE_INFINITY)
  }

  #last(): SharedRecord {
    return this.#shared.at(-1) ?? this.#start
  }

  #add(record: SharedRecord): void {
    while (this.#last().twin > record.twin && this.#shared.length > 0) {
      const wrong = this.#shared.pop()!
      wrong.instead = this.#last()
      this.#leave(wrong.key, wrong.twin)
    }
    this.#place(record.id)
    this.#shared.push(record)
    if (this.#shared.length < 2 * MAX_SHARED) return
    this.#start = this.#shared[MAX_SHARED - 1]!
    this.#shared.splice(0, MAX_SHARED)
  }

  #leave(key: string, twin: number): void {
    const known = this.#free.get(key)
    if (!known && this.#free.size >= MAX_SHARED) return
    const twins = known ?? []
    if (twins.length < MAX_SHARED) twins.splice(twins.findLastIndex((earlier) => earlier < twin) + 1, 0, twin)
    this.#free.set(key, twins)
  }

  #take(key: string): number | undefined {
    if (this.#free.size === 0) return undefined
    const twins = this.#free.get(key)
    const twin = twins?.shift()
    if (twins?.length === 0) this.#free.delete(key)
    return twin
  }

  #place(id: number): void {
    const last = this.#last()
    for (let first = this.#unplaced.first(); first && first.behind <= id; first = this.#unplaced.first()) {
      if (first.behind >= 0) first.last = last
      this.#unplaced.shift()
    }
  }
}
