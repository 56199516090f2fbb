import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault, orElse, quote } from '../base/fault.ts'
import { codeOf, diskFault } from '../base/system-error-code.ts'
import { isSameProcess, processStart } from '../process/tree.ts'
import { replaceFile, writeWholeSync } from './durable.ts'
import { readPlain } from './plain-file.ts'

export interface Lock {
  /** Writes into the file which run it is for. */
  names(run: string): void
  release(): void
}

interface Holder {
  readonly token: string
  readonly pid: number
  readonly host: string
  /** The start time of the process, in the kernel's own units: it detects a reused pid. */
  readonly started: string | null
  /** The run that is recorded under it. */
  readonly run?: string | undefined
}

/**
 * Takes a lock file, or throws JOURNAL_LOCKED while its holder is alive. The lock of a dead process is
 * stale and is taken over.
 *
 * Two processes may find the same stale lock at once. A process that wants to replace it must first take the
 * lock *for replacing exactly that one* (its path plus the stale token) and then check again. So of all
 * processes that saw the stale lock only one replaces it, and a late one sees that it is gone. If that winner
 * dies too, its own lock is stale and is taken over in the same way.
 */
export function takeLock(path: string, depth = 0): Lock {
  const mine: Holder = {
    token: randomUUID(),
    pid: process.pid,
    host: hostname(),
    started: processStart(process.pid),
  }
  // The content must be there when the name appears, so the file is written first and then linked.
  const draft = `${path}.${mine.token}`
  try {
    fs.writeFileSync(draft, JSON.stringify(mine), { flag: 'wx', mode: 0o600 })
    for (;;) {
      try {
        fs.linkSync(draft, path)
        return held(path, mine)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
      const holder = readHolder(path)
      if (holder === undefined) continue
      if (depth > 8 || alive(holder)) throw lockedBy(path, holder)
      const right = takeLock(`${path}.after-${holder.token}`, depth + 1)
      try {
        if (readHolder(path)?.token === holder.token) {
          replaceFile(draft, path)
          return held(path, mine)
        }
      } finally {
        right.release()
      }
    }
  } catch (error) {
    throw Fault.is(error) ? error : diskFault('lock', path, error)
  } finally {
    // Where the draft could not be made, this may fail, too, and must not hide why.
    orElse(() => fs.rmSync(draft, { force: true }), undefined)
  }
}

function held(path: string, mine: Holder): Lock {
  return {
    names(run) {
      // What no reader would take for a lock is not written.
      const text = JSON.stringify({ ...mine, run })
      if (text.length < MAX_LOCK) writeWholeSync(path, text)
    },
    release() {
      if (readHolder(path)?.token === mine.token) fs.rmSync(path, { force: true })
    },
  }
}

/** True while a live process holds the lock at this path. Anything but a regular file is not a lock. */
export function isLocked(path: string): boolean {
  const holder = readHolder(path)
  return holder !== undefined && holder !== obstacle && alive(holder)
}

/** The run for which a live process holds the lock, if it says so. */
export function lockedRun(path: string): string | undefined {
  const holder = readHolder(path)
  return typeof holder?.run === 'string' && alive(holder) ? holder.run : undefined
}

/** A lock is one line; a larger file is not a lock. */
const MAX_LOCK = 4096
/** A file with other content: its owner is unknown, so it never counts as stale. */
const unknown: Holder = { token: 'unreadable', pid: 0, host: '', started: null }
/** A link, a directory, a FIFO: not a lock, but no process can take the lock while it is there. */
const obstacle: Holder = { ...unknown }

function readHolder(path: string): Holder | undefined {
  let text: string
  try {
    text = readPlain(path, MAX_LOCK)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    return code === 'EFTYPE' || code === 'ELOOP' || code === 'ENXIO' ? obstacle : unknown
  }
  try {
    const { token, pid, host, started, run } = JSON.parse(text) as Partial<Holder>
    if (typeof token === 'string' && /^[\w-]{1,64}$/.test(token) && typeof pid === 'number')
      return { token, pid, host: String(host), started: started ?? null, run }
  } catch {}
  return unknown
}

function alive(holder: Holder): boolean {
  if (holder.host !== hostname() || holder.pid <= 0) return true
  return isSameProcess(holder.pid, holder.started)
}

function lockedBy(path: string, holder: Holder): Fault {
  const who = holder.pid > 0 ? `process ${holder.pid} on ${quote(holder.host)}` : 'something unknown'
  const what = typeof holder.run === 'string' ? `the run ${quote(holder.run, 100)} ` : ''
  return new Fault(
    'JOURNAL_LOCKED',
    `${who} writes ${what}here; use another directory, or remove ${quote(path, 200)} if that process is gone`,
  )
}

/**
 * Runs a function while no other process does: the lock is held for milliseconds, so the wait is short. The
 * lock of a killed process is stale, and is taken over.
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
