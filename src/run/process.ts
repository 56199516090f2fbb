import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { delimiter, join } from 'node:path'
import { Fault, quote } from '../base/fault.ts'
import type { Channel } from '../frames/chunk.ts'
import { codeOf } from '../sinks/disk-fault.ts'
import { type Recorder, record, recordHere } from './recorder.ts'

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

/** A process that runs and is recorded. */
export interface Started {
  readonly pid: number
  readonly exit: Promise<Exit>
  readonly recorders: readonly Recorder[]
  /** Sends a signal to the process and to all it has started. */
  kill(signal: NodeJS.Signals): void
  /** Types into the pseudo-terminal. */
  type?(text: string): void
}

export interface StartOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** What the process reads: nothing, our own stdin, or this text. */
  readonly input: 'ignore' | 'inherit' | { readonly text: string }
  readonly logs: Readonly<Record<Channel, string>>
  readonly wake: () => void
}

/** Starts a process on two pipes, as the leader of its own group. */
export async function startOnPipes(options: StartOptions): Promise<Started> {
  const { command, args, cwd, env, input, logs, wake } = options
  const stdout = record(logs.stdout, wake)
  const stderr = record(logs.stderr, wake)
  const recorders = [stdout, stderr]
  const child = spawn(command, [...args], {
    cwd,
    env,
    detached: true,
    stdio: [typeof input === 'string' ? input : 'pipe', stdout.stdio, stderr.stdio],
  })
  const exit = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const failed = new Promise<Error>((resolve) => void child.once('error', resolve))
  const began = await Promise.race([
    failed,
    new Promise<undefined>((resolve) => void child.once('spawn', resolve)),
  ])
  for (const recorder of recorders) recorder.release()
  if (began) {
    for (const recorder of recorders) recorder.stop()
    await Promise.allSettled(recorders.map((recorder) => recorder.ended))
    throw cannotStart(command, cwd, began)
  }
  if (child.stdout) stdout.attach(child.stdout)
  if (child.stderr) stderr.attach(child.stderr)
  // A process that does not read its input must not break us.
  child.stdin?.on('error', () => {})
  if (typeof input === 'object') child.stdin?.end(input.text)
  const pid = child.pid!
  return { pid, exit, recorders, kill: (signal) => killGroup(pid, signal) }
}

/** Starts a process on a pseudo-terminal. It leads its own session, so its group can be signalled too. */
export async function startOnPty(options: StartOptions & { cols: number; rows: number }): Promise<Started> {
  const { command, args, cwd, env, input, logs, wake, cols, rows } = options
  const pty = await loadPty()
  // The terminal itself would only show an exit code.
  if (!fs.existsSync(cwd) || !findCommand(command, cwd, env))
    throw cannotStart(command, cwd, { code: 'ENOENT' })
  const fd = fs.openSync(logs.pty, fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL, 0o644)
  const recorder = recordHere(logs.pty, fd, wake)
  const terminal = pty.spawn(command, [...args], {
    cwd,
    cols,
    rows,
    env: { ...env },
    name: 'xterm-256color',
    encoding: null,
  })
  // With `encoding: null` these are bytes, though the types say text.
  terminal.onData((data: unknown) => recorder.write(data as Uint8Array))
  const exit = new Promise<Exit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      recorder.stop()
      resolve(
        signal
          ? { code: null, signal: signalNames.get(signal) ?? `signal ${signal}` }
          : { code: exitCode, signal: null },
      )
    })
  })
  if (typeof input === 'object') terminal.write(input.text)
  return {
    pid: terminal.pid,
    exit,
    recorders: [recorder],
    kill: (signal) => killGroup(terminal.pid, signal),
    type: (text) => terminal.write(text),
  }
}

async function loadPty(): Promise<typeof import('@lydell/node-pty')> {
  try {
    return await import('@lydell/node-pty')
  } catch (error) {
    throw new Fault(
      'PTY_MISSING',
      'a pseudo-terminal needs the optional package @lydell/node-pty: npm install @lydell/node-pty (or run without pty)',
      { cause: error },
    )
  }
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // ESRCH: nobody is left. EPERM (macOS): only zombies are.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

function findCommand(command: string, cwd: string, env: NodeJS.ProcessEnv): boolean {
  const places = command.includes('/') ? [cwd] : (env['PATH'] ?? '').split(delimiter)
  return places.some((place) => {
    try {
      fs.accessSync(command.startsWith('/') ? command : join(place, command), fs.constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function cannotStart(command: string, cwd: string, cause: unknown): Fault {
  const code = codeOf(cause)
  const why =
    code !== 'ENOENT'
      ? String(code)
      : fs.existsSync(cwd)
        ? 'no such command; is it installed and on PATH?'
        : `the working directory ${quote(cwd, 120)} does not exist`
  return new Fault('SPAWN_FAILED', `cannot start ${quote(command, 120)}: ${why}`, { cause })
}

const signalNames = new Map([
  [1, 'SIGHUP'],
  [2, 'SIGINT'],
  [3, 'SIGQUIT'],
  [6, 'SIGABRT'],
  [9, 'SIGKILL'],
  [11, 'SIGSEGV'],
  [13, 'SIGPIPE'],
  [15, 'SIGTERM'],
])
