import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import { constants } from 'node:os'
import type { Stream, Writable } from 'node:stream'
import { asLeader, killChild } from '../streams/end-process-tree.ts'
import { cannotStart } from '../streams/spawn-fault.ts'
import type { Recorder, Recorders } from './recorder.ts'

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

/** A running process that is recorded. */
export interface Started {
  readonly pid: number
  readonly exit: Promise<Exit>
  readonly recorders: readonly Recorder[]
  /** Sends a signal to the process and all its descendants. */
  kill(signal: NodeJS.Signals): void
  /** Types into the pseudo-terminal. */
  type?(text: string): void
  /** Its stdin, if that was left open. */
  readonly stdin?: Writable | undefined
}

export interface StartOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** The stdin of the process: empty, our own, this text, or left open for more. */
  readonly input: 'ignore' | 'inherit' | 'open' | { readonly text: string }
  readonly recorders: Recorders
}

/** Starts a process on two pipes, as the leader of its own group. */
export async function startOnPipes(options: StartOptions): Promise<Started> {
  const { command, args, cwd, env, input } = options
  const recorders: Recorder[] = []
  try {
    const stdout = options.recorders.pipe('stdout')
    recorders.push(stdout)
    const stderr = options.recorders.pipe('stderr')
    recorders.push(stderr)
    const { child, exit } = await started(command, cwd, () =>
      spawn(command, [...args], {
        cwd,
        env,
        ...asLeader(),
        stdio: withoutTerminals([
          input === 'ignore' || input === 'inherit' ? input : 'pipe',
          stdout.stdio,
          stderr.stdio,
        ]),
      }),
    )
    for (const recorder of recorders) recorder.release()
    if (child.stdout) stdout.attach(child.stdout)
    if (child.stderr) stderr.attach(child.stderr)
    // A process that does not read its input closes the pipe: ignore the error.
    child.stdin?.on('error', () => {})
    if (typeof input === 'object') child.stdin?.end(input.text)
    const stdin = input === 'open' ? child.stdin! : undefined
    return { pid: child.pid!, exit, recorders, kill: (signal) => killChild(child, signal), stdin }
  } catch (error) {
    await abandon(recorders)
    throw error
  }
}

export function signalName(number: number): string {
  const [name] = Object.entries(constants.signals).find(([, known]) => known === number) ?? []
  return name ?? `signal ${number}`
}

/** Spawns a process, and waits until it runs. If it does not, the command cannot be started. */
export async function started<Child extends ChildProcess>(
  command: string,
  cwd: string,
  spawned: () => Child,
): Promise<{ readonly child: Child; readonly exit: Promise<Exit> }> {
  const child = start(command, cwd, spawned)
  const exit = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(command, cwd, error))).once('spawn', resolve)
  })
  return { child, exit }
}

/** Calls the function that spawns; if that throws, the command cannot be started. */
export function start<Child>(command: string, cwd: string, spawned: () => Child): Child {
  try {
    return spawned()
  } catch (error) {
    throw cannotStart(command, cwd, error)
  }
}

/** Nothing will be recorded: releases what the recorders hold. */
export async function abandon(recorders: readonly Recorder[]): Promise<void> {
  for (const recorder of recorders) {
    recorder.release()
    recorder.stop()
  }
  await Promise.allSettled(recorders.map((recorder) => recorder.ended))
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
