import { randomUUID } from 'node:crypto'
import { finished } from 'node:stream'
import { checkOptions, defined, isText, misfit } from '../base/check-options.ts'
import { badOption, Fault, type Note, orElse, quote } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import { settledEnd } from '../disk/journal.ts'
import { programOf } from '../engines/command-line.ts'
import { engineNamed, engineOf } from '../engines/engine-name.ts'
import { engineOfCommand, missingOptions, taskInCommand, wireOf } from '../engines/programs.ts'
import type { Engine, Picker } from '../events/engine.ts'
import { type AgentEvent, isEvent } from '../events/event.ts'
import { type Flow, flow, shared } from '../streams/flow.ts'
import { withRounds } from './ask-again.ts'
import { completionOfExit, failureNote, Told, whyLeft } from './attempt-end.ts'
import { textModeNote } from './attempt-record.ts'
import { type CachedResult, cachedResult, type Hit, writeCached } from './cached-result.ts'
import type { StopReason } from './meta.ts'
import type { Order } from './orders.ts'
import { cannot, type EndedTurn, nextCommand } from './reply.ts'
import { resumeInto } from './resume.ts'
import { Recording } from './run-attempt.ts'
import { type RunDirectory, runDirectory } from './run-directory.ts'
import {
  feed,
  type Opening,
  storedEvents,
  type TimedChunk,
  timedEvents,
  timedIntake,
  withEnd,
} from './run-flow.ts'
import { LimitCounter, turnGuard } from './run-limits.ts'
import {
  type ReadOptions,
  type ReplyOptions,
  RUN_OPTIONS,
  type Run,
  type RunEnd,
  type RunOptions,
  readCall,
} from './run-options.ts'
import { type SessionTokens, spentIn } from './session-tokens.ts'
import { type RequestAnswer, Talk, whenUnheard } from './talk.ts'
import { watchTurns } from './watch-turns.ts'

/** The end of a process that was not started. */
const NO_PROCESS = { exit_code: null, signal: null, reason: null }

const DECIDED = ['command', 'args', 'audit', 'runs', 'runId', 'cwd', 'prompt', 'input']

export function checkReply(options: ReplyOptions, example: string): void {
  checkOptions<object>('reply', options, example, RUN_OPTIONS)
  const decided = DECIDED.find((name) => Object.hasOwn(options, name))
  if (decided) throw badOption(`reply takes no ${decided}: the run decides it`)
}

/** Starts the next turn. Throws if it cannot be started. */
export function continued(turn: EndedTurn, text: string, options: RunOptions, before?: Before): Run {
  const [command, ...args] = nextCommand(turn, text)
  const read = readCall({ ...options, command: command!, args, prompt: text, input: undefined })
  try {
    return new AgentRun(read, { ...before, session: turn.session! }).start()
  } catch (error) {
    if (!Fault.is(error) || error.code !== 'JOURNAL_LOCKED') throw error
    throw cannot('its last turn has not ended: it is still running', error)
  }
}

/** What an attempt continues. If it is recorded, the directory knows the rest. */
export interface Before {
  readonly runId?: string
  readonly attempt?: number
  readonly session?: string
  readonly spent?: SessionTokens
  /** It is passed through. */
  readonly tee?: true
}

/** A run that could not be started: its flow and its end fail. */
export function failedRun(error: Error): Run {
  const made = flow<never, AgentEvent>((next) => next)
  // The reader of the flow, or of `end`, gets the failure; without any it is nobody's.
  finished(made, () => {})
  setImmediate(() => made.destroy(error))
  const end = Promise.reject(error)
  end.catch(() => {})
  const call = {
    runId: '',
    attempt: 0,
    audit: undefined,
    end,
    kill() {},
    type() {},
    reply: () => failedRun(error),
    answer: () => false,
    interrupt() {},
  }
  // Cast: the end of a stream is hidden.
  return Object.assign(made as Flow<AgentEvent>, call) as unknown as Run
}

