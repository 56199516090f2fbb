import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../base/system-error-code.ts'

/** How often to look whether processes have ended. */
const LOOK_MS = 50
/** How often to look for what was forked while others were killed. */
const MAX_LOOKS = 20

/** How to `spawn` a child that leads its own group. Windows has none, and would open a window for it. */
export function asLeader(): { readonly detached: boolean; readonly windowsHide: boolean } {
  return { detached: !onWindows(), windowsHide: true }
}

/** Asked at each use, so that tests can take the ways of another system. */
function onWindows(): boolean {
  return process.platform === 'win32'
}

/**
 * A process and all that it has started: its group, its session, and its descendants, those in a session of
 * their own included. Those found once are remembered, because they cannot be found by a parent that is gone.
 */
export class ProcessTree {
  readonly #root: number
  /** It was started as the leader of its own group and session. */
  readonly #leads: boolean
  readonly #known = new Set<string>()

  constructor(root: number) {
    // 0 and less mean whole groups, and 1 is the parent of all that have lost theirs.
    if (!Number.isInteger(root) || root <= 1) throw new RangeError(`${root} is no process of ours`)
    this.#root = root
    this.#leads = !onWindows() && hasGroup(root)
  }

  /**
   * Looks at the tree, then sends the signal to all of it. What is looked at may fork meanwhile, and a child
   * in a session of its own is lost with its parent: so a kill stops all of it first, until a look finds
   * nothing new, and is repeated until one finds nothing. `isGone` says that the root has ended.
   */
  signal(signal: NodeJS.Signals, isGone: boolean): void {
    const root = this.#root
    if (onWindows()) {
      // It ends the whole tree at once, whatever the signal is. A pid that is free may be another process's.
      if (!isGone) taskkill(root)
      return
    }
    if (signal !== 'SIGKILL') {
      this.#send(signal, this.#look())
      return
    }
    for (let looks = MAX_LOOKS; looks > 0; looks--) {
      const before = this.#known.size
      const found = this.#look()
      const isFirst = looks === MAX_LOOKS
      if (found.length === 0 && !isFirst) return
      const isNew = found.length > 0 && (isFirst || this.#known.size > before)
      // Nothing may be left stopped.
      this.#send(isNew && looks > 1 ? 'SIGSTOP' : signal, found)
    }
  }

  #send(signal: NodeJS.Signals, found: readonly Process[]): void {
    // At once, so that a process of the group cannot escape by a fork.
    if (this.#leads) send(-this.#root, signal)
    for (const { pid, group } of found) if (!this.#leads || group !== this.#root) send(pid, signal)
  }

  /** Resolves when none of it runs any more, at the latest at this time, in milliseconds since 1970. */
  async gone(until: number): Promise<void> {
    while (Date.now() < until && this.isRunning()) await delay(LOOK_MS)
  }

  /** Whether some of it still runs. Not known on Windows, where all of it ends at once. */
  isRunning(): boolean {
    return !onWindows() && this.#look().length > 0
  }

  /** Those of these processes that this did not signal: they had lost their parent before it looked. */
  without(processes: readonly Process[]): Process[] {
    return processes.filter((one) => !this.#known.has(keyOf(one)) && one.group !== this.#root)
  }

  #look(): Process[] {
    const isFirst = this.#known.size === 0
    const isOurs = (one: Process) =>
      (isFirst ? one.pid === this.#root : this.#known.has(keyOf(one))) ||
      (this.#leads && one.session === this.#root)
    const tree = withDescendants(everyProcess(), isOurs)
    for (const one of tree) this.#known.add(keyOf(one))
    return tree.filter(({ zombie }) => !zombie)
  }
}

/** True if the process was started as the leader of its own group (`detached: true`). */
function hasGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

/** A reused pid has another start time, so another key. */
function keyOf({ pid, started }: Process): string {
  return `${pid} ${started}`
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // ESRCH: it is gone. EPERM: it now belongs to another user, or (macOS) the group has only zombies left.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

function taskkill(pid: number): void {
  spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore', windowsHide: true })
}

/** One process: its pid, and its start time, which differs if the pid is reused. */
export interface Process {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** Undefined where the system does not tell it. */
  readonly session: number | undefined
  /** Its start time, as the system writes it. */
  readonly started: string
  readonly zombie: boolean
}

/** The stat of a process on Linux; undefined if it is gone, and on other systems. */
export function processStat(pid: number): Process | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything; after it come the state, the parent, the group, the
    // session and, 16 fields later, the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [parent = 0, group = 0, session] = fields.slice(1, 4).map(Number)
    return { pid, parent, group, session, started: fields[19] ?? '', zombie: fields[0] === 'Z' }
  } catch {
    return undefined
  }
}

/** True while the process with this pid is running and, where that can be known, is still the same one. */
export function isSameProcess(pid: number, started: string | null): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it exists, but belongs to another user.
    if (codeOf(error) !== 'EPERM') return false
  }
  const now = processStart(pid)
  return now !== 'zombie' && (started === null || now === null || now === started)
}

/** Start time of a process: on Linux from its stat line, elsewhere unknown. */
export function processStart(pid: number): string | null {
  const stat = processStat(pid)
  return stat?.zombie ? 'zombie' : stat?.started || null
}

/** The processes that are ours, and their descendants, as far as the parents of those are still running. */
function withDescendants(all: readonly Process[], isOurs: (one: Process) => boolean): Process[] {
  const children = new Map<number, Process[]>()
  for (const one of all) children.set(one.parent, [])
  for (const one of all) children.get(one.parent)?.push(one)
  const tree = new Set(all.filter(isOurs))
  // It grows during the loop: each process adds its children.
  for (const { pid } of tree) for (const child of children.get(pid) ?? []) tree.add(child)
  return [...tree]
}

/**
 * The processes that run with this environment variable, `NAME=value`: those that an agent has started, and
 * that lost their parent since. Linux only; elsewhere none are found.
 */
export function processesWith(variable: string): Process[] {
  if (process.platform !== 'linux') return []
  return everyProcess().filter(({ pid, zombie }) => !zombie && environmentOf(pid).includes(variable))
}

function environmentOf(pid: number): readonly string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    // It is gone, or belongs to another user.
    return []
  }
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
  // One option each: some systems take everything after a `=` for the title of a column.
  const columns = ['pid=', 'ppid=', 'pgid=', 'state=', 'lstart='].flatMap((column) => ['-o', column])
  const { stdout } = spawnSync('ps', ['-A', ...columns], { encoding: 'utf8' })
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [pid, parent, group, state, ...start] = line.trim().split(' ').filter(Boolean)
    if (state === undefined) return []
    return {
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: undefined,
      started: start.join(' '),
      zombie: state.startsWith('Z'),
    }
  })
}
