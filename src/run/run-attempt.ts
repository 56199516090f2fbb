import fs from 'node:fs'
import { join, resolve } from 'node:path'
import { defined } from '../base/check-options.ts'
import { clip, type Note, orElse, quote } from '../base/fault.ts'
import { processStart } from '../disk/lock.ts'
import { Waker, watchPath } from '../disk/wake.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { CompletionData } from '../events/event.ts'
import type { EventOptions } from '../events/event-stage.ts'
import { outcomeOf } from '../events/run-outcome.ts'
import { endWithHost } from '../process/host-exit.ts'
import { type SpawnLike, type Started, type StartOptions, startOnPipes } from '../process/process.ts'
import { type Exit, type Over, Supervised } from '../process/supervise.ts'
import { passStdin } from '../process/tee.ts'
import { startOnPty, startOnPtyAndPipes } from '../process/terminal.ts'
import type { Channel, Chunk, ExitChunk, OutputChannel, SentBy, ToldOrder } from '../text/chunk.ts'
import { Stillness } from '../text/still.ts'
import { type Redactor, redactor } from '../views/redact/redact.ts'
import { durationWords } from '../views/words.ts'
import { channels, fileNames, pinned } from './attempt-logs.ts'
import { compare, type FsDiff, type FsDiffOptions, type Snapshot, snapshot, withOutside } from './fs-diff.ts'
import {
  endInMeta,
  exitEvidence,
  type LastWords,
  type Meta,
  type StopReason,
  writeMeta,
  writeWholeSync,
} from './meta.ts'
import { type NoOrder, type Order, Orders } from './orders.ts'
import { type Output, PipedOutput, RecordedOutput } from './output.ts'
import type { Opening, TimedChunk } from './run-flow.ts'
import { watchdog } from './run-limits.ts'
import type { SessionTokens } from './session-tokens.ts'
import { diffsOf, TreeDiff } from './tree-diff.ts'

export interface RecordOptions {
  readonly reading: Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'runId' | 'dir'>
  readonly runId: string
  readonly attempt: number
  readonly command: string
  readonly args: readonly string[]
  readonly engine: Engine | Picker
  /** The directory that it is recorded into; undefined if it is not. */
  readonly audit: string | undefined
  /** What is not compared: that directory, or the one with all runs. */
  readonly records: string | undefined
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly input: 'ignore' | 'inherit' | { readonly text: string }
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** The input is the prompt. */
  readonly piped: boolean
  /** Our own stdin and stdout are those of the process. */
  readonly tee?: boolean | undefined
  /** The input stays open, and the prompt is sent as a record of the wire. */
  readonly talk: boolean
  /** How long the agent has waited for an answer. */
  readonly waited?: (() => { readonly ms: number; readonly until: number }) | undefined
  /** Starts the process in place of `spawn`. */
  readonly spawn?: SpawnLike | undefined
  /** It may outlive this program. */
  readonly detached: boolean
  /** No secret is recorded. */
  readonly redact: boolean
  readonly pty: { readonly cols: number; readonly rows: number; readonly pipes: boolean } | undefined
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  readonly killGrace: number
  readonly pipeGrace: number
  readonly fsDiff: FsDiffOptions | false
  /** With a diff of the working tree by git. */
  readonly diff: boolean
  /** Does what an order says, if orders are taken; returns why it was not done. */
  readonly onOrder: ((order: Order) => string | undefined) | undefined
  /** Called when the process has started; the notes it returns are reported with the end. */
  readonly onStart: () => readonly Note[]
  /** Called when it has ended; the same. */
  readonly onExit: () => readonly Note[]
  /** What is known of it before it starts. */
  readonly firstNotes: readonly Note[]
  /** Called when all of its output was read; the notes it returns are reported with the end, too. */
  readonly onRead: () => readonly Note[]
  /** Called when something was sent that the process cannot read, because it has closed its stdin. */
  readonly onUnreachable: () => void
  /** Called when an agent that is talked with has closed its output. */
  readonly onMuted: () => void
}

