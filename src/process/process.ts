import { type ChildProcess, spawn as spawnChild } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Stream, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../base/fault.ts'
import { diskFault } from '../base/system-error-code.ts'
import { abandon, type Recorder, type Recorders } from './recorder.ts'
import { cannotStart } from './spawn-fault.ts'
import { type ChildLike, type Running, takeOver } from './supervise.ts'
import { asLeader } from './tree.ts'

/** A running process that is recorded. */
export interface Started extends Running {
  readonly recorders: readonly Recorder[]
  /** Types into the pseudo-terminal. */
  type?(text: string): void
  /** Its stdin, if that is a pipe that we write to. */
  readonly stdin?: Writable | undefined
}

/**
 * Starts a process in place of `spawn` of `node:child_process`: in a container, over ssh, or not at all. What
 * it returns need not have a pid or file descriptors. `stdio` is `['pipe', 'pipe', 'pipe']`, or has
 * `'ignore'` or `'inherit'` for a stdin that nothing is written to.
 *
 * @example
 * const inContainer: SpawnLike = (command, args, { env, ...options }) =>
 *   spawn('docker', ['exec', '-i', 'box', command, ...args], { ...options, cwd: undefined })
 */
export type SpawnLike = (
  command: string,
  args: string[],
  options: {
    readonly cwd: string
    readonly env: NodeJS.ProcessEnv
    readonly stdio: ['pipe' | 'ignore' | 'inherit', 'pipe', 'pipe']
    readonly detached: boolean
    readonly windowsHide: boolean
  },
) => ChildLike

export interface StartOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** The stdin of the process: empty, our own, left open for more, this text, or the file that has it. */
  readonly input:
    | 'ignore'
    | 'inherit'
    | 'open'
    | { readonly text: string; readonly file?: string | undefined }
  readonly recorders: Recorders
  /** Starts it in place of `spawn`. */
  readonly spawn?: SpawnLike | undefined
}

/** Starts a process on two pipes, as the leader of its own group. */
export async function startOnPipes(options: StartOptions): Promise<Started> {
  const { command, args, cwd, env, input, spawn } = options
  const recorders: Recorder[] = []
  let task: number | undefined
  try {
    const [stdout, stderr] = await options.recorders.pipes()
    recorders.push(stdout, stderr)
    const given = { cwd, env, ...asLeader() }
    const { child, running, closed } = await started(command, cwd, () => {
      const stdin = typeof input === 'object' || input === 'open' ? 'pipe' : input
      if (spawn) return spawn(command, [...args], { ...given, stdio: [stdin, 'pipe', 'pipe'] })
      if (typeof input === 'object') task = openTask(input)
      const stdio = withoutTerminals([task ?? stdin, stdout.stdio, stderr.stdio])
      return spawnChild(command, [...args], { ...given, stdio })
    })
    for (const recorder of recorders) recorder.release()
    attach(stdout, child.stdout)
    attach(stderr, child.stderr)
    const stdin = task === undefined && input !== 'ignore' ? (child.stdin ?? undefined) : undefined
    // A process that does not read its input closes the pipe: ignore the error.
    stdin?.on('error', () => {})
    return { ...running, ...(spawn && { closed }), recorders, stdin }
  } catch (error) {
    await abandon(recorders)
    throw error
  } finally {
    if (task !== undefined) fs.closeSync(task)
  }
}

/** The streams of a child are ours to read, unless its recorder gave it another end. */
function attach(recorder: Recorder, stream: ChildLike['stdout']): void {
  if (stream) recorder.attach(stream)
  else if (recorder.stdio === 'pipe') recorder.stop()
}

/** Spawns a process in our directory, in a group of its own, with this text as its stdin. */
export function spawnWithTask(command: string, args: readonly string[], text: string): ChildProcess {
  const task = openTask({ text })
  try {
    const spawned = () => spawnChild(command, [...args], { ...asLeader(), stdio: [task, 'pipe', 'pipe'] })
    return start(command, process.cwd(), spawned)
  } finally {
    fs.closeSync(task)
  }
}

/**
 * The task as a file, and not as a pipe: if we are killed while we write it, no agent has begun to read. A
 * task that is not recorded gets a file without a name.
 */
function openTask({ text, file }: Exclude<StartOptions['input'], string>): number {
  const path = file ?? join(tmpdir(), `sluice-${randomUUID()}`)
  try {
    if (file === undefined) fs.writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return fs.openSync(path, fs.constants.O_RDONLY)
  } catch (error) {
    throw new Fault('RECORD_FAILED', diskFault('hand over the task in', path, error).message, {
      cause: error,
    })
  } finally {
    if (file === undefined) fs.rmSync(path, { force: true })
  }
}

export function signalName(number: number): string {
  const [name] = Object.entries(constants.signals).find(([, known]) => known === number) ?? []
  return name ?? `signal ${number}`
}

/** Spawns a process, and waits until it runs. If it does not, the command cannot be started. */
export async function started<Child extends ChildLike>(
  command: string,
  cwd: string,
  spawned: () => Child,
): Promise<{ readonly child: Child; readonly running: Running; readonly closed: Running['closed'] }> {
  const child = start(command, cwd, spawned)
  // A child whose output goes past us into recorders closes before they are done.
  const { closed, ...running } = takeOver(child, { command, cwd })
  // Without a pid it has failed, and says so in a moment; or it only looks like a child process.
  if (child.pid === undefined) await Promise.race([running.exit, turn()])
  return { child, running, closed }
}

/** Calls the function that spawns; if that throws, the command cannot be started. */
export function start<Child>(command: string, cwd: string, spawned: () => Child): Child {
  try {
    return spawned()
  } catch (error) {
    throw Fault.is(error) ? error : cannotStart(command, cwd, error)
  }
}

/**
 * The descriptors of our open terminals. node-pty does not close them on exec, so every process that is
 * started meanwhile would inherit them; and a terminal that another process holds does not hang up when we
 * are killed.
 */
const open = new Set<number>()
let nothing: number | undefined

/** Hides a terminal from processes that are started later; call the result when it is closed. */
export function keepToUs(terminal: number | undefined): () => void {
  if (terminal === undefined) return () => {}
  open.add(terminal)
  return () => void open.delete(terminal)
}

type Stdio = number | Stream | 'pipe' | 'ignore' | 'inherit'

/** The stdio of a new process, with our terminals replaced by /dev/null. */
export function withoutTerminals(stdio: readonly Stdio[]): Stdio[] {
  const covered = [...stdio]
  for (const terminal of open) {
    nothing ??= fs.openSync('/dev/null', 'r+')
    // From 3 on, `ignore` leaves a descriptor unchanged.
    while (covered.length <= terminal) covered.push('ignore')
    if (terminal >= stdio.length) covered[terminal] = nothing
  }
  return covered
}
