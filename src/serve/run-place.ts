import fs from 'node:fs'
import { join } from 'node:path'
import { orElse } from '../base/fault.ts'
import { EVENTS_FILE, LOCK_FILE } from '../disk/journal.ts'
import { isLocked, isSameProcess } from '../disk/lock.ts'
import { isInside, writtenAt } from '../disk/plain-file.ts'
import type { Event } from '../events/event.ts'
import { type Attempt, listAttempts } from '../run/attempt-logs.ts'
import { readMeta } from '../run/meta.ts'
import { type ReplayOptions, replay } from '../run/replay.ts'

/** Where a run is, and how it is read: a directory under the served one, or a session file. */
export interface RunPlace {
  /** Unique among all places. */
  readonly key: string
  /** The real path of the directory that must contain every file of it. */
  readonly within: string
  /** Maximum bytes to read for its end in the list; the end of a larger run is known when it is opened. */
  readonly maxListed: number
  readonly attempts: () => readonly Attempt[]
  /** Whether it still exists, really inside its directory. */
  readonly isThere: () => boolean
  /** True while something is added, by this process or another. */
  readonly isRunning: () => boolean
  /** Its `events.jsonl`, if it has one; else its events are made from its logs. */
  readonly journal: () => string | undefined
  /** The events in its logs. */
  readonly replay: (options: Pick<ReplayOptions, 'follow' | 'signal'>) => AsyncIterable<Event>
}

/** Reading more than this takes some seconds. */
const MAX_LISTED = 256 << 20
/** A log without a meta that grew within this time counts as one that is being written. */
const FRESH_MS = 10_000

/** A directory with logs or events; `root` is the real path of the served directory. */
export function auditPlace(dir: string, root: string): RunPlace {
  const attempts = () => listAttempts(dir, root)
  return {
    key: dir,
    within: root,
    maxListed: MAX_LISTED,
    attempts,
    isThere: () => liesWithin(dir, root),
    isRunning: () => {
      if (isLocked(join(dir, LOCK_FILE))) return true
      const last = attempts().at(-1)
      return isUnlockedRunning(dir, last, readMeta(last?.meta, last?.within))
    },
    journal: () => (hasJournal(dir) ? join(dir, EVENTS_FILE) : undefined),
    replay: (options) => replay(dir, { ...options, within: root }),
  }
}

/** Whether a run goes on although its journal is not locked: by its last attempt, and the meta of that. */
export function isUnlockedRunning(
  dir: string,
  last: Attempt | undefined,
  meta: ReturnType<typeof readMeta>,
): boolean {
  if (meta) {
    // Its recorder is gone, but the agent may still be running.
    return (
      meta.ended_at === undefined &&
      typeof meta.pid === 'number' &&
      isSameProcess(meta.pid, meta.pid_started ?? null)
    )
  }
  if (!last || hasJournal(dir)) return false
  return Object.values(last.logs).some((log) => Date.now() - writtenAt(log) < FRESH_MS)
}

/** True if the run has a journal. An empty one that no recorder holds has nothing that the logs lack. */
function hasJournal(dir: string): boolean {
  const stat = fs.lstatSync(join(dir, EVENTS_FILE), { throwIfNoEntry: false })
  return stat?.isFile() === true && (stat.size > 0 || isLocked(join(dir, LOCK_FILE)))
}

/** Whether this path exists and is really inside that directory. */
export function liesWithin(path: string, within: string): boolean {
  return orElse(() => isInside(fs.realpathSync(path), within), false)
}
