import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../base/fault.ts'
import { diskFault } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { LineFile } from '../disk/line-file.ts'
import type { EventPlace } from '../disk/read-journal.ts'
import type { AgentEvent } from '../events/event.ts'
import { jsonLine } from '../streams/jsonl.ts'
import { Feed } from './journal-feed.ts'
import type { Hiding } from './redact-served.ts'
import { type LogOverviews, logsMark, OverviewReader, type RunOverview, readLogs } from './run-overviews.ts'
import type { RunPlace } from './run-place.ts'

/** The events of a run that is read by some clients. */
export interface Shared {
  readonly feed: Feed
  /** True when nothing more will be added. */
  readonly over: () => boolean
  /** Set if the events are made here, from the logs. */
  readonly derived?: Derived | undefined
  /** The logs changed after their events were made: a client that comes back gets the new ones. */
  readonly stale: () => boolean
  /** Why there are no more events, when it has ended. */
  readonly fault: () => Fault | undefined
  /** The end that the logs seemed to have before they grew again. Its number now belongs to another event. */
  readonly retracted?: EventPlace | undefined
  /** Whether its journal has ended before its logs; and all events, which begin as those of the journal. */
  readonly isCut: () => boolean
  readonly rest: () => Shared
  /** Called when the client is done with it. */
  release(): void
}

/** How long the answer that a run is in progress is reused: many clients ask at once. */
const OVER_MS = 50
/** How long the answer that logs have not changed is reused. */
const STALE_MS = 500
/** How long derived events are kept after their last client left: browsers come back for the end. */
const KEEP_MS = 60_000
/** Limits of the number of kept feeds, and of their bytes; the last one is always kept. */
const MAX_KEPT = 8
const MAX_KEPT_BYTES = 256 << 20

interface Entry extends Omit<Shared, 'release' | 'rest' | 'isCut'> {
  readonly key: string
  users: number
  timer?: NodeJS.Timeout | undefined
}

export type Feeds = ReturnType<typeof feeds>

/** All clients of a run share its feed, which is closed with the last; a derived one a while later. */
export function feeds(logs: LogOverviews, hiding?: Hiding) {
  const entries = new Map<string, Entry>()
  /** Derived feeds without a client, the oldest first. */
  const idle = new Set<Entry>()

  const drop = (entry: Entry) => {
    clearTimeout(entry.timer)
    idle.delete(entry)
    if (entries.get(entry.key) === entry) entries.delete(entry.key)
    entry.feed.close()
    entry.derived?.close()
  }
  const keep = (entry: Entry) => {
    idle.add(entry)
    entry.timer = setTimeout(() => drop(entry), KEEP_MS).unref()
    const bytes = () => [...idle].reduce((sum, { derived }) => sum + (derived?.size() ?? 0), 0)
    for (const oldest of idle) {
      if (idle.size === 1 || (idle.size <= MAX_KEPT && bytes() <= MAX_KEPT_BYTES)) break
      drop(oldest)
    }
  }
  const open = (place: RunPlace, before: Entry | undefined): Entry => {
    const { key, within } = place
    const journal = place.journal()
    if (journal !== undefined && !place.isCut()) {
      const over = memo(OVER_MS, () => !place.isRunning())
      const feed = new Feed(journal, within, hiding?.event)
      return { key, feed, over, stale: () => false, fault: () => undefined, users: 0 }
    }
    const derived = derive(place, (mark, reported) => logs.learn(place, mark, reported))
    return {
      key,
      feed: new Feed(derived.path, undefined, hiding?.event),
      derived,
      over: derived.over,
      stale: memo(STALE_MS, () => !derived.fresh()),
      fault: derived.fault,
      retracted: before?.derived?.last(),
      users: 0,
    }
  }

  return {
    share(place: RunPlace): Shared {
      const { key } = place
      let entry = entries.get(key)
      const isWhole = place.journal() !== undefined && !place.isCut()
      // Logs that grew after their end, or got a journal, are read again; readers keep the old events.
      if (!entry || (entry.derived ? isWhole || !entry.derived.fresh() : place.isCut())) {
        const made = open(place, entry)
        if (entry && entry.users === 0) drop(entry)
        entries.set(key, made)
        entry = made
      }
      const mine = entry
      clearTimeout(mine.timer)
      idle.delete(mine)
      mine.users++
      return {
        ...mine,
        isCut: () => !mine.derived && place.isCut(),
        rest: () => this.share(place),
        release() {
          if (--mine.users > 0) return
          if (mine.derived && entries.get(key) === mine) keep(mine)
          else drop(mine)
        },
      }
    },
    close() {
      for (const entry of [...entries.values()]) drop(entry)
    },
  }
}

/** Reuses an answer for a while. */
function memo<T>(ms: number, ask: () => T): () => T {
  let at = Number.NEGATIVE_INFINITY
  let answer: T
  return () => {
    if (performance.now() - at >= ms) {
      answer = ask()
      at = performance.now()
    }
    return answer
  }
}

/** Events that are made here from logs, because there is no journal. */
type Derived = ReturnType<typeof derive>

/**
 * Reads a run that has logs but no `events.jsonl`, and stores its events in a temporary folder: nothing is
 * ever written to the directory of the run. A run in progress is followed. `onOver` is called with the
 * overview of the logs with this mark.
 */
function derive(place: RunPlace, onOver: (mark: string, reported: RunOverview) => void) {
  const folder = fs.mkdtempSync(join(tmpdir(), 'sluice-serve-'))
  const path = join(folder, EVENTS_FILE)
  const mark = () => logsMark(place.attempts())
  const stop = new AbortController()
  /** The mark of the logs that were read. */
  let read: string
  let follow: boolean
  let out: LineFile
  try {
    read = mark()
    // Its writers may go on a moment longer than its process.
    follow = place.isRunning() || place.isCut()
    out = new LineFile(path)
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true })
    throw error
  }
  let over = false
  /** In bytes. */
  let size = 0
  let last: AgentEvent | undefined
  const reader = new OverviewReader()
  /** Why it is incomplete. */
  let fault: Fault | undefined
  const fill = async () => {
    const options = { follow: follow && place.isRunning, signal: stop.signal }
    for await (const event of readLogs(place, options)) {
      const line = jsonLine(event)
      out.append(line)
      size += Buffer.byteLength(line)
      last = event
      reader.take(event)
    }
    // While we followed, they grew with us; without following, we read the files as they were at the start.
    if (follow) read = mark()
    const overview = reader.overview()
    if (overview) onOver(read, overview)
  }
  const done = fill()
    .catch((error: unknown) => {
      if (!stop.signal.aborted) fault = Fault.is(error) ? error : diskFault('read', place.key, error)
    })
    .finally(() => {
      over = true
      out.close()
    })
  return {
    /** The journal that is being written. */
    path,
    over: () => over,
    fault: () => fault,
    size: () => size,
    last: () => last,
    /** How the run ended, if that is the last event in it. */
    outcome: () => reader.overview()?.completion?.outcome,
    /** Whether the logs have not changed since they were read. */
    fresh: () => !over || read === mark(),
    close() {
      stop.abort()
      void done.then(() => fs.rmSync(folder, { recursive: true, force: true }))
    },
  }
}
