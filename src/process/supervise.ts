import { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { orElse } from '../base/fault.ts'
import { cannotStart } from './spawn-fault.ts'
import { ProcessTree, processesWith } from './tree.ts'

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

/** One stream of a process, up to where its bytes are stored or read. */
export interface Pipe {
  /** Resolves when the stream is closed and every byte is stored or read; rejects if the disk fails. */
  readonly ended: Promise<void>
  /** True if bytes of the process wait here for their reader. */
  isBehind(): boolean
  /** Abandons the stream now, though another process still holds it. */
  stop(): void
}

/** A process that runs, however it was started. */
export interface Running {
  /** Undefined for something that only looks like a child process. */
  readonly pid: number | undefined
  /** Rejects if it could not be started. */
  readonly exit: Promise<Exit>
  /** It had ended before: its pid may be another process's by now. */
  readonly isOver?: boolean
  /** Resolves if it says itself that its streams are over. Those of a stand-in may never end. */
  readonly closed?: Promise<unknown> | undefined
  /** Its own way to take a signal, used if there is no pid. */
  kill?(signal: NodeJS.Signals): unknown
}

/**
 * A child process, or an object that looks like one: a stand-in of a test, or what starts a process
 * elsewhere. It needs streams and the events `exit` or `close`; it need not have a pid or file descriptors.
 *
 * @example
 * const child: ChildLike = spawn('docker', ['exec', '-i', 'box', 'codex', 'exec', '--json', prompt])
 */
export interface ChildLike {
  readonly stdin?: Writable | null | undefined
  readonly stdout?: Readable | null | undefined
  readonly stderr?: Readable | null | undefined
  readonly pid?: number | undefined
  readonly exitCode?: number | null | undefined
  readonly signalCode?: string | null | undefined
  // biome-ignore lint/suspicious/noExplicitAny: each event has its own arguments
  on(event: string, listener: (...args: any[]) => void): unknown
  kill?(signal?: NodeJS.Signals): unknown
}

/**
 * Follows a child that was started, here or elsewhere. Its exit is the first of `exit` and `close`; `failed`
 * is called at once if it fails, before anything of it is read.
 */
export function takeOver(
  child: ChildLike,
  { command, cwd, failed }: { command?: string; cwd?: string; failed?: (error: Error) => void } = {},
): Running {
  const { exitCode = null, signalCode = null } = child
  const isOver = exitCode !== null || signalCode !== null
  const isOurs = child instanceof ChildProcess
  let close = () => {}
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })
  const exit = new Promise<Exit>((resolve, reject) => {
    if (isOver) resolve({ code: exitCode, signal: signalCode })
    const ended = (code: unknown, signal: unknown) => {
      const [known, name] = [
        typeof code === 'number' ? code : null,
        typeof signal === 'string' ? signal : null,
      ]
      resolve({ code: known, signal: name })
    }
    child.on('exit', ended)
    child.on('close', (code, signal) => {
      ended(code, signal)
      close()
    })
    // Node uses one event for a child that cannot be started, cannot be killed, or was aborted.
    child.on('error', (error: Error & { syscall?: string; path?: string }) => {
      const isStart = error?.syscall?.startsWith('spawn') ?? false
      const fault = isStart ? cannotStart(command ?? error.path ?? '', cwd, error) : error
      // A process that could not be killed, or is being aborted, still runs: its exit will come.
      if (!isOurs || child.pid === undefined) reject(fault)
      failed?.(fault)
    })
  })
  // The error also goes to all that wait for the exit.
  exit.catch(() => {})
  // The pid of anything else may be a stranger's on this machine, or none at all: 0 would be all of ours.
  const pid = isOurs ? child.pid : undefined
  return { pid, exit, isOver, closed, kill: (signal) => child.kill?.(signal) }
}

export interface SuperviseOptions {
  /** Milliseconds between the signal that asks it to end and SIGKILL. */
  readonly killGrace: number
  /** Milliseconds that another process may hold its pipes open after the exit. */
  readonly pipeGrace: number
}

/** How a process ended, and the pipes that were abandoned because another process still held them. */
export interface Over extends Exit {
  readonly held: readonly Pipe[]
}

/** How often to look at pipes that outlive their process. */
const LOOK_MS = 50

/**
 * Follows a process to its end: its exit, then the rest in its pipes. A pipe that another process still holds
 * gets a grace period; time in which the reader is behind does not count. A process that is asked to end
 * leaves nothing behind; one that ends by itself may.
 */
