import fs from 'node:fs'
import { join } from 'node:path'
import { EVENTS_FILE, LOCK_FILE } from '../disk/journal.ts'
import { isLocked } from '../disk/lock.ts'
import { writtenAt } from '../disk/plain-file.ts'
import { isSameProcess } from '../process/tree.ts'
import { type Attempt, listAttempts } from './attempt-logs.ts'
import { readMeta } from './meta.ts'

/** A log without a meta that grew within this time counts as one that is being written. */
const FRESH_MS = 10_000

/** Whether something is added to the run in this directory, by this process or another. */
export function isRunning(dir: string, root: string): boolean {
  if (isLocked(join(dir, LOCK_FILE))) return true
  const last = listAttempts(dir, root).at(-1)
  return isUnlockedRunning(dir, last, readMeta(last?.meta, last?.within))
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

/** Whether the logs of a run tell more than its journal: its reader left, or its recorder was killed. */
export function isCut(dir: string, root: string): boolean {
  if (!hasJournal(dir) || isLocked(join(dir, LOCK_FILE))) return false
  const last = listAttempts(dir, root).at(-1)
  return readMeta(last?.meta, last?.within)?.complete === false
}

/** True if the run has a journal. An empty one that no recorder holds has nothing that the logs lack. */
export function hasJournal(dir: string): boolean {
  const stat = fs.lstatSync(join(dir, EVENTS_FILE), { throwIfNoEntry: false })
  return stat?.isFile() === true && (stat.size > 0 || isLocked(join(dir, LOCK_FILE)))
}