const stopNotes: Partial<Record<StopReason, Note>> = {
  end_signal: {
    code: 'RUN_LINGERED',
    message: 'the agent reported its end but did not exit, so its process was ended',
  },
  interrupted: { code: 'RUN_INTERRUPTED', message: 'the user interrupted the process' },
  aborted: { code: 'RUN_INTERRUPTED', message: 'the caller aborted the process' },
  abandoned: { code: 'RUN_INTERRUPTED', message: 'the reader of the run left, so the process was ended' },
  host_ended: { code: 'RUN_INTERRUPTED', message: 'the program that ran it ended, and the process with it' },
}
const heldNote: Note = {
  code: 'PIPE_HELD_OPEN',
  message: 'the process ended, but a process it started still holds its pipe open',
}
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
const MAX_TASK = 2000
/** Characters of the reason why an order was not done. */
const MAX_WHY = 500

/** Runs a command, and records it if there is a directory. Memory holds one block of its output. */
export class Recording {
  /** The chunks of the attempt as they arrive. The process is started when the first one is requested. */
  readonly chunks: AsyncGenerator<TimedChunk | Opening>
  readonly #options: RecordOptions
  readonly #names: ReturnType<typeof fileNames>
  readonly #logs: Readonly<Record<Channel, string>>
  readonly #way: (typeof startModes)[keyof typeof startModes]
  readonly #waker = new Waker(POLL_MS)
  /** Hides secrets in all that is recorded, if that is wanted. */
  readonly #hide: Redactor | undefined
  /** Made when the process is started. */
  #output: Output | undefined
  /** What it is told from elsewhere, and what ends the watch over that. */
  #orders: Orders | undefined
  #unwatch = () => {}
  readonly #check: () => void
  #meta: Meta
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
  #stopNote: Note | undefined
  /** Why a recorder failed. */
  #failure: unknown
  /** When the process was started, in milliseconds since 1970, and on the clock that never jumps. */
  #started = 0
  #origin = 0
  /** The time of the last chunk, in milliseconds since the start. */
  #ms = 0
  /** Known only at the exit; the event stage reads it then. */
  #diff: FsDiff | undefined

