import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { runCodes } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import { LOCK_FILE } from '../disk/journal.ts'
import { isLocked } from '../disk/lock.ts'
import { Tail } from '../disk/tail.ts'
import { Waker } from '../disk/wake.ts'
import type { AgentEvent, EventOf } from '../events/event.ts'
import type { Channel } from '../text/chunk.ts'
import { Turns } from '../text/log-turns.ts'
import { Stillness } from '../text/stillness.ts'
import { type Attempt, channels, fileNames } from './attempt-logs.ts'
import { type AttemptBytes, ChunkedLogs, chunkOf, type Portion } from './chunk-log.ts'
import { type Meta, readMeta } from './meta.ts'
import { endedMeta, exitOf, firstChunk, opening, type RecordedOptions, startOf } from './read-attempt.ts'
import { isDraining, lives, RECORDER_MS } from './resume.ts'
import type { Opening, TimedChunk } from './run-flow.ts'

export interface FollowOptions extends RecordedOptions {
  readonly attempt?: number | undefined
  /** The attempts that exist now. */
  readonly list: () => readonly Attempt[]
  /** Following ends when this is destroyed. */
  readonly until: { readonly destroyed: boolean; once(event: 'close', then: () => void): unknown }
  /** Whether a process still writes, if no recorder of ours tells it. */
  readonly going?: (() => boolean) | undefined
}

const NOTHING = Buffer.alloc(0)

/** How often to look at the directory without a watcher. */
const POLL_MS = 100

/**
 * Reads an audit directory while it is being written. It ends when the last attempt has ended and no process
 * holds the directory any more; without a `meta.N.json` that says so, only the reader or `going` ends it. It
 * waits for the first attempt, or the requested one.
 */
export async function* follow(dir: string, options: FollowOptions): AsyncGenerator<TimedChunk | Opening> {
  const { attempt: wanted, list, until, going, ...reading } = options
  const waker = new Waker(POLL_MS)
  waker.watch(dir)
  until.once('close', waker.wake)
  try {
    for (let number = wanted ?? 0; !until.destroyed; ) {
      const find = () => list().find((found) => (wanted ? found.number === number : found.number >= number))
      const found = find()
      // Looked up again: its last file may have been created since.
      const attempt = found && !isStarting(dir, found) ? find() : undefined
      if (attempt) {
        yield* followAttempt(dir, attempt, { ...options, reading }, waker)
        if (wanted) return
        number = attempt.number + 1
      } else if (!found && !wanted && number > 0 && !isLocked(join(dir, LOCK_FILE))) return
      else await waker.sleep()
    }
  } finally {
    waker.close()
  }
}

async function* followAttempt(
  dir: string,
  attempt: Attempt,
  { reading, list, until, going }: FollowOptions & { readonly reading: RecordedOptions },
  waker: Waker,
): AsyncGenerator<TimedChunk | Opening> {
  for (const path of Object.values(attempt.logs)) waker.watch(path)
  const isLost = lossOf(dir)
  for (let restarted = false; !until.destroyed; restarted = true) {
    const meta = () => metaOf(dir, attempt)
    const started = startOf(attempt, meta())
    yield { ...opening(dir, attempt, meta(), reading), ...(restarted ? { restarted } : {}) }
    yield firstChunk(attempt, started)
    const find = () => list().find(({ number }) => number === attempt.number)
    const logs = growingLogs(() => find() ?? attempt)
    const stillness = new Stillness()
    let time = started
    let last = false
    try {
      while (!until.destroyed) {
        const piece = logs.next(last)
        if (piece === 'restarted') break
        if (piece) {
          last = false
          if (!piece.covered) stillness.saw(piece.channel)
          time = started + (piece.ms ?? Math.max(0, Date.now() - started))
          yield { chunk: chunkOf(piece), time }
          continue
        }
        const { ended_at, recorders, reading, complete } = meta()
        if (last) {
          const { meta: path } = find() ?? attempt
          const ended = attempt.alone ? {} : endedMeta({ ...attempt, ...(path && { meta: path }) })
          yield* exitOf(ended, started, time, logs)
          return
        }
        // Once more after the end was seen, for what was written just before it, and what was never noted.
        // The result of a schema is in the events alone, which are written after the end.
        const isWritten = reading?.schema ? complete : typeof ended_at === 'string'
        last = isWritten || isLost(attempt, meta())
        // Of a run of ours the files tell it, and whether its output is still being written.
        if (recorders === undefined) last ||= going?.() === false
        if (last) continue
        if (stillness.isDue(Date.now()))
          yield { chunk: { channel: 'pty', bytes: NOTHING, still: true }, time }
        await waker.sleep()
      }
    } finally {
      logs.close()
    }
  }
}

