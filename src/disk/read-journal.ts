import fs from 'node:fs'
import { isCount } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import type { AgentEvent } from '../events/event.ts'
import { jsonValue } from '../json/strict.ts'
import { LF } from '../text/characters.ts'
import { readBlock, withPlain } from './plain-file.ts'
import { Mark } from './tail.ts'

/** One line of a file, with its LF; or several. */
export interface JournalLine {
  /** Empty where a part of a line that is too long is skipped. */
  readonly bytes: Buffer
  readonly at: number
  /** The position right after it. */
  readonly next: number
}

/** Maximum length of a line: it is held in memory whole. */
export const MAX_LINE = 64 << 20
/** How much is read at once, unless a line is longer. */
export const LINES_BLOCK = 64 * 1024

/**
 * The whole lines of a file from a position on: those that end within `limit` bytes or, if the first one is
 * longer, a few more. Undefined while the first one has no end.
 *
 *     {"seq":1,…}\n{"seq":2,…}\n{"seq":3,
 *     ^ at                      ^ next
 */
export function wholeLines(
  fd: number,
  at: number,
  limit: number,
  maxLine: number = MAX_LINE,
): JournalLine | 'too long' | undefined {
  const left = fs.fstatSync(fd).size - at
  if (left <= 0) return undefined
  for (let size = limit; ; size = Math.min(size * 4, maxLine)) {
    // No larger than what is there: most reads of a live run find one line.
    const bytes = readBlock(fd, at, Math.min(size, left))
    const end = bytes.lastIndexOf(LF) + 1
    if (end > 0) return { bytes: bytes.subarray(0, end), at, next: at + end }
    if (bytes.length >= maxLine) return 'too long'
    if (bytes.length < size) return undefined
  }
}

/** All whole lines from a position on, up to one that is too long. */
export function* linesFrom(
  fd: number,
  from = 0,
  limit: number = LINES_BLOCK,
  maxLine?: number,
): Generator<JournalLine, void> {
  for (let at = from; ; ) {
    const lines = wholeLines(fd, at, limit, maxLine)
    if (typeof lines !== 'object') return
    yield* linesIn(lines)
    at = lines.next
  }
}

/** Reads a file that does not grow, line by line. The bytes are only valid during the call. */
export function eachLine(path: string, see: (line: Buffer) => void): void {
  withPlain(path, undefined, (fd) => {
    for (const { bytes } of linesFrom(fd)) see(bytes)
  })
}

/** The events in the lines of a journal that does not grow. Throws JOURNAL_MISMATCH where it is damaged. */
export function* storedEvents(
  path: string,
  lines: Iterable<JournalLine>,
): Generator<{ readonly event: AgentEvent; readonly place: EventHead }, void> {
  let last: EventPlace | undefined
  for (const { bytes, at } of lines) {
    const { value, place } = readLine(bytes)
    const why = place ? outOfOrder(last, place) : NO_EVENT
    if (!place || why !== undefined) throw damagedJournal(path, at, why ?? NO_EVENT)
    yield { event: value as AgentEvent, place } // cast: the fields that every event has were checked
    last = place
  }
}

export function* linesIn({ bytes, at }: JournalLine): Generator<JournalLine, void> {
  for (let from = 0; from < bytes.length; ) {
    const to = bytes.indexOf(LF, from) + 1
    yield { bytes: bytes.subarray(from, to), at: at + from, next: at + to }
    from = to
  }
}

/** Such a line is skipped in steps of this many bytes, so that other readers get a turn. */
const STEP = 4 << 20
/** Bytes to compare, to detect a rewritten file: several events, because events can have the same ending. */
const MARK_SIZE = 4096
const NOTHING = Buffer.alloc(0)

export interface JournalEvent extends JournalLine {
  readonly event: AgentEvent
  readonly place: EventPlace
}

/**
 * Reads a journal that another process may be writing, from any position, as often as needed: the file is
 * the queue. What a crash tore at its end is not read until the next writer has repaired it.
 *
 * A line longer than MAX_LINE is skipped; with `tooLong`, the Fault that it makes is thrown.
 *
 * @example
 * const journal = new JournalReader(openPlain(path), path)
 * for (let lines = journal.lines(0); lines; lines = journal.lines(lines.next))
 *   for (const { event } of journal.events(lines, undefined)) console.log(event.type)
 */
export class JournalReader {
  readonly fd: number
  readonly #path: string
  readonly #tooLong: ((at: number) => Fault) | undefined
  /** The furthest position that was read. */
  readonly #mark = new Mark(MARK_SIZE)
  /** Positions inside lines that are too long. */
  readonly #inside = new Set<number>()
  /** A line that is not an event, and up to where none was found after it: so far it is a torn tail. */
  #torn: { readonly at: number; searched: number } | undefined

  constructor(fd: number, path: string, tooLong?: (at: number) => Fault) {
    this.fd = fd
    this.#path = path
    this.#tooLong = tooLong
  }

  /** Whether what was read is still there. */
  isSame(): boolean {
    return this.#mark.holds(this.fd)
  }

