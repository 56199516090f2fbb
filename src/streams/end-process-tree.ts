import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../base/system-error-code.ts'
import { type Process, processTree } from './process-tree.ts'

/** A process that is killed is gone in a moment; longer than this we do not wait for one that the kernel holds. */
const MAX_WAIT_MS = 2000

/**
 * Asks a child and all that it has started to end, kills after `grace` milliseconds what has not, and leaves none of them
 * behind. It is done when the child is gone.
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
  // Its own end was orderly; what it has left behind is not asked again.
  send('SIGKILL')
}

/** Sends a signal to a process and to all of its group. */
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
 * Signals a process that shares our own group, and all that it has started. Those that are found once stay known: when
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

/** A number that another process has got meanwhile is another key. */
function keyOf({ pid, started }: Process): string {
  return `${pid} ${started}`
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // ESRCH: it is gone. EPERM: it belongs to another user now, or (macOS) only zombies are left of the group.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}
