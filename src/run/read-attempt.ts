import { basename, dirname, join, resolve } from 'node:path'
import { defined, type OptionTable } from '../base/check-options.ts'
import { Fault, orElse, quote } from '../base/fault.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { readPlain, withPlain, writtenAt } from '../disk/plain-file.ts'
import { linesFrom, readLine } from '../disk/read-journal.ts'
import { Tail } from '../disk/tail.ts'
import { auto } from '../engines/auto.ts'
import { checkEngineOption, type EngineName, engineNamed, engineOf } from '../engines/engine-name.ts'
import { checkEngine } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import { type AgentEvent, isEvent, type ResultData } from '../events/event.ts'
import { EVENT_OPTIONS, type EventOptions } from '../events/event-stage.ts'
import type { Channel, Chunk } from '../text/chunk.ts'
import { type Attempt, channels, fileNames, listAttempts, openLog } from './attempt-logs.ts'
import { type AttemptBytes, ChunkedLogs, chunkOf } from './chunk-log.ts'
import type { FsDiff } from './fs-diff.ts'
import { exitEvidence, type Meta, readJson, readMeta, recordedOptions } from './meta.ts'
import type { Opening, TimedChunk } from './run-flow.ts'
import { diffsOf, MAX_DIFF } from './tree-diff.ts'

/** Options that override how an attempt was recorded. */
export interface RecordedOptions extends Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'dir'> {
  /** @default the engine that `meta.N.json` names, else auto */
  readonly engine?: Engine | Picker | EngineName | undefined
}

/** With `own`, the engine of a run that continues: it reads only the attempts that it recorded. */
export interface ReadAttemptOptions extends RecordedOptions {
  readonly own?: Engine | Picker | undefined
}

/** What is left out is as the attempt was recorded. */
export const RECORDED_OPTIONS = {
  engine: { check: checkEngineOption, was: 'custom' },
  runId: EVENT_OPTIONS.runId,
  window: EVENT_OPTIONS.window,
  doneMarker: EVENT_OPTIONS.doneMarker,
  maxFrame: EVENT_OPTIONS.maxFrame,
  pick: EVENT_OPTIONS.pick,
  maxRepair: EVENT_OPTIONS.maxRepair,
  schema: {},
  sessionTokens: {},
  session: EVENT_OPTIONS.session,
  wire: EVENT_OPTIONS.wire,
  record: EVENT_OPTIONS.record,
} as const satisfies OptionTable<RecordedOptions>

/**
 * Reads the files of one attempt as the run that wrote them did: chunk by chunk, in the order and with the
 * times of `chunks.N.jsonl`, then what no chunk covers, and then the exit.
 *
 * `found` is called with the bytes that no chunk covers, before they are emitted, and returns their time.
 */
export function* readAttempt(
  dir: string,
  attempt: Attempt,
  options: ReadAttemptOptions = {},
  found?: (channel: Channel, from: number, length: number) => number,
): Generator<TimedChunk | Opening> {
  const meta = endedMeta(attempt)
  const started = startOf(attempt, meta)
  yield opening(dir, attempt, meta, options)
  const logs = openLogs(attempt)
  try {
    let time = started
    yield firstChunk(attempt, time)
    for (let portion = logs.next(true); portion; portion = logs.next(true)) {
      // The chunk log was replaced meanwhile: its first line that cannot be true ends it.
      if (portion === 'restarted') continue
      const { channel, from, bytes, ms = 0, covered } = portion
      time = found && !covered ? found(channel, from, bytes.length) : started + ms
      yield { chunk: chunkOf(portion), time }
    }
    yield* exitOf(meta, started, time, logs)
  } finally {
    logs.close()
  }
}

/** Opens all files of an attempt at once: a missing one is not waited for. */
function openLogs(attempt: Attempt): ChunkedLogs {
  const { chunks: path, within } = attempt
  const chunks = path === undefined ? undefined : new Tail(path, within, openLog(path, within))
  const logs = new ChunkedLogs(() => attempt, chunks)
  try {
    for (const channel of channels) logs.done(channel)
    return logs
  } catch (error) {
    logs.close()
    throw error
  }
}

/** Announces the channels of an attempt. */
export function firstChunk(attempt: Attempt, time: number): TimedChunk {
  const present = channels.filter((channel) => attempt.logs[channel] !== undefined)
  const chunk: Chunk = { channel: present[0] ?? 'stdout', bytes: Buffer.alloc(0), channels: present }
  return { chunk, time }
}

/** Everything known about an attempt before its first byte. */
export function opening(
  dir: string,
  attempt: Attempt,
  meta: Partial<Meta>,
  options: ReadAttemptOptions,
): Opening {
  const { engine: given, own, ...rest } = options
  const engine = given === undefined ? undefined : engineOf(given)
  if (engine) checkEngine('engine', engine)
  const name = meta.recognised ? auto.name : meta.engine
  const named = own?.name === name ? own : engineNamed(name)
  const names = fileNames(attempt.number)
  return {
    engine: engine ?? named ?? auto,
    opens: {
      sessionTokens: meta.reading?.session_tokens,
      session: meta.reading?.session,
      wire: meta.prompt === 'wire',
      ...recordedOptions(meta.reading),
      ...defined(rest),
      runId: rest.runId ?? meta.run_id ?? runIdOf(dir, attempt),
      attempt: attempt.number,
      dir: meta.cwd,
    },
    firstNotes: meta.first_notes,
    // It may not exist yet: a run in progress has none.
    fsDiff: () =>
      attempt.alone
        ? undefined
        : withDiffs(
            readFsDiff(attempt.fsDiff ?? join(dir, names.fsDiff), attempt.within),
            attempt.diff ?? join(dir, names.diff),
            attempt.within,
          ),
    toldResult: meta.reading?.schema
      ? () => resultIn(join(dir, EVENTS_FILE), attempt.number, attempt.within)
      : undefined,
    time: startOf(attempt, meta),
  }
}

