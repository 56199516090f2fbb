import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { Fault, quote } from '../base/fault.ts'
import { damagedJournal, journalLine, NO_EVENT, outOfOrder, type Place } from '../disk/read-journal.ts'
import type { Event } from '../events/event.ts'
import { jsonLine } from '../streams/jsonl.ts'
import type { BlockEnd } from './broker.ts'

/** Whole lines of a journal, as they are sent. */
export interface Portion {
  /** Above the limit only if it is one line. */
  readonly bytes: Buffer
  readonly events: number
  /** The position in the journal right after it. */
  readonly next: number
  /** Its last event. */
  readonly last: Place
  readonly hash: string
}

const LF = 10
/**
 * A larger event is not shipped: it would have to be held in memory as a whole. The server's page leaves it
 * out, too.
 */
const MAX_LINE = 64 << 20
const STEP = 1 << 20

/**
 * Whole lines from a position in a journal on, about `limit` bytes of them or one that is longer; undefined
 * if there is none yet. `last` is the event before it. A line that is not an event and has none after it is
 * what a crash left, and does not count yet.
 */
export function readPortion(
  { fd, path, redact }: JournalSource,
  at: number,
  last: Place | undefined,
  limit: number,
): Portion | undefined {
  const lines = wholeLines(fd, path, at, limit)
  if (!lines) return undefined
  const out: Buffer[] = []
  let size = 0
  let next = at
  let place = last
  let text: Buffer | undefined
  for (let from = 0; from < lines.length; ) {
    const to = lines.indexOf(LF, from) + 1
    const line = lines.subarray(from, to)
    const event = eventOf(line)
    const found = journalLine(event)
    const why = found ? outOfOrder(place, found) : NO_EVENT
    if (!found || why !== undefined) {
      if (out.length > 0) break
      if (!found && isTail(fd, next + line.length)) return undefined
      throw damagedJournal(path, next, why ?? NO_EVENT)
    }
    // Cast: the fields that every event has were checked; the rest is passed on unchanged.
    const sent = redact ? Buffer.from(jsonLine(redact(event as Event))) : line
    // Redaction can make lines longer.
    if (out.length > 0 && size + sent.length > limit) break
    out.push(sent)
    size += sent.length
    text = line
    place = found
    next += line.length
    from = to
  }
  if (!text || !place) return undefined
  const bytes = redact ? Buffer.concat(out) : lines.subarray(0, next - at)
  return { bytes, events: out.length, next, last: place, hash: hashOf(text) }
}

/** A journal that is open for reading, and the redaction of its events. */
export interface JournalSource {
  readonly fd: number
  readonly path: string
  readonly redact: ((event: Event) => Event) | undefined
}

/**
 * The position in a journal right after an event, or undefined if the event is missing or differs.
 *
 * @example
 * placeAfter(fd, { attempt: 1, seq: 57, hash: '…' })
 */
export function placeAfter(
  fd: number,
  path: string,
  { attempt, seq, hash }: BlockEnd,
): { at: number; last: Place } | undefined {
  let at = 0
  for (;;) {
    const lines = wholeLines(fd, path, at, STEP)
    if (!lines) return undefined
    for (let from = 0; from < lines.length; ) {
      const to = lines.indexOf(LF, from) + 1
      const line = lines.subarray(from, to)
      const found = journalLine(eventOf(line))
      if (!found) return undefined
      at += line.length
      from = to
      if (found.attempt_number > attempt) return undefined
      if (found.attempt_number === attempt && found.seq === seq)
        return hashOf(line) === hash ? { at, last: found } : undefined
    }
  }
}

/** The hash of a line or of a part of one: it distinguishes writers, and 128 bits are enough for that. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

/** Events are told apart by fewer bytes. */
const TAIL = 4096

/** The hash of the last bytes before a place in a journal. */
export function tailBefore(fd: number, at: number): string {
  const bytes = Buffer.allocUnsafe(Math.min(TAIL, at))
  const length = at > 0 ? fs.readSync(fd, bytes, 0, bytes.length, at - bytes.length) : 0
  return hashOf(bytes.subarray(0, length))
}

const LOOK = 16 * 1024

/** Whether the line that begins at this place has more than `limit` bytes, whole or not. */
export function isLongLine(fd: number, at: number, limit: number): boolean {
  if (fs.fstatSync(fd).size - at <= limit) return false
  const bytes = Buffer.allocUnsafe(LOOK)
  for (let seen = 0; seen < limit; ) {
    const length = fs.readSync(fd, bytes, 0, Math.min(LOOK, limit - seen), at + seen)
    if (length === 0 || bytes.subarray(0, length).includes(LF)) return false
    seen += length
  }
  return true
}

/** Lines from this place on that end within `size` bytes, or the one that begins there, if it has an end. */
function wholeLines(fd: number, path: string, at: number, size: number): Buffer | undefined {
  // No larger than what is there: most reads of a live run find one line.
  const left = fs.fstatSync(fd).size - at
  if (left <= 0) return undefined
  const bytes = Buffer.allocUnsafe(Math.min(size, left))
  const length = fs.readSync(fd, bytes, 0, bytes.length, at)
  const end = length > 0 ? bytes.lastIndexOf(LF, length - 1) : -1
  if (end >= 0) return bytes.subarray(0, end + 1)
  return left > size ? longLine(fd, path, at, size) : undefined
}

/** The line that begins at this position and is longer than `size`; undefined while it is incomplete. */
function longLine(fd: number, path: string, at: number, size: number): Buffer | undefined {
  for (let room = size * 4; ; room *= 4) {
    const bytes = Buffer.allocUnsafe(Math.min(room, MAX_LINE))
    const length = fs.readSync(fd, bytes, 0, bytes.length, at)
    const end = bytes.indexOf(LF)
    if (end >= 0 && end < length) return bytes.subarray(0, end + 1)
    if (length < bytes.length) return undefined
    if (room >= MAX_LINE)
      throw new Fault(
        'RUN_REFUSED',
        `${quote(path, 200)} has an event of more than ${MAX_LINE >> 20} MiB at byte ${at}, which is not shipped`,
        { at },
      )
  }
}

/** Whether no event follows this position. */
function isTail(fd: number, at: number): boolean {
  for (let lines = wholeLines(fd, '', at, STEP); lines; lines = wholeLines(fd, '', at, STEP)) {
    for (let from = 0; from < lines.length; ) {
      const to = lines.indexOf(LF, from) + 1
      if (journalLine(eventOf(lines.subarray(from, to)))) return false
      from = to
    }
    at += lines.length
  }
  return true
}

function eventOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8', 0, line.length - 1))
  } catch {
    return undefined
  }
}
