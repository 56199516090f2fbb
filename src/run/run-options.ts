import { resolve } from 'node:path'
import {
  areTexts,
  type Complete,
  checkOptions,
  FLAG_OR_OBJECT,
  isFlagOrObject,
  isFunction,
  isLine,
  isName,
  isObject,
  isText,
  LINE,
  misfit,
  NOT_TAKEN,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { badOption, type Note, quote } from '../base/fault.ts'
import { CACHE_OPTIONS, type Cache, type CachedRun } from '../disk/cache.ts'
import { JOURNAL_OPTIONS, type JournalOptions } from '../disk/journal.ts'
import { auto } from '../engines/auto.ts'
import { checkEngineOption, type EngineName, engineNamed, engineOf } from '../engines/engine-name.ts'
import { talkingCommand, talkingEngine, wireOf } from '../engines/programs.ts'
import type { Cost } from '../events/cost.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { AgentEvent, CompletionData, FailureClass, ResultData } from '../events/event.ts'
import { EVENT_OPTIONS, type EventOptions, eventStage } from '../events/event-stage.ts'
import type { RunOutcome } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import type { SpawnLike } from '../process/process.ts'
import type { ReadableItems } from '../streams/flow.ts'
import type { Schema, SchemaOutput } from '../values/schema/schema.ts'
import type { AttemptSettings } from './attempt-record.ts'
import { type FsDiffOptions, SNAPSHOT_OPTIONS } from './fs-diff.ts'
import { areTags, type StopReason } from './meta.ts'
import type { Limits } from './run-limits.ts'
import type { RequestAnswer } from './talk.ts'

/** The options of `run()`: the third argument, or together with the command the only one. */
export interface RunOptions<S extends Schema | undefined = Schema | undefined>
  extends Omit<
    EventOptions,
    'attempt' | 'clock' | 'fsDiff' | 'dir' | 'schema' | 'sessionTokens' | 'session' | 'wire'
  > {
  /** An engine, or the name of one: `codex` or `'codex'`. @default auto */
  readonly engine?: Engine | Picker | EngineName | undefined
  /**
   * Records the run in this directory, its audit directory: what the agent printed, its events, and how it
   * ended. Each `run()` in it is one more attempt of the same run.
   * @default nothing is written to disk
   */
  readonly audit?: string | undefined
  /**
   * Records the run in a new directory inside this one, `<time>-<id>`; `latest` points to the newest.
   * @default nothing is written to disk
   */
  readonly runs?: string | undefined
  /**
   * Your own words about a recorded run, to find it again: `{ team: 'web', ticket: 'A-7' }`. At most 20, of
   * 200 characters each, in `meta.N.json`, in the list of `serve`, and for `sluice ls --tag`.
   * @default none
   */
  readonly tags?: Readonly<Record<string, string>> | undefined
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
  /**
   * The task, written to its stdin, and not to its command line: it may begin with a dash, and `ps` does not
   * show it. Codex, Claude Code, Gemini, Qwen Code, OpenCode, Kilo, Copilot and pi read it there.
   * @default none
   */
  readonly prompt?: string | undefined
  /**
   * How often a result that fails the schema is asked for again, in the same session and with the errors: at
   * most 3. `end.rounds` has what failed before.
   * @default 0
   */
  readonly rounds?: number | undefined
  /**
   * Talks with the agent while it works: keeps its stdin open and speaks its wire, which is ACP, `codex
   * app-server`, or `--input-format stream-json` of Claude Code and Qwen Code. The `prompt` is the first
   * turn, `agent.reply()` the next, in the same process; `agent.answer()` answers what it asks. The `engine`
   * is needed if the command does not tell the wire. When a turn is over and no reply waits, stdin is closed
   * and the run ends.
   * @default false
   */
  readonly talk?: boolean | undefined
  /**
   * Lets others steer the run while it works: answer (with `talk`), interrupt and stop it, by the page of
   * `serve({ control: true })`, or `sluice answer`, `interrupt` and `stop`. Somebody may always answer then:
   * a request waits for `answerIn`, whether or not anybody reads the events. Needs `audit` or `runs`. Read
   * docs/control.md first.
   * @default false
   */
  readonly control?: boolean | undefined
  /**
   * With `talk`: how long a request of the agent waits for `agent.answer()`; then it is rejected, with a note
   * `REQUEST_EXPIRED`. `timeout` and `idleTimeout` stand still meanwhile. If nobody reads the events, it is
   * rejected at once, unless there is `control`.
   * @default '5m'
   */
  readonly answerIn?: Duration | undefined
  /**
   * Starts the process in place of `spawn` of `node:child_process`: `docker exec`, ssh, a sandbox, a stand-in
   * of a test. It gets the command, its arguments, and `{ cwd, env, stdio, detached }`; what it returns needs
   * streams and the events `exit` or `close`, but no pid. Not with `pty`.
   * @default spawn
   */
  readonly spawn?: SpawnLike | undefined
  /**
   * Lets the agent outlive your program. Else it ends with it, with all it has started: by a signal, by
   * `process.exit()`, by an uncaught error. One that is not recorded loses its pipes then.
   * @default false
   */
  readonly detached?: boolean | undefined
  /**
   * Records no secret that can be recognized (`docs/export.md`): logs, prompt, command line and events have
   * `[redacted:kind]` instead. Then this process stands between the agent and its log: what waits for the end
   * of its line is lost if it is killed, and a replay is of the hidden bytes. Needs `audit` or `runs`; not
   * with `talk`, whose answers repeat what was asked.
   * @default false
   */
  readonly redact?: boolean | undefined
  /** Its stdin: empty, our own stdin, or a text. @default 'ignore' */
  readonly input?: 'ignore' | 'inherit' | { readonly text: string } | undefined
  /** How long it may run; then it is ended. @default no limit */
  readonly timeout?: Duration | undefined
  /** How long it may print nothing; then it is ended. @default no limit */
  readonly idleTimeout?: Duration | undefined
  /**
   * For an agent that does not exit: how long it may live on after it reported the end of its turn, if
   * neither another turn nor any work follows. Then it is ended; the run ends as the agent reported, with a
   * note `RUN_LINGERED`.
   * @default no limit
   */
  readonly endAfter?: Duration | undefined
  /**
   * What it may use: `{ tokens, cost, toolCalls, output }`. A run that passes a limit while it works is
   * ended, with a note `RUN_LIMIT`, and has failed.
   * @default no limit
   */
  readonly limit?: Limits | undefined
  /** How long between SIGTERM and SIGKILL. @default '5s' */
  readonly killGrace?: Duration | undefined
  /** How long a process it left behind may hold its pipe open after the exit. @default '2s' */
  readonly pipeGrace?: Duration | undefined
  /** Schema of the run's answer, its last payload: `end.result` says whether it matches. @default none */
  readonly schema?: S | undefined
  /** Look which files it changes in the working directory. @default {} with `audit` or `runs`, else false */
  readonly fsDiff?: FsDiffOptions | boolean | undefined
  /**
   * Besides `fsDiff`, records its changes as a unified diff, if the working directory is in a git repository:
   * git looks at the tree before and after, at most 10 seconds each, and 1 MiB of the diff is kept. What
   * fails is a note `DIFF_MISSING`, never a failure of the run. Not with `fsDiff: false`.
   * @default false
   */
  readonly diff?: boolean | undefined
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
   * Your word for what the cache cannot see: a schema or an engine that is code, and anything else that
   * decides the result. Another word finds none of the results that were stored before.
   * @default none: a schema or an engine that is code needs one
   */
  readonly cacheKey?: string | undefined
  /**
   * How long to wait for each call of the cache; then it is not used, with a note CACHE_FAILED.
   * @default '10s'
   */
  readonly maxCacheWait?: Duration | undefined
}

const MAX_ROUNDS = 3

/** How a run ended. */
export interface RunEnd<T = unknown> {
  readonly runId: string
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
  /**
   * What went wrong, in one sentence for people: a 401 in the agent's own words, its last line on stderr, `it
   * ran longer than 4 s`. Null after a good end.
   */
  readonly problem: string | null
  /** Of a run that failed: why, in one word. Null if it did not fail. */
  readonly failureClass: FailureClass | null
  readonly exitCode: number | null
  readonly signal: string | null
  /** Why we ended its process; null if that ended by itself. Why the run failed is in `problem`. */
  readonly reason: StopReason | null
  /**
   * The limit of `limit` that it passed: `reason` is `'limit'` if it was ended for that, and null if that was
   * told only when its turn was over. Null if it passed none.
   */
  readonly limit: keyof Limits | null
  /** The audit directory, if the run was recorded. A result from the cache adds nothing to it. */
  readonly audit: string | undefined
  /** The last message of the agent, its subagents' aside; null if there was none. */
  readonly text: string | null
  /**
   * The words of the engine's own result (`result` of Claude Code and Cursor, `response` of Gemini CLI): they
   * may differ from the last message, `text`. Null if it has none, or failed.
   */
  readonly answer: string | null
  /** The agent's own id of the conversation, with which it can be continued; null if it told none. */
  readonly session: string | null
  /** With a schema: whether the last payload passed it, and the value. */
  readonly result: ResultData<T> | null
  /** What the agent was asked: the `prompt`, or what its command line says; null if neither is known. */
  readonly task: string | null
  /** The results that failed the schema and were asked for again, in their order. */
  readonly rounds: readonly ResultData[]
  /** The tokens of the whole run, of all its rounds; null if the engine reported none. */
  readonly tokens: Tokens | null
  /** What all of that cost, as the engine reported it; null if it did not. */
  readonly cost: Cost | null
  /** If the result is from the cache, its run, which `completion` is of. Then nothing was started. */
  readonly cached: CachedRun | null
  /** About the process (the limit that ended it, a pipe that was held open), and errors of the cache. */
  readonly notes: readonly Note[]
}

/** The options of `reply()`: those of `run()`, but for what the recorded run decides. */
export type ReplyOptions<S extends Schema | undefined = Schema | undefined> = Omit<
  RunOptions<S>,
  'audit' | 'runs' | 'runId' | 'cwd' | 'prompt' | 'input'
>

/** A run: its events as they arrive, and its end. Read it like any flow; there is nothing to write to it. */
export type Run<T = unknown, E = AgentEvent> = ReadableItems<E> & {
  readonly runId: string
  readonly attempt: number
  /** The audit directory; undefined if the run is not recorded. */
  readonly audit: string | undefined
  /**
   * Resolves when the run is over and everything is recorded. If nobody reads the events by the next turn of
   * the event loop, asking for it reads them to the end; a reader that comes later gets BAD_STATE.
   */
  readonly end: Promise<RunEnd<T>>
  /** Sends a signal to the process and all its descendants. `interrupt()` is politer. @default 'SIGTERM' */
  kill(signal?: NodeJS.Signals): void
  /** With `pty`: types the text into its terminal. */
  type(text: string): void
  /**
   * Continues the agent's session, once the run has ended: the next attempt, with the same options and these,
   * recorded in the same directory. If that cannot be done, it fails with CANNOT_REPLY and starts nothing.
   * With `talk`, until the end of the last turn was read: its next turn in the same process, and this run.
   */
  reply<S extends Schema | undefined = undefined>(
    text: string,
    options?: ReplyOptions<S>,
  ): Run<undefined extends S ? T : SchemaOutput<S>>
  /**
   * With `talk`: answers a request, by the id of one of its options, by a kind that exactly one of them has,
   * or by answers to its questions. `'cancel'` dismisses it. False if it is no longer open: then nothing is
   * sent. Throws BAD_OPTION if there is no such option.
   */
  answer(id: string, answer: RequestAnswer): boolean
  /**
   * Stops the turn: by the wire with `talk`, else by SIGINT. If the turn has not ended after `killGrace`, the
   * process is ended. The run ends as `cancelled`, unless a reply waits.
   */
  interrupt(): void
}

/** A command and how it is run, in one object. */
export interface RunCommand<S extends Schema | undefined = Schema | undefined> extends RunOptions<S> {
  /** The program, looked up on PATH. No shell is involved. */
  readonly command: string
  /** @default [] */
  readonly args?: readonly string[] | undefined
}

function checkCommand(command: unknown): void {
  if (command === '') throw badOption('command is empty; name the program to run')
  if (typeof command !== 'string')
    throw badOption('run needs the program to start: run("codex", ["exec", "--json", task])')
}

function checkAudit(audit: unknown): void {
  if (audit === '') throw badOption('audit is empty; name a directory, or leave it out')
}

const isInput = (input: unknown) =>
  ['ignore', 'inherit'].includes(input as string) ||
  (isObject(input) && 'text' in input && isText(input.text))
const isRounds = (rounds: unknown) => [0, 1, 2, MAX_ROUNDS].includes(rounds as number)
const TAGS = 'be an object of at most 20 short texts on one line, with names without "=", but is "%"'
const ARGS = 'be an array of strings, but is "%"; options are the third argument of run'

type Pty = NonNullable<RunOptions['pty']>

const PTY_OPTIONS = {
  signal: NOT_TAKEN,
  cols: { default: 200 },
  rows: { default: 50 },
  pipes: OFF,
} as const satisfies OptionTable<Exclude<Pty, boolean>>

function readPty(pty: Pty) {
  if (!pty) return false
  return readOptions('pty of run', pty === true ? {} : pty, '{ pty: { cols: 120 } }', PTY_OPTIONS)
}

function checkFsDiff(fsDiff: unknown): void {
  if (isObject(fsDiff))
    checkOptions<FsDiffOptions>('fsDiff of run', fsDiff, '{ fsDiff: { maxFiles: 9000 } }', SNAPSHOT_OPTIONS)
}

export const RUN_OPTIONS = {
  command: {},
  args: { default: [], is: areTexts, must: ARGS },
  engine: { default: auto, check: checkEngineOption, read: engineOf },
  audit: { check: checkAudit, is: isText, needs: 'a path as audit' },
  runs: { is: isName, needs: 'a path as runs' },
  tags: { is: areTags, must: TAGS },
  cwd: { is: isText, needs: 'a path as cwd' },
  env: { is: isObject, needs: 'an object of variables as env' },
  pty: { default: false, is: isFlagOrObject, must: FLAG_OR_OBJECT, read: readPty },
  prompt: { is: isName, must: 'be a text that is not empty, but is "%"' },
  rounds: { default: 0, is: isRounds, must: 'be 0, 1, 2 or 3, but is %' },
  talk: OFF,
  control: OFF,
  spawn: { is: isFunction, needs: 'a function as spawn' },
  detached: OFF,
  redact: OFF,
  answerIn: { ...DURATION, default: 300_000 },
  input: { default: 'ignore', is: isInput, needs: "'ignore', 'inherit' or { text } as input" },
  timeout: DURATION,
  idleTimeout: DURATION,
  endAfter: DURATION,
  limit: { is: isObject, needs: 'an object of limits as limit' },
  killGrace: { ...DURATION, default: 5000 },
  pipeGrace: { ...DURATION, default: 2000 },
  schema: {},
  fsDiff: { is: isFlagOrObject, must: FLAG_OR_OBJECT, check: checkFsDiff },
  diff: OFF,
  fsync: JOURNAL_OPTIONS.fsync,
  ...CACHE_OPTIONS,
  runId: { is: isLine, must: LINE },
  // Events check the others and have their defaults: what is not given is not recorded either.
  window: {},
  doneMarker: EVENT_OPTIONS.doneMarker,
  maxFrame: {},
  pick: {},
  maxRepair: {},
  record: {},
} as const satisfies OptionTable<RunCommand>

type Checked = Complete<RunCommand, typeof RUN_OPTIONS>

/** The options as they are used. */
export interface ReadOptions extends Checked {
  readonly settings: AttemptSettings
}

const EXAMPLE = 'run("codex", ["exec", "--json", task], { engine: "codex" })'

export function readCall(
  called: string | RunCommand,
  given?: readonly string[],
  more?: RunOptions,
): ReadOptions {
  checkOptions<object>('run', more, EXAMPLE, RUN_OPTIONS)
  if (typeof called !== 'string' && !isObject(called)) throw misfit('run', 'a command', called, EXAMPLE)
  const options = typeof called === 'string' ? { ...more, command: called, args: given } : called
  checkCommand(options.command)
  const read = readOptions('run', options, EXAMPLE, RUN_OPTIONS)
  checkTogether(read, options)
  const { cwd = process.cwd(), env = process.env, prompt, pty, diff } = read
  const { window, doneMarker, maxFrame, pick, maxRepair, schema, record } = read
  const { fsDiff = isRecorded(read) || diff } = read
  const settings = {
    ...read,
    engine: read.talk ? talkingEngineOf(read) : read.engine,
    cwd: resolve(cwd),
    env,
    input: prompt === undefined ? read.input : { text: prompt },
    piped: prompt !== undefined,
    pty: pty || undefined,
    fsDiff: fsDiff === true ? {} : fsDiff,
    reading: { window, doneMarker, maxFrame, pick, maxRepair, schema, record },
  }
  // The event stage is created when the agent already runs; what it refuses is refused now.
  eventStage(settings.engine, settings.reading)
  read.signal?.throwIfAborted()
  return { ...read, engine: settings.engine, settings }
}

const isRecorded = ({ audit, runs }: Checked) => audit !== undefined || runs !== undefined

/** Throws for options that exclude or need each other. */
function checkTogether(read: Checked, given: RunCommand): void {
  if (given.prompt !== undefined && given.input !== undefined)
    throw badOption('give prompt or input, not both: each is the stdin of the command')
  if (read.prompt !== undefined && read.pty)
    throw badOption('a prompt goes to a pipe, and a pseudo-terminal has none: type it, or leave out `pty`')
  if (!read.talk && given.answerIn !== undefined && given.talk === undefined)
    throw badOption('`answerIn` is about requests that are answered: it needs `talk`')
  if (read.rounds > 0 && read.schema === undefined)
    throw badOption('`rounds` is for a result that fails its schema; give a `schema`, too')
  if (read.audit !== undefined && read.runs !== undefined)
    throw badOption('give audit or runs, not both: the directory of this run, or of all runs')
  const unrecorded = isRecorded(read) ? undefined : RECORDED.find(([name]) => read[name])
  if (unrecorded) throw badOption(`${unrecorded[1]}: give it a directory, audit or runs`)
  if (read.redact && read.talk)
    throw badOption('`redact` and `talk` exclude each other: an answer repeats the request as it was')
  if (read.diff && read.fsDiff === false)
    throw badOption('`diff` compares the working directory, too: leave out fsDiff: false (--no-fs-diff)')
  if (read.pty && read.spawn)
    throw badOption('a pseudo-terminal is started here: leave out `pty`, or `spawn`')
}

/** Options that need a recording, and why. */
const RECORDED = [
  ['pty', 'a pseudo-terminal is recorded'],
  ['tags', '`tags` are written into the recording'],
  ['redact', '`redact` hides secrets in what is recorded'],
  ['control', '`control` takes orders for a run that is recorded'],
] as const

/** A conversation needs the wire before the agent says a word: from its command line, or from the caller. */
function talkingEngineOf({ engine, command, args, prompt }: Checked): Engine | Picker {
  if (prompt === undefined) throw badOption('`talk` needs a `prompt`: what to say first')
  const argv = [command, ...args]
  const known = engine === auto ? (engineNamed(talkingEngine(argv)) ?? engine) : engine
  if (wireOf(known)?.speaks(argv)) return known
  const name = quote(command, 60)
  const agent = talkingCommand(argv)
  const isOther = engine !== auto && !wireOf(engine)
  if (!agent)
    throw badOption(
      `\`talk\` does not know how to talk with ${name}: start it with --acp, acp, app-server or --input-format stream-json, or name its \`engine\`: ${WIRES}${isOther ? `; ${quote(engine.name, 60)} has no wire` : ''}`,
    )
  if (agent.talks === undefined)
    throw badOption(`\`talk\` cannot talk with ${name}, which takes no answers while it works: leave it out`)
  throw badOption(
    `\`talk\` cannot talk with ${name} as it is started here; start it as ${agent.talks}${isOther ? ', and leave out `engine`' : ''}`,
  )
}

const WIRES = 'acp, codex (app-server), claude or qwen'
