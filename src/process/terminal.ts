import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { delimiter, join } from 'node:path'
import type { ReadStream } from 'node:tty'
import type { IPty } from '@lydell/node-pty'
import { Fault, withoutStack } from '../base/fault.ts'
import {
  keepToUs,
  type Started,
  type StartOptions,
  signalName,
  start,
  started,
  withoutTerminals,
} from './process.ts'
import { abandon, type Recorder, type ScreenRecorder } from './recorder.ts'
import { cannotStart } from './spawn-fault.ts'
import type { Exit } from './supervise.ts'

/** Starts a process on a pseudo-terminal. It leads its own session, so its group can be signalled too. */
export async function startOnPty(options: StartOptions & { cols: number; rows: number }): Promise<Started> {
  const { command, args, cwd, env, input, recorders, cols, rows } = options
  const pty = await loadPty(options)
  const recorder = recorders.terminal()
  let terminal: Terminal
  try {
    terminal = start(command, cwd, () =>
      pty.spawn(command, [...args], {
        cwd,
        cols,
        rows,
        env: { ...env },
        name: 'xterm-256color',
        encoding: null,
      }),
    )
  } catch (error) {
    recorder.stop()
    throw error
  }
  const release = holdOpen(terminal)
  const closed = keepToUs(terminal.fd)
  // Cast: with `encoding: null` these are bytes, though the types say text.
  terminal.onData((data: unknown) => {
    recorder.write(data as Uint8Array)
    drain(terminal, recorder.write)
  })
  const exit = new Promise<Exit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      release()
      closed()
      recorder.stop()
      resolve(signal ? { code: null, signal: signalName(signal) } : { code: exitCode, signal: null })
    })
  })
  if (typeof input === 'object') terminal.write(input.text)
  return {
    pid: terminal.pid,
    exit,
    recorders: [recorder],
    type: (text) => terminal.write(text),
  }
}

/** What node-pty has on Unix, but not in its types. */
type Terminal = IPty & { readonly fd?: number; readonly ptsName?: string }

/**
 * Opens the process's side of the terminal, and keeps it open. When the last holder closes it, the terminal
 * hangs up, and unread bytes are lost: while we hold it, the last holder is never the process.
 */
function holdOpen({ ptsName }: Terminal): () => void {
  try {
    const fd = fs.openSync(ptsName!, fs.constants.O_RDWR | fs.constants.O_NOCTTY)
    return () => fs.closeSync(fd)
  } catch {
    // Then only node-pty protects the last few kilobytes.
    return () => {}
  }
}

/** Reads all of the terminal's buffer: node-pty takes 4 KB at a time, for 200 ms after the exit. */
function drain({ fd }: { readonly fd?: number }, write: (bytes: Uint8Array) => void): void {
  const bytes = Buffer.allocUnsafe(4096)
  try {
    for (let taken = 0; fd !== undefined && taken < MAX_TURN; ) {
      const length = withoutStack(() => fs.readSync(fd, bytes), undefined)
      if (length === 0) return
      write(bytes.subarray(0, length))
      taken += length
    }
  } catch {
    // EAGAIN: nothing more to read now. node-pty will get any other error itself.
  }
}

/** Bytes to read from a terminal at once, so that other work gets a turn. */
const MAX_TURN = 1 << 20

