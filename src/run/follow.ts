import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { join } from 'node:path'
import { codes } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { Event, EventOf } from '../events/event.ts'
import type { Channel } from '../frames/chunk.ts'
import { LOCK_FILE } from '../sinks/journal.ts'
import { isLocked, isSameProcess } from '../sinks/lock.ts'
import { type Attempt, channels, fileNames, openLog } from './audit.ts'
import { parseChunkLine } from './chunk-log.ts'
import { type Meta, readMeta } from './meta.ts'
import { exitOf, opening, type RecordedOptions, readBlock, startOf } from './recorded.ts'
import { Tail } from './tail.ts'
import type { Opening, TimedChunk } from './timed.ts'
import { Waker } from './waker.ts'

export interface FollowOptions extends RecordedOptions {
  readonly attempt?: number | undefined
  /** The attempts that are there now. */
  readonly list: () => readonly Attempt[]
  /** Following ends when this is destroyed. */
  readonly until: { readonly destroyed: boolean; once(event: 'close', then: () => void): unknown }
}

/** Where no watcher wakes us, the directory is looked at so often. */
const POLL_MS = 100

/**
 * Reads an audit directory while it is being written. It is over when the last attempt is, and nobody
 * holds the directory any more; without a `meta.N.json` that tells, only the reader ends it. The first attempt, or
 * the one that is wanted, is waited for.
 */
export async function* follow(dir: string, options: FollowOptions): AsyncGenerator<TimedChunk | Opening> {
  const { attempt: wanted, list, until, ...reading } = options
  const waker = new Waker(POLL_MS)
  waker.watch(dir)
  until.once('close', waker.wake)
  try {
    for (let number = wanted ?? 0; !until.destroyed; ) {
      const attempt = list().find((found) => (wanted ? found.number === number : found.number >= number))
      if (attempt) {
        yield* followAttempt(dir, attempt, reading, until, waker)
        if (wanted) return
        number = attempt.number + 1
      } else if (!wanted && number > 0 && !isLocked(join(dir, LOCK_FILE))) return
      else await waker.sleep()
    }
  } finally {
    waker.close()
  }
}

async function* followAttempt(
  dir: string,
  attempt: Attempt,
  options: RecordedOptions,
  until: { readonly destroyed: boolean },
  waker: Waker,
): AsyncGenerator<TimedChunk | Opening> {
  const files = fileNames(attempt.number)
  for (const path of Object.values(attempt.logs)) waker.watch(path)
  for (let restarted = false; !until.destroyed; restarted = true) {
    const meta = () => (attempt.alone ? {} : (readMeta(attempt.meta ?? join(dir, files.meta)) ?? {}))
    const started = startOf(attempt, meta())
    const present = channels.filter((channel) => attempt.logs[channel] !== undefined)
    yield { ...opening(dir, attempt, meta(), options), ...(restarted ? { restarted } : {}) }
    yield {
      chunk: { channel: present[0] ?? 'stdout', bytes: Buffer.alloc(0), channels: present },
      time: started,
    }
    const reader = attempt.chunks === undefined ? tailLogs(attempt) : tailChunks(attempt, attempt.chunks)
    let time = started
    let last = false
    try {
      while (!until.destroyed) {
        const piece = reader.read()
        if (piece === 'restarted') break
        if (piece) {
          last = false
          time = started + (piece.ms ?? Math.max(0, Date.now() - started))
          yield { chunk: { channel: piece.channel, bytes: piece.bytes }, time }
          continue
        }
        const { ended_at, duration_ms = 0 } = meta()
        if (last) {
          const exit = exitOf(meta())
          if (exit) yield { chunk: exit, time: Math.max(time, started + (duration_ms ?? 0)) }
          return
        }
        // Once more after the end was seen, for what was written just before it.
        last = typeof ended_at === 'string' || isLost(dir, meta())
        if (!last) await waker.sleep()
      }
    } finally {
      reader.close()
    }
  }
}

/** Recorder and process are both gone, and nobody said how it ended. */
function isLost(dir: string, { pid, pid_started = null }: Partial<Meta>): boolean {
  return typeof pid === 'number' && !isLocked(join(dir, LOCK_FILE)) && !isSameProcess(pid, pid_started)
}

