import fs from 'node:fs'
import { basename } from 'node:path'
import { clip, Fault, type Note, orElse } from '../base/fault.ts'
import { Waker } from '../disk/wake.ts'
import type { CompletionData } from '../events/event.ts'
import { endWithHost } from '../process/host-exit.ts'
import { type Started, type StartOptions, startOnPipes } from '../process/process.ts'
import { type Over, Supervised } from '../process/supervise.ts'
import { passStdin } from '../process/tee.ts'
import { startOnPty, startOnPtyAndPipes } from '../process/terminal.ts'
import { processStart } from '../process/tree.ts'
import type { Chunk, ExitChunk, OutputChannel, SentBy, ToldOrder } from '../text/chunk.ts'
import { Stillness } from '../text/stillness.ts'
import {
  AttemptRecord,
  heldNote,
  idleNote,
  leftNote,
  lostNote,
  type RecordOptions,
  stopNotes,
  timeoutNote,
} from './attempt-record.ts'
import { directoryChanges } from './directory-changes.ts'
import { exitEvidence, type LastWords, type Meta, type StopReason } from './meta.ts'
import { Orders } from './orders.ts'
import { type Output, pipedOutput, recordedOutput } from './output.ts'
import type { Opening, TimedChunk } from './run-flow.ts'
import { watchdog } from './run-limits.ts'
import type { SessionTokens } from './session-tokens.ts'

/** The ways to start a process, and the channels that are recorded. */
const startModes = {
  pipes: { mode: 'pipe', channels: ['stdout', 'stderr'], start: startOnPipes },
  pty: { mode: 'pty', channels: ['pty'], start: startOnPty },
  both: { mode: 'pty+pipe', channels: ['stdout', 'stderr', 'pty'], start: startOnPtyAndPipes },
} as const satisfies Record<
  string,
  {
    readonly mode: Meta['mode']
    readonly channels: readonly OutputChannel[]
    readonly start: (options: StartOptions & { cols: number; rows: number }) => Promise<Started>
  }
>
const NEVER_RAN: Over = { code: null, signal: null, held: [] }
/** The environment variable that tells what an agent has started. */
export const MARK = 'AGENT_SLUICE_RUN'
const NO_SIZE = { cols: 0, rows: 0 }
/** How often to look at the logs without a watcher. */
const POLL_MS = 200
const NOTHING = Buffer.alloc(0)
/** More than a terminal itself would buffer for a program that does not read yet. */
const MAX_TYPED = 64 * 1024

/** Runs a command, and records it if there is a directory. Memory holds one block of its output. */
export class Recording {
  /** The chunks of the attempt as they arrive. The process is started when the first one is requested. */
  readonly chunks: AsyncGenerator<TimedChunk | Opening>
  readonly #options: RecordOptions
  readonly #record: AttemptRecord
  readonly #changes: ReturnType<typeof directoryChanges>
  #clock = new RunClock()
  readonly #way: (typeof startModes)[keyof typeof startModes]
  readonly #waker = new Waker(POLL_MS)
  /** Made when the process is started. */
  #output: Output | undefined
  #orders: Orders | undefined
  #before: SessionTokens | undefined
  #running: Started | undefined
  #process: Supervised | undefined
  /** Called when all is over: it no longer ends with this program. */
  #release = () => {}
  /** The reader has left. */
  #left = false
  /** What was sent and not passed on yet: it comes before everything that is read after it. */
  readonly #sent: TimedChunk[] = []
  /** Called when all of it is passed on. */
  #passed: (() => void) | undefined
  readonly #notes: Note[] = []
  /** Text typed before the terminal exists. */
  #typed = ''
  /** Why a recorder failed. */
  #failure: unknown
  /** Why nothing was started, if that is recorded. */
  #notStarted: Note | undefined
  constructor(options: RecordOptions) {
    const { pty } = options
    this.#options = options
    this.#way = startModes[pty ? (pty.pipes ? 'both' : 'pty') : 'pipes']
    this.#record = new AttemptRecord(options, this.#way.mode)
    this.#changes = directoryChanges(options)
    this.chunks = this.#chunks()
  }