async function loadPty({ command, cwd, env }: StartOptions): Promise<typeof import('@lydell/node-pty')> {
  // Bun's tty.ReadStream closes the terminal at the first EAGAIN, so the agent gets a hangup and its output
  // is lost (Bun 1.4.4: 22 of 25 times).
  if ('bun' in process.versions)
    throw new Fault(
      'PTY_MISSING',
      '@lydell/node-pty loses the output of a pseudo-terminal in Bun; run this under Node or Deno, or without pty',
    )
  // Ending what runs in one, and keeping its last bytes, is written for POSIX.
  if (process.platform === 'win32')
    throw new Fault('PTY_MISSING', 'a pseudo-terminal is not offered on Windows; run this without pty')
  const pty = await import('@lydell/node-pty').catch((cause: unknown) => {
    throw new Fault(
      'PTY_MISSING',
      'a pseudo-terminal needs the optional package @lydell/node-pty: npm install @lydell/node-pty (or run without pty)',
      { cause },
    )
  })
  // The terminal itself would only report an exit code.
  if (!fs.existsSync(cwd) || !findCommand(command, cwd, env))
    throw cannotStart(command, cwd, { code: 'ENOENT' })
  return pty
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

/**
 * Starts a process as a shell does for `agent 2> >(tee stderr.log) | tee stdout.log` in a terminal: its
 * stdout and stderr are pipes, its stdin and controlling terminal are a pseudo-terminal, and what goes
 * through the pipes is also shown on that terminal. So three channels of one run are recorded.
 *
 * stdout and stderr are exact. The terminal shows both with CRLF, mixed as they arrive there, and also what
 * the process writes to /dev/tty and the echo of what is typed.
 */
export async function startOnPtyAndPipes(
  options: StartOptions & { cols: number; rows: number },
): Promise<Started> {
  const { command, args, cwd, env, input, cols, rows } = options
  const pty = await loadPty(options)
  // Cast: node-pty exports `open` on Unix, but not in its types.
  const { open } = pty as unknown as { open?: (size: object) => OpenTerminal }
  if (!open)
    throw new Fault('PTY_MISSING', 'this @lydell/node-pty cannot open a bare terminal; run without pipes')
  const terminal = open({ cols, rows, encoding: null })
  // Our own blocking descriptor, for the recorders; the stream of node-pty would read what is typed.
  const shown = fs.openSync(terminal.ptsName, fs.constants.O_RDWR | fs.constants.O_NOCTTY)
  terminal.slave.destroy()
  terminal.master.once('close', keepToUs(terminal.fd))
  // A terminal that hangs up reports an error; its end is enough.
  terminal.master.on('error', () => {})
  const recorders: Recorder[] = []
  try {
    const screen = recordScreen(terminal, options.recorders.terminal())
    recorders.push(screen)
    const [stdout, stderr] = await options.recorders.pipes(shown)
    recorders.push(stdout, stderr)
    const { child, running } = await started(command, cwd, () =>
      // The shell leads the new session, so the terminal that it opens becomes its controlling terminal.
      spawn('/bin/sh', ['-c', 'tty=$0; exec "$@" <>"$tty"', terminal.ptsName, command, ...args], {
        cwd,
        env: { ...env, TERM: 'xterm-256color' },
        detached: true,
        stdio: withoutTerminals(['ignore', stdout.stdio, stderr.stdio]),
      }),
    )
    for (const recorder of recorders) recorder.release()
    if (child.stdout) stdout.attach(child.stdout)
    if (child.stderr) stderr.attach(child.stderr)
    const { exit } = running
    // Everything is on the terminal when both recorders are done and the process is gone. The process may
    // close both pipes long before, and losing its terminal then would kill it.
    void Promise.allSettled([stdout.ended, stderr.ended, exit]).then(screen.last)
    if (typeof input === 'object') terminal.master.write(input.text)
    return {
      ...running,
      recorders,
      type: (text) => void (terminal.master.destroyed || terminal.master.write(text)),
    }
  } catch (error) {
    await abandon(recorders)
    if (recorders.length === 0) terminal.master.destroy()
    throw error
  } finally {
    fs.closeSync(shown)
  }
}

/** A terminal without a process, as node-pty opens it. */
interface OpenTerminal {
  readonly fd: number
  readonly ptsName: string
  readonly master: ReadStream & NodeJS.WritableStream
  readonly slave: ReadStream
}

/**
 * Records what a terminal shows. The kernel passes bytes on with a delay, so "nothing to read" does not mean
 * that nothing will come: at the end a mark is written, and everything before the mark is what was shown.
 */
function recordScreen(terminal: OpenTerminal, recorder: ScreenRecorder) {
  const mark = Buffer.from(`sluice-${randomUUID()}`)
  // Held open, because a terminal hangs up when its last user closes it, and unread bytes are lost.
  const held = fs.openSync(
    terminal.ptsName,
    fs.constants.O_RDWR | fs.constants.O_NOCTTY | fs.constants.O_NONBLOCK,
  )
  let marking = false
  /** While waiting for the mark: bytes that may be its beginning. */
  let rest = Buffer.alloc(0)
  let closed = false
  const close = () => {
    if (closed) return
    closed = true
    recorder.write(rest)
    recorder.stop()
    terminal.master.destroy()
    fs.closeSync(held)
  }
  const take = (bytes: Uint8Array) => {
    if (closed) return
    if (!marking) {
      recorder.write(bytes)
      return
    }
    const all = Buffer.concat([rest, bytes])
    const at = all.indexOf(mark)
    const sure = at >= 0 ? at : Math.max(0, all.length - mark.length + 1)
    recorder.write(all.subarray(0, sure))
    rest = at >= 0 ? Buffer.alloc(0) : all.subarray(sure)
    if (at >= 0) close()
  }
  terminal.master.on('data', (bytes: Buffer) => {
    take(bytes)
    if (!closed) drain(terminal, take)
  })
  terminal.master.once('close', close)
  return {
    ...recorder,
    stop: close,
    /** Nothing more will be shown: ends when everything shown is recorded. */
    last(): void {
      if (closed) return
      marking = true
      try {
        fs.writeSync(held, mark)
      } catch {
        // The output is stopped (Ctrl-S): it is abandoned like pipes that are held open.
      }
    },
  }
}
