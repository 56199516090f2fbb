import fs from 'node:fs'
import type { Fault } from '../base/fault.ts'
import { damagedJournal, journalLine, NO_EVENT, outOfOrder, type Place } from '../disk/journal-line.ts'
import { openPlain } from '../disk/plain-file.ts'
import { Mark } from '../disk/rewrite-mark.ts'
import type { Event } from '../events/event.ts'
import { sseRecord } from '../streams/sse.ts'

/** A part of the journal as it is sent to a client: whole lines, formatted as SSE. */
export interface Block {
  readonly bytes: Buffer
  /** Position of the next one. */
  readonly next: number
  /** The last event in it; undefined if everything before `next` was left out. */
  readonly last: Place | undefined
  /** The journal is damaged here: nothing after it is sent. */
  readonly fault?: Fault
}

/** Whole lines of the journal; empty where a line is skipped. */
interface Stretch {
  readonly lines: Buffer
  /** Position of the next one. */
  readonly next: number
  /** It does not end at the end of the file, so it will not grow. */
  readonly full: boolean
}

const LF = 10
const NOTHING = Buffer.alloc(0)
const BLOCK = 64 * 1024
/** A single event larger than this is left out; the journal has it. */
const MAX_LINE = 64 << 20
/** Such a line is skipped in steps of this many bytes, so that other clients get a turn. */
const STEP = 4 << 20
/** Maximum bytes of cached blocks: readers at the same position need the same block. */
const MAX_CACHED = 4 << 20
/** Cost of a block in addition to its bytes; some have none. */
const BLOCK_COST = 256
const POLL_MS = 250
/** How often to check whether the file is still the same: five hundred readers wake at once. */
const CHECK_MS = 5
/**
 * Bytes before the furthest position to compare then: several events, because events can have the same
 * ending.
 */
const MARK_SIZE = 4096

/**
 * The journal of one run, for any number of readers. Each has its own position in the file, so the file is
 * the queue: a slow reader costs only the block it is being sent. Readers at the same position, as all live
 * ones are, share the block, which is read and formatted once.
 */
export class Feed {
  readonly #path: string
  readonly #within: string | undefined
  readonly #shown: ((event: Event) => Event) | undefined
  #fd: number | undefined
  readonly #blocks = new Map<number, Block>()
  #cached = 0
  #checked = Number.NEGATIVE_INFINITY
  /** The first event of each full block, so that a position is found without reading everything. */
  #marks: { attempt: number; seq: number; at: number }[] = []
  #marked = 0
  /** Positions inside lines that are too long. */
  readonly #inside = new Set<number>()
  /** The furthest position that was read. */
  readonly #mark = new Mark(MARK_SIZE)
  /** A line that is not an event, and up to where none was found after it: so far it is a torn tail. */
  #torn: { readonly at: number; searched: number } | undefined
  /** Counts how often the file was truncated or replaced. */
  generation = 0
  readonly #waiting = new Set<() => void>()
  #watcher: fs.FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined

  /**
   * `within` is the real path of the directory that must contain the journal, `shown` turns an event into
   * what is sent.
   */
  constructor(path: string, within?: string, shown?: (event: Event) => Event) {
    this.#path = path
    this.#within = within
    this.#shown = shown
  }

