import fs from 'node:fs'
import { join } from 'node:path'
import { defined } from '../base/check-options.ts'
import { clip, type Note, quote } from '../base/fault.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { CompletionData } from '../events/event.ts'
import type { EventOptions } from '../events/event-stage.ts'
import { outcomeOf } from '../events/run-outcome.ts'
import type { SpawnLike } from '../process/process.ts'
import type { Exit } from '../process/supervise.ts'
import type { Channel } from '../text/chunk.ts'
import { type TextRedactor, textRedactor } from '../views/redact/redact.ts'
import { durationWords } from '../views/words.ts'
import { channels, fileNames, pinned } from './attempt-logs.ts'
import type { FsDiffOptions } from './fs-diff.ts'
import {
  endInMeta,
  exitEvidence,
  type LastWords,
  type Meta,
  record,
  type StopReason,
  writeMeta,
} from './meta.ts'
import type { Order } from './orders.ts'
import type { SessionTokens } from './session-tokens.ts'

const MAX_TASK = 2000

type FileName = keyof ReturnType<typeof fileNames>

/** What is known about an attempt, and the files that it is recorded in, if there is a directory. */
export class AttemptRecord {
  /** Paths, by channel. */
  readonly logs: Readonly<Record<Channel, string>>
  /** Hides secrets in all that is recorded, if that is wanted. */
  readonly hide: TextRedactor | undefined
  /** How its events are read: a marker of the end is looked for in what is recorded. */
  readonly reading: RecordOptions['reading']
  /** Why we ended the process, in a sentence. */
  stopNote: Note | undefined
  readonly #dir: string | undefined
  readonly #names: ReturnType<typeof fileNames>
  readonly #check: () => void
  #meta: Meta

  constructor(options: RecordOptions, mode: Meta['mode']) {
    const { attempt, audit, redact } = options
    this.#dir = audit
    this.#names = fileNames(attempt)
    const logs = channels.map((channel) => [channel, this.path(channel)])
    this.logs = Object.fromEntries(logs) as Record<Channel, string> // cast: one of each channel
    this.#check = audit === undefined ? () => {} : pinned(audit)
    this.hide = redact ? textRedactor() : undefined
    const { doneMarker } = options.reading
    const marker = doneMarker !== undefined && this.hide?.text(doneMarker)
    this.reading = marker ? { ...options.reading, doneMarker: marker } : options.reading
    this.#meta = newMeta({ ...options, reading: this.reading }, mode, this.hide)
  }

  get meta(): Meta {
    return this.#meta
  }

  /** The sessions of earlier attempts have used this. */
  continues(session_tokens: SessionTokens): void {
    this.#meta = { ...this.#meta, reading: { ...this.#meta.reading, session_tokens } }
  }

