import { defined, isCount, isText } from '../base/check-options.ts'
import { clip, codes, type Note, orElse } from '../base/fault.ts'
import { onDisk } from '../base/system-error-code.ts'
import { writeWholeSync } from '../disk/durable.ts'
import { readPlain } from '../disk/plain-file.ts'
import { type Cost, readCost } from '../events/cost.ts'
import { isRecord } from '../events/engine.ts'
import type { AgentEvent, CompletionData, EndState, EventOf, FailureClass } from '../events/event.ts'
import { Rec } from '../events/record.ts'
import { isGood, type RunOutcome, readFailure, readOutcome, readState } from '../events/run-outcome.ts'
import { type Tokens, type TokensAndCost, tokensOf } from '../events/tokens.ts'
import { jsonValue } from '../json/strict.ts'
import { signalName } from '../process/process.ts'

/** Why a process was ended, if it did not end by itself. */
export type StopReason =
  | 'timeout' // it ran longer than `timeout`
  | 'idle_timeout' // it printed nothing for `idleTimeout`
  | 'limit' // it used more than its `limit` allows
  | 'end_signal' // it reported its end, and did not exit within `endAfter`
  | 'interrupted' // by `interrupt()`, `kill()`, Ctrl-C or an order
  | 'aborted' // by the `signal` of its options
  | 'abandoned' // the reader of its events left
  | 'host_ended' // the program that ran it ended
  | 'output_failed' // its events could not be written
  | 'recorder_failed' // it could not be recorded: a full disk
  | 'recorder_lost' // the program that recorded it was killed, as `resume()` found out
  | 'session_changed' // it did not continue the session that it was given
  | 'talk_failed' // with `talk`: it refused the session or the prompt, or did not get what was sent
  | 'not_started' // its command could not be started

/**
 * The exit as evidence of the end. A stop that was requested (by the user, the caller, or a reader that left)
 * says who asked; a limit or a full disk, ours or the reader's, is not a request, so a run that ends by it
 * has failed. An agent that we ended after it reported its end exits by our signal: that says nothing.
 */
export function exitEvidence(
  exit: { readonly code: number | null; readonly signal: string | null },
  reason: string | null | undefined,
): { readonly code: number | null; readonly signal: string | null; readonly stopped?: string } {
  const { code, signal } = exit
  if (reason === 'end_signal') return { code: null, signal: null }
  // It may have caught our signal, or tell no exit: it was ended all the same.
  const limited = ['timeout', 'idle_timeout', 'limit', 'talk_failed'].includes(reason ?? '')
  if (limited && !code && signal === null) return { code: null, signal: 'SIGTERM' }
  const asked = ['interrupted', 'aborted', 'abandoned', 'host_ended'].includes(reason ?? '')
  return { code, signal, ...(asked ? { stopped: reason! } : {}) }
}

