import fs from 'node:fs'
import { Fault } from '../base/fault.ts'
import { openPlain } from '../disk/plain-file.ts'
import {
  comparePlaces,
  type EventPlace,
  type JournalLine,
  JournalReader,
  LINES_BLOCK,
  linesFrom,
  readLine,
} from '../disk/read-journal.ts'
import { Waker } from '../disk/wake.ts'
import type { AgentEvent } from '../events/event.ts'
import { sseId, sseMessage, sseRecord } from '../streams/sse.ts'
import { CR } from '../text/characters.ts'

/** A part of the journal as it is sent to a client: whole lines, formatted as SSE. */
export interface Block {
  readonly bytes: Buffer
  /** Position of the next one. */
  readonly next: number
  /** The last event in it; undefined if everything before `next` was left out. */
  readonly last: EventPlace | undefined
  /** The journal is damaged here: nothing after it is sent. */
  readonly fault?: Fault
}

const DATA = 'data: '

/** The events of a block: each is on one line of data. */
export function* eventsIn({ bytes }: Block): Generator<AgentEvent, void> {
  // Cast: the feed has checked that it is an event.
  for (const line of bytes.toString().split('\n'))
    if (line.startsWith(DATA)) yield JSON.parse(line.slice(DATA.length)) as AgentEvent
}

/** Maximum bytes of cached blocks: readers at the same position need the same block. */
const MAX_CACHED = 4 << 20
/** Cost of a block in addition to its bytes; some have none. */
const BLOCK_COST = 256
const POLL_MS = 250
/** How often to check whether the file is still the same: five hundred readers wake at once. */
const CHECK_MS = 5

/**
 * The journal of one run, for any number of readers. Each has its own position in the file, so the file is
 * the queue: a slow reader costs only the block it is being sent. Readers at the same position, as all live
 * ones are, share the block, which is read and formatted once. A single event of more than 64 MiB is left
 * out; the journal has it.
 */
export class Feed {
  readonly #path: string
  readonly #within: string | undefined
  readonly #shown: ((event: AgentEvent) => AgentEvent) | undefined
  #journal: JournalReader | undefined
  readonly #blocks = new Map<number, Block>()
  #cached = 0
  #checked = Number.NEGATIVE_INFINITY
  /** Counts how often the file was truncated or replaced. */
  generation = 0
  readonly #waker = new Waker(POLL_MS)
  #watched = false

  /** `within` is the real path that must contain the journal, `shown` makes of an event what is sent. */
  constructor(path: string, within?: string, shown?: (event: AgentEvent) => AgentEvent) {
    this.#path = path
    this.#within = within
    this.#shown = shown
  }

  /**
   * The block that begins at this position, right after the event `last` if that is known, or undefined if
   * there is no whole line there yet. A block ends before a line that cannot follow; the block that begins
   * there carries the fault.
   */
  read(at: number, last?: EventPlace): Block | undefined {
    const journal = this.#check()
    if (!journal) return undefined
    const cached = this.#blocks.get(at)
    if (cached) return cached
    const lines = journal.lines(at)
    const block = lines && this.#spell(journal, lines, last)
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
    for (const { place } of this.#check()?.entries(0) ?? []) if (place) return place.run_id
    return undefined
  }

  /** The position right after an event, or undefined if it is not there. */
  after(attempt_number: number, seq: number): number | undefined {
    const journal = this.#check()
    if (!journal) return undefined
    const wanted = { attempt_number, seq }
    for (const { place, next } of journal.entries(startNear(journal.fd, wanted))) {
      const order = place ? comparePlaces(place, wanted) : -1
      if (order >= 0) return order === 0 ? next : undefined
    }
    return undefined
  }

  /** Waits until something may have changed. */
  async more(signal: AbortSignal): Promise<void> {
    // Again if it did not exist before.
    this.#watched ||= this.#waker.watch(this.#path)
    await this.#waker.sleep(signal)
  }

  close(): void {
    this.#waker.close()
    this.#forget()
  }

  /** Detects a journal that appeared, shrank or was replaced. */
  #check(): JournalReader | undefined {
    if (performance.now() - this.#checked < CHECK_MS) return this.#journal
    this.#checked = performance.now()
    if (this.#journal) {
      const there = fs.lstatSync(this.#path, { throwIfNoEntry: false })
      if (there?.ino === fs.fstatSync(this.#journal.fd).ino && this.#journal.isSame()) return this.#journal
      this.#forget()
      this.generation++
    }
    try {
      const fd = openPlain(this.#path, fs.constants.O_RDONLY, undefined, this.#within)
      this.#journal = new JournalReader(fd, this.#path)
    } catch {
      // It does not exist, or is not a regular file.
    }
    return this.#journal
  }

  #forget(): void {
    this.#journal?.close()
    this.#journal = undefined
    this.#blocks.clear()
    this.#cached = 0
    this.#waker.unwatch()
    this.#watched = false
  }

  #spell(journal: JournalReader, lines: JournalLine, last: EventPlace | undefined): Block | undefined {
    if (lines.bytes.length === 0) return { bytes: lines.bytes, next: lines.next, last: undefined }
    const parts: Buffer[] = []
    let head = ''
    let { at } = lines
    let before = last
    // An event whose id could forge a message is refused: other programs can write the journal.
    const accept = (event: AgentEvent) => {
      head = sseMessage({ id: sseId(event), event: event.type, data: '' })
    }
    try {
      for (const { bytes, event, place, next } of journal.events(lines, last ?? 'unknown', accept)) {
        // The line is sent as it is; a CR between two tokens would end it.
        if (this.#shown || bytes.includes(CR))
          parts.push(Buffer.from(sseRecord(this.#shown?.(event) ?? event)))
        else parts.push(Buffer.from(head.slice(0, -2)), bytes, END)
        before = place
        at = next
      }
    } catch (fault) {
      if (!Fault.is(fault)) throw fault
      return { bytes: Buffer.alloc(0), next: at, last: before, fault }
    }
    // Nothing but a torn tail.
    return at === lines.at ? undefined : { bytes: Buffer.concat(parts), next: at, last: before }
  }
}

/** A line has its own LF; another one ends the message. */
const END = Buffer.from('\n')

/** Bytes to read for one step of a search: some events. */
const PROBE = 4096

/** Where a line begins that is not long before an event, or right at it. */
function startNear(fd: number, wanted: Omit<EventPlace, 'run_id'>): number {
  let from = 0
  let to = fs.fstatSync(fd).size
  while (to - from > LINES_BLOCK) {
    const middle = Math.floor((from + to) / 2)
    const found = firstEventAfter(fd, middle)
    if (!found || comparePlaces(found.place, wanted) > 0) to = middle
    else from = found.at
  }
  return from
}

//  …,"seq":7}\n{"seq":8,…}\n{"seq":9,…
//     ^ at     ^ the first event after it
function firstEventAfter(
  fd: number,
  at: number,
): { readonly at: number; readonly place: EventPlace } | undefined {
  let inside = true
  for (const line of linesFrom(fd, at, PROBE)) {
    const { place } = inside ? {} : readLine(line.bytes)
    if (place) return { at: line.at, place }
    inside = false
  }
  return undefined
}