  /** We end the process: the first reason counts. */
  because(reason: StopReason, note = stopNotes[reason]): void {
    if (this.#meta.reason !== null) return
    this.stopNote = note
    this.#meta = { ...this.#meta, reason }
  }

  save(more: Partial<Meta>): void {
    this.#meta = { ...this.#meta, ...more }
    if (!this.#isRecorded()) return
    writeMeta(this.path('meta'), this.#meta)
  }

  /** Writes a file, if there is a directory, and it is still the same. */
  write(name: FileName, text: string): void {
    if (this.#isRecorded()) record(this.path(name), text)
  }

  /** The process has ended. */
  ended(exit: Exit, ms: number, notes: readonly Note[], bytes: Meta['bytes']): void {
    this.save({
      ended_at: new Date().toISOString(),
      duration_ms: ms,
      exit_code: exit.code,
      signal: exit.signal,
      ...outcomeOfExit(exit, this.#meta.reason),
      notes,
      bytes,
    })
  }

  /** Every event is stored: the outcome, and the task. */
  complete(end: CompletionData, said: LastWords, task: string | undefined): void {
    this.save({
      ...endInMeta(end, said),
      ...(task !== undefined && { task: clip(this.shown(task), MAX_TASK) }),
      complete: true,
    })
  }

  /** Nothing was started: removes the files. */
  forget(): void {
    if (this.#dir === undefined) return
    for (const name of [...channels, 'chunks', 'meta'] as const) fs.rmSync(this.path(name), { force: true })
  }

  /** A text as it is recorded. */
  shown(text: string): string {
    return this.hide ? this.hide.text(text) : text
  }

  path(name: FileName): string {
    return join(this.#dir ?? '', this.#names[name])
  }

  #isRecorded(): boolean {
    this.#check()
    return this.#dir !== undefined
  }
}

/** What is known of an attempt before its process is started. */
function newMeta(options: RecordOptions, mode: Meta['mode'], hide: TextRedactor | undefined): Meta {
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

/** Why we ended a process, in a sentence, where the reason alone says it. */
export const stopNotes: Partial<Record<StopReason, Note>> = {
  end_signal: {
    code: 'RUN_LINGERED',
    message: 'the agent reported its end but did not exit, so its process was ended',
  },
  interrupted: { code: 'RUN_INTERRUPTED', message: 'the user interrupted the process' },
  aborted: { code: 'RUN_INTERRUPTED', message: 'the caller aborted the process' },
  abandoned: { code: 'RUN_INTERRUPTED', message: 'the reader of the run left, so the process was ended' },
  host_ended: { code: 'RUN_INTERRUPTED', message: 'the program that ran it ended, and the process with it' },
}

export const heldNote: Note = {
  code: 'PIPE_HELD_OPEN',
  message: 'the process ended, but a process it started still holds its pipe open',
}

export function timeoutNote(limit = 0): Note {
  return { code: 'RUN_TIMEOUT', message: `it ran longer than ${limitWords(limit)}, so it was ended` }
}

export function idleNote(limit = 0): Note {
  return { code: 'RUN_IDLE', message: `it printed nothing for ${limitWords(limit)}, so it was ended` }
}

/** A limit is mostly a round number: `4 s`, `10 min`. */
function limitWords(ms: number): string {
  return durationWords(ms).replace(/\.0(?= s$)| 0 (?:s|min)$/, '')
}

/** Those that had lost their parent, and have a session of their own, cannot be found by the process. */
export function leftNote(pids: readonly number[]): Note {
  const [one, ...more] = pids
  const which =
    more.length === 0 ? `process ${one}` : `${pids.length} processes (${pids.slice(0, 10).join(', ')})`
  const message = `${which} that the agent had started ${more.length === 0 ? 'is' : 'are'} still running`
  return { code: 'LEFT_RUNNING', message }
}

export function lostNote(name: string): Note {
  return {
    code: 'RECORD_FAILED',
    message: `${quote(name)} was removed or replaced during the run; a replay cannot read it`,
  }
}

/** About an agent that prints text, where it could print records. */
export function textModeNote(program: string, add: string): Note {
  const message = `${program} ran in its text mode, which tells neither its session nor its end; add ${add}`
  return { code: 'TEXT_MODE', message }
}

/** How an attempt is run and recorded, as its options say. */
export interface AttemptSettings {
  readonly reading: Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'runId' | 'dir'>
  readonly command: string
  readonly args: readonly string[]
  readonly engine: Engine | Picker
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly input: 'ignore' | 'inherit' | { readonly text: string }
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** The input is the prompt. */
  readonly piped: boolean
  /** The input stays open, and the prompt is sent as a record of the wire. */
  readonly talk: boolean
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
}

/** The same for one attempt, with what is told about it. */
export interface RecordOptions extends AttemptSettings {
  readonly runId: string
  readonly attempt: number
  /** The directory that it is recorded into; undefined if it is not. */
  readonly audit: string | undefined
  /** The directory was made for this run: it stays, and says why, if nothing can be started. */
  readonly isOwn: boolean
  /** What is not compared: that directory, or the one with all runs. */
  readonly records: string | undefined
  /** Our own stdin and stdout are those of the process. */
  readonly tee?: boolean | undefined
  /** How long the agent has waited for an answer. */
  readonly waited?: (() => { readonly ms: number; readonly until: number }) | undefined
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