  /** Whole lines from this position on, as `wholeLines` finds them. */
  lines(at: number, limit: number = LINES_BLOCK): JournalLine | undefined {
    if (this.#inside.has(at)) return this.#skip(at)
    const lines = wholeLines(this.fd, at, limit)
    if (lines === 'too long') return this.#skip(at)
    if (lines) this.#reach(lines)
    return lines
  }

  /** All lines from this position on; `place` is undefined if one is not an event. */
  *entries(at: number, limit?: number): Generator<JournalLine & { place: EventHead | undefined }, void> {
    for (let lines = this.lines(at, limit); lines; lines = this.lines(lines.next, limit))
      for (const { bytes, at, next } of linesIn(lines))
        yield { bytes, at, next, place: readLine(bytes).place }
  }

  /**
   * The events in these lines, which come right after the event `last`, up to the first line that cannot
   * follow. If that is the first of them, throws JOURNAL_MISMATCH; nothing if it is a torn tail. `accept`
   * throws for an event that counts as none.
   */
  *events(
    lines: JournalLine,
    last: EventPlace | 'unknown' | undefined,
    accept?: (event: AgentEvent) => void,
  ): Generator<JournalEvent, void> {
    let before = last
    for (const { bytes, at, next } of linesIn(lines)) {
      const { value, place } = readLine(bytes)
      // Cast: the fields that every event has were checked; the rest is passed on unchanged.
      const event = value as AgentEvent
      const valid = place !== undefined && isAccepted(event, accept)
      const why = !valid ? NO_EVENT : before === 'unknown' ? undefined : outOfOrder(before, place)
      if (why === undefined) yield { bytes, at, next, event, place: place! }
      else if (at > lines.at || (!valid && this.#isTorn(at, next))) return
      else throw damagedJournal(this.#path, at, why)
      before = place
    }
  }

  close(): void {
    fs.closeSync(this.fd)
  }

  /** Whether no event follows this line, so that it is what a crash left, which the next writer cuts off. */
  #isTorn(at: number, next: number): boolean {
    if (this.#torn?.at !== at) this.#torn = { at, searched: next }
    const torn = this.#torn
    for (const entry of this.entries(torn.searched)) {
      if (entry.place) return false
      torn.searched = entry.next
    }
    return true
  }

  //  {"seq":1,…}\n{"seq":2, … 64 MiB … , …}\n{"seq":3,…}\n
  //               ^ at              ^ inside  ^ out again
  #skip(at: number): JournalLine | undefined {
    if (this.#tooLong) throw this.#tooLong(at)
    const bytes = readBlock(this.fd, at, STEP)
    const end = bytes.indexOf(LF) + 1
    if (end === 0 && bytes.length < STEP) return undefined
    const next = at + (end || STEP)
    this.#reach({ bytes: bytes.subarray(0, end || STEP), at, next })
    if (end === 0) this.#inside.add(next)
    return { bytes: NOTHING, at, next }
  }

  /** A file that was rewritten since the last check keeps its mark, so that the next one detects it. */
  #reach({ bytes, at, next }: JournalLine): void {
    if (next > this.#mark.at && this.isSame()) this.#mark.reach(at, bytes)
  }
}

function isAccepted(event: AgentEvent, accept: ((event: AgentEvent) => void) | undefined): boolean {
  try {
    accept?.(event)
    return true
  } catch {
    return false
  }
}

/** The place of an event in its run. */
export interface EventPlace {
  readonly run_id: string
  readonly attempt_number: number
  readonly seq: number
}

/** What every event has: its place in its run, and its type. */
export interface EventHead extends EventPlace {
  readonly category: string
  readonly type: string
}

/** Reads a line of `events.jsonl`, with or without its LF. There is no `place` if it is not an event. */
export function readLine(line: Buffer | string): {
  readonly value: unknown
  readonly place: EventHead | undefined
} {
  const value = jsonValue(line.toString())
  return { value, place: eventHead(value) }
}

function eventHead(value: unknown): EventHead | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // Cast: every field is checked below.
  const { run_id, attempt_number, seq, event } = value as Record<string, unknown>
  if (typeof run_id !== 'string' || !isCount(attempt_number) || !isCount(seq)) return undefined
  const { category, type } = (typeof event === 'object' && event !== null ? event : {}) as typeof value & {
    category?: unknown
    type?: unknown
  }
  if (typeof category !== 'string' || typeof type !== 'string') return undefined
  return { run_id, attempt_number, seq, category, type }
}

/** Negative if the first event comes before the second one in its run, 0 if it is the same. */
export function comparePlaces(a: Omit<EventPlace, 'run_id'>, b: Omit<EventPlace, 'run_id'>): number {
  return a.attempt_number - b.attempt_number || a.seq - b.seq
}

/**
 * Why one event cannot follow another, or undefined if it can: a journal has one run, its attempts in order,
 * and the events of each numbered from 1 without a gap.
 */
export function outOfOrder(last: EventPlace | undefined, next: EventPlace): string | undefined {
  if (last && next.run_id !== last.run_id)
    return `it is of run ${quote(next.run_id)}, the one before of ${quote(last.run_id)}`
  const goesOn = last?.attempt_number === next.attempt_number
  const wanted = goesOn ? last.seq + 1 : 1
  if (next.seq === wanted && (goesOn || !last || next.attempt_number > last.attempt_number)) return undefined
  const before = last ? `, the one before is ${last.attempt_number}.${last.seq}` : ', but it is the first'
  return `it is event ${next.attempt_number}.${next.seq} (attempt.seq)${before}`
}

/** The fault for a journal that contains an invalid line. `at` is its byte offset. */
function damagedJournal(path: string, at: number, why: string): Fault {
  return new Fault(
    'JOURNAL_MISMATCH',
    `${quote(path, 200)} is damaged at byte ${at}: ${why}. The raw logs still have the run: move this file away, then ` +
      'complete it with npx agent-sluice replay --resume',
    { at },
  )
}

const NO_EVENT = 'the line is not an event'