/** The bytes of an attempt in the order of its chunk log, or as its logs grow if there is none. */
function growingLogs(find: () => Attempt): AttemptBytes {
  const tails = new Map<Channel, Tail>()
  let turns: Turns | undefined
  let chunked: ChunkedLogs | undefined
  /** A chunk log that appears after the first byte would repeat what was returned already. */
  let isBegun = false
  const next = (): Portion | 'restarted' | undefined => {
    turns ??= new Turns(find().logs.pty !== undefined)
    for (const channel of ['stdin', ...turns.order(() => true)] as const) {
      const piece = tails.get(channel)?.read()
      if (piece?.restarted) return 'restarted'
      if (piece) return { channel, from: piece.from, bytes: piece.bytes, covered: false }
    }
    return undefined
  }
  const open = ({ logs, within }: Attempt) => {
    for (const channel of channels) {
      const path = logs[channel]
      if (path !== undefined && !tails.has(channel)) tails.set(channel, new Tail(path, within))
    }
  }
  return {
    next(over) {
      if (!chunked && !isBegun) {
        const { chunks, within } = find()
        if (chunks !== undefined) chunked = new ChunkedLogs(find, new Tail(chunks, within))
      }
      if (chunked) return chunked.next(over)
      let portion = next()
      if (!portion) {
        open(find())
        portion = next()
      }
      isBegun ||= portion !== undefined
      return portion
    },
    unsent: () => chunked?.unsent() ?? 0,
    untold: () => chunked?.untold() ?? [],
    close() {
      chunked?.close()
      for (const tail of tails.values()) tail.close()
    },
  }
}

function metaOf(dir: string, attempt: Attempt): Partial<Meta> {
  if (attempt.alone) return {}
  return readMeta(attempt.meta ?? join(dir, fileNames(attempt.number).meta), attempt.within) ?? {}
}

/**
 * Its recorder is still creating its files, one after the other; the pid is stored when all of them
 * exist. If the process cannot be started, all of them are removed again.
 */
function isStarting(dir: string, attempt: Attempt): boolean {
  const { recorders, pid, ended_at } = metaOf(dir, attempt)
  // Only our recorder stores its helpers; others may never store a pid.
  const unknown = recorders !== undefined && pid === undefined && ended_at === undefined
  return unknown && isLocked(join(dir, LOCK_FILE))
}

/** Tells when recorder and process are both gone without a recorded end. */
function lossOf(dir: string): (attempt: Attempt, meta: Partial<Meta>) => boolean {
  let since: number | undefined
  return (attempt, meta) => {
    const { pid, recorders } = meta
    if ((pid === undefined && recorders === undefined) || isLocked(join(dir, LOCK_FILE))) return false
    if (lives(attempt, meta)) return false
    since ??= Date.now()
    return Date.now() - since > RECORDER_MS || !isDraining(meta)
  }
}

/** Number of events to remember, to recognize them when a log is read again. */
const MAX_SEEN = 65_536

/**
 * Wraps the events of a followed attempt: after a restart, events that were emitted before are left out, one
 * for one, and the new ones continue the numbering.
 */
export function onceOver(
  stage: Stage<TimedChunk | Opening, AgentEvent>,
): Stage<TimedChunk | Opening, AgentEvent> {
  return (next) => {
    let seen = new Map<string, number>()
    /** Emitted before and not seen again since the last restart. */
    let again = new Map<string, number>()
    let restarts = 0
    let seq = 0
    let last: AgentEvent | undefined
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
        const { correlation } = event
        const event_id = `${correlation.event_id}~${restarts}`
        next.write(restarts === 0 ? event : { ...event, seq, correlation: { ...correlation, event_id } })
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
          // What ends now belongs to the previous attempt.
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

function digest(event: AgentEvent): string {
  return createHash('sha256')
    .update(JSON.stringify([event.type, event.data]))
    .digest('base64url')
    .slice(0, 22)
}

function restartNote(last: AgentEvent, seq: number, restarts: number): EventOf<'diagnostic.parser.warning'> {
  return {
    ...last,
    type: 'diagnostic.parser.warning',
    seq,
    event: { category: 'diagnostic', type: 'diagnostic.parser.warning' },
    data: { code: 'LOG_RESTARTED', message: runCodes.LOG_RESTARTED, severity: 'warning', confidence: 1 },
    correlation: {
      ...last.correlation,
      event_id: `${last.run_id}:${last.attempt_number}:restart:${restarts}`,
    },
    raw_ref: null,
  }
}
