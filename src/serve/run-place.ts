import fs from 'node:fs'
import { join } from 'node:path'
import { orElse } from '../base/fault.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { isInside } from '../disk/plain-file.ts'
import type { AgentEvent } from '../events/event.ts'
import { type Attempt, listAttempts } from '../run/attempt-logs.ts'
import { hasJournal, isRunning } from '../run/is-running.ts'
import { type OrderedRun, orderedRun } from '../run/orders.ts'
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
  /** The attempt that takes orders, if that is not over. */
  readonly ordered?: () => OrderedRun | undefined
  /** The events in its logs. */
  readonly replay: (options: Pick<ReplayOptions, 'follow' | 'signal'>) => AsyncIterable<AgentEvent>
}

/** Reading more than this takes some seconds. */
const MAX_LISTED = 256 << 20

/** A directory with logs or events; `root` is the real path of the served directory. */
export function auditPlace(dir: string, root: string): RunPlace {
  return {
    key: dir,
    within: root,
    maxListed: MAX_LISTED,
    attempts: () => listAttempts(dir, root),
    isThere: () => liesWithin(dir, root),
    isRunning: () => isRunning(dir, root),
    journal: () => (hasJournal(dir) ? join(dir, EVENTS_FILE) : undefined),
    ordered: () => orderedRun(dir, root),
    replay: (options) => replay(dir, { ...options, within: root }),
  }
}

/** Whether this path exists and is really inside that directory. */
export function liesWithin(path: string, within: string): boolean {
  return orElse(() => isInside(fs.realpathSync(path), within), false)
}
