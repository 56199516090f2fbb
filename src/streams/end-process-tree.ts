import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../base/system-error-code.ts'
import { type Process, processTree } from './process-tree.ts'

/** A killed process is gone in a moment; this is how long to wait for one that the kernel holds. */
const MAX_WAIT_MS = 2000

/**
 * Asks a child and all its descendants to end, kills those that have not after `grace` milliseconds, and
 * leaves none of them behind. Resolves when the child is gone.
 */
export async function endChild(child: ChildProcess, grace: number): Promise<void> {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const send = leadsGroup(pid) ? (signal: NodeJS.Signals) => killGroup(pid, signal) : toTree(pid)
  const over = new AbortController()
  const exited = once(child, 'exit').finally(() => over.abort())
  send('SIGTERM')
  const waited = (ms: number) => delay(ms, true, { signal: over.signal }).catch(() => false)
  if (await waited(grace)) send('SIGKILL')
  await Promise.race([exited, waited(MAX_WAIT_MS)])
  // The child ended in order; its remaining descendants are killed without being asked.
  send('SIGKILL')
}

/** Sends a signal to a process and its whole group. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  signalOne(-pid, signal)
}

/** True if the process was started as the leader of its own group (`detached: true`). */
function leadsGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * Signals a process that shares our own group, and its descendants. Those found once are remembered: when
 * their parent is gone, they cannot be found again.
 */
function toTree(root: number): (signal: NodeJS.Signals) => void {
  const known = new Set<string>()
  return (signal) => {
    const first = known.size === 0
    for (const one of processTree((one) => (first ? one.pid === root : known.has(keyOf(one))))) {
      known.add(keyOf(one))
      if (!one.zombie) signalOne(one.pid, signal)
    }
  }
}

/** A reused pid has another start time, so another key. */
function keyOf({ pid, started }: Process): string {
  return `${pid} ${started}`
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // ESRCH: it is gone. EPERM: it now belongs to another user, or (macOS) the group has only zombies left.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}