  /**
   * The block that begins at this position, right after the event `last` if that is known, or undefined if
   * there is no whole line there yet. A block ends before a line that cannot follow; the block that begins
   * there carries the fault.
   */
  read(at: number, last?: Place): Block | undefined {
    this.#check()
    if (this.#fd === undefined) return undefined
    const cached = this.#blocks.get(at)
    if (cached) return cached
    const stretch = this.#stretch(at)
    if (!stretch) return undefined
    const block = this.#spell(at, last, stretch)
    if (!block) return undefined
    this.#blocks.set(at, block)
    this.#cached += block.bytes.length + BLOCK_COST
    for (const [place, old] of this.#blocks) {
      if (this.#cached <= MAX_CACHED) break
      this.#blocks.delete(place)
      this.#cached -= old.bytes.length + BLOCK_COST
    }
    return block
  }

  /** The id of the run in the journal, if there are events. */
  get run_id(): string | undefined {
    this.#check()
    for (const { event } of this.#events(0)) return event.run_id
    return undefined
  }

  /** The position right after an event, or undefined if it is not there. */
  after(attempt: number, seq: number): number | undefined {
    this.#check()
    this.#index()
    const mark = this.#marks.findLast((mark) => order(mark.attempt, mark.seq, attempt, seq) <= 0)
    for (const { event, next } of this.#events(mark?.at ?? 0)) {
      const place = order(event.attempt_number, event.seq, attempt, seq)
      if (place === 0) return next
      if (place > 0) return undefined
    }
    return undefined
  }

  /** Waits until something may have changed. */
  async more(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    this.#watch()
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done)
    })
    if (this.#waiting.size === 0) this.#unwatch()
  }

  close(): void {
    for (const wake of this.#waiting) wake()
    this.#unwatch()
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
    this.#blocks.clear()
  }

  /** Detects a journal that appeared, shrank or was replaced. */
  #check(): void {
    if (performance.now() - this.#checked < CHECK_MS) return
    this.#checked = performance.now()
    if (this.#fd !== undefined) {
      const same = fs.lstatSync(this.#path, { throwIfNoEntry: false })?.ino === fs.fstatSync(this.#fd).ino
      if (same && this.#mark.holds(this.#fd)) return
      fs.closeSync(this.#fd)
      this.#fd = undefined
      this.generation++
      this.#blocks.clear()
      this.#cached = 0
      this.#marks = []
      this.#marked = 0
      this.#inside.clear()
      this.#torn = undefined
      this.#mark.reset()
    }
    try {
      this.#fd = openPlain(this.#path, fs.constants.O_RDONLY, undefined, this.#within)
    } catch {
      // It does not exist, or is not a regular file.
    }
  }

  /** The events from this position on, each with the position right after it. */
  *#events(at: number) {
    if (this.#fd === undefined) return
    for (let stretch = this.#stretch(at); stretch; stretch = this.#stretch(at)) {
      const { lines, next } = stretch
      for (let from = 0; from < lines.length; ) {
        const to = lines.indexOf(LF, from) + 1
        const event = eventOf(lines.subarray(from, to))
        if (event) yield { event, next: at + to }
        from = to
      }
      at = next
    }
  }

  #spell(at: number, last: Place | undefined, { lines, next }: Stretch): Block | undefined {
    let text = ''
    let before = last
    for (let from = 0; from < lines.length; ) {
      const to = lines.indexOf(LF, from) + 1
      const event = eventOf(lines.subarray(from, to), this.#shown)
      const why = event ? before && outOfOrder(before, event) : NO_EVENT
      if (event && why === undefined) {
        text += event.spelled
        before = event
        from = to
        continue
      }
      if (from > 0) return { bytes: Buffer.from(text), next: at + from, last: before }
      if (!event && this.#isTorn(at, to)) return undefined
      return {
        bytes: NOTHING,
        next: at,
        last: before,
        fault: damagedJournal(this.#path, at, why ?? NO_EVENT),
      }
    }
    return { bytes: Buffer.from(text), next, last: lines.length > 0 ? before : undefined }
  }

  /** Whether no event follows this line, so that it is what a crash left, which the next writer cuts off. */
  #isTorn(at: number, length: number): boolean {
    if (this.#torn?.at !== at) this.#torn = { at, searched: at + length }
    const torn = this.#torn
    for (let next = this.#stretch(torn.searched); next; next = this.#stretch(torn.searched)) {
      for (let from = 0; from < next.lines.length; from = next.lines.indexOf(LF, from) + 1)
        if (eventOf(next.lines.subarray(from))) return false
      torn.searched = next.next
    }
    return true
  }

  /** Whole lines from this position on: about 64 KiB of them, or one that is longer. */
  #stretch(at: number): Stretch | undefined {
    if (this.#inside.has(at)) return this.#skipLongLine(at)
    for (let size = BLOCK; ; size *= 4) {
      const bytes = Buffer.allocUnsafe(size)
      const length = fs.readSync(this.#fd!, bytes, 0, size, at)
      const end = length > 0 ? bytes.lastIndexOf(LF, length - 1) + 1 : 0
      if (end > 0) return this.#read(at, bytes.subarray(0, end), length === size)
      if (length < size) return undefined
      if (size >= MAX_LINE) return this.#goInside(at, bytes)
    }
  }

  #read(at: number, lines: Buffer, full: boolean): Stretch {
    const next = at + lines.length
    // Between two checks it may have been rewritten: then the mark stays, so that the next check detects it.
    if (next > this.#mark.at && this.#mark.holds(this.#fd!)) this.#mark.reach(at, lines)
    return { lines, next, full }
  }

  //  {"seq":1,…}\n{"seq":2, … 64 MiB … , …}\n{"seq":3,…}\n
  //               ^ at              ^ inside  ^ out again
  #skipLongLine(at: number): Stretch | undefined {
    const bytes = Buffer.allocUnsafe(STEP)
    const length = fs.readSync(this.#fd!, bytes, 0, STEP, at)
    const end = bytes.subarray(0, length).indexOf(LF) + 1
    if (end > 0) return { ...this.#read(at, bytes.subarray(0, end), true), lines: NOTHING }
    return length < STEP ? undefined : this.#goInside(at, bytes)
  }

  #goInside(at: number, bytes: Buffer): Stretch {
    const stretch = this.#read(at, bytes, true)
    this.#inside.add(stretch.next)
    return { ...stretch, lines: NOTHING }
  }

  #index(): void {
    if (this.#fd === undefined) return
    for (;;) {
      const stretch = this.#stretch(this.#marked)
      // The last block still grows, and is marked when it is large; one before a long line stays short.
      if (!stretch || (!stretch.full && stretch.lines.length < BLOCK / 2)) return
      const first = eventOf(stretch.lines)
      if (first) this.#marks.push({ attempt: first.attempt_number, seq: first.seq, at: this.#marked })
      this.#marked = stretch.next
    }
  }

  #watch(): void {
    const wake = () => {
      for (const waiting of [...this.#waiting]) waiting()
    }
    this.#timer ??= setInterval(wake, POLL_MS)
    if (this.#watcher) return
    try {
      this.#watcher = fs.watch(this.#path, { persistent: false }, wake)
      this.#watcher.on('error', () => this.#unwatch())
    } catch {
      // The file does not exist yet, or there are no watchers left: the timer is enough.
    }
  }

  #unwatch(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watcher?.close()
    this.#watcher = undefined
  }
}

function order(attempt: number, seq: number, otherAttempt: number, otherSeq: number): number {
  return attempt - otherAttempt || seq - otherSeq
}

/**
 * The first line as an event, formatted as SSE; undefined if it is not an event. One whose id could forge a
 * message is refused: other programs can write the journal.
 */
function eventOf(
  lines: Buffer,
  shown: (event: Event) => Event = (event) => event,
): (Place & { spelled: string }) | undefined {
  const end = lines.indexOf(LF)
  if (end < 0) return undefined
  try {
    const event: unknown = JSON.parse(lines.toString('utf8', 0, end))
    const place = journalLine(event)
    // Cast: the fields that every event has were checked; the rest is sent unchanged.
    return place && { ...place, spelled: sseRecord(shown(event as Event)) }
  } catch {
    return undefined
  }
}
