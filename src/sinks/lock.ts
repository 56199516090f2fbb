import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { hostname } from 'node:os'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { processStat } from '../streams/process-tree.ts'
import { diskFault } from './disk-fault.ts'
import { readPlain } from './plain-file.ts'

/** A held lock. */
export interface Lock {
  release(): void
}

interface Holder {
  readonly token: string
  readonly pid: number
  readonly host: string
  /** When the process started, in the kernel's own count: a number that is reused by another is noticed. */
  readonly started: string | null
}

/**
 * Takes a lock file, or throws JOURNAL_LOCKED while its holder lives. The lock of a dead process is
 * stale and is taken over.
 *
 * Two processes may find the same stale lock at once. Who wants to replace it must first hold the lock
 * *for replacing exactly that one* (its path plus the stale token) and then look again, so of all who
 * saw it stale only one replaces it, and a late one sees that it is gone. If that winner dies too, its own
 * lock is stale and is taken over in the same way.
 */
export function takeLock(path: string, depth = 0): Lock {
  const mine: Holder = {
    token: randomUUID(),
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid),
  }
  // The content must be there when the name appears, so the file is written first and linked then.
  const draft = `${path}.${mine.token}`
  try {
    fs.writeFileSync(draft, JSON.stringify(mine), { flag: 'wx' })
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
          fs.renameSync(draft, path)
          return held(path, mine)
        }
      } finally {
        right.release()
      }
    }
  } catch (error) {
    throw Fault.is(error) ? error : diskFault('lock', path, error)
  } finally {
    fs.rmSync(draft, { force: true })
  }
}

function held(path: string, mine: Holder): Lock {
  return {
    release() {
      if (readHolder(path)?.token === mine.token) fs.rmSync(path, { force: true })
    },
  }
}

/** True while a process that is not dead holds the lock at this path. What is no plain file is nobody's lock. */
export function isLocked(path: string): boolean {
  const holder = readHolder(path)
  return holder !== undefined && holder !== obstacle && alive(holder)
}

/** A lock is a line; what is larger is none. */
const MAX_LOCK = 4096
/** Somebody else's file: nobody can be asked, so it is never called stale. */
const unknown: Holder = { token: 'unreadable', pid: 0, host: '', started: null }
/** A link, a directory, a FIFO: nobody took a lock by that, but nobody can take one either while it stands there. */
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
    const { token, pid, host, started } = JSON.parse(text) as Partial<Holder>
    if (typeof token === 'string' && /^[\w-]{1,64}$/.test(token) && typeof pid === 'number') {
      return { token, pid, host: String(host), started: started ?? null }
    }
  } catch {}
  return unknown
}

function alive(holder: Holder): boolean {
  if (holder.host !== hostname() || holder.pid <= 0) return true
  return isSameProcess(holder.pid, holder.started)
}

/** True while the process with this number lives and, where that can be known, is still the same one. */
export function isSameProcess(pid: number, started: string | null): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is there, but belongs to somebody else.
    if (codeOf(error) !== 'EPERM') return false
  }
  const now = startOf(pid)
  return now !== 'zombie' && (started === null || now === null || now === started)
}

/** When a process started: on Linux from its stat line, elsewhere unknown. */
export function startOf(pid: number): string | null {
  const stat = processStat(pid)
  return stat?.zombie ? 'zombie' : stat?.started || null
}

function lockedBy(path: string, holder: Holder): Fault {
  const who = holder.pid > 0 ? `process ${holder.pid} on ${quote(holder.host)}` : 'something unknown'
  return new Fault(
    'JOURNAL_LOCKED',
    `${who} writes here; use another directory, or remove ${quote(path, 200)} if that process is gone`,
  )
}
