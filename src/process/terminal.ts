import fs from 'node:fs'
import { delimiter, join } from 'node:path'
import type { IPty } from '@lydell/node-pty'
import { Fault } from '../base/fault.ts'
import { withoutStack } from '../base/no-stack.ts'
import { killGroup } from '../streams/end-process-tree.ts'
import { cannotStart } from '../streams/spawn-fault.ts'
import { keepToUs } from './open-terminals.ts'
import { type Exit, type Started, type StartOptions, signalName, start } from './process.ts'

/** Starts a process on a pseudo-terminal. It leads its own session, so its group can be signalled too. */
export async function startOnPty(options: StartOptions & { cols: number; rows: number }): Promise<Started> {
  const { command, args, cwd, env, input, recorders, cols, rows } = options
  const pty = await loadPty()
  // The terminal itself would only report an exit code.
  if (!fs.existsSync(cwd) || !findCommand(command, cwd, env))
    throw cannotStart(command, cwd, { code: 'ENOENT' })
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
    kill: (signal) => killGroup(terminal.pid, signal),
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

/**
 * Reads everything in the terminal's buffer: node-pty takes 4 KB at a time, and stops 200 ms after the exit.
 */
export function drain({ fd }: { readonly fd?: number }, write: (bytes: Uint8Array) => void): void {
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

export async function loadPty(): Promise<typeof import('@lydell/node-pty')> {
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

export function findCommand(command: string, cwd: string, env: NodeJS.ProcessEnv): boolean {
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