/** The result of an attempt as its events told it, because the schema that decided is not recorded. */
function resultIn(path: string, attempt: number, within: string | undefined): ResultData | undefined {
  const find = (fd: number) => {
    let found: ResultData | undefined
    for (const { bytes } of linesFrom(fd)) {
      if (!bytes.includes(RESULT)) continue
      const { value, place } = readLine(bytes)
      const event = value as AgentEvent // cast: `place` says whether it is one
      if (place?.attempt_number === attempt && isEvent(event, RESULT) && Array.isArray(event.data?.warnings))
        found = event.data
    }
    return found
  }
  return orElse(() => withPlain(path, within, find), undefined)
}

const RESULT = 'lifecycle.run.result'

/**
 * The meta of an attempt that has ended. Ours are written atomically, so one that exists but cannot be read
 * was damaged: without its exit code, a failed run would look like a good one.
 */
export function endedMeta(attempt: Attempt): Partial<Meta> {
  const { meta: path, within } = attempt
  const meta = readMeta(path, within)
  if (meta || path === undefined) return meta ?? {}
  throw new Fault(
    'NOT_AN_AUDIT',
    `${quote(path, 200)} is damaged, so how the attempt ended is not known; remove it to read the logs without it`,
  )
}

/** The id of the run in this directory: from its events or other attempts, else the name of the directory. */
function runIdOf(dir: string, { within, alone }: Attempt): string {
  const known = firstRunId(join(dir, EVENTS_FILE), within)
  if (known !== undefined) return known
  for (const { meta } of alone ? [] : listAttempts(dir, within)) {
    const said = readMeta(meta, within)?.run_id
    if (said !== undefined) return said
  }
  const path = resolve(dir)
  const name = basename(path) === '.audit' ? basename(dirname(path)) : basename(path)
  return name || 'run'
}

/** When the attempt started: from its meta, else the age of its first log. */
export function startOf(attempt: Attempt, meta: Partial<Meta>): number {
  if (meta.started_at !== undefined) return Date.parse(meta.started_at)
  const path = channels.map((channel) => attempt.logs[channel]).find((log) => log !== undefined)
  return path === undefined ? 0 : Math.floor(writtenAt(path))
}

/**
 * The exit, if it is known; `time` is that of the last chunk. If the recorder was lost while it handed over
 * the task, the process worked on a part of it, and whatever it said then is no good end; and if it was lost
 * while it did what an order says, nobody knows whether that was done.
 */
export function* exitOf(
  meta: Partial<Meta>,
  started: number,
  time: number,
  logs: Pick<AttemptBytes, 'unsent' | 'untold'>,
): Generator<TimedChunk> {
  for (const control of logs.untold())
    yield { chunk: { channel: 'stdin', bytes: Buffer.alloc(0), control }, time }
  const unsent = logs.unsent()
  const { exit_code = null, signal = null, reason, notes = [], duration_ms } = meta
  const exit = { channel: 'exit', ...exitEvidence({ code: exit_code, signal }, reason) } as const
  const ends = Math.max(time, started + (duration_ms ?? 0))
  // Of one that tells no exit it is known that a limit ended it.
  const isKnown = exit_code !== null || signal !== null || exit.signal !== null
  if (isKnown) yield { chunk: { ...exit, notes }, time: ends }
  else if (reason === 'not_started' && notes[0]) yield { chunk: { ...exit, failure: notes[0] }, time: ends }
  else if (meta.stdin === 'pipe' && unsent > 0) {
    const failure = `the recorder was lost before the last ${unsent} bytes of what was sent had reached the agent`
    yield { chunk: { ...exit, failure: { code: 'TASK_CUT', message: failure } }, time }
  }
}

/** Number of files that the attempts changed, as far as that was recorded. */
export function countChanged(attempts: readonly Attempt[]): number | undefined {
  const diffs = attempts.flatMap(({ fsDiff, within }) => readFsDiff(fsDiff, within) ?? [])
  const paths = diffs.flatMap(({ created, modified, deleted }) => [...created, ...modified, ...deleted])
  return diffs.length === 0 ? undefined : new Set(paths).size
}

function readFsDiff(path: string | undefined, within: string | undefined): FsDiff | undefined {
  const found = readJson(path, within)
  if (!found) return undefined
  const list = (key: string) => {
    const paths = found[key]
    return Array.isArray(paths) ? paths.filter((item) => typeof item === 'string') : []
  }
  const [created, modified, deleted] = [list('created'), list('modified'), list('deleted')]
  return { created, modified, deleted, outside: list('outside') }
}

/** With the diff of the working tree, if that was recorded. */
function withDiffs(found: FsDiff | undefined, path: string, within: string | undefined): FsDiff | undefined {
  const patch = found && orElse(() => readPlain(path, 2 * MAX_DIFF, within), undefined)
  return patch === undefined ? found : { ...found!, diffs: diffsOf(patch) }
}

function firstRunId(path: string, within: string | undefined): string | undefined {
  try {
    const first = withPlain(path, within, (fd) => linesFrom(fd).next().value)
    const id: unknown = first && JSON.parse(first.bytes.toString()).run_id
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}
