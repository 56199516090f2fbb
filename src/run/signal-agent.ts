import { quote } from '../base/fault.ts'
import { isSameProcess, ProcessTree, processesWith } from '../process/tree.ts'
import { listAttempts } from './attempt-logs.ts'
import { readMeta } from './meta.ts'
import { refused } from './orders.ts'
import { MARK } from './run-attempt.ts'

const GRACE_MS = 5000

/**
 * Sends a signal to the agent of a run that takes no orders, and to all it has started: by the pid and the
 * start time in its meta. The agent may have written those itself, so on Linux the process must also have the
 * mark of the run in its environment. With `kill`, it is killed if it is still there after five seconds.
 */
export async function signalAgent(dir: string, signal: NodeJS.Signals, kill: boolean): Promise<void> {
  const meta = readMeta(listAttempts(dir).at(-1)?.meta)
  if (!meta) throw refused(`${quote(dir, 200)} has no run that was recorded`)
  const { pid, pid_started = null, run_id, ended_at } = meta
  if (ended_at !== undefined || pid === undefined || pid === null || !isSameProcess(pid, pid_started))
    throw refused('this run has ended')
  const marked = processesWith(`${MARK}=${run_id}`)
  if (process.platform === 'linux' && !marked.some((one) => one.pid === pid))
    throw refused(`process ${pid} is not the agent of this run, whatever its record says`)
  const tree = new ProcessTree(pid)
  tree.signal(signal, false)
  if (!kill) return
  await tree.gone(Date.now() + GRACE_MS)
  if (tree.isRunning()) tree.signal('SIGKILL', false)
}
