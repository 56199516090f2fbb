import fs from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { openPlain, readBlock } from '../disk/plain-file.ts'
import { engines } from '../engines/engines-by-name.ts'
import type { Event } from '../events/event.ts'
import type { Channel } from '../text/chunk.ts'
import { merged, type Range } from './hidden-log.ts'
import type { RunPlace } from './run-place.ts'

/** Tells which bytes of logs have pieces of messages, by the journals of their runs. */
export interface PieceRanges {
  /** In order. While the run goes on, what no event tells yet is among them. */
  of(place: RunPlace, attempt: number, channel: Channel): Promise<readonly Range[]>
}

const LF = 10
const BLOCK = 1 << 20
/** A longer line of a journal is no piece. */
const MAX_LINE = 64 << 20
/** Runs whose journals are remembered. */
const MAX_KNOWN = 64

/** What was read of a journal. */
interface Read {
  readonly inode: number
  at: number
  /** By attempt and channel. */
  readonly ranges: Map<string, Range[]>
  /** Up to which byte of a log there are events, by attempt and channel. */
  readonly covered: Map<string, number>
  /** An engine of the user's own wrote some of it: nothing here knows what its records look like. */
  own: boolean
}

/**
 * Reads journals for the pieces of messages. The engines of this package have records that can be told from
 * others at sight (see `hidePieces`); a journal may be of an engine that the user has made.
 */
export function pieceRanges(): PieceRanges {
  const known = new Map<string, Read>()

  const read = async (path: string, within: string): Promise<Read | undefined> => {
    const fd = openPlain(path, fs.constants.O_RDONLY, undefined, within)
    try {
      const { ino, size } = fs.fstatSync(fd)
      const before = known.get(path)
      const journal: Read =
        before?.inode === ino && before.at <= size
          ? before
          : { inode: ino, at: 0, ranges: new Map(), covered: new Map(), own: false }
      known.delete(path)
      known.set(path, journal)
      for (const oldest of known.keys()) {
        if (known.size <= MAX_KNOWN) break
        known.delete(oldest)
      }
      for (let length = BLOCK; journal.at < size; ) {
        const { at } = journal
        const bytes = readBlock(fd, at, length)
        const end = bytes.lastIndexOf(LF) + 1
        if (end === 0 && bytes.length < length) break
        if (end === 0 && length < MAX_LINE) {
          length *= 4
          continue
        }
        note(journal, bytes.subarray(0, end))
        // Another request may have read it meanwhile.
        journal.at = Math.max(journal.at, at + (end || bytes.length))
        length = BLOCK
        await setImmediate()
      }
      return journal
    } finally {
      fs.closeSync(fd)
    }
  }

  return {
    async of(place, attempt, channel) {
      const path = place.journal()
      if (path === undefined) return []
      // Asked before the read, so that what is written in between has its events.
      const running = place.isRunning()
      const journal = await read(path, place.within)
      if (!journal) return []
      const key = keyOf(attempt, channel)
      const ranges = merged(journal.ranges.get(key) ?? [])
      const copy = channel === 'pty' && journal.own && journal.ranges.has(keyOf(attempt, 'stdout'))
      if (copy) return [{ from: 0, to: Number.POSITIVE_INFINITY }]
      const from = journal.covered.get(key) ?? 0
      return running ? merged([...ranges, { from, to: Number.POSITIVE_INFINITY }]) : ranges
    },
  }
}

function keyOf(attempt: number, channel: string): string {
  return `${attempt} ${channel}`
}

function note(journal: Read, lines: Buffer): void {
  for (let from = 0; from < lines.length; ) {
    const to = lines.indexOf(LF, from) + 1
    try {
      // The cast is the door: another program may have written it, so what is not as it should be is caught.
      const { type, raw_ref, source } = JSON.parse(lines.toString('utf8', from, to)) as Event
      if (raw_ref) {
        const { attempt_number, stream, byte_from, byte_to } = raw_ref
        const key = keyOf(attempt_number, stream)
        journal.covered.set(key, Math.max(byte_to, journal.covered.get(key) ?? 0))
        if (type === 'agent.message.delta') {
          journal.own ||= !(source.engine in engines)
          const ranges = journal.ranges.get(key) ?? []
          const last = ranges.at(-1)
          // A message is many records in a row: a long run has few ranges.
          if (last && last.from <= byte_from && byte_from <= last.to)
            ranges[ranges.length - 1] = { from: last.from, to: Math.max(last.to, byte_to) }
          else ranges.push({ from: byte_from, to: byte_to })
          journal.ranges.set(key, ranges)
        }
      }
    } catch {
      // No event: it tells nothing of the log.
    }
    from = to
  }
}