interface Reader {
  read(): { channel: Channel; bytes: Buffer; ms?: number } | 'restarted' | undefined
  close(): void
}

/** The logs as they grow, each in turn: for directories without a chunk log. */
function tailLogs(attempt: Attempt): Reader {
  const tails = channels.flatMap((channel) => {
    const path = attempt.logs[channel]
    return path === undefined ? [] : [{ channel, tail: new Tail(path) }]
  })
  return {
    read() {
      for (const { channel, tail } of tails) {
        const piece = tail.read()
        if (piece?.restarted) return 'restarted'
        if (piece) return { channel, bytes: piece.bytes }
      }
      return undefined
    },
    close() {
      for (const { tail } of tails) tail.close()
    },
  }
}

/** A read that says it was longer was not one of ours. */
const MAX_READ = 1 << 20

/** The chunks as they are noted: their bytes stand in the logs before the note is written. */
function tailChunks(attempt: Attempt, path: string): Reader {
  const tail = new Tail(path)
  const logs = new Map<Channel, number>()
  let rest = ''
  let lines: string[] = []
  return {
    read() {
      while (lines.length === 0) {
        const piece = tail.read()
        if (!piece) return undefined
        if (piece.restarted) return 'restarted'
        lines = (rest + piece.bytes.toString('latin1')).split('\n')
        rest = lines.pop() ?? ''
      }
      const read = parseChunkLine(lines.shift()!)
      const log = read && attempt.logs[read.channel]
      if (!log) return undefined
      const fd = logs.get(read.channel) ?? openLog(log)
      logs.set(read.channel, fd)
      return {
        channel: read.channel,
        bytes: readBlock(fd, read.from, Math.min(read.length, MAX_READ)),
        ms: read.ms,
      }
    },
    close() {
      tail.close()
      for (const fd of logs.values()) fs.closeSync(fd)
    },
  }
}

/** So many events are remembered, to be recognised when a log is read again. */
const MAX_SEEN = 65_536

/**
 * Around the events of a followed attempt: after a restart, events that were given before are left out, one for one, and the
 * new ones continue the numbers.
 */
export function onceOver(stage: Stage<TimedChunk | Opening, Event>): Stage<TimedChunk | Opening, Event> {
  return (next) => {
    let seen = new Map<string, number>()
    /** Given before and not yet met again since the last restart. */
    let again = new Map<string, number>()
    let restarts = 0
    let seq = 0
    let last: Event | undefined
    const inner: Sink<TimedChunk | Opening> = stage({
      write(event) {
        const key = digest(event)
        const expected = again.get(key) ?? 0
        if (expected > 0) {
          again.set(key, expected - 1)
          return
        }
        if (seen.size < MAX_SEEN) seen.set(key, (seen.get(key) ?? 0) + 1)
        seq++
        last = event
        next.write(restarts === 0 ? event : renumbered(event, seq, restarts))
      },
      end: () => next.end(),
    })
    return {
      write(item) {
        if ('opens' in item && item.restarted) {
          restarts++
          again = new Map(seen)
          if (last) next.write(restartNote(last, ++seq, restarts))
        } else if ('opens' in item) {
          // What ends now belongs to the attempt before.
          inner.write(item)
          seen = new Map()
          again = new Map()
          restarts = 0
          seq = 0
          return
        }
        inner.write(item)
      },
      end: () => inner.end(),
    }
  }
}

function digest(event: Event): string {
  return createHash('sha256')
    .update(JSON.stringify([event.event.type, event.data]))
    .digest('base64url')
    .slice(0, 22)
}

function restartNote(last: Event, seq: number, restarts: number): EventOf<'diagnostic.parser.warning'> {
  return {
    ...last,
    seq,
    event: { category: 'diagnostic', type: 'diagnostic.parser.warning' },
    data: { code: 'LOG_RESTARTED', message: codes.LOG_RESTARTED, severity: 'warning', confidence: 1 },
    correlation: {
      ...last.correlation,
      event_id: `${last.run_id}:${last.attempt_number}:restart:${restarts}`,
    },
    raw_ref: null,
  }
}

function renumbered(event: Event, seq: number, restarts: number): Event {
  const event_id = `${event.correlation.event_id}~${restarts}`
  return { ...event, seq, correlation: { ...event.correlation, event_id } }
}
