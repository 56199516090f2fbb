import { setImmediate } from 'node:timers/promises'
import { RunFinder } from './run-finder.ts'
import { compareRuns, type RunInfo } from './run-info.ts'
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
): Promise<{ readonly runs: readonly RunInfo[]; readonly older: number }> {
  const left = new AbortController()
  const logs = logOverviews(left.signal)
  const finder = new RunFinder(root, logs, max)
  const known = new Map<string, RunInfo>()
  const look = () => {
    for (const found of finder.look()) {
      if (found && 'gone' in found) known.delete(found.gone)
      else if (found) known.set(found.place.key, found.info)
    }
  }
  try {
    look()
    await setImmediate()
    if ([...known.values()].some(({ state }) => state === 'unread')) {
      await logs.settled(LOGS_MS, 0)
      look()
    }
  } finally {
    left.abort()
  }
  return { runs: [...known.values()].sort(compareRuns), older: finder.older }
}
