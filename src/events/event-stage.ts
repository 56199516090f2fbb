import {
  type Complete,
  isCount,
  isLine,
  isName,
  isWhole,
  LINE,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import type { Code, Note } from '../base/fault.ts'
import { type Bytes, digest } from '../base/platform.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { Chunk, ExitChunk, OutputChannel } from '../text/chunk.ts'
import { lines } from '../text/lines.ts'
import type { Schema } from '../values/schema/schema.ts'
import { artifacts, type FsDiff } from './artifacts.ts'
import { Cause } from './cause.ts'
import { checkEngine } from './check-engine.ts'
import { Cutter } from './cut.ts'
import { Dedupe } from './dedupe.ts'
import type { Engine, EngineFrame, EngineReader, Picker } from './engine.ts'
import { EngineEvents } from './engine-events.ts'
import type { AgentEvent, ResultData } from './event.ts'
import { completionOf } from './evidence.ts'
import { payloadFinder } from './payload.ts'
import type { Position } from './position.ts'
import { Preview } from './preview.ts'
import { RepeatedWarnings } from './repeated-warnings.ts'
import { isGood } from './run-outcome.ts'
import { SentInput } from './sent-input.ts'
import type { TokensAndCost } from './tokens.ts'
import { type Writer, writer } from './write.ts'

/** The options of `events()`. */
export interface EventOptions {
  /** The run id in every record: one line. @default 'run' */
  readonly runId?: string | undefined
  /** Which attempt of the run this is. @default 1 */
  readonly attempt?: number | undefined
  /**
   * Milliseconds since 1970; a fixed clock makes a replay reproducible.
   * @default Date.now, read once for each chunk
   */
  readonly clock?: (() => number) | undefined
  /**
   * A run on a PTY with pipes prints each record twice: how many of a channel are remembered until the other
   * has them. Of more, the oldest is forgotten, and may be emitted again (LATE_DUPLICATE_POSSIBLE).
   * @default 65536
   */
  readonly window?: number | undefined
  /**
   * A top-level key that the agent writes in its JSON when the work is done: `"ALL_DONE": true`. If you name
   * one, a run without it ends as `needs_input`.
   * @default '__SKILL_DONE__', which may be missing
   */
  readonly doneMarker?: string | undefined
  /**
   * Bytes of a line or a document that may be held, and characters of all messages that are not yet complete;
   * anything longer is split into pieces.
   * @default 16 MiB
   */
  readonly maxFrame?: number | undefined
  /**
   * The run directory, which is the `cwd` of the agent: absolute paths of files that it reports become
   * relative to it, and those outside are refused.
   * @default none
   */
  readonly dir?: string | undefined
  /**
   * Schema of the run's answer, its last payload; `lifecycle.run.result` then says whether it matches.
   * @default none
   */
  readonly schema?: Schema | undefined
  /**
   * Which payload of a message is its answer: the last one, good or bad, or the first that passes. Among the
   * messages the last one with an answer always counts.
   * @default 'last'
   */
  readonly pick?: 'first' | 'last' | undefined
  /**
   * Characters of a payload that syntax repair may work on; a longer one is not repaired.
   * @default 64 KiB
   */
  readonly maxRepair?: number | undefined
  /**
   * What sessions had used and cost before this attempt, by id: subtracted from the sum of an engine that
   * counts its session (Codex, Qwen Code, ACP). Without it that sum is reported with `cumulative`.
   * @default none
   */
  readonly sessionTokens?: Readonly<Record<string, TokensAndCost>> | undefined
  /** The session that this attempt continues: if the agent tells another one, it failed. @default none */
  readonly session?: string | undefined
  /**
   * What was sent on stdin are records, as `run({ talk })` sends them, and not a prompt. Else the engine
   * looks at it and decides.
   * @default false
   */
  readonly wire?: boolean | undefined
  /**
   * Gives each event the record that it was read from: `event.record`. It is not enumerable, so nothing that
   * prints or copies an event has it.
   * @default false
   */
  readonly record?: boolean | undefined
  /** What the run changed in its directory, or a function that is called at the end. @default none */
  readonly fsDiff?: FsDiff | (() => FsDiff | undefined) | undefined
}

const COUNT = 'be a whole number above 0, but is %'

export const EVENT_OPTIONS = {
  runId: { default: 'run', is: isLine, must: LINE },
  attempt: { default: 1, is: isCount, must: COUNT },
  clock: { default: () => Date.now() },
  window: { default: 65_536, is: isCount, must: COUNT },
  doneMarker: { is: isName, must: 'be the name of a key, and not empty' },
  maxFrame: { default: 16_777_216, is: isCount, must: COUNT },
  dir: { is: isName, needs: 'a path as dir' },
  schema: {},
  pick: { default: 'last', words: ['first', 'last'] },
  maxRepair: { default: 65_536, is: isWhole, must: 'be a whole number, but is %' },
  sessionTokens: {},
  session: { is: isName, needs: 'an id as session' },
  wire: OFF,
  record: OFF,
  fsDiff: {},
} as const satisfies OptionTable<EventOptions>

/** The default of `doneMarker`: an agent may write it, and nobody waits for it. */
const DONE_MARKER = '__SKILL_DONE__'

/** Frames that may wait until `auto` has picked an engine. */
const MAX_UNPICKED = 1024
const MAX_UNPICKED_TEXT = 1 << 18

/** What the caller must provide, because this layer has no file system and no crypto. */
export interface StageParts {
  /** At least 128 bits of a cryptographic hash. */
  readonly hash?: ((text: string | Uint8Array) => string) | undefined
  /** False for a path, relative to `dir`, that is a link and leads out of it. @default always true */
  readonly inside?: ((path: string) => boolean) | undefined
  /** What is known of the run before its first byte: told before everything else. */
  readonly firstNotes?: readonly Note[] | undefined
  /** Asked when everything was read: told with the notes of the exit. */
  readonly lastNotes?: (() => readonly Note[]) | undefined
  /** To read a recorded run without its schema: the `lifecycle.run.result` that its events have. */
  readonly toldResult?: (() => ResultData | undefined) | undefined
}

const STAGE_PARTS = {
  hash: { default: digest },
  inside: { default: () => true },
  firstNotes: {},
  lastNotes: {},
  toldResult: {},
} as const satisfies OptionTable<StageParts>

/** `events()` without streams: see `Stage`. */
export function eventStage(
  engine: Engine | Picker,
  options: EventOptions & StageParts = {},
): Stage<Chunk, AgentEvent> {
  checkEngine('eventStage', engine)
  const table = { ...EVENT_OPTIONS, ...STAGE_PARTS }
  const read = readOptions('eventStage', options, 'eventStage(codex, { runId })', table)
  // An invalid schema is misuse: it throws here, not when the first byte arrives.
  payloadFinder(read)
  return (next) => {
    const run = new RunEvents(engine, read, next)
    return { write: (chunk) => run.write(chunk), end: () => run.end() }
  }
}

type RunOptions = Complete<EventOptions & StageParts, typeof EVENT_OPTIONS & typeof STAGE_PARTS>

/** Reads the channels of one run: lines → frames → records, each once → what the engine says about them. */
class RunEvents {
  readonly #given: Engine | Picker
  readonly #options: RunOptions
  readonly #next: Sink<AgentEvent>
  readonly #writer: Writer
  readonly #warnings: RepeatedWarnings
  readonly #payload: ReturnType<typeof payloadFinder>
  readonly #events: EngineEvents
  readonly #files: ReturnType<typeof artifacts>
  readonly #cause = new Cause()
  readonly #once: Dedupe
  readonly #channels = new Map<OutputChannel, ReturnType<typeof lines>>()
  readonly #sent: SentInput
  #exit: ExitChunk | undefined
  /** The engine, once it is known, and its reader. */
  #engine: Engine | undefined
  #reader: EngineReader | undefined
  /** Frames that arrived before `auto` picked an engine. */
  #unpicked: { frame: EngineFrame; how: Passed; position: Position }[] = []
  #unpickedSize = 0
  #preview: Preview | undefined
  /** stdout has written nothing but blank lines. */
  #silent = true
  /** The engine that `auto` would pick if nothing more certain arrives. */
  #guessed: Engine | undefined
  #firstNotes: readonly Note[]
  /** When the current chunk arrived, if no clock was given: asking for the time of each event is slow. */
  #arrived = 0

  constructor(given: Engine | Picker, options: RunOptions, next: Sink<AgentEvent>) {
    const { runId, attempt, clock, window, maxFrame, dir, fsDiff, doneMarker, hash, inside } = options
    const { sessionTokens = {}, session, wire, record } = options
    this.#given = given
    this.#options = options
    this.#next = next
    this.#firstNotes = options.firstNotes ?? []
    const now = clock === EVENT_OPTIONS.clock.default ? () => this.#arrived : clock
    const told: Sink<AgentEvent> = {
      write: (event) => {
        this.#cause.take(event)
        next.write(event)
      },
      end() {},
    }
    const write = writer({ runId, attempt, clock: now, record }, told)
    this.#writer = write
    this.#warnings = new RepeatedWarnings(write)
    this.#payload = payloadFinder(options)
    this.#events = new EngineEvents({
      writer: write,
      attempt,
      warnings: this.#warnings,
      doneMarker: doneMarker ?? DONE_MARKER,
      maxFrame,
      payloads: this.#payload.find,
      artifact: (change, path, diff) => this.#files.claim(change, path, diff),
      isSettled: (position) => this.#once.isSettled(position),
      sessionTokens,
      session,
    })
    const warn = (code: Code, message: string) => this.#events.report.warn(code, message)
    this.#files = artifacts({ writer: write, warn, dir, fsDiff, inside })
    const pass = this.#pass.bind(this)
    const settled = () => this.#events.turns.tell()
    this.#once = new Dedupe({ hash, window, maxHeld: maxFrame, pass, settled })
    this.#sent = new SentInput({
      maxFrame,
      cut: () => (wire ? 'records' : this.#engine ? this.#engine.cut.stdin : 'unknown'),
      frame: (frame) => this.#once.admit(frame),
      prompt: (text, range) => this.#events.prompt(text, range),
    })
    if ('pick' in given) {
      write.setEngine(given.fallback)
      this.#preview = new Preview(given.fallback, { maxFrame })
    } else this.#choose(given)
  }

  write(chunk: Chunk): void {
    this.#arrived = Date.now()
    if (this.#firstNotes.length > 0) this.#begin()
    if (chunk.channel === 'exit') {
      this.#exit = chunk
      return
    }
    if (chunk.channels) this.#once.announce(chunk.channels.filter((channel) => channel !== 'stdin'))
    if (chunk.control) this.#events.control(chunk.control)
    if (chunk.still) this.#once.still()
    if (chunk.bytes.length === 0) return
    if (chunk.channel === 'stdin') {
      this.#events.requests.sentBy = chunk.by ?? 'user'
      this.#sent.write(chunk.bytes)
      return
    }
    this.#once.saw(chunk.channel, chunk.bytes)
    const channel = this.#channels.get(chunk.channel) ?? this.#open(chunk.channel)
    channel.write(chunk.bytes)
  }

  #begin(): void {
    this.#writer.about(undefined)
    for (const { code, message } of this.#firstNotes) this.#events.report.warn(code, message)
    this.#firstNotes = []
  }

  end(): void {
    this.#arrived = Date.now()
    this.#begin()
    for (const name of ['stdout', 'stderr', 'pty'] as const) this.#channels.get(name)?.end()
    this.#once.end()
    if (!this.#engine && 'pick' in this.#given) this.#choose(this.#guessed ?? this.#given.fallback)
    this.#sent.end()
    this.#events.last(this.#reader!.end)
    this.#events.end()
    this.#warnings.end()
    this.#endProcess()
    this.#complete()
    this.#next.end()
  }

  #open(channel: OutputChannel): ReturnType<typeof lines> {
    const { maxFrame } = this.#options
    const once = this.#once
    const options = { channel, cut: () => (this.#engine ?? this.#given).cut, maxFrame }
    const cutter = new Cutter(options, (frame) => once.admit(frame))
    const known = (bytes: Bytes) => !cutter.isHolding && once.hasTwin(bytes)
    const isPty = channel === 'pty'
    const endIn = (rest: Bytes) => cutter.endIn(rest)
    const split = lines(
      channel,
      maxFrame,
      (line) => cutter.line(line),
      isPty ? known : undefined,
      isPty ? undefined : endIn,
    )
    const made = {
      write: split.write,
      end() {
        split.end()
        cutter.end()
      },
    }
    this.#channels.set(channel, made)
    return made
  }

  #pass(frame: EngineFrame, how: Passed, position: Position): void {
    const engine = this.#engine
    if (!engine) {
      this.#hold(frame, how, position)
      return
    }
    const events = this.#events
    if (frame.channel === 'stdin') {
      const { sent } = this.#reader!
      if (sent) events.frame(sent, frame, position)
      else events.unread(frame)
      return
    }
    const shape = engine.cut[frame.channel]
    if (how !== 'first') this.#warnOfPty(frame, how)
    if (frame.channel === 'stdout' && !frame.blank) this.#silent = false
    // Text that only the PTY has is the agent's if stdout has nothing.
    const read = how === 'first' || frame.value !== undefined || (this.#silent && shape !== 'records')
    const reported = shape !== undefined && read
    if (reported && (frame.value !== undefined || shape === 'text')) this.#sent.before(frame)
    const shown = this.#preview?.hasShown(frame)
    if (shown) this.#writer.about(frame, true)
    const understood = shown ? 'kept' : reported && events.frame(this.#reader!.read, frame, position)
    if (!reported) events.unread(frame)
    if (frame.notes)
      for (const note of frame.notes) this.#warnings.warn(note.code, note.code, 0.7, note.message)
    if (frame.open && reported && shape !== 'text' && understood !== 'kept') {
      if (!engine.growing) events.turns.evidence.truncated()
      events.report.warn('TRUNCATED', 'the input ended inside a record')
    }
  }

  #warnOfPty(frame: EngineFrame, how: Passed): void {
    this.#writer.about(frame)
    if (frame.value === undefined) this.#warnings.warn('pty only', 'PTY_STREAM_MISMATCH', 0.7)
    else this.#events.report.warn('PTY_STREAM_MISMATCH', 'the PTY has a record that stdout lacks')
    if (how === 'late') this.#warnings.warn('late', 'LATE_DUPLICATE_POSSIBLE', 0.3)
  }

  /** The engine is not known yet: the frame waits, and may decide. */
  #hold(frame: EngineFrame, how: Passed, position: Position): void {
    const picker = this.#given as Picker // cast: an engine is chosen before the first frame
    this.#unpicked.push({ frame, how, position })
    this.#unpickedSize += frame.text.length
    const picked = picker.pick(frame)
    const full = this.#unpicked.length >= MAX_UNPICKED || this.#unpickedSize >= MAX_UNPICKED_TEXT
    this.#guessed ??= picked ?? picker.guess?.(frame)
    if (picked || full) this.#choose(picked ?? this.#guessed ?? picker.fallback)
    else if (how === 'first' && !this.#guessed) this.#show(frame, position)
  }

  #show(frame: EngineFrame, position: Position): void {
    const preview = this.#preview!
    for (const one of preview.next(frame, position))
      this.#events.frame(preview.reader!.read, one.frame, one.position, true)
  }

  #choose(picked: Engine): void {
    this.#engine = picked
    const named = picked === this.#given
    if (this.#preview?.fallback !== picked) {
      this.#preview = undefined
      this.#events.messages.withdraw()
    }
    this.#reader = this.#preview?.reader ?? picked.open({ maxFrame: this.#options.maxFrame, named })
    this.#writer.setEngine(picked)
    this.#events.reads(picked, named)
    if ('pick' in this.#given) {
      this.#writer.about(undefined)
      const reason = `${this.#given.name} picked ${picked.name}`
      this.#writer.write('lifecycle.run.status', { status: 'engine_picked', reason }, 0.95)
    }
    const held = this.#unpicked
    this.#unpicked = []
    for (const { frame, how, position } of held) this.#pass(frame, how, position)
    this.#preview = undefined
  }

  /** What is known about the process and its files. */
  #endProcess(): void {
    const { notes = [], held, failure } = this.#exit ?? {}
    if (failure) this.#events.turns.fails(failure)
    for (const note of [...notes, ...(this.#options.lastNotes?.() ?? [])])
      this.#events.report.warn(note.code, note.message)
    this.#files.end()
    if (!held) return
    const message = `the process ended, but another process still holds ${held.join(', ')}`
    this.#events.report.warn('PIPE_HELD_OPEN', message)
  }

  /** The result of the run, and how it ended. */
  #complete(): void {
    const exit = this.#exit
    const said = this.#events.evidence()
    const evidence = {
      ...said,
      exit_code: exit?.code ?? null,
      signal: exit?.signal ?? null,
      ...(typeof exit?.stopped === 'string' ? { stopped: exit.stopped } : {}),
      ...(this.#options.doneMarker !== undefined && !said.done_marker ? { marker: 'missing' as const } : {}),
    }
    // A failed process has no valid result, whatever the engine said before.
    const { data: before, conflict } = completionOf(evidence)
    const failed = before.outcome === 'failed'
    const whole = !failed && before.outcome !== 'cancelled' && conflict === undefined
    const result = this.#payload.result(whole) ?? this.#options.toldResult?.()
    const status = result && isContradicted(result) ? 'success' : result?.status
    const { data: decided } = completionOf(evidence, status)
    const told =
      result && (isGood(decided.outcome) || result.status === 'failed' ? result : contradicted(result))
    const data = failed ? { ...decided, ...this.#events.turns.failure() } : decided
    if (told) this.#writer.write('lifecycle.run.result', told, 0.95)
    if (conflict) this.#events.report.warn('COMPLETION_CONFLICT', conflict)
    const problem = this.#cause.sentence(data)
    const answer = this.#events.turns.evidence.answer()
    const words = { ...(problem !== undefined && { problem }), ...(answer !== undefined && { answer }) }
    this.#writer.write('lifecycle.completion.state', { ...data, ...words, ...this.#events.spent.sum() }, 0.95)
  }
}

/** A payload that passed is no success of a run that did not end well. */
function contradicted({ warnings }: ResultData): ResultData {
  const all = [...new Set([...warnings, 'COMPLETION_CONFLICT' as const])]
  return { status: 'failed', repair_level: 'none', warnings: all, cacheable: false }
}

function isContradicted({ warnings }: ResultData): boolean {
  return warnings.includes('COMPLETION_CONFLICT')
}

type Passed = 'first' | 'pty-only' | 'late'
