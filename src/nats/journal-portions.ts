import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { readBlock } from '../disk/plain-file.ts'
import type { JournalEvent, JournalReader, Place } from '../disk/read-journal.ts'
import type { Event } from '../events/event.ts'
import { jsonLine } from '../streams/jsonl.ts'
import { LF } from '../text/characters.ts'
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

/**
 * Whole lines from a position in a journal on, about `limit` bytes of them or one that is longer; undefined
 * if there is none yet. `last` is the event before it.
 */
export function readPortion(
  journal: JournalReader,
  at: number,
  last: Place | undefined,
  limit: number,
  redact?: (event: Event) => Event,
): Portion | undefined {
  const lines = journal.lines(at, limit)
  if (!lines) return undefined
  const out: Buffer[] = []
  let size = 0
  let end: JournalEvent | undefined
  for (const found of journal.events(lines, last)) {
    const sent = redact ? Buffer.from(jsonLine(redact(found.event))) : found.bytes
    // Redaction can make lines longer.
    if (end && size + sent.length > limit) break
    out.push(sent)
    size += sent.length
    end = found
  }
  if (!end) return undefined
  const bytes = redact ? Buffer.concat(out) : lines.bytes.subarray(0, end.next - at)
  return { bytes, events: out.length, next: end.next, last: end.place, hash: hashOf(end.bytes) }
}

const STEP = 1 << 20

/**
 * The position in a journal right after an event, or undefined if the event is missing or differs.
 *
 * @example
 * placeAfter(journal, { attempt: 1, seq: 57, hash: '…' })
 */
export function placeAfter(
  journal: JournalReader,
  { attempt, seq, hash }: BlockEnd,
): { at: number; last: Place } | undefined {
  for (const { place, bytes, next } of journal.entries(0, STEP)) {
    if (!place || place.attempt_number > attempt) return undefined
    if (place.attempt_number === attempt && place.seq === seq)
      return hashOf(bytes) === hash ? { at: next, last: place } : undefined
  }
  return undefined
}

/** The hash of a line or of a part of one: it distinguishes writers, and 128 bits are enough for that. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

/** Events are told apart by fewer bytes. */
const TAIL = 4096

/** The hash of the last bytes before a place in a journal. */
export function tailBefore(fd: number, at: number): string {
  const length = Math.min(TAIL, at)
  return hashOf(readBlock(fd, at - length, length))
}

const LOOK = 16 * 1024

/** Whether the line that begins at this place has more than `limit` bytes, whole or not. */
export function isLongLine(fd: number, at: number, limit: number): boolean {
  if (fs.fstatSync(fd).size - at <= limit) return false
  for (let seen = 0; seen < limit; ) {
    const bytes = readBlock(fd, at + seen, Math.min(LOOK, limit - seen))
    if (bytes.length === 0 || bytes.includes(LF)) return false
    seen += bytes.length
  }
  return true
}
