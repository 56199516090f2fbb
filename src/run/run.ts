import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { finished } from 'node:stream'
import {
  type Complete,
  checkOptions,
  DELAY,
  isDelay,
  isName,
  isObject,
  isText,
  misfit,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { Fault, type Note } from '../base/fault.ts'
import { join as joinStages, type Sink, type Stage } from '../base/stage.ts'
import { codeOf } from '../base/system-error-code.ts'
import type { Cache, CachedRun } from '../disk/cache.ts'
import { type JournalOptions, journalStage, settledEnd } from '../disk/journal.ts'
import { auto } from '../engines/auto.ts'
import { type EngineName, engineOf } from '../engines/engine-name.ts'
import type { Cost } from '../events/cost.ts'
import type { Engine, Picker } from '../events/engine.ts'
import {
  type CompletionData,
  type Event,
  type FailureClass,
  isEvent,
  type ResultData,
} from '../events/event.ts'
import { type EventOptions, eventStage } from '../events/event-stage.ts'
import type { RunOutcome } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import { type Flow, flow, type Items } from '../streams/flow.ts'
import type { Schema, Value } from '../values/schema/schema.ts'
import { type CachedResult, cachedResult, type Hit, writeCached } from './cached-result.ts'
import { withEnd } from './end-of-run.ts'
import { SNAPSHOT_OPTIONS, type SnapshotOptions } from './fs-diff.ts'
import { type LastWords, lastWords, type StopReason } from './meta.ts'
import { resumeInto } from './resume.ts'
import { Recording, type RecordOptions } from './run-attempt.ts'
import { RunDirectory } from './run-directory.ts'
import { LimitCounter, type RunLimits } from './run-limits.ts'
import { spentIn } from './session-tokens.ts'
import { type Opening, type TimedChunk, timedEvents, timedIntake } from './timed.ts'
import { watchTurns } from './watch-turns.ts'
import { feed } from './write-to-flow.ts'

/** The options of `run()`: the third argument, or together with the command the only one. */
export interface RunOptions<S extends Schema | undefined = Schema | undefined>
  extends Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'dir' | 'schema' | 'sessionTokens'> {
  /** An engine, or the name of one: `codex` or `'codex'`. @default auto */
  readonly engine?: Engine | Picker | EngineName | undefined
  /**
   * Records the run in this directory: what the agent printed, its events, and how it ended. Each run in it
   * is one more attempt of the same run.
   * @default nothing is written to disk
   */
  readonly audit?: string | undefined
  /**
   * Records the run in a new directory inside this one, `<time>-<id>`; `latest` points to the newest.
   * @default nothing is written to disk
   */
  readonly runs?: string | undefined
  /** @default process.cwd() */
  readonly cwd?: string | undefined
  /** @default process.env */
  readonly env?: NodeJS.ProcessEnv | undefined
  /**
   * Run it on a pseudo-terminal (needs the optional package @lydell/node-pty). With `pipes`, its stdout and
   * stderr are pipes that are also shown on the terminal: all three are recorded, and each record is read
   * once. Needs `audit` or `runs`: what a terminal shows cannot be held back.
   * @default false
   */
  readonly pty?:
    | boolean
    | {
        /** @default 200 */
        readonly cols?: number | undefined
        /** @default 50 */
        readonly rows?: number | undefined
        /** @default false */
        readonly pipes?: boolean | undefined
      }
    | undefined
  /** Its stdin: empty, our own stdin, or a text. @default 'ignore' */
  readonly input?: 'ignore' | 'inherit' | { readonly text: string } | undefined
  /** Milliseconds after which it is ended. @default never */
  readonly timeout?: number | undefined
  /** Milliseconds without output after which it is ended. @default never */
  readonly idleTimeout?: number | undefined
  /**
   * Milliseconds after which a process is ended that has reported its end and does not exit: the engine
   * reported the end of its turn, and neither another turn nor any work followed. The run ends as the engine
   * reported, with a note `RUN_LINGERED`.
   * @default never
   */
  readonly endAfter?: number | undefined
  /**
   * What it may use: `{ tokens, cost, toolCalls }`. A run that passes a limit while it works is ended, with a
   * note `RUN_LIMIT`, and has failed.
   * @default no limit
   */
  readonly limit?: RunLimits | undefined
  /** Milliseconds between SIGTERM and SIGKILL. @default 5000 */
  readonly killGrace?: number | undefined
  /** Milliseconds that a process it left behind may hold its pipe open after the exit. @default 2000 */
  readonly pipeGrace?: number | undefined
  /** Schema of the run's answer, its last payload: `end.result` says whether it matches. @default none */
  readonly schema?: S | undefined
  /** Compare the working directory before and after. @default {} with `audit` or `runs`, else false */
  readonly fsDiff?: SnapshotOptions | boolean | undefined
  /** When to call fsync for the events: see `journal`. @default 'interval' */
  readonly fsync?: JournalOptions['fsync']
  /** Aborting it ends the process in order: the flow still reports how it ended. */
  readonly signal?: AbortSignal | undefined
  /**
   * Stores results that passed the schema, repaired ones too; never failures. If it has the result of the
   * same run (engine, command, args, input, cwd, schema and how the output is read), nothing is started.
   * @default none
   */
  readonly cache?: Cache | undefined
  /**
   * Represents a schema or an engine that is code, and anything else that decides the result, in the cache
   * key.
   * @default none
   */
  readonly cacheKey?: string | undefined
  /**
   * Milliseconds to wait for each call of the cache; then it is not used, with a note CACHE_FAILED.
   * @default 10,000
   */
  readonly maxCacheWait?: number | undefined
}

/** The end of a process that was not started. */
const NO_PROCESS = { exit_code: null, signal: null, reason: null }

/** How a run ended. */
export interface RunEnd<T = unknown> {
  readonly run_id: string
  readonly attempt: number
  /** The verdict from what the engine reported and the exit together. */
  readonly completion: CompletionData
  /**
   * How it ended, in one word:
   * - `succeeded`: the done marker was written, or the result passed the schema
   * - `finished`: the turn ended well and nothing more was asked for, the usual good end
   * - `needs_input`: a request or question of the agent is open, or the done marker you named is missing
   * - `failed`: an error, exit ≠ 0, a signal, a time limit, cut output, or no result that passes the schema
   * - `cancelled`: stopped on request; `unknown`: no evidence
   */
  readonly outcome: RunOutcome
  /** Whether it ended well: `succeeded` or `finished`. */
  readonly ok: boolean
  /** Of a run that failed: why, in one word. Null if it did not fail. */
  readonly failure_class: FailureClass | null
  readonly exit_code: number | null
  readonly signal: string | null
  /** Why we ended it, or null if it ended by itself. */
  readonly reason: StopReason | null
  /**
   * The audit directory, if the run was recorded. Nothing is added to it if the result is from the cache.
   */
  readonly audit: string | undefined
  /** The last message of the agent, its subagents' aside; null if there was none. */
  readonly text: string | null
  /** The agent's own id of the conversation, with which it can be continued; null if it told none. */
  readonly session: string | null
  /** With a schema: whether the last payload passed it, and the value. */
  readonly result: (ResultData & { readonly value?: T }) | null
  /** The tokens of the whole run; null if the engine reported none. */
  readonly usage: Tokens | null
  /** What the run cost, as the engine reported it; null if it did not. */
  readonly cost: Cost | null
  /**
   * The run that the result is from, if it came from the cache. Then nothing was started, and `completion` is
   * that of the cached run.
   */
  readonly cached: CachedRun | null
  /** Errors of the cache. */
  readonly notes: readonly Note[]
}

/** A run: its events as they arrive, and its end. Read it like any flow; there is nothing to write to it. */
export type Run<T = unknown> = Items<Event> & {
  readonly run_id: string
  readonly attempt: number
  /** The audit directory; undefined if the run is not recorded. */
  readonly audit: string | undefined
  /**
   * Resolves when the run is over and everything is recorded. If nobody reads the events by the next turn of
   * the event loop, asking for it reads them to the end; a reader that comes later gets BAD_STATE.
   */
  readonly end: Promise<RunEnd<T>>
  /** Sends a signal to the process and all its descendants. @default 'SIGINT' */
  kill(signal?: NodeJS.Signals): void
  /** Types into its pseudo-terminal. */
  type(text: string): void
}

/** A command and how it is run, in one object. */
export interface RunCommand<S extends Schema | undefined = Schema | undefined> extends RunOptions<S> {
  /** The program, looked up on PATH. No shell is involved. */
  readonly command: string
  /** @default [] */
  readonly args?: readonly string[] | undefined
}

function checkCommand(command: unknown): void {
  if (command === '') throw new Fault('BAD_OPTION', 'command is empty; name the program to run')
  if (typeof command !== 'string')
    throw new Fault('BAD_OPTION', 'run needs the program to start: run("codex", ["exec", "--json", task])')
}

function checkAudit(audit: unknown): void {
  if (audit === '') throw new Fault('BAD_OPTION', 'audit is empty; name a directory, or leave it out')
}

const areTexts = (all: unknown) => Array.isArray(all) && all.every(isText)
const isInput = (input: unknown) =>
  ['ignore', 'inherit'].includes(input as string) ||
  (isObject(input) && 'text' in input && isText(input.text))
const ARGS = 'be an array of strings; options are the third argument of run'

const RUN_OPTIONS = {
  command: {},
  args: { default: [], is: areTexts, must: ARGS },
  engine: { default: auto },
  audit: { check: checkAudit, is: isText, needs: 'a path as audit' },
  runs: { is: isName, needs: 'a path as runs' },
  cwd: { is: isText, needs: 'a path as cwd' },
  env: {},
  pty: { default: false },
  input: { default: 'ignore', is: isInput, needs: "'ignore', 'inherit' or { text } as input" },
  timeout: { is: isDelay, must: DELAY },
  idleTimeout: { is: isDelay, must: DELAY },
  endAfter: { is: isDelay, must: DELAY },
  limit: {},
  killGrace: { default: 5000, is: isDelay, must: DELAY },
  pipeGrace: { default: 2000, is: isDelay, must: DELAY },
  schema: {},
  fsDiff: {},
  fsync: {},
  cache: {},
  cacheKey: {},
  maxCacheWait: {},
  runId: {},
  // Events check the others and have their defaults: what is not given is not recorded either.
  window: {},
  doneMarker: { is: isName, must: 'be the name of a key, and not empty' },
  maxFrame: {},
  pick: {},
  maxRepair: {},
} as const satisfies OptionTable<RunCommand>

const PTY_OPTIONS = {
  cols: { default: 200 },
  rows: { default: 50 },
  pipes: { default: false },
} as const satisfies OptionTable<Exclude<RunOptions['pty'], boolean | undefined>>

type ReadOptions = Complete<RunCommand, typeof RUN_OPTIONS>

/**
 * Runs an agent and records it: raw output first, then what it means. The events are a flow; the audit
 * directory (`agent.audit`) has the same events afterwards, and `replay()` emits them again, byte for byte.
 * The engine is found by the shape of the output unless `engine` names it.
 *
 * If an earlier attempt in the directory was cut short by a crash, its events are completed first. Leaving
 * the flow early (`break`, an abort, a pipeline that fails) ends the process and all its descendants.
 *
 * @example
 * const agent = run('codex', ['exec', '--json', 'fix the test'], { signal })
 * for await (const event of agent) console.log(event.type)
 * const { ok, outcome, text, result, cost } = await agent.end
 * console.log(outcome) // 'succeeded', 'finished', 'needs_input', 'failed', 'cancelled' or 'unknown'
 */
export function run<S extends Schema | undefined = undefined>(
  command: string,
  args?: readonly string[],
  options?: RunOptions<S>,
): Run<Value<S>>
/**
 * The same with everything in one object.
 *
 * @example
 * const agent = run({ command: 'codex', args: ['exec', '--json', 'fix the test'], engine: codex })
 * for await (const event of agent) console.log(event.type)
 */
export function run<S extends Schema | undefined = undefined>(options: RunCommand<S>): Run<Value<S>>
export function run(called: string | RunCommand, given?: readonly string[], more?: RunOptions): Run {
  // Nothing is thrown here: a caller handles what goes wrong in one place.
  try {
    return startRun(called, given, more)
  } catch (error) {
    return failedRun(error as Error)
  }
}

/** The same, but throws what is known at once: an option that cannot be used, a directory that is locked. */
export function startRun(called: string | RunCommand, given?: readonly string[], more?: RunOptions): Run {
  return new AgentRun(readCall(called, given, more)).start()
}

const EXAMPLE = 'run("codex", ["exec", "--json", task], { engine: "codex" })'

function readCall(called: string | RunCommand, given?: readonly string[], more?: RunOptions): ReadOptions {
  checkOptions<object>('run', more, EXAMPLE, RUN_OPTIONS)
  if (typeof called !== 'string' && !isObject(called)) throw misfit('run', 'a command', called, EXAMPLE)
  const options = typeof called === 'string' ? { ...more, command: called, args: given } : called
  checkCommand(options.command)
  const read = readOptions('run', options, EXAMPLE, RUN_OPTIONS)
  // The event stage is created when the agent already runs; what it refuses is refused now.
  eventStage(engineOf(read.engine), readingOf(read))
  read.signal?.throwIfAborted()
  const { audit, runs, pty, fsDiff } = read
  if (audit !== undefined && runs !== undefined)
    throw new Fault('BAD_OPTION', 'give audit or runs, not both: the directory of this run, or of all runs')
  ptyOf(read)
  if (pty && audit === undefined && runs === undefined)
    throw new Fault('BAD_OPTION', 'a pseudo-terminal is recorded: give it a directory, audit or runs')
  if (isObject(fsDiff))
    checkOptions('fsDiff of run', fsDiff, '{ fsDiff: { maxFiles: 9000 } }', SNAPSHOT_OPTIONS)
  return read
}

/** A run that could not be started: its flow and its end fail. */
function failedRun(error: Error): Run {
  const made = flow<never, Event>((next) => next)
  // The reader of the flow, or of `end`, gets the failure; without any it is nobody's.
  finished(made, () => {})
  setImmediate(() => made.destroy(error))
  const end = Promise.reject(error)
  end.catch(() => {})
  const call = { run_id: '', attempt: 0, audit: undefined, end, kill() {}, type() {} }
  return Object.assign(made as Flow<Event>, call) as unknown as Run // cast: the end of a stream is hidden
}

function readingOf({
  window,
  doneMarker,
  maxFrame,
  pick,
  maxRepair,
  schema,
}: RunCommand): RecordOptions['reading'] {
  return { window, doneMarker, maxFrame, pick, maxRepair, schema }
}

function ptyOf({ pty }: ReadOptions) {
  if (!pty) return undefined
  return readOptions('pty of run', pty === true ? {} : pty, '{ pty: { cols: 120 } }', PTY_OPTIONS)
}

type Settings = Omit<RecordOptions, 'runId' | 'attempt' | 'audit' | 'onStart'>

/** The options with their defaults. */
function settingsOf(options: ReadOptions): Settings {
  const { command, args, env = process.env, input, audit, runs } = options
  const { fsDiff = audit !== undefined || runs !== undefined } = options
  const { cwd = process.cwd(), timeout, idleTimeout, killGrace, pipeGrace } = options
  return {
    command,
    args,
    engine: engineOf(options.engine),
    cwd: resolve(cwd),
    env,
    input,
    pty: ptyOf(options),
    timeout,
    idleTimeout,
    killGrace,
    pipeGrace,
    fsDiff: fsDiff === true ? {} : fsDiff,
    reading: readingOf(options),
  }
}

/** One attempt of a run: its directory, its process, and the flow of its events. */
class AgentRun {
  readonly #options: ReadOptions
  readonly #engine: Engine | Picker
  readonly #kept: CachedResult | undefined
  /** Undefined if the run is not recorded. */
  readonly #dir: RunDirectory | undefined
  readonly #runId: string
  readonly #attempt: number
  readonly #recording: Recording
  #completion: CompletionData | undefined
  #result: ResultData | null = null
  #said: LastWords = { session: null, text: null }
  /** The result came from the cache, and nothing is started. */
  #hit: Hit | undefined
  /** Ends a process that has reported its end and does not exit. */
  #lingers: NodeJS.Timeout | undefined
  readonly #limits: LimitCounter | undefined
  /** The turn has ended, and nothing followed. */
  #over = false

  /** Takes the directory. Nothing is started yet. */
  constructor(options: ReadOptions) {
    const { cache, cacheKey, maxCacheWait, endAfter, limit, audit, runs } = options
    const settings = settingsOf(options)
    const { engine } = settings
    this.#options = options
    this.#engine = engine
    this.#limits = limit && new LimitCounter(limit)
    this.#kept = cache && cachedResult({ ...settings, cache, cacheKey, maxCacheWait })
    const id = randomUUID()
    const dir = audit === undefined && runs === undefined ? undefined : new RunDirectory(options, id)
    this.#dir = dir
    this.#runId = dir?.runId ?? options.runId ?? id
    this.#attempt = dir?.attempt ?? 1
    this.#recording = new Recording({
      ...settings,
      engine: endAfter === undefined && !limit ? engine : watchTurns(engine, this.#turned(endAfter)),
      runId: this.#runId,
      attempt: this.#attempt,
      audit: dir?.path,
      onStart: () => dir?.begun() ?? [],
    })
  }

  start(): Run {
    const { signal } = this.#options
    const events = flow<never, Event>(this.#stage(), { intake: timedIntake as never })
    const made = this.#dir ? settledEnd(events, this.#dir.journal) : events
    const abort = () => this.#recording.stop('aborted', 'SIGTERM')
    signal?.addEventListener('abort', abort, { once: true })
    const closed = new Promise<Error | null>((resolve) => {
      finished(made, (error) => resolve(error ?? null))
    })
    const end = feed(this.#source(made), made, {
      // With a silent agent the generator sleeps, and leaving the loop does not end it: so it is stopped
      // here.
      stop: (failure) => this.#recording.stop(reasonOf(failure), 'SIGTERM'),
      tidy: () => {
        clearTimeout(this.#lingers)
        signal?.removeEventListener('abort', abort)
        this.#release()
      },
    })
      .then(() => closed)
      .then((failure) => {
        if (failure) throw failure
        return this.#end()
      })
    // The reader of the flow gets the failure too; a caller that ignores `end` must not get an unhandled
    // rejection.
    end.catch(() => {})
    const run = Object.assign(made as Flow<Event>, {
      run_id: this.#runId,
      attempt: this.#attempt,
      audit: this.#dir?.path,
      kill: (signal: NodeJS.Signals = 'SIGINT') => this.#recording.stop('interrupted', signal),
      type: (text: string) => this.#recording.type(text),
    })
    return withEnd(run, end) as unknown as Run // cast: the end of a stream is hidden
  }

  /** Ends the process when its turn has been over for this long. */
  #turned(ms: number | undefined): (over: boolean) => void {
    return (over) => {
      this.#over = over
      clearTimeout(this.#lingers)
      if (over && ms !== undefined)
        this.#lingers = setTimeout(() => this.#recording.stop('end_signal', 'SIGTERM'), ms)
    }
  }

  /** Ends the process if it has passed a limit and still works. */
  #checkLimits(): void {
    const passed = this.#over ? undefined : this.#limits?.passed()
    if (passed) this.#recording.stop('limit', 'SIGTERM', passed)
  }

  /** The chunks of the process, or what the cache has instead. */
  async *#source(until: { readonly destroyed: boolean }): AsyncGenerator<TimedChunk | Opening | Hit> {
    const { schema, signal } = this.#options
    const found = await this.#kept?.find()
    if (found && !until.destroyed && !signal?.aborted) {
      yield found
      return
    }
    // How earlier attempts were read is in their own metas.
    if (this.#dir) {
      await resumeInto(this.#dir.path, this.#dir.journal, { schema, custom: this.#engine, wait: false })
      this.#recording.continues(spentIn(this.#dir.path))
    }
    if (!until.destroyed) yield* this.#recording.chunks
  }

  #stage(): Stage<TimedChunk | Opening | Hit, Event> {
    return (next) => {
      const reported: Sink<Event> = {
        write: (event) => {
          if (isEvent(event, 'lifecycle.completion.state')) this.#completion = event.data
          if (isEvent(event, 'lifecycle.run.result')) this.#result = event.data
          this.#said = lastWords(this.#said, event)
          this.#limits?.add(event)
          next.write(event)
        },
        end: () => {
          if (this.#hit) this.#release()
          else this.#recording.complete(this.#completion!, this.#said)
          next.end()
        },
      }
      const stage = this.#dir ? joinStages(timedEvents, journalStage(this.#dir.journal)) : timedEvents
      const live = stage(reported)
      return {
        // A cached result is not written to the journal: a replay of the logs could not emit it again.
        write: (item) => {
          if ('from' in item) {
            this.#hit = item
            const { name: engine } = this.#engine
            writeCached(item, { runId: this.#runId, attempt: this.#attempt, engine }, reported)
          } else {
            live.write(item)
            this.#checkLimits()
          }
        },
        end: () => (this.#hit ? reported : live).end(),
      }
    }
  }

  /** The flow has ended without a failure, so its last event has arrived. */
  async #end(): Promise<RunEnd> {
    const { exit_code, signal, reason } = this.#hit ? NO_PROCESS : this.#recording.meta()
    const completion = this.#completion!
    const ended = {
      run_id: this.#runId,
      attempt: this.#attempt,
      completion,
      outcome: completion.outcome,
      ok: completion.ok,
      failure_class: completion.failure_class ?? null,
      exit_code,
      signal,
      reason,
      ...this.#said,
      audit: this.#dir?.path,
      result: this.#result,
      usage: completion.tokens ?? null,
      cost: completion.cost ?? null,
    }
    if (!this.#hit) await this.#kept?.keep(ended)
    return { ...ended, cached: this.#hit?.from ?? null, notes: this.#kept?.trouble ?? [] }
  }

  #release(): void {
    this.#dir?.release(this.#recording.meta().pid !== null)
  }
}

/** Why the flow is destroyed: its reader left, could not write the output, or we failed ourselves. */
function reasonOf(failure: Error | null): StopReason {
  if (Fault.is(failure)) return failure.code === 'OUTPUT_FAILED' ? 'output_failed' : 'recorder_failed'
  // The error that a `pipeline` passes on from a file at its end.
  return unwritable.has(codeOf(failure) ?? '') ? 'output_failed' : 'abandoned'
}

const unwritable: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS'])
