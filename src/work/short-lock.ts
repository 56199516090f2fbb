import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../base/fault.ts'
import { takeLock } from '../disk/lock.ts'

/**
 * Runs a function while no other process does: the lock is held for milliseconds, so the wait is short. The
 * lock of a killed process is stale, and is taken over.
 *
 * @example
 * await withLock('.outbox/locks/run-7.lock', () => replaceComment())
 */
export async function withLock<T>(path: string, act: () => Promise<T>): Promise<T> {
  for (let turn = 1; ; turn++) {
    try {
      const lock = takeLock(path)
      try {
        return await act()
      } finally {
        lock.release()
      }
    } catch (error) {
      if (!Fault.is(error) || error.code !== 'JOURNAL_LOCKED' || turn === MAX_TURNS) throw error
    }
    await delay(20)
  }
}

/** Five seconds of waiting. */
const MAX_TURNS = 250