  /** The sessions of earlier attempts have used this: called before the first chunk is requested. */
  continues(sessionTokens: SessionTokens): void {
    if (this.#options.attempt === 1) return
    this.#before = sessionTokens
    this.#record.continues(sessionTokens)
  }

  /** Whether there was a process. */
  get isStarted(): boolean {
    return this.#process !== undefined
  }

  /** Whether a recording stays: of a process, or of why there was none. */
  get isKept(): boolean {
    return this.isStarted || this.#notStarted !== undefined
  }

  meta(): Meta {
    return this.#record.meta
  }

  /** Ends the process and all that it has started, and remembers that we did; `note` says more about why. */
  stop(reason: StopReason, signal: NodeJS.Signals, note = stopNotes[reason]): void {
    if (this.#process?.exited) {
      // What it wrote may still wait for a reader that does not come.
      for (const recorder of this.#options.tee ? this.#running!.recorders : []) recorder.stop()
      return
    }
    this.#record.because(reason, note)
    // If it is not running yet, it is stopped when it is.
    this.#process?.end(signal)
  }

  /** Nobody reads any more: the process is ended, and what it prints is dropped unless it is recorded. */
  leave(reason: StopReason, note?: Note): void {
    this.#left = true
    if (this.#record.meta.ended_at === null) this.#record.because(reason, note)
    for (const recorder of this.#running?.recorders ?? []) recorder.drop()
    this.stop(reason, 'SIGTERM')
    this.#waker.wake()
  }

  /** Bytes that the process has printed, read or not. */
  printed(): number {
    const sizes = this.#output?.sizes() ?? {}
    return this.#way.channels.reduce((sum, channel) => sum + (sizes[channel] ?? 0), 0)
  }

  /** How the process ended, as a chunk: also of a run whose reader has left. */
  exitChunk(): ExitChunk {
    const { exit_code: code, signal, reason, notes } = this.#record.meta
    return { channel: 'exit', ...exitEvidence({ code, signal }, reason), notes }
  }

  /** Nothing of the process is left, and its end is recorded. */
  released(): void {
    this.#release()
  }

  /** Records in `meta.N.json` that every event is stored, the outcome, and the task. */
  complete(end: CompletionData, said: LastWords, task: string | undefined): void {
    this.#record.complete(end, said, task)
    this.#release()
  }

  /** Types into the pseudo-terminal, if there is one. */
  type(text: string): void {
    if (this.#running) this.#running.type?.(text)
    else if (this.#typed.length < MAX_TYPED) this.#typed += text
  }

  /** Records, then sends: nothing is sent that is not recorded. False if the process has ended. */
  send(bytes: Buffer, by?: SentBy): boolean {
    const output = this.#output
    if (!output || !this.#running || this.#process?.exited) return false
    let delivered: () => void
    try {
      const ms = this.#clock.now()
      delivered = output.sent(bytes, ms, by)
      this.#sent.push({ chunk: { channel: 'stdin', bytes, by }, time: this.#time(ms) })
    } catch (error) {
      this.#fail(error)
      return false
    }
    this.#running.stdin?.write(bytes, (error) => {
      if (!error) delivered()
    })
    this.#waker.wake()
    return true
  }

  #newOrders(): Orders | undefined {
    const { audit, runId, attempt, cwd, onOrder } = this.#options
    if (!onOrder || audit === undefined) return undefined
    const orders = new Orders({ runId, attempt, dir: fs.realpathSync(audit) }, cwd, {
      act: (order) => (!this.#process || this.#process.exited ? 'the run has ended' : onOrder(order)),
      tell: (when, order) => this.#tell(when, order),
    })
    this.#record.save({ control: true, orders: orders.path })
    return orders
  }

  #tell(when: 'taken' | 'control', control: ToldOrder): boolean {
    try {
      const ms = this.#clock.now()
      this.#output!.told(when, control, ms)
      if (when === 'control')
        this.#sent.push({ chunk: { channel: 'stdin', bytes: NOTHING, control }, time: this.#time(ms) })
      return true
    } catch (error) {
      this.#fail(error)
      return false
    } finally {
      this.#waker.wake()
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    this.stop('recorder_failed', 'SIGTERM')
  }

  closeInput(): void {
    this.#running?.stdin?.end()
  }

  /** Adds to the notes that are reported with the end. */
  note(note: Note): void {
    this.#notes.push(note)
  }

  async *#chunks(): AsyncGenerator<TimedChunk | Opening> {
    const { engine, runId, attempt, cwd, talk, timeout, idleTimeout } = this.#options
    const { reading } = this.#record
    await this.#changes.begin()
    this.#clock = new RunClock()
    const { started } = this.#clock
    // Before the process starts, so that a crash from here on leaves something to resume.
    this.#record.save({ started_at: new Date(started).toISOString() })
    const output = outputOf(this.#options, this.#record, this.#waker)
    this.#output = output
    let guard: ReturnType<typeof watchdog> | undefined
    const prompt = promptOf(this.#options, this.#record)
    try {
      this.#orders = this.#newOrders()
      // Before the process gets it: what was sent is known, whatever happens then.
      const delivered = prompt && output.sent(prompt, 0)
      const startNotes = await this.#start(delivered)
      this.#orders?.open()
      guard = watchdog({
        ...this.#options,
        lastWrite: () => output.lastWrite(),
        onTimeout: () => this.stop('timeout', 'SIGTERM', timeoutNote(timeout)),
        onIdle: () => this.stop('idle_timeout', 'SIGTERM', idleNote(idleTimeout)),
      })
      const opens = { ...reading, sessionTokens: this.#before, wire: talk, runId, attempt, dir: cwd }
      const { firstNotes } = this.#options
      const lastNotes = () => this.#lastNotes()
      yield { engine, opens, fsDiff: this.#changes.diff, firstNotes, lastNotes, time: started }
      const first: Chunk = {
        channel: this.#way.channels[0],
        bytes: NOTHING,
        channels: this.#way.channels,
      }
      yield { chunk: first, time: started }
      if (prompt) yield { chunk: { channel: 'stdin', bytes: prompt }, time: started }
      yield* this.#read(output)
      if (!this.#left) yield await this.#conclude(startNotes)
    } catch (error) {
      if (Fault.is(error)) this.#explain(error)
      this.stop('recorder_failed', 'SIGTERM')
      throw error
    } finally {
      guard?.stop()
      this.#orders?.close()
      this.#waker.close()
      this.#changes.close()
      if (!this.isKept) this.#record.forget()
      else if (this.#process && this.#record.meta.ended_at === null) {
        this.leave('abandoned')
        const over = await this.#process.over.catch(() => NEVER_RAN)
        this.#finish(over, this.#clock.elapsed(), this.#endNotes(over))
      }
      output.close()
    }
  }

  /**
   * If nothing was started, records why in the directory of this run: the readers of its id find an end.
   * A directory that others chose is left as it was.
   */
  #explain({ code, message }: Fault): void {
    if (this.#process || !this.#options.isOwn) return
    const note = { code, message: this.#record.shown(clip(message, 300)) }
    const write = () => {
      // Without a log there is no attempt.
      fs.writeFileSync(this.#record.logs[this.#way.channels[0]], '', { flag: 'a', mode: 0o600 })
      this.#record.because('not_started')
      this.#finish(NEVER_RAN, this.#clock.elapsed(), [note])
      this.#notStarted = note
    }
    // The disk may be the reason.
    orElse(write, undefined)
  }

  /** Saved before they are told, so that a replay tells them, too. */
  #lastNotes(): readonly Note[] {
    const notes = this.#options.onRead()
    if (notes.length > 0) this.#record.save({ notes: [...this.#record.meta.notes, ...notes] })
    return notes
  }

  /** Starts the process and its recorders. `delivered` is called when it has got its prompt. */
  async #start(delivered: (() => void) | undefined): Promise<readonly Note[]> {
    const { pty, input, talk, tee, audit, onStart, onUnreachable, onMuted } = this.#options
    const { killGrace, pipeGrace } = this.#options
    const { recorders: made } = this.#output!
    const running = await this.#way.start({
      ...this.#options,
      ...(pty ?? NO_SIZE),
      input: talk || tee ? 'open' : inputOf(this.#options, this.#record),
      env: { ...this.#options.env, [MARK]: this.#options.runId },
      recorders: made,
    })
    this.#running = running
    if (this.#typed !== '') running.type?.(this.#typed)
    const { pid, recorders } = running
    for (const recorder of recorders) recorder.ended.catch((error: unknown) => this.#fail(error))
    this.#process = new Supervised(running, recorders, { killGrace, pipeGrace })
    if (!this.#options.detached)
      this.#release = endWithHost({
        end: (signal) => this.stop('host_ended', signal),
        kill: () => this.#endNow(),
        grace: killGrace + pipeGrace,
      })
    if (talk || tee) running.stdin?.on('error', onUnreachable)
    if (talk) recorders[0]?.ended.then(onMuted, () => {})
    if (tee) void passStdin(running.stdin!, (bytes) => this.#pass(bytes))
    // A stdin that is a pipe, and not the log of the task.
    if (running.stdin && typeof input === 'object' && !talk && !tee)
      running.stdin.end(input.text, (error?: Error | null) => {
        if (!error) delivered?.()
      })
    const pids = recorders.flatMap((recorder) => recorder.pid ?? [])
    this.#record.save({
      pid: pid ?? null,
      pid_started: pid === undefined ? null : processStart(pid),
      recorders: pids,
    })
    const notes = onStart()
    // It may have been stopped before it was running.
    const { reason } = this.#record.meta
    if (reason !== null) this.stop(reason, 'SIGTERM')
    if (audit !== undefined)
      for (const channel of this.#way.channels) this.#waker.watch(this.#record.logs[channel])
    return notes
  }

  /** This program ends: nothing can wait any more. */
  #endNow(): void {
    this.#process!.kill()
    this.#orders?.abandon()
    if (this.#record.meta.ended_at !== null) return
    this.#record.because('host_ended')
    const killed = { code: null, signal: 'SIGKILL', held: [] }
    // The disk may be the reason why the program ends.
    orElse(() => this.#finish(killed, this.#clock.elapsed(), this.#endNotes(killed)), undefined)
  }

  /** Sends what our own stdin has; resolves when it is passed on, too: only so much is held in memory. */
  #pass(bytes: Buffer): Promise<void> {
    this.send(bytes)
    return new Promise((resolve) => {
      this.#passed = resolve
    })
  }

  /** The output as it comes, until the recorders are done. */
  async *#read(output: Output): AsyncGenerator<TimedChunk> {
    let finished = false
    const over = () => {
      finished = true
      this.#clock.now()
      this.#waker.wake()
    }
    this.#process!.over.then(over, over)
    const stillness = new Stillness()
    for (let last = false; ; ) {
      // One more look after the recorders are done: they may have written since the last one.
      last = finished
      if (this.#left) return
      let read = false
      for (const channel of this.#way.channels) {
        while (this.#sent.length > 0) yield this.#sent.shift()!
        this.#passed?.()
        const found = output.read(channel, () => this.#clock.now())
        if (!found) continue
        read = true
        if (this.#way.channels.length > 1) stillness.saw(channel)
        const { bytes, ms } = found
        yield { chunk: { channel, bytes }, time: this.#time(ms) }
      }
      if (read || this.#sent.length > 0) continue
      if (last) {
        this.#orders?.close()
        if (this.#sent.length === 0) return
        continue
      }
      if (stillness.isDue(this.#clock.elapsed())) {
        const ms = this.#clock.now()
        output.still(ms)
        yield { chunk: { channel: 'pty', bytes: NOTHING, still: true }, time: this.#time(ms) }
      }
      await this.#waker.sleep()
    }
  }

  /** Stores how the process ended, and what changed in its working directory. */
  async #conclude(startNotes: readonly Note[]): Promise<TimedChunk> {
    const over = await this.#process!.over
    if (this.#failure !== undefined) throw this.#failure
    const diffNotes = await this.#changes.end(this.#record)
    const sizes = this.#output!.sizes()
    const lost = this.#way.channels.filter((channel) => sizes[channel] === undefined)
    const notes = [
      ...startNotes,
      ...this.#endNotes(over),
      ...diffNotes,
      ...lost.map((channel) => lostNote(basename(this.#record.logs[channel]))),
    ]
    const { last } = this.#clock
    this.#finish(over, last, notes)
    return { chunk: this.exitChunk(), time: this.#time(last) }
  }

  /** What is told about the process when it has ended. */
  #endNotes(over: Over): Note[] {
    const notes = [...this.#notes, ...this.#options.onExit()]
    const { stopNote } = this.#record
    if (stopNote) notes.push(stopNote)
    if (over.held.length > 0) notes.push(heldNote)
    const left = this.#process!.left(`${MARK}=${this.#options.runId}`)
    if (left.length > 0) notes.push(leftNote(left))
    return notes
  }

  #finish(exit: Over, ms: number, notes: readonly Note[]): void {
    this.#record.ended(exit, ms, notes, this.#output!.sizes())
  }

  /** Milliseconds since 1970 from those since the start. */
  #time(ms: number): number {
    return this.#clock.started + ms
  }
}

function outputOf(options: RecordOptions, record: AttemptRecord, waker: Waker): Output {
  const { audit, tee = false, spawn } = options
  if (audit === undefined) return pipedOutput(waker)
  const here = spawn !== undefined
  return recordedOutput(record.logs, record.path('chunks'), waker, { tee, here, hide: record.hide })
}

/** The prompt as it is recorded. */
function promptOf({ piped, talk, input }: RecordOptions, record: AttemptRecord): Buffer | undefined {
  if (!piped || talk || typeof input !== 'object') return undefined
  return Buffer.from(record.shown(input.text))
}

/** Its stdin: the log of the task, which is complete, if that is recorded. */
function inputOf(
  { input, piped, audit, redact }: RecordOptions,
  record: AttemptRecord,
): StartOptions['input'] {
  const isLogged = typeof input === 'object' && piped && audit !== undefined && !redact
  return isLogged ? { ...input, file: record.logs.stdin } : input
}

/** The time of an attempt, on a clock that never jumps. */
class RunClock {
  /** When it started, in milliseconds since 1970. */
  readonly started = Date.now()
  readonly #origin = performance.now()
  /** The time of the last thing that happened, in milliseconds since the start. */
  last = 0

  /** The time of what happens now: it never goes back. */
  now(): number {
    this.last = Math.max(this.last, this.elapsed())
    return this.last
  }

  elapsed(): number {
    return Math.round((performance.now() - this.#origin) * 10) / 10
  }
}
