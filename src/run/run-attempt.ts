import fs from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Note, quote } from '../base/fault.ts'
import { openLines } from '../disk/line-file.ts'
import { startOf } from '../disk/lock.ts'
import { Tail } from '../disk/tail.ts'
import { Waker } from '../disk/waker.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { EventOptions } from '../events/event-stage.ts'
import { outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { type Exit, type Started, type StartOptions, startOnPipes } from '../process/process.ts'
import { startOnPty } from '../process/terminal.ts'
import { startOnPtyAndPipes } from '../process/terminal-and-pipes.ts'
import { watchdog } from '../process/watchdog.ts'
import type { Channel, Chunk } from '../text/chunk.ts'
import { fileNames, pinned } from './audit.ts'
import { chunkLine } from './chunk-log.ts'
import {
  compare,
  type FsDiff,
  type Snapshot,
  type SnapshotOptions,
  snapshot,
  withOutside,
} from './fs-diff.ts'
import { exitEvidence, type Meta, type StopReason, writeMeta, writeWhole } from './meta.ts'
import type { Opening, TimedChunk } from './timed.ts'

export interface RecordOptions {
  readonly reading: Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'runId' | 'dir'>
  readonly runId: string
  readonly attempt: number
  readonly command: string
  readonly args: readonly string[]
  readonly engine: Engine | Picker
  readonly audit: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly input: 'ignore' | 'inherit' | { readonly text: string }
  readonly pty: { readonly cols: number; readonly rows: number; readonly pipes: boolean } | undefined
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  readonly killGrace: number
  readonly pipeGrace: number
  readonly fsDiff: SnapshotOptions | false
  /** Called when the process has started; the notes it returns are reported with the end. */
  readonly onStart: () => readonly Note[]
}

/** One attempt that is being recorded: its chunks as they arrive, and the handles on its process. */
export interface Recording {
  readonly chunks: AsyncGenerator<TimedChunk | Opening>
  /** The meta so far. */
  meta(): Meta
  /** Sends a signal to the whole group, and remembers that we did. */
  stop(reason: StopReason, signal: NodeJS.Signals): void
  /** Records in `meta.N.json` that every event is stored, and the outcome. */
  complete(outcome: RunOutcome): void
  /** Types into the pseudo-terminal, if there is one. */
  type(text: string): void
}

const stopNotes: Partial<Record<StopReason, Note>> = {
  timeout: { code: 'RUN_TIMEOUT', message: 'the time limit was reached, so the process was ended' },
  idle_timeout: { code: 'RUN_IDLE', message: 'there was no output for too long, so the process was ended' },
  end_signal: {
    code: 'RUN_LINGERED',
    message: 'the agent reported its end but did not exit, so its process was ended',
  },
  interrupted: { code: 'RUN_INTERRUPTED', message: 'the user interrupted the process' },
  aborted: { code: 'RUN_INTERRUPTED', message: 'the caller aborted the process' },
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
    readonly channels: readonly Channel[]
    readonly start: (options: StartOptions & { cols: number; rows: number }) => Promise<Started>
  }
>
const NO_SIZE = { cols: 0, rows: 0 }
/** How often to look at the logs without a watcher. */
const POLL_MS = 200
/** More than a terminal itself would buffer for a program that does not read yet. */
const MAX_TYPED = 64 * 1024

/**
 * Runs a command and records it. The bytes go into the logs first; `chunks` reads them
 * from there, and each read is recorded in `chunks.N.jsonl` before it is passed on. A slow reader slows
 * neither the agent nor its recording: the disk is the queue, and memory holds one block.
 */
export function recordAttempt(options: RecordOptions): Recording {
  const { audit, attempt, cwd, runId } = options
  const names = fileNames(attempt)
  const path = (name: keyof typeof names) => join(audit, names[name])
  const logs = { stdout: path('stdout'), stderr: path('stderr'), pty: path('pty') }
  const { channels, mode, start } = startModes[options.pty ? (options.pty.pipes ? 'both' : 'pty') : 'pipes']

  let meta: Meta = {
    run_id: runId,
    attempt_number: attempt,
    engine: options.engine.name,
    mode,
    argv: [options.command, ...options.args],
    cwd,
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
    notes: [],
    bytes: {},
    ...recordedReading(options.reading),
    complete: false,
  }
  const check = pinned(audit)
  const save = (more: Partial<Meta>) => {
    meta = { ...meta, ...more }
    check()
    writeMeta(path('meta'), meta)
  }
  const look = (): Promise<Snapshot> => snapshot(cwd, { ...(options.fsDiff || {}), except: resolve(audit) })

  let running: Started | undefined
  /** Text typed before the terminal exists. */
  let typed = ''
  let exited = false
  let killer: NodeJS.Timeout | undefined
  const stop = (reason: StopReason, signal: NodeJS.Signals) => {
    if (exited) return
    meta = { ...meta, reason: meta.reason ?? reason }
    // If it is not running yet, it is stopped when it is.
    if (!running) return
    running.kill(signal)
    killer ??= setTimeout(() => running?.kill('SIGKILL'), options.killGrace)
  }

  /**
   * Waits for the exit, then for the recorders; those whose pipe is still held open are stopped after a grace
   * period.
   */
  async function end(process: Started, recorded: Promise<unknown>): Promise<Exit & { held: boolean }> {
    const exit = await process.exit
    exited = true
    clearTimeout(killer)
    // A process that we ended leaves no others behind; one that ended by itself may.
    if (meta.reason !== null) process.kill('SIGKILL')
    const grace = new AbortController()
    const held = await Promise.race([
      recorded.then(() => false),
      delay(options.pipeGrace, true, { signal: grace.signal }).catch(() => true),
    ])
    grace.abort()
    for (const recorder of held ? process.recorders : []) recorder.stop()
    await recorded
    return { ...exit, held }
  }

  async function* chunks(): AsyncGenerator<TimedChunk | Opening> {
    const before = options.fsDiff ? await look() : undefined
    /** Known only at the exit; the event stage reads it then. */
    let diff: FsDiff | undefined
    const started = Date.now()
    const origin = performance.now()
    const elapsed = () => Math.round((performance.now() - origin) * 10) / 10
    const waker = new Waker(POLL_MS)
    const tails = channels.map((channel) => ({ channel, tail: new Tail(logs[channel]) }))
    // Before the process starts, so that a crash from here on leaves something to resume.
    save({ started_at: new Date(started).toISOString() })
    const reads = openLines(path('chunks'))
    let failure: unknown
    let over: Promise<Exit & { held: boolean }> | undefined
    let guard: ReturnType<typeof watchdog> | undefined
    try {
      running = await start({ ...options, ...(options.pty ?? NO_SIZE), logs, wake: waker.wake })
      if (typed !== '') running.type?.(typed)
      const { recorders } = running
      const recorded = Promise.all(recorders.map((recorder) => recorder.ended)).catch((error: unknown) => {
        failure = error
        stop('recorder_failed', 'SIGTERM')
      })
      over = end(running, recorded)
      const pids = recorders.flatMap((recorder) => recorder.pid ?? [])
      save({ pid: running.pid, pid_started: startOf(running.pid), recorders: pids })
      const startNotes = options.onStart()
      // It may have been stopped before it was running.
      if (meta.reason !== null) stop(meta.reason, 'SIGTERM')
      for (const { tail } of tails) waker.watch(tail.path)
      guard = watchdog({
        ...options,
        logs: channels.map((channel) => logs[channel]),
        onTimeout: () => stop('timeout', 'SIGTERM'),
        onIdle: () => stop('idle_timeout', 'SIGTERM'),
      })
      yield {
        engine: options.engine,
        opens: { ...options.reading, runId, attempt, dir: cwd },
        fsDiff: () => diff,
        time: started,
      }
      const first: Chunk = { channel: channels[0]!, bytes: Buffer.alloc(0), channels }
      yield { chunk: first, time: started }

      let ms = 0
      let finished = false
      void over.finally(() => {
        finished = true
        ms = Math.max(ms, elapsed())
        waker.wake()
      })
      for (let last = false; ; ) {
        // One more look after the recorders are done: they may have written since the last one.
        last = finished
        let read = false
        for (const { channel, tail } of tails) {
          const piece = tail.read()
          if (!piece) continue
          read = true
          ms = Math.max(ms, elapsed())
          reads.append(chunkLine({ channel, from: piece.from, length: piece.bytes.length, ms }))
          yield { chunk: { channel, bytes: piece.bytes }, time: started + ms }
        }
        if (read) continue
        if (last) break
        await waker.sleep()
      }
      const { code, signal, held } = await over
      if (failure !== undefined) throw failure
      if (before) {
        diff = withOutside(cwd, compare(before, await look()))
        check()
        writeWhole(path('fsDiff'), `${JSON.stringify(diff)}\n`)
      }
      const notes = [...(meta.reason === null ? [] : [stopNotes[meta.reason]]), held ? heldNote : undefined]
      const lost = channels.filter((channel) => sizeOf(logs[channel]) === undefined)
      const told = [
        ...startNotes,
        ...notes.filter((note) => note !== undefined),
        ...lost.map((channel) => lostNote(names[channel])),
      ]
      finish({ code, signal }, ms, told)
      yield {
        chunk: { channel: 'exit', ...exitEvidence({ code, signal }, meta.reason), notes: told },
        time: started + ms,
      }
    } catch (error) {
      stop('recorder_failed', 'SIGTERM')
      throw error
    } finally {
      guard?.stop()
      waker.close()
      for (const { tail } of tails) tail.close()
      reads.close()
      if (!running)
        for (const name of ['stdout', 'stderr', 'pty', 'chunks', 'meta'] as const)
          fs.rmSync(path(name), { force: true })
      else if (meta.ended_at === null && over) {
        stop('abandoned', 'SIGTERM')
        finish(await over, elapsed(), [])
      }
    }
  }

  function finish(exit: Exit, ms: number, notes: readonly Note[]): void {
    check()
    save({
      ended_at: new Date().toISOString(),
      duration_ms: ms,
      exit_code: exit.code,
      signal: exit.signal,
      outcome: outcomeOfExit(exit),
      notes,
      bytes: Object.fromEntries(
        channels.flatMap((channel) => {
          const size = sizeOf(logs[channel])
          return size === undefined ? [] : [[channel, size]]
        }),
      ),
    })
  }

  /** The outcome, if the exit alone decides it: the events of an abandoned run may never be read. */
  function outcomeOfExit(exit: Exit): RunOutcome | null {
    if (exit.code === 0 || meta.reason === 'end_signal') return null
    const { code, ...rest } = exitEvidence(exit, meta.reason)
    return outcomeOf({ state: 'unknown', evidence: { exit_code: code, ...rest } })
  }

  return {
    chunks: chunks(),
    meta: () => meta,
    stop,
    complete: (outcome) => save({ outcome, complete: true }),
    type(text) {
      if (running) running.type?.(text)
      else if (typed.length < MAX_TYPED) typed += text
    },
  }
}

/** The options that a replay must use, too. */
function recordedReading({ doneMarker, maxFrame, window }: RecordOptions['reading']): Pick<Meta, 'reading'> {
  const reading = {
    ...(doneMarker === undefined ? {} : { done_marker: doneMarker }),
    ...(maxFrame === undefined ? {} : { max_frame: maxFrame }),
    ...(window === undefined ? {} : { window }),
  }
  return Object.keys(reading).length === 0 ? {} : { reading }
}

/** The size of a log, or undefined if it no longer exists under its name. */
function sizeOf(path: string): number | undefined {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false })
  return stat?.isFile() ? stat.size : undefined
}

function lostNote(name: string): Note {
  return {
    code: 'RECORD_FAILED',
    message: `${quote(name)} was removed or replaced during the run; a replay cannot read it`,
  }
}