  constructor(options: RecordOptions) {
    const { attempt, audit, pty } = options
    this.#options = options
    this.#names = fileNames(attempt)
    const logs = channels.map((channel) => [channel, this.#path(channel)])
    this.#logs = Object.fromEntries(logs) as Record<Channel, string> // cast: one of each channel
    this.#way = startModes[pty ? (pty.pipes ? 'both' : 'pty') : 'pipes']
    this.#check = audit === undefined ? () => {} : pinned(audit)
    this.#hide = options.redact ? redactor() : undefined
    this.#meta = newMeta(options, this.#way.mode, this.#hide)
    this.chunks = this.#record()
  }

  /** The sessions of earlier attempts have used this: called before the first chunk is requested. */
  continues(sessionTokens: SessionTokens): void {
    if (this.#options.attempt === 1) return
    this.#before = sessionTokens
    this.#meta = { ...this.#meta, reading: { ...this.#meta.reading, session_tokens: sessionTokens } }
  }

  /** Whether there was a process. */
  get isStarted(): boolean {
    return this.#process !== undefined
  }

  meta(): Meta {
    return this.#meta
  }

  /** Ends the process and all that it has started, and remembers that we did; `note` says more about why. */
  stop(reason: StopReason, signal: NodeJS.Signals, note = stopNotes[reason]): void {
    if (this.#process?.exited) {
      // What it wrote may still wait for a reader that does not come.
      for (const recorder of this.#options.tee ? this.#running!.recorders : []) recorder.stop()
      return
    }
    this.#because(reason, note)
    // If it is not running yet, it is stopped when it is.
    this.#process?.end(signal)
  }

  /** The first reason counts. */
  #because(reason: StopReason, note: Note | undefined): void {
    if (this.#meta.reason === null) this.#stopNote = note
    this.#meta = { ...this.#meta, reason: this.#meta.reason ?? reason }
  }

  /** Nobody reads any more: the process is ended, and what it prints is dropped unless it is recorded. */
  leave(reason: StopReason, note?: Note): void {
    this.#left = true
    if (this.#meta.ended_at === null) this.#because(reason, note ?? stopNotes[reason])
    for (const recorder of this.#running?.recorders ?? []) recorder.drop()
    this.stop(reason, 'SIGTERM')
    this.#waker.wake()
  }

  /** How the process ended, as a chunk: also of a run whose reader has left. */
  exitChunk(): ExitChunk {
    const { exit_code: code, signal, reason, notes } = this.#meta
    return { channel: 'exit', ...exitEvidence({ code, signal }, reason), notes }
  }

  /** Nothing of the process is left, and its end is recorded. */
  released(): void {
    this.#release()
  }

  /** Records in `meta.N.json` that every event is stored, the outcome, and the task. */
  complete(end: CompletionData, said: LastWords, task: string | undefined): void {
    this.#save({
      ...endInMeta(end, said),
      ...(task !== undefined && { task: clip(this.#hide ? this.#hide.text(task) : task, MAX_TASK) }),
      complete: true,
    })
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
      const ms = this.#now()
      delivered = output.sent(bytes, ms, by)
      this.#sent.push({ chunk: { channel: 'stdin', bytes, by }, time: this.#started + ms })
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

  /** Takes orders from now on. */
  #takeOrders(): void {
    const { audit, runId, attempt, cwd, onOrder } = this.#options
    if (!onOrder || audit === undefined) return
    this.#orders = new Orders({ runId, attempt, dir: fs.realpathSync(audit) }, cwd)
    this.#save({ control: true, orders: this.#orders.path })
  }

  #watchOrders(orders: Orders): void {
    const look = () => this.#obey(orders.next())
    const watcher = watchPath(orders.path, look)
    const timer = setInterval(look, POLL_MS)
    this.#unwatch = () => {
      watcher?.close()
      clearInterval(timer)
    }
    look()
  }

  /** No more orders: those that came too late are told so. */
  #endOrders(): void {
    this.#unwatch()
    this.#obey(this.#orders?.close() ?? [])
  }

  /** Each is recorded before it is done, and what became of it after that. */
  #obey(orders: readonly (Order | NoOrder)[]): void {
    for (const order of orders) {
      const { id } = order
      if (!('do' in order))
        this.#tell({ id, do: 'unknown', by: 'unknown', result: 'refused', why: order.why })
      else {
        const head = { id, do: order.do, by: order.by }
        try {
          this.#output!.told('taken', { ...head, result: 'unknown' }, this.#now())
        } catch (error) {
          this.#fail(error)
          return
        }
        const why = this.#do(order)
        this.#tell({ ...head, ...(why === undefined ? { result: 'done' } : { result: 'refused', why }) })
      }
    }
  }

  #do(order: Order): string | undefined {
    if (!this.#process || this.#process.exited) return 'the run has ended'
    try {
      return this.#options.onOrder!(order)
    } catch (error) {
      return clip((error as Error).message, MAX_WHY) // cast: only errors are thrown here
    }
  }

  #tell(control: ToldOrder): void {
    try {
      const ms = this.#now()
      this.#output!.told('control', control, ms)
      const chunk = { channel: 'stdin', bytes: Buffer.alloc(0), control } as const
      this.#sent.push({ chunk, time: this.#started + ms })
    } catch (error) {
      this.#fail(error)
    }
    this.#waker.wake()
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

  async *#record(): AsyncGenerator<TimedChunk | Opening> {
    const { engine, reading, runId, attempt, cwd, talk, timeout, idleTimeout } = this.#options
    const before = this.#options.fsDiff ? await this.#look() : undefined
    const tree = this.#options.diff ? await TreeDiff.start(cwd, this.#except()) : undefined
    this.#started = Date.now()
    this.#origin = performance.now()
    // Before the process starts, so that a crash from here on leaves something to resume.
    this.#save({ started_at: new Date(this.#started).toISOString() })
    const output = this.#newOutput()
    this.#output = output
    let guard: ReturnType<typeof watchdog> | undefined
    const prompt = this.#prompt()
    try {
      this.#takeOrders()
      // Before the process gets it: what was sent is known, whatever happens then.
      const delivered = prompt && output.sent(prompt, 0)
      const startNotes = await this.#start(delivered)
      if (this.#orders) this.#watchOrders(this.#orders)
      guard = watchdog({
        ...this.#options,
        lastWrite: () => output.lastWrite(),
        onTimeout: () => this.stop('timeout', 'SIGTERM', timeoutNote(timeout)),
        onIdle: () => this.stop('idle_timeout', 'SIGTERM', idleNote(idleTimeout)),
      })
      const opens = { ...reading, sessionTokens: this.#before, wire: talk, runId, attempt, dir: cwd }
      const { firstNotes } = this.#options
      const lastNotes = () => this.#lastNotes()
      yield { engine, opens, fsDiff: () => this.#diff, firstNotes, lastNotes, time: this.#started }
      const first: Chunk = {
        channel: this.#way.channels[0],
        bytes: NOTHING,
        channels: this.#way.channels,
      }
      yield { chunk: first, time: this.#started }
      if (prompt) yield { chunk: { channel: 'stdin', bytes: prompt }, time: this.#started }
      yield* this.#read(output)
      if (!this.#left) yield await this.#conclude(before, tree, startNotes)
    } catch (error) {
      this.stop('recorder_failed', 'SIGTERM')
      throw error
    } finally {
      guard?.stop()
      this.#endOrders()
      this.#waker.close()
      tree?.close()
      if (!this.#process) this.#forget()
      else if (this.#meta.ended_at === null) {
        this.leave('abandoned')
        const over = await this.#process.over.catch(() => NEVER_RAN)
        this.#finish(over, this.#elapsed(), this.#endNotes(over))
      }
      output.close()
    }
  }

  /** Saved before they are told, so that a replay tells them, too. */
  #lastNotes(): readonly Note[] {
    const notes = this.#options.onRead()
    if (notes.length > 0) this.#save({ notes: [...this.#meta.notes, ...notes] })
    return notes
  }

  #newOutput(): Output {
    const { audit, tee = false, spawn } = this.#options
    if (audit === undefined) return new PipedOutput(this.#waker)
    return new RecordedOutput(this.#logs, this.#path('chunks'), this.#waker, {
      tee,
      here: spawn !== undefined,
      hide: this.#hide,
    })
  }

  /** The prompt as it is recorded. */
  #prompt(): Buffer | undefined {
    const { piped, talk, input } = this.#options
    if (!piped || talk || typeof input !== 'object') return undefined
    return Buffer.from(this.#hide ? this.#hide.text(input.text) : input.text)
  }

  /** Starts the process and its recorders. `delivered` is called when it has got its prompt. */
  async #start(delivered: (() => void) | undefined): Promise<readonly Note[]> {
    const { pty, talk, tee, audit, onStart, onUnreachable, onMuted, killGrace, pipeGrace } = this.#options
    const { recorders: made } = this.#output!
    const running = await this.#way.start({
      ...this.#options,
      ...(pty ?? NO_SIZE),
      input: talk || tee ? 'open' : this.#input(),
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
    const text = this.#textInput()
    if (running.stdin && text !== undefined)
      running.stdin.end(text, (error?: Error | null) => {
        if (!error) delivered?.()
      })
    const pids = recorders.flatMap((recorder) => recorder.pid ?? [])
    this.#save({
      pid: pid ?? null,
      pid_started: pid === undefined ? null : processStart(pid),
      recorders: pids,
    })
    const notes = onStart()
    // It may have been stopped before it was running.
    if (this.#meta.reason !== null) this.stop(this.#meta.reason, 'SIGTERM')
    if (audit !== undefined) for (const channel of this.#way.channels) this.#waker.watch(this.#logs[channel])
    return notes
  }

  /** Its stdin: the log of the task, which is complete, if that is recorded. */
  #input(): StartOptions['input'] {
    const { input, piped, audit, redact } = this.#options
    const isLogged = typeof input === 'object' && piped && audit !== undefined && !redact
    return isLogged ? { ...input, file: this.#logs.stdin } : input
  }

  /** The text that goes to a stdin that is a pipe. */
  #textInput(): string | undefined {
    const { input, talk, tee } = this.#options
    return typeof input === 'object' && !talk && !tee ? input.text : undefined
  }

  /** This program ends: nothing can wait any more. */
  #endNow(): void {
    this.#process!.kill()
    orElse(() => this.#orders?.close(), undefined)
    if (this.#meta.ended_at !== null) return
    this.#because('host_ended', stopNotes.host_ended)
    const killed = { code: null, signal: 'SIGKILL', held: [] }
    // The disk may be the reason why the program ends.
    orElse(() => this.#finish(killed, this.#elapsed(), this.#endNotes(killed)), undefined)
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
      this.#now()
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
        const found = output.read(channel, () => this.#now())
        if (!found) continue
        read = true
        if (this.#way.channels.length > 1) stillness.saw(channel)
        const { bytes, ms } = found
        yield { chunk: { channel, bytes }, time: this.#started + ms }
      }
      if (read || this.#sent.length > 0) continue
      if (last) {
        this.#endOrders()
        if (this.#sent.length === 0) return
        continue
      }
      if (stillness.isDue(this.#elapsed())) {
        const ms = this.#now()
        output.still(ms)
        yield { chunk: { channel: 'pty', bytes: NOTHING, still: true }, time: this.#started + ms }
      }
      await this.#waker.sleep()
    }
  }

  /** Stores how the process ended, and what changed in its working directory. */
  async #conclude(
    before: Snapshot | undefined,
    tree: TreeDiff | undefined,
    startNotes: readonly Note[],
  ): Promise<TimedChunk> {
    const over = await this.#process!.over
    if (this.#failure !== undefined) throw this.#failure
    if (before) {
      this.#diff = withOutside(this.#options.cwd, compare(before, await this.#look()))
      this.#write(() => writeWholeSync(this.#path('fsDiff'), `${JSON.stringify(this.#diff)}\n`))
      const patch = await tree?.end()
      if (patch !== undefined) this.#keepPatch(this.#hide ? this.#hide.text(patch) : patch)
    }
    const sizes = this.#output!.sizes()
    const lost = this.#way.channels.filter((channel) => sizes[channel] === undefined)
    const notes = [
      ...startNotes,
      ...this.#endNotes(over),
      ...(tree?.note ? [tree.note] : []),
      ...lost.map((channel) => lostNote(this.#names[channel])),
    ]
    this.#finish(over, this.#ms, notes)
    return { chunk: this.exitChunk(), time: this.#started + this.#ms }
  }

  /** The diff of the working tree: in a file of its own, and with the files that changed. */
  #keepPatch(patch: string): void {
    this.#write(() => writeWholeSync(this.#path('diff'), patch))
    this.#diff = { ...this.#diff!, diffs: diffsOf(patch) }
  }

  /** What is told about the process when it has ended. */
  #endNotes(over: Over): Note[] {
    const notes = [...this.#notes, ...this.#options.onExit()]
    if (this.#stopNote) notes.push(this.#stopNote)
    if (over.held.length > 0) notes.push(heldNote)
    const left = this.#process!.left(`${MARK}=${this.#options.runId}`)
    if (left.length > 0) notes.push(leftNote(left))
    return notes
  }

  #finish(exit: Exit, ms: number, notes: readonly Note[]): void {
    const { reason } = this.#meta
    this.#save({
      ended_at: new Date().toISOString(),
      duration_ms: ms,
      exit_code: exit.code,
      signal: exit.signal,
      ...outcomeOfExit(exit, reason),
      notes,
      bytes: this.#output!.sizes(),
    })
  }

  #save(more: Partial<Meta>): void {
    this.#meta = { ...this.#meta, ...more }
    this.#write(() => writeMeta(this.#path('meta'), this.#meta))
  }

  /** Writes into the directory, if there is one, and it is still the same. */
  #write(write: () => void): void {
    if (this.#options.audit === undefined) return
    this.#check()
    write()
  }

  /** Nothing was started: removes the files. */
  #forget(): void {
    if (this.#options.audit === undefined) return
    for (const name of [...channels, 'chunks', 'meta'] as const) fs.rmSync(this.#path(name), { force: true })
  }

  #path(name: keyof ReturnType<typeof fileNames>): string {
    return join(this.#options.audit ?? '', this.#names[name])
  }

  #look(): Promise<Snapshot> {
    const { cwd, fsDiff } = this.#options
    return snapshot(cwd, { ...(fsDiff || {}), except: this.#except() })
  }

  /** What is not compared. */
  #except(): string | undefined {
    const { records } = this.#options
    return records === undefined ? undefined : resolve(records)
  }

  /** The time of what happens now: it never goes back. */
  #now(): number {
    this.#ms = Math.max(this.#ms, this.#elapsed())
    return this.#ms
  }

  #elapsed(): number {
    return Math.round((performance.now() - this.#origin) * 10) / 10
  }
}

/** What is known of an attempt before its process is started. */
function newMeta(options: RecordOptions, mode: Meta['mode'], hide: Redactor | undefined): Meta {
  const argv = [options.command, ...options.args]
  return {
    run_id: options.runId,
    attempt_number: options.attempt,
    engine: options.engine.name,
    mode,
    // Cast: what is hidden in a list of texts leaves one.
    argv: hide ? (hide.value(argv) as string[]) : argv,
    ...(hide && { redacted: true as const }),
    // Cast: what is hidden in an object of texts leaves one.
    ...(options.tags && { tags: hide ? (hide.value(options.tags) as typeof options.tags) : options.tags }),
    ...(options.piped && { prompt: options.talk ? ('wire' as const) : ('stdin' as const) }),
    ...((options.talk || options.tee || options.spawn) && { stdin: 'pipe' as const }),
    cwd: options.cwd,
    pid: null,
    pid_started: null,
    recorders: [],
    started_at: '',
    ended_at: null,
    duration_ms: null,
    exit_code: null,
    signal: null,
    reason: null,
    outcome: null,
    ok: null,
    notes: [],
    ...(options.firstNotes.length > 0 && { first_notes: options.firstNotes }),
    bytes: {},
    ...recordedReading(options.reading),
    complete: false,
  }
}

/** The outcome, if the exit alone decides it: the events of an abandoned run may never be read. */
function outcomeOfExit(exit: Exit, reason: StopReason | null): Pick<Meta, 'outcome' | 'ok'> {
  const { code, ...rest } = exitEvidence(exit, reason)
  if (rest.stopped === undefined && rest.signal === null && (code === 0 || code === null))
    return { outcome: null, ok: null }
  return { outcome: outcomeOf({ state: 'unknown', evidence: { exit_code: code, ...rest } }), ok: false }
}

/** The options that a replay must use, too. */
function recordedReading(options: RecordOptions['reading']): Pick<Meta, 'reading'> {
  const { doneMarker: done_marker, maxFrame: max_frame, maxRepair: max_repair } = options
  const { window, pick, session } = options
  const schema = options.schema === undefined ? undefined : true
  const reading = defined({ done_marker, max_frame, window, pick, max_repair, session, schema })
  return Object.keys(reading).length === 0 ? {} : { reading }
}

function timeoutNote(limit = 0): Note {
  return { code: 'RUN_TIMEOUT', message: `it ran longer than ${limitWords(limit)}, so it was ended` }
}

function idleNote(limit = 0): Note {
  return { code: 'RUN_IDLE', message: `it printed nothing for ${limitWords(limit)}, so it was ended` }
}

/** A limit is mostly a round number: `4 s`, `10 min`. */
function limitWords(ms: number): string {
  return durationWords(ms).replace(/\.0(?= s$)| 0 (?:s|min)$/, '')
}

/** Those that had lost their parent, and have a session of their own, cannot be found by the process. */
function leftNote(pids: readonly number[]): Note {
  const [one, ...more] = pids
  const which =
    more.length === 0 ? `process ${one}` : `${pids.length} processes (${pids.slice(0, 10).join(', ')})`
  const message = `${which} that the agent had started ${more.length === 0 ? 'is' : 'are'} still running`
  return { code: 'LEFT_RUNNING', message }
}

function lostNote(name: string): Note {
  return {
    code: 'RECORD_FAILED',
    message: `${quote(name)} was removed or replaced during the run; a replay cannot read it`,
  }
}