export class Supervised {
  /** Rejects if the process could not be started. */
  readonly over: Promise<Over>
  readonly #running: Running
  readonly #open: Set<Pipe>
  readonly #options: SuperviseOptions
  readonly #tree: ProcessTree | undefined
  #exited: boolean
  #ending = false
  /** What it has started may take this long to end, in milliseconds since 1970. */
  #until = 0
  #killer: NodeJS.Timeout | undefined
  /** Called when not even SIGKILL has ended it. */
  #giveUp = () => {}

  constructor(running: Running, pipes: Iterable<Pipe>, options: SuperviseOptions) {
    this.#running = running
    this.#exited = running.isOver ?? false
    this.#open = new Set(pipes)
    this.#options = options
    const { pid, isOver } = running
    this.#tree = pid === undefined || isOver ? undefined : new ProcessTree(pid)
    for (const pipe of this.#open) {
      const closed = () => void this.#open.delete(pipe)
      pipe.ended.then(closed, closed)
    }
    this.over = this.#follow([...this.#open].map((pipe) => pipe.ended))
    this.over.catch(() => {})
  }

  /** The process has ended; its pipes may still be read. */
  get exited(): boolean {
    return this.#exited
  }

  /** Asks the process and all that it has started to end, and kills what has not after `killGrace`. */
  end(signal: NodeJS.Signals = 'SIGTERM'): void {
    if (this.#exited) return
    if (!this.#ending) this.#until = Date.now() + this.#options.killGrace
    this.#ending = true
    this.#send(signal)
    this.#killer ??= setTimeout(() => {
      this.#send('SIGKILL')
      this.#killer = setTimeout(this.#giveUp, this.#options.pipeGrace)
    }, this.#options.killGrace)
  }

  /** Kills all of it now. */
  kill(): void {
    this.#ending = true
    this.#until = 0
    this.#send('SIGKILL')
  }

  /**
   * Processes that it has started and that run on, though all that was found of it was ended: those with this
   * environment variable, `NAME=value`. None after an end of its own.
   */
  left(variable: string): readonly number[] {
    const left = this.#ending ? this.#tree?.without(processesWith(variable)) : undefined
    return left?.map(({ pid }) => pid) ?? []
  }

  #send(signal: NodeJS.Signals): void {
    if (this.#tree) this.#tree.signal(signal, this.#exited)
    // If a stand-in throws, the others must be ended all the same.
    else if (!this.#exited) orElse(() => void this.#running.kill?.(signal), undefined)
  }

  async #follow(ends: readonly Promise<void>[]): Promise<Over> {
    let isGivenUp = false
    const never = new Promise<Exit>((resolve) => {
      this.#giveUp = () => {
        isGivenUp = true
        resolve({ code: null, signal: 'SIGKILL' })
      }
    })
    let isClosed = false
    this.#running.closed?.then(() => {
      isClosed = true
    })
    let exit: Exit
    try {
      exit = await Promise.race([this.#running.exit, never])
    } finally {
      this.#exited = true
      clearTimeout(this.#killer)
    }
    if (this.#ending) {
      // A wrapper ends at once, and the agent in it may need its time.
      await this.#tree?.gone(this.#until)
      this.#send('SIGKILL')
    }
    if (!isGivenUp) await this.#drain(Promise.allSettled(ends), () => isClosed)
    const held = isClosed ? [] : [...this.#open]
    for (const pipe of this.#open) pipe.stop()
    await Promise.allSettled(ends)
    return { ...exit, held }
  }

  /** Waits for the last bytes, as long as only the process or its reader may keep them. */
  async #drain(ended: Promise<unknown>, isClosed: () => boolean): Promise<void> {
    const timer = new AbortController()
    const done = ended.then(() => timer.abort())
    for (let left = this.#options.pipeGrace; this.#open.size > 0; ) {
      const isBehind = [...this.#open].some((pipe) => pipe.isBehind())
      // The streams of a stand-in may never end: what they have comes in a moment.
      if (isClosed()) left = Math.min(left, LOOK_MS)
      if (!isBehind && left <= 0) return
      const ms = isBehind ? LOOK_MS : Math.min(left, LOOK_MS)
      // A reader that never comes back does not keep the program alive.
      const options = { signal: timer.signal, ref: !isBehind }
      await Promise.race([done, delay(ms, undefined, options).catch(() => {})])
      if (!isBehind) left -= ms
    }
  }
}