/** One attempt of a run: its directory, its process, and the flow of its events. */
export class AgentRun {
  readonly #options: ReadOptions
  readonly #engine: Engine | Picker
  readonly #kept: CachedResult | undefined
  /** Undefined if the run is not recorded. */
  readonly #dir: RunDirectory | undefined
  readonly #runId: string
  readonly #attempt: number
  readonly #recording: Recording
  readonly #talk: Talk | undefined
  /** Events that were made, and that nobody has read yet. */
  #unread = () => 0
  readonly #told: Told
  readonly #before: Before
  #ended = false
  /** The reader left, or we failed, before the end was told: why. */
  #left: { readonly reason: StopReason; readonly notes: readonly Note[] } | undefined
  /** What failed here, and not behind us. */
  #failure: unknown
  /** Reads the chunks, and makes the events. */
  #live: Sink<TimedChunk | Opening> | undefined
  /** The result came from the cache, and nothing is started. */
  #hit: Hit | undefined
  readonly #guard: ReturnType<typeof turnGuard>
  readonly #limits: LimitCounter | undefined
  /** What is known before it starts. */
  readonly #firstNotes: readonly Note[]
  /** The agent has told its session, or its engine knows the end of a turn: it does not just print text. */
  #isRecorded = false

  /** Takes the directory. Nothing is started yet. */
  constructor(options: ReadOptions, before: Before = {}) {
    const { cache, cacheKey, maxCacheWait, limit, audit, runs, settings } = options
    const { engine } = settings
    this.#options = options
    this.#before = before
    this.#told = new Told(before.spent)
    this.#engine = engine
    this.#limits = limit && new LimitCounter(limit, () => this.#recording.printed())
    this.#guard = turnGuard({
      limits: this.#limits,
      // A conversation ends the process itself; an open request is not the end.
      endAfter: options.talk ? undefined : options.endAfter,
      stop: (reason, note) => this.#recording.stop(reason, 'SIGTERM', note),
    })
    this.#kept = cache && cachedResult({ ...settings, cache, cacheKey, maxCacheWait })
    const id = randomUUID()
    const dir = audit === undefined && runs === undefined ? undefined : runDirectory(options, id)
    this.#dir = dir
    this.#runId = dir?.runId ?? options.runId ?? before.runId ?? id
    this.#attempt = dir?.attempt ?? before.attempt ?? 1
    this.#talk = this.#newTalk(settings.cwd)
    const known = 'open' in engine ? engine.name : engineOfCommand(this.#argv)
    this.#firstNotes = (known !== undefined && this.#limits?.blind(known)) || []
    this.#recording = new Recording({
      ...settings,
      tee: before.tee,
      reading: { ...settings.reading, session: before.session },
      engine: this.#watched(),
      runId: this.#runId,
      attempt: this.#attempt,
      audit: dir?.path,
      isOwn: runs !== undefined,
      records: runs ?? dir?.path,
      waited: this.#talk && (() => this.#talk!.waited()),
      onStart: () => {
        const notes = dir?.begun() ?? []
        this.#talk?.begin()
        return notes
      },
      onExit: () => this.#talk?.exited() ?? [],
      firstNotes: this.#firstNotes,
      onRead: () => this.#lastNotes(),
      onUnreachable: () => this.#talk?.unreachable(),
      onMuted: () => this.#talk?.muted(),
      onOrder: options.control ? (order) => this.#obey(order) : undefined,
    })
  }

  #newTalk(cwd: string): Talk | undefined {
    const { talk, prompt = '', answerIn, killGrace, endAfter = killGrace } = this.#options
    const { idleTimeout } = this.#options
    const wire = talk ? wireOf(this.#engine) : undefined
    const { session } = this.#before
    const limits = { answerIn, killGrace, endAfter, idleTimeout }
    const process = () => this.#recording
    const unread = () => this.#unread()
    const argv = this.#argv
    return wire && new Talk({ wire, cwd, argv, session, prompt, ...limits, process, unread })
  }

  /** The engine, which also tells when its turns end, and what it reads to who talks with the agent. */
  #watched(): Engine | Picker {
    const { endAfter, limit } = this.#options
    const talk = this.#talk
    const engine = talk && 'open' in this.#engine ? talk.listen(this.#engine) : this.#engine
    const isWatched = limit || (endAfter !== undefined && !talk)
    return isWatched ? watchTurns(engine, this.#guard.turned) : engine
  }

  start(): Run {
    const { signal } = this.#options
    const events = flow<never, AgentEvent>(this.#stage(), { intake: timedIntake as never })
    this.#guard.begin()
    const made = this.#dir ? settledEnd(events, this.#dir.journal) : events
    const abort = () => this.#recording.stop('aborted', 'SIGTERM')
    if (signal) shared(signal).addEventListener('abort', abort, { once: true })
    const closed = new Promise<Error | null>((resolve) => {
      finished(made, (error) => resolve(error ?? null))
    })
    const end = feed(this.#source(made), made, {
      // With a silent agent the generator sleeps, and leaving the loop does not end it.
      stop: (failure) => this.#leave(failure),
      tidy: () => {
        this.#guard.end()
        this.#talk?.end()
        signal?.removeEventListener('abort', abort)
        this.#release()
      },
    })
      .then(() => closed)
      .then((failure) => this.#settle(failure))
    // The reader of the flow gets the failure, too: an ignored `end` must not be an unhandled rejection.
    end.catch(() => {})
    const run = Object.assign(made as Flow<AgentEvent>, {
      runId: this.#runId,
      attempt: this.#attempt,
      audit: this.#dir?.path,
      kill: (signal: NodeJS.Signals = 'SIGTERM') => this.#kill(signal),
      type: (text: string) => this.#recording.type(text),
      // Cast: as below, where the end of a stream is hidden.
      reply: (text: string, options?: ReplyOptions) =>
        this.#reply(text, run as unknown as Run, options) as Run<never>,
      answer: (id: string, answer: RequestAnswer) => this.#talk?.answer(id, answer) ?? false,
      interrupt: () => void this.#interrupt(),
    })
    // Someone who gives orders may listen, even if nothing reads the events here.
    const unread = () => (this.#options.control ? undefined : this.#talk?.unheard())
    this.#unread = () => made.readableLength
    whenUnheard(run, unread)
    return withEnd(run, end, unread) as unknown as Run // cast: the end of a stream is hidden
  }

  /** A client that is passed through us ends its agent by a signal when it is done: that cancels nothing. */
  #kill(signal: NodeJS.Signals): void {
    if (this.#before.tee && this.#told.isIdle) this.#recording.stop('end_signal', signal, CLIENT_DONE)
    else this.#recording.stop('interrupted', signal)
  }

  /** False if there is no turn to interrupt. */
  #interrupt(): boolean {
    if (this.#talk) return this.#talk.interrupt()
    this.#recording.stop('interrupted', 'SIGINT')
    return true
  }

  /** Does what an order says, or returns why not. */
  #obey({ do: does, request = '', option, answers, now }: Order): string | undefined {
    if (does === 'interrupt') return this.#interrupt() ? undefined : 'its turn is over'
    if (does === 'stop') this.#recording.stop('interrupted', now ? 'SIGKILL' : 'SIGTERM')
    if (does !== 'answer') return undefined
    if (!this.#talk) return 'nobody talks with this agent (talk), so it cannot be answered'
    const state = this.#talk.stateOf(request)
    if (state === undefined) return `there is no request ${quote(request, 60)}`
    const answer = option ?? { answers: answers ?? {} }
    if (state === 'open' && this.#talk.answer(request, answer, 'control')) return undefined
    return `the request ${quote(request, 60)} is settled already`
  }

  /** The flow is destroyed, or has ended. */
  #leave(failure: Error | null): void {
    if (this.#told.completion) return
    this.#recording.leave(whyLeft(failure, this.#failure), failureNote(failure, this.#failure))
  }

  /**
   * How it ended, also if its reader left before the end, or we failed: then all that was read until then
   * counts, and the exit. If nothing was started, there is nothing to tell.
   */
  #settle(failure: Error | null): Promise<RunEnd> {
    const isStarted = this.#recording.isStarted && !(Fault.is(failure) && failure.code === 'SPAWN_FAILED')
    if (Fault.is(failure) && !isStarted) throw failure
    const fault = failureNote(failure, this.#failure)
    const told = this.#told
    if (!told.completion || fault) {
      const exit = this.#recording.exitChunk()
      // Cast: `stopped` is a reason.
      const reason = (exit.stopped as StopReason | undefined) ?? whyLeft(failure, this.#failure)
      this.#left = { reason, notes: fault ? [fault] : [] }
      const chunk = { ...exit, ...(fault ? { failure: fault } : { stopped: reason }) }
      // What failed once may fail again; the exit alone says enough.
      orElse(() => {
        this.#live?.write({ chunk, time: Date.now() })
        this.#live?.end()
      }, undefined)
      if (!told.completion || told.completion.ok) told.completion = completionOfExit(chunk)
    }
    return this.#end()
  }

  /** Remembers a failure of our own: the flow may also fail because of what its reader does. */
  #failed(error: unknown): unknown {
    this.#failure ??= error
    return error
  }

  #reply(text: string, run: Run, options: ReplyOptions = {}): Run {
    try {
      checkReply(options, 'agent.reply("and now the docs", { timeout: "5m" })')
      if (!isText(text)) throw misfit('reply', 'a text', text, 'agent.reply("and now the docs")')
      if (text.trim() === '') throw cannot('the reply is empty')
      const given = defined(options)
      if (!this.#ended && this.#talk && Object.keys(given).length > 0)
        throw badOption('a talk goes on with the options that it has; leave them out, or await its end first')
      if (!this.#ended && this.#talk?.say(text)) return run
      if (!this.#ended) throw cannot('it has not ended; await its end first')
      const own = given.engine === undefined ? undefined : engineOf(given.engine)
      const { settings: _, ...known } = this.#options
      const { prompt, talk } = { ...known, ...given }
      const turn = {
        argv: this.#argv,
        engine: own && 'open' in own ? own : this.#known(),
        session: this.#told.said.session,
        piped: prompt !== undefined,
        talk,
      }
      const place = this.#dir ? { audit: this.#dir.path, runs: undefined } : {}
      const before = { runId: this.#runId, attempt: this.#attempt + 1, spent: this.#told.spent.bySession() }
      const next = continued(turn, text, { ...known, ...place, ...given }, before)
      return withRounds(next, options.rounds ?? 0)
    } catch (error) {
      return failedRun(error as Error)
    }
  }

  get #argv(): readonly string[] {
    return [this.#options.command, ...this.#options.args]
  }

  /** What can be said when everything was read. */
  #lastNotes(): readonly Note[] {
    const passed =
      this.#recording.meta().reason === 'limit' ? undefined : this.#limits?.passed('LIMIT_PASSED')
    const blind = this.#limits?.unseen() ?? []
    const { prompt, talk } = this.#options
    const add = this.#isRecorded || talk ? undefined : missingOptions(this.#argv, prompt !== undefined)
    return [
      ...(passed ? [passed] : []),
      ...blind,
      ...(add === undefined ? [] : [textModeNote(programOf(this.#argv), add)]),
    ]
  }

  /** Sees each event as it is made, also those of the end, before what they say is asked for. */
  #watch(next: Sink<AgentEvent>): Sink<AgentEvent> {
    return {
      write: (event) => {
        this.#limits?.add(event)
        this.#isRecorded ||= event.correlation.session_id !== undefined
        next.write(event)
      },
      end: () => next.end(),
    }
  }

  /** The chunks of the process, or what the cache has instead. */
  async *#source(until: { readonly destroyed: boolean }): AsyncGenerator<TimedChunk | Opening | Hit> {
    const { signal } = this.#options
    const found = await this.#kept?.find()
    if (found && !until.destroyed && !signal?.aborted) {
      yield found
      return
    }
    try {
      // How earlier attempts were read is in their own metas.
      if (this.#dir) {
        await this.#complete(this.#dir)
        this.#recording.continues(spentIn(this.#dir.path))
      } else if (this.#before.spent) this.#recording.continues(this.#before.spent)
      if (!until.destroyed) yield* this.#recording.chunks
    } catch (error) {
      if (this.#recording.isKept && !this.#recording.isStarted) {
        // It is the newest run: `--last` must not mean the one before it.
        this.#dir!.begun()
        await this.#complete(this.#dir!)
      }
      throw this.#failed(error)
    }
  }

  /** Adds the events that are missing in a directory, as the metas and logs in it tell them. */
  async #complete({ path, journal }: RunDirectory): Promise<void> {
    await resumeInto(path, journal, { schema: this.#options.schema, own: this.#engine, wait: false })
  }

  #stage(): Stage<TimedChunk | Opening | Hit, AgentEvent> {
    return (next) => {
      const reported: Sink<AgentEvent> = {
        write: (event) => {
          if (isEvent(event, 'diagnostic.engine.error') && event.data.code === 'SESSION_CHANGED')
            this.#recording.stop('session_changed', 'SIGTERM')
          this.#talk?.event(event)
          this.#told.add(event)
          if (!this.#left) next.write(event)
        },
        end: () => {
          if (this.#left) return
          if (this.#hit) this.#release()
          else this.#recording.complete(this.#told.completion!, this.#told.said, this.#task())
          next.end()
        },
      }
      // The conversation must see an event while its record is read.
      const made: Stage<TimedChunk | Opening, AgentEvent> = (next) => timedEvents(this.#watch(next))
      const isLeft = () => this.#left !== undefined
      const each = this.#talk !== undefined
      const stage = this.#dir ? storedEvents(this.#dir.journal, isLeft, each, made) : made
      const live = stage(reported)
      this.#live = live
      return {
        // A cached result is not written to the journal: a replay of the logs could not emit it again.
        write: (item) => {
          if ('from' in item) {
            this.#hit = item
            const { name: engine } = this.#engine
            writeCached(item, { runId: this.#runId, attempt: this.#attempt, engine }, reported)
            return
          }
          try {
            live.write(item)
            this.#guard.checkLimits()
          } catch (error) {
            throw this.#failed(error)
          }
        },
        end: () => {
          try {
            ;(this.#hit ? reported : live).end()
          } catch (error) {
            throw this.#failed(error)
          }
        },
      }
    }
  }

  async #end(): Promise<RunEnd> {
    const { exit_code, signal, ...known } = this.#hit ? NO_PROCESS : this.#recording.meta()
    const { said, result } = this.#told
    const completion = this.#told.completion!
    this.#ended = true
    const ended = {
      runId: this.#runId,
      attempt: this.#attempt,
      completion,
      outcome: completion.outcome,
      ok: completion.ok,
      problem: completion.problem ?? null,
      answer: completion.answer ?? null,
      failureClass: completion.failure_class ?? null,
      exitCode: exit_code,
      signal,
      reason: known.reason ?? this.#left?.reason ?? null,
      limit: this.#limits?.hit ?? null,
      session: said.session,
      text: said.text,
      task: this.#task() ?? null,
      rounds: [],
      audit: this.#dir?.path,
      result,
      tokens: completion.tokens ?? null,
      cost: completion.cost ?? null,
    }
    if (!this.#hit && !this.#left) await this.#kept?.keep(ended)
    const told = this.#hit ? [] : this.#recording.meta().notes
    const trouble = this.#left?.notes.filter((note) => !told.some(({ code }) => code === note.code)) ?? []
    const notes = [
      ...(this.#hit ? [] : this.#firstNotes),
      ...told,
      ...trouble,
      ...(this.#kept?.trouble ?? []),
    ]
    return { ...ended, cached: this.#hit?.from ?? null, notes }
  }

  /** The prompt, or the task in the command line, which the engine can read. */
  #task(): string | undefined {
    return this.#options.prompt ?? taskInCommand(this.#known(), this.#argv)
  }

  #known(): Engine | undefined {
    return 'open' in this.#engine ? this.#engine : engineNamed(this.#told.engine)
  }

  #release(): void {
    this.#dir?.release(this.#recording.isKept)
    this.#recording.released()
  }
}

const CLIENT_DONE: Note = {
  code: 'RUN_LINGERED',
  message: 'its client ended the process after its last turn',
}
