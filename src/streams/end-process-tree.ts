import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../base/system-error-code.ts'

/** A killed process is gone in a moment; this is how long to wait for one that the kernel holds. */
const MAX_WAIT_MS = 2000

/**
 * Asks a child and all its descendants to end, kills those that have not after `grace` milliseconds, and
 * leaves none of them behind. Resolves when the child is gone.
 */
export async function endChild(child: ChildProcess, grace: number): Promise<void> {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const whole = onWindows() || leadsGroup(pid)
  const send = whole ? (signal: NodeJS.Signals) => killChild(child, signal) : toTree(pid)
  const over = new AbortController()
  const exited = once(child, 'exit').finally(() => over.abort())
  send('SIGTERM')
  const waited = (ms: number) => delay(ms, true, { signal: over.signal }).catch(() => false)
  if (await waited(grace)) send('SIGKILL')
  await Promise.race([exited, waited(MAX_WAIT_MS)])
  // The child ended in order; its remaining descendants are killed without being asked.
  send('SIGKILL')
}

/** How to `spawn` a child for `killChild`. Windows has no groups, and would open a window for the child. */
export function asLeader(): { readonly detached: boolean; readonly windowsHide: boolean } {
  return { detached: !onWindows(), windowsHide: true }
}

/**
 * Sends a signal to a child that leads its own group, and to the group. On Windows taskkill ends the child
 * and its descendants at once, whatever the signal is; when the child is gone, its pid may be another
 * process's.
 */
export function killChild(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid, exitCode, signalCode } = child
  if (pid === undefined) return
  if (!onWindows()) killGroup(pid, signal)
  else if (exitCode === null && signalCode === null)
    spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore', windowsHide: true })
}

/** Sends a signal to a process and its whole group. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  signalOne(-pid, signal)
}

/** Asked at each use, so that tests can take the ways of another system. */
function onWindows(): boolean {
  return process.platform === 'win32'
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

/** One process: its pid, and its start time, which differs if the pid is reused. */
export interface Process {
  readonly pid: number
  readonly parent: number
  /** Its start time, as the system writes it. */
  readonly started: string
  readonly zombie: boolean
}

/** The stat of a process on Linux; undefined if it is gone, and on other systems. */
export function processStat(pid: number): Process | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything; after it come the state, the parent and, 18 fields later,
    // the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { pid, parent: Number(fields[1]), started: fields[19] ?? '', zombie: fields[0] === 'Z' }
  } catch {
    return undefined
  }
}

/** The matching processes and all their descendants, as far as the parents of those are still running. */
function processTree(isMeant: (one: Process) => boolean): Set<Process> {
  const all = everyProcess()
  const children = new Map<number, Process[]>()
  for (const one of all) children.set(one.parent, [])
  for (const one of all) children.get(one.parent)?.push(one)
  const tree = new Set(all.filter(isMeant))
  // It grows during the loop: each process adds its children.
  for (const { pid } of tree) for (const child of children.get(pid) ?? []) tree.add(child)
  return tree
}

function everyProcess(): Process[] {
  let names: string[] = []
  try {
    names = process.platform === 'linux' ? fs.readdirSync('/proc') : []
  } catch {}
  const found = names.flatMap((name) => (Number(name) > 0 ? (processStat(Number(name)) ?? []) : []))
  return found.length > 0 ? found : listedByPs()
}

function listedByPs(): Process[] {
  // One option each: for some systems everything behind a `=` is the title of a column.
  const columns = ['pid=', 'ppid=', 'state=', 'lstart='].flatMap((column) => ['-o', column])
  const { stdout } = spawnSync('ps', ['-A', ...columns], { encoding: 'utf8' })
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [pid, parent, state = '', ...start] = line.trim().split(' ').filter(Boolean)
    if (parent === undefined) return []
    return {
      pid: Number(pid),
      parent: Number(parent),
      started: start.join(' '),
      zombie: state.startsWith('Z'),
    }
  })
}
