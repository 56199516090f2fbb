import fs from 'node:fs'
import { join } from 'node:path'
import { Fault, orElse } from '../base/fault.ts'
import { EVENTS_FILE, sameButTime } from '../disk/journal.ts'
import { isInside, openPlain } from '../disk/plain-file.ts'
import { comparePlaces, linesFrom, storedEvents } from '../disk/read-journal.ts'
import type { Engine } from '../events/engine.ts'
import type { AgentEvent } from '../events/event.ts'
import { type Attempt, listAttempts } from '../run/attempt-logs.ts'
import { hasJournal, isCut, isRunning } from '../run/is-running.ts'
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
  /** Its logs tell more than its journal: its events are those of the journal, then made from the logs. */
  readonly isCut: () => boolean
  /** The attempt that takes orders, if that is not over. */
  readonly ordered?: () => OrderedRun | undefined
  /** The events in its logs, and in its journal if that is cut. */
  readonly replay: (options: Pick<ReplayOptions, 'follow' | 'signal' | 'engine'>) => AsyncIterable<AgentEvent>
}

/** Reading more than this takes some seconds. */
const MAX_LISTED = 256 << 20

/** A directory with logs or events; `root` is the real path of the served directory. */
export function auditPlace(dir: string, root: string): RunPlace {
  const path = join(dir, EVENTS_FILE)
  const cut = () => isCut(dir, root)
  return {
    key: dir,
    within: root,
    maxListed: MAX_LISTED,
    attempts: () => listAttempts(dir, root),
    isThere: () => liesWithin(dir, root),
    isRunning: () => isRunning(dir, root),
    journal: () => (hasJournal(dir) ? path : undefined),
    isCut: cut,
    ordered: () => orderedRun(dir, root),
    replay(options) {
      const events = replay(dir, { ...options, within: root })
      return cut() ? afterStored(path, root, events) : events
    },
  }
}

/** The events of a journal that is cut, and those of the logs after them. They agree on what both have. */
async function* afterStored(
  path: string,
  root: string,
  replayed: AsyncIterable<AgentEvent>,
): AsyncGenerator<AgentEvent> {
  const fd = openPlain(path, fs.constants.O_RDONLY, undefined, root)
  try {
    const stored = storedEvents(path, linesFrom(fd))
    let next = stored.next()
    let differs = false
    for await (const event of replayed) {
      // The logs of an attempt may have been removed, or be those of another recorder.
      for (; !next.done && comparePlaces(next.value.place, event) < 0; next = stored.next())
        yield next.value.event
      if (next.done) yield event
      else if (comparePlaces(next.value.place, event) === 0)
        differs = sameButTime(next.value.event) !== sameButTime(event)
      if (differs) break
    }
    for (; !next.done; next = stored.next()) yield next.value.event
    if (differs) throw new Fault('JOURNAL_MISMATCH', OTHER_LOGS)
  } finally {
    fs.closeSync(fd)
  }
}

const OTHER_LOGS =
  'the end of this run is not recorded, and its logs give other events than those recorded before; ' +
  'complete it with npx agent-sluice replay --resume and the options it was recorded with'

/** A run without a journal, read as the logs of this engine. */
export function readAs(place: RunPlace, engine: Engine): RunPlace {
  return {
    ...place,
    key: `${place.key}\n${engine.name}`,
    replay: (options) => place.replay({ ...options, engine }),
  }
}

/** Whether this path exists and is really inside that directory. */
export function liesWithin(path: string, within: string): boolean {
  return orElse(() => isInside(fs.realpathSync(path), within), false)
}
