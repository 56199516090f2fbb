import { type FoundRun, RunFinder } from './run-finder.ts'
import { RunList } from './run-list.ts'
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
  const list = new RunList({ look: () => finder.look(), textOf: (info) => JSON.stringify(info) }, left.signal)
  try {
    await list.fresh()
    if (list.found().some(({ info: { state } }) => state === 'unread')) {
      await logs.settled(LOGS_MS, 0)
      await list.fresh(true)
    }
  } finally {
    left.abort()
  }
  return { found: list.found(), older: finder.older }
}
