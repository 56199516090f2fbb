import { join } from 'node:path'
import type { Fault } from '../base/fault.ts'
import { listAttempts } from '../run/audit.ts'
import { EVENTS_FILE } from '../sinks/journal.ts'
import type { Place } from '../sinks/journal-line.ts'
import { type Derived, derive } from './derive.ts'
import { Feed } from './journal-blocks.ts'
import type { LogsTold } from './logs-told.ts'
import { memo } from './memo.ts'
import { hasJournal, isRunning } from './runs.ts'

/** The events of a run that is being read by some clients. */
export interface Shared {
  readonly feed: Feed
  /** True when nothing will be added any more. */
  readonly over: () => boolean
  /** The events are made here, from the logs. */
  readonly derived?: Derived | undefined
  /** Why there are no more events, when it is over. */
  readonly fault: () => Fault | undefined
  /** The end that the logs seemed to have before they grew again. Its number now belongs to another event. */
  readonly retracted?: Place | undefined
  /** This client is done with it. */
  release(): void
}

/** The feeds of all runs that are being read. */
export interface Feeds {
  share(dir: string): Shared
  close(): void
}

/** The word that a run is not over is good for so long: many clients ask at once. */
const OVER_MS = 50
/** Derived events are kept so long after their last client left: browsers come back for the end. */
const KEEP_MS = 60_000
/** So many at most, and so many bytes of them, but always the last one. */
const MAX_KEPT = 8
const MAX_KEPT_BYTES = 256 << 20

interface Entry extends Omit<Shared, 'release'> {
  readonly dir: string
  users: number
  timer?: NodeJS.Timeout | undefined
}

/** All clients of a run share its feed. It is closed with the last of them, or, if it was derived, a while later. */
export function feeds(root: string, logs: LogsTold): Feeds {
  const entries = new Map<string, Entry>()
  /** Derived ones without a client, the oldest first. */
  const idle = new Set<Entry>()

  const drop = (entry: Entry) => {
    clearTimeout(entry.timer)
    idle.delete(entry)
    if (entries.get(entry.dir) === entry) entries.delete(entry.dir)
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
  const open = (dir: string, before: Entry | undefined): Entry => {
    const journal = join(dir, EVENTS_FILE)
    if (hasJournal(dir)) {
      const over = memo(OVER_MS, () => !isRunning(dir, listAttempts(dir, root)))
      return { dir, feed: new Feed(journal, root), over, fault: () => undefined, users: 0 }
    }
    const derived = derive(dir, root, (print, told) => logs.learn(dir, print, told))
    const { over, fault } = derived
    const retracted = before?.derived?.last()
    return { dir, feed: new Feed(derived.path), derived, over, fault, retracted, users: 0 }
  }

  return {
    share(dir) {
      let entry = entries.get(dir)
      // Logs that grew after their end, or got a journal, are read anew; who still reads the old events keeps them.
      if (!entry || (entry.derived && (!entry.derived.fresh() || hasJournal(dir)))) {
        const made = open(dir, entry)
        if (entry && entry.users === 0) drop(entry)
        entries.set(dir, made)
        entry = made
      }
      const mine = entry
      clearTimeout(mine.timer)
      idle.delete(mine)
      mine.users++
      return {
        ...mine,
        release() {
          if (--mine.users > 0) return
          if (mine.derived && entries.get(dir) === mine) keep(mine)
          else drop(mine)
        },
      }
    },
    close() {
      for (const entry of [...entries.values()]) drop(entry)
    },
  }
}