/** `meta.N.json`: what is known about one attempt besides its bytes. */
export interface Meta {
  readonly run_id: string
  readonly attempt_number: number
  /** `auto` until it is recognised. */
  readonly engine: string
  /** The engine was recognised by the shape of the output: a replay looks again. */
  readonly recognised?: true
  readonly mode: 'pipe' | 'pty' | 'pty+pipe'
  readonly argv: readonly string[]
  /** Secrets were hidden in all that was recorded, `argv` too. */
  readonly redacted?: true
  /** Its prompt went to its stdin, as text or as a record of its wire, and not into `argv`. */
  readonly prompt?: 'stdin' | 'wire'
  /** What was sent to it went through a pipe: `sent` in the chunk log tells how much of that it got. */
  readonly stdin?: 'pipe'
  /** It takes orders from elsewhere while it runs, from this file. */
  readonly control?: true
  readonly orders?: string
  /** What it was asked to do, as far as that is known; the first 2,000 characters. */
  readonly task?: string
  /** What the caller said about it. */
  readonly tags?: Readonly<Record<string, string>>
  /** The model, as the engine named it last. */
  readonly model?: string
  readonly cwd: string
  readonly pid: number | null
  /** When the process started, according to the kernel, so that a reused pid is not confused with it. */
  readonly pid_started: string | null
  /** The processes that write its output into the logs. */
  readonly recorders: readonly number[]
  readonly started_at: string
  /** Null while it runs. */
  readonly ended_at: string | null
  /** From start to exit, in milliseconds; the end events carry this time. */
  readonly duration_ms: number | null
  readonly exit_code: number | null
  readonly signal: string | null
  /** Why we ended it, or null if it ended by itself. */
  readonly reason: StopReason | null
  /** How it ended, in one word; null until its events say so, or its exit alone decides. */
  readonly outcome: RunOutcome | null
  /** Whether it ended well. Metas of 0.2 do not have it. */
  readonly ok: boolean | null
  /** The protocol's word for the end, and what decided it, once its events say so. */
  readonly state?: EndState
  readonly reason_code?: string
  /** Of a run that did not end well: why, in one sentence. */
  readonly problem?: string
  /** Of a run that failed: why, in one word, once its events say so. */
  readonly failure_class?: FailureClass
  /** The agent's own id of the conversation, once it is known. */
  readonly session?: string
  /** The last message of the agent, at most 64 K characters of it. */
  readonly text?: string
  readonly tokens?: Tokens
  readonly cost?: Cost
  /** Notes about the process; the same notes are in the events. */
  readonly notes: readonly Note[]
  /** Notes that the events begin with. */
  readonly first_notes?: readonly Note[]
  /** Bytes per stream. */
  readonly bytes: Readonly<Record<string, number>>
  /** Options its output was read with, if not the defaults: a replay uses the same. */
  readonly reading?: {
    readonly done_marker?: string
    readonly max_frame?: number
    readonly window?: number
    readonly pick?: 'first' | 'last'
    readonly max_repair?: number
    /** True if its result was checked with a schema, which is not kept. */
    readonly schema?: boolean
    /** What the sessions of earlier attempts had used, by id. */
    readonly session_tokens?: Readonly<Record<string, TokensAndCost>>
    /** The session that it continues. */
    readonly session?: string
  }
  /** True when every event of this attempt is in `events.jsonl`. */
  readonly complete: boolean
}

/** What the events of an attempt have told last. */
export interface LastWords {
  readonly session: string | null
  readonly text: string | null
  /** The engine, if it was recognised by the shape of the output. */
  readonly engine?: string
  readonly model?: string
}

/** The last words in the events of an attempt: subagents do not count. */
export function lastWords(before: LastWords, event: AgentEvent): LastWords {
  const session = event.correlation.session_id ?? before.session
  const own = event.type === 'agent.message.final' && event.data.parent_call_id === undefined
  const text = own ? event.data.text : before.text
  if (event.type === 'lifecycle.run.status') {
    const isPicked = event.data.status === 'engine_picked'
    const model = modelIn(event)
    return {
      ...before,
      session,
      text,
      ...(isPicked && { engine: event.source.engine }),
      ...(model !== undefined && { model }),
    }
  }
  return session === before.session && text === before.text ? before : { ...before, session, text }
}

/** The model that an event names, if it is not a subagent's. */
export function modelIn({ data }: EventOf<'lifecycle.run.status'>): string | undefined {
  const { model, parent_call_id } = data
  // Another program may have written it.
  return typeof model === 'string' && model !== '' && parent_call_id === undefined ? model : undefined
}

const MAX_TEXT = 65_536
const MAX_MODEL = 200

/** What a meta keeps of the end that the events tell: all that a list of runs shows of it. */
export function endInMeta(
  { outcome, ok, state, reason_code, problem, failure_class, tokens, cost }: CompletionData,
  { session, text, engine, model }: LastWords,
): Partial<Meta> & Pick<Meta, 'outcome' | 'ok'> {
  return {
    ...{ outcome, ok, state, reason_code },
    ...(problem !== undefined && { problem }),
    ...(engine !== undefined && { engine, recognised: true }),
    ...(failure_class && { failure_class }),
    ...(session !== null && { session }),
    ...(model !== undefined && { model: clip(model, MAX_MODEL) }),
    ...(text !== null && { text: text.slice(0, MAX_TEXT) }),
    ...(tokens && { tokens }),
    ...(cost && { cost }),
  }
}

