import { setImmediate } from 'node:timers/promises'
import { type FoundRun, RunFinder } from './run-finder.ts'
import { compareRuns } from './run-info.ts'
import { logOverviews } from './run-overviews.ts'

/** How long logs without a journal are read for a list. */
const LOGS_MS = 1000

/**
 * The runs under a directory, as `/runs` of a server lists them: those in progress, and the newest `max` (as
 * many as a server lists); and the number of older folders, which are not read.
 */
export async function recordedRuns(
  root: string,
  max?: number,
): Promise<{ readonly found: readonly FoundRun[]; readonly older: number }> {
  const left = new AbortController()
  const logs = logOverviews(left.signal)
  const finder = new RunFinder(root, logs, max)
  const known = new Map<string, FoundRun>()
  const look = () => {
    for (const found of finder.look()) {
      if (found && 'gone' in found) known.delete(found.gone)
      else if (found) known.set(found.place.key, found)
    }
  }
  try {
    look()
    await setImmediate()
    if ([...known.values()].some(({ info: { state } }) => state === 'unread')) {
      await logs.settled(LOGS_MS, 0)
      look()
    }
  } finally {
    left.abort()
  }
  const found = [...known.values()].sort((a, b) => compareRuns(a.info, b.info))
  return { found, older: finder.older }
}
