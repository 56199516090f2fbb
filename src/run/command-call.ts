import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Call } from '../ask/options.ts'
import { Fault, quote } from '../base/fault.ts'
import { exitOf, failureOf, start } from '../process/process.ts'
import { asLeader, killChild } from '../streams/end-process-tree.ts'
import { cannotStart } from '../streams/spawn-fault.ts'

export interface CommandCallOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Maximum milliseconds for one answer; then the command is ended. @default no limit */
  readonly timeout?: number | undefined
  /** Milliseconds between SIGTERM and SIGKILL. @default 2000 */
  readonly killGrace?: number | undefined
  /** Milliseconds that a process it left behind may hold its pipe open after the exit. @default 2000 */
  readonly pipeGrace?: number | undefined
}

/** A command that is called like a model. */
export interface CommandCall {
  readonly call: Call
  /** The end of the last process's stderr, at most 2,000 bytes. */
  stderr(): string
  /** Sends a signal to the running process and all its descendants. */
  kill(signal: NodeJS.Signals): void
  /** Resolves when no process is left. */
  ended(): Promise<void>
}

/**
 * Makes a call for `ask` of any command that reads a prompt on stdin and writes its answer to stdout. Each
 * call is one process, in a group of its own. A command that cannot be started rejects with SPAWN_FAILED; one
 * that exits with another code than 0, by a signal, or not in time, rejects with COMMAND_FAILED, whatever it
 * has written.
 *
 * @example
 * const model = commandCall({ command: 'claude', args: ['-p'] })
 * const report = await ask(model.call, { prompt, schema: Report })
 */
export function commandCall(options: CommandCallOptions): CommandCall {
  const { command, args, timeout, killGrace = 2000, pipeGrace = 2000 } = options
  let running: { readonly child: ChildProcess; readonly over: Promise<void> } | undefined
  let said = Buffer.alloc(0)

  const quiet = () => delay(pipeGrace / 2, false, { ref: false })

  async function* answer(prompt: string, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
    signal?.throwIfAborted()
    const child = start(command, process.cwd(), () =>
      spawn(command, [...args], { ...asLeader(), stdio: ['pipe', 'pipe', 'pipe'] }),
    )
    const exit = exitOf(child)
    const failed = await failureOf(child)
    if (failed) throw cannotStart(command, process.cwd(), failed)
    said = Buffer.alloc(0)
    child.stderr.on('data', (bytes: Buffer) => {
      said = Buffer.concat([said, bytes.subarray(-MAX_STDERR)]).subarray(-MAX_STDERR)
    })
    // A command that does not read its prompt closes the pipe: ignore the error.
    child.stdin.on('error', () => {})
    child.stdin.end(prompt)

    let taken = 0
    let why: string | undefined
    const timers: NodeJS.Timeout[] = []
    const end = (reason: string) => {
      if (why !== undefined) return
      why = reason
      killChild(child, 'SIGTERM')
      timers.push(setTimeout(() => killChild(child, 'SIGKILL'), killGrace))
    }
    if (timeout !== undefined) timers.push(setTimeout(() => end(`gave no answer in ${timeout} ms`), timeout))
    const abort = () => end('was interrupted')
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    const closed = new Promise<true>((resolve) => void child.stdout.once('close', () => resolve(true)))
    const over = exit.then(async () => {
      // A process that we ended leaves nothing behind; one that ended by itself may, and that may hold the
      // pipe forever.
      if (why !== undefined) killChild(child, 'SIGKILL')
      for (let before = -1; !(await Promise.race([closed, quiet()])); before = taken) {
        // A slow reader still gets everything: only a pipe that is empty and silent is abandoned.
        if (taken === before && child.stdout.readableLength === 0) break
      }
      for (const timer of timers) clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      child.stdout.destroy()
      child.stderr.destroy()
    })
    running = { child, over }
    try {
      // An abandoned pipe ends as if everything had arrived.
      for await (const bytes of child.stdout) {
        taken += bytes.length
        yield bytes
      }
    } catch (error) {
      if (!child.stdout.destroyed) throw error
    } finally {
      // The reader stopped early: the rest will not be read.
      if (child.exitCode === null && child.signalCode === null && !child.stdout.readableEnded) {
        end('was left')
      }
    }
    const { code, signal: name } = await exit
    await over
    running = undefined
    if (why === undefined && code === 0) return
    const how = why ?? (name === null ? `exited with code ${code}` : `was ended by ${name}`)
    throw new Fault('COMMAND_FAILED', `${quote(command, 120)} ${how}`)
  }

  return {
    call: ({ prompt, signal }) => answer(prompt, signal),
    stderr: () => said.toString('utf8'),
    kill(signal) {
      if (running) killChild(running.child, signal)
    },
    ended: async () => running?.over,
  }
}

const MAX_STDERR = 2000