/** Writes it as a whole: a reader never sees half of it. */
export function writeMeta(path: string, meta: Meta): void {
  record(path, `${JSON.stringify(meta, null, 1)}\n`)
}

/** Writes a file of the recording, whole. */
export function record(path: string, text: string): void {
  onDisk('write', path, () => writeWholeSync(path, text), 'RECORD_FAILED')
}

const MAX_TAGS = 20
const MAX_TAG = 200

/** Whether a value has the form of tags: names and short texts, each on one line. */
export function areTags(value: unknown): value is Readonly<Record<string, string>> {
  if (!isRecord(value)) return false
  const all = Object.entries(value)
  const isShort = (text: unknown) => isText(text) && text.length <= MAX_TAG && !/[\r\n]/.test(text)
  const isNamed = (name: string) => name !== '' && isShort(name) && !name.includes('=')
  return all.length <= MAX_TAGS && all.every(([name, text]) => isNamed(name) && isShort(text))
}

function isNote(value: unknown): value is Note {
  const note = Rec.of(value, 'code:text message:text')
  return note !== undefined && Object.hasOwn(codes, note.text('code')!)
}

/** Metas are small; a larger file is not one. */
const MAX_JSON = 4 << 20

/** Reads a JSON file; undefined if it is missing, broken or something else. */
export function readJson(path: string | undefined, within?: string): Record<string, unknown> | undefined {
  const text = path === undefined ? '' : orElse(() => readPlain(path, MAX_JSON, within), '')
  const value = jsonValue(text)
  return isRecord(value) ? value : undefined
}

/** Longer than any run (a century), and small enough to be added to any time. */
const MAX_MS = 100 * 366 * 24 * 3600 * 1000
/** The end of the year 9999: later times have another format. */
const MAX_TIME = Date.UTC(10_000, 0) - 1

/** A number of milliseconds that can be added to a time. */
export function isSpan(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_MS
}

/** The fields of a meta that are any text, and those that are a number above 0. */
const TEXTS = [
  ...(['run_id', 'engine', 'mode', 'cwd', 'ended_at', 'reason', 'pid_started', 'task'] as const),
  ...(['session', 'text', 'reason_code', 'problem', 'orders', 'model'] as const),
]
const COUNTS = ['attempt_number', 'pid'] as const

/**
 * Reads `meta.N.json`, ours or one of another recorder: fields that are missing or of another type are
 * left out. A negative exit code means a signal, as in Python.
 */
export function readMeta(path: string | undefined, within?: string): Partial<Meta> | undefined {
  const found = readJson(path, within)
  if (!found) return undefined
  const state = readState(found['state'])
  const meta = new Rec(found)
  const texts = TEXTS.filter((key) => typeof found[key] === 'string')
  // As a pid, 0 and less would mean whole groups.
  const counts = COUNTS.filter((key) => isCount(found[key]))
  const code = meta.number('exit_code') ?? null
  const spans = [meta.number('duration_ms'), (meta.number('duration_s') ?? Number.NaN) * 1000]
  const duration = spans.find(isSpan)
  const started = Date.parse(meta.text('started_at') ?? '')
  const complete = meta.flag('complete')
  const tokens = isRecord(found['tokens']) ? tokensOf(found['tokens']) : undefined
  const cost = readCost(found['cost'])
  return {
    // Cast: their types were checked.
    ...(Object.fromEntries([...texts, ...counts].map((key) => [key, found[key]])) as Partial<Meta>),
    ...(found['recognised'] === true && { recognised: true }),
    ...(found['control'] === true && { control: true }),
    ...(areTags(found['tags']) && { tags: found['tags'] }),
    ...(found['redacted'] === true && { redacted: true }),
    ...(found['prompt'] === 'stdin' || found['prompt'] === 'wire' ? { prompt: found['prompt'] } : {}),
    ...(found['stdin'] === 'pipe' ? { stdin: 'pipe' } : {}),
    ...(duration === undefined ? {} : { duration_ms: duration }),
    ...(started >= 0 && started <= MAX_TIME ? { started_at: new Date(started).toISOString() } : {}),
    ...(Array.isArray(found['argv']) ? { argv: found['argv'].filter(isText) } : {}),
    ...(Array.isArray(found['recorders']) ? { recorders: found['recorders'].filter(isCount) } : {}),
    ...(Array.isArray(found['notes']) ? { notes: found['notes'].filter(isNote) } : {}),
    ...(Array.isArray(found['first_notes']) ? { first_notes: found['first_notes'].filter(isNote) } : {}),
    exit_code: code !== null && code < 0 ? null : code,
    signal: meta.text('signal') ?? (code !== null && code < 0 ? signalName(-code) : null),
    ...outcomeIn(found),
    ...(state && { state }),
    ...(tokens && { tokens }),
    ...(cost && { cost }),
    ...readingOf(found['reading']),
    // Only our recorder writes it; we do not complete what another recorder left.
    ...(complete === undefined ? {} : { complete }),
  }
}

/**
 * The outcome in today's words. Without `ok` it is of 0.2, which called every good end of a turn
 * `needs_input`; an open request is in the events, which come first where both are read.
 */
function outcomeIn(found: Record<string, unknown>): Pick<Partial<Meta>, 'outcome' | 'ok' | 'failure_class'> {
  const word = readOutcome(found['outcome'])
  if (word === undefined) return {}
  const old =
    typeof found['ok'] !== 'boolean' && readingOf(found['reading']).reading?.done_marker === undefined
  const outcome = old && word === 'needs_input' ? 'finished' : word
  const failure_class = readFailure(found['failure_class'])
  return { outcome, ok: isGood(outcome), ...(failure_class && { failure_class }) }
}

/** Limits of what a meta may make us hold: it may come from another program. */
const MAX_HELD = 2 ** 30
const MAX_MARKER = 1000

function readingOf(value: unknown): Pick<Partial<Meta>, 'reading'> {
  if (typeof value !== 'object' || value === null) return {}
  const found = value as Record<string, unknown> // cast: checked in the line above
  const { done_marker, max_frame, window, pick, max_repair, schema, session_tokens, session } = found
  const held = (count: unknown) => isCount(count) && count <= MAX_HELD
  return {
    reading: {
      ...(typeof done_marker === 'string' && done_marker.length <= MAX_MARKER ? { done_marker } : {}),
      ...(held(max_frame) ? { max_frame: max_frame as number } : {}),
      ...(held(window) ? { window: window as number } : {}),
      ...(pick === 'first' || pick === 'last' ? { pick } : {}),
      ...(max_repair === 0 || held(max_repair) ? { max_repair: max_repair as number } : {}),
      ...(typeof session === 'string' && session !== '' ? { session } : {}),
      ...(schema === true ? { schema } : {}),
      ...(isRecord(session_tokens) ? { session_tokens: tokensBySession(session_tokens) } : {}),
    },
  }
}

/** How an attempt was read, as options; the names in a meta are those of the wire. */
export function recordedOptions(reading: Meta['reading'] = {}) {
  const { done_marker: doneMarker, max_frame: maxFrame, window, pick, max_repair: maxRepair } = reading
  return defined({ doneMarker, maxFrame, window, pick, maxRepair })
}

function tokensBySession(found: Record<string, unknown>): Readonly<Record<string, TokensAndCost>> {
  const known = Object.entries(found).map(([id, given]) => {
    const { cost, ...counts } = isRecord(given) ? given : {}
    const spent = readCost(cost)
    return [id, { ...tokensOf(counts), ...(spent && { cost: spent }) }] as const
  })
  return Object.fromEntries(known.filter(([, spent]) => Object.keys(spent).length > 0))
}
