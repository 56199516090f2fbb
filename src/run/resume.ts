import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { checkOptions, checkPath } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import type { Sink } from '../base/stage.ts'
import { type Journal, openJournal } from '../disk/journal.ts'
import { LineFile } from '../disk/line-file.ts'
import { writtenAt } from '../disk/plain-file.ts'
import { engineOf } from '../engines/engine-name.ts'
import { isSameProcess } from '../process/tree.ts'
import type { Channel } from '../text/chunk.ts'
import { type Attempt, fileNames, listAttempts, logSizes } from './attempt-logs.ts'
import { chunkLine } from './chunk-log.ts'
import { endInMeta, exitEvidence, type LastWords, lastWords, type Meta, readJson, writeMeta } from './meta.ts'
import {
  endedMeta,
  RECORDED_OPTIONS,
  type ReadAttemptOptions,
  type RecordedOptions,
  readAttempt,
  startOf,
} from './read-attempt.ts'
import { fixedDir, noLogs } from './run-directory.ts'
import { timedEvents } from './run-flow.ts'

/** The result of a resume. */
export interface ResumeReport {
  /** The numbers of the attempts that were incomplete. */
  readonly attempts: readonly number[]
  /** Events that were added to `events.jsonl`. */
  readonly added: number
}

/**
 * Completes `events.jsonl` after a crash of the recorder, and starts no agent (`reply` continues one): reads
 * the raw logs again, checks that the existing events are the same, and adds the missing ones. Nothing is
 * added twice; a complete directory is not changed. Logs of another recorder are read as `replay` reads them,
 * and their events are written once: do it when that run has ended. A damaged journal is refused with
 * JOURNAL_MISMATCH; after it is moved away, this creates it again. A directory without logs is NOT_AN_AUDIT.
 * If the agent itself is still running, this waits for it. An `engine` of yours reads only the attempts that
 * it recorded, and logs of another recorder.
 *
 * @example
 * const { added } = await resume('.audit/latest')
 */
export async function resume(
  dir: string,
  options: RecordedOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<ResumeReport> {
  checkPath('resume', dir, 'resume(".audit/latest")')
  checkOptions('resume', options, 'resume(".audit/latest", { signal })', RECORDED_OPTIONS)
  const fixed = fixedDir(dir)
  if (listAttempts(fixed).length === 0) throw noLogs(dir)
  const book = openJournal(fixed)
  try {
    const { engine, ...reading } = options
    const own = engine === undefined ? undefined : engineOf(engine)
    return await resumeInto(fixed, book, { ...reading, own, others: { ...reading, engine } })
  } finally {
    book.close()
  }
}

/** Whether our recorder made this attempt: only then is it known whether it is complete. */
function isOurs(attempt: Attempt): boolean {
  return endedMeta(attempt).complete !== undefined
}

/** The same with a journal that is already open. `others`: how to read logs of other recorders, if at all. */
export async function resumeInto(
  dir: string,
  book: Journal,
  options: ReadAttemptOptions & {
    readonly signal?: AbortSignal | undefined
    readonly wait?: boolean
    readonly others?: ReadAttemptOptions
  } = {},
): Promise<ResumeReport> {
  const { signal, wait = true, others, ...reading } = options
  const attempts = listAttempts(dir)
  const isOpen = (attempt: Attempt) => {
    const { complete } = endedMeta(attempt)
    const isEnded = book.ended.has(attempt.number)
    // A meta may say complete though its events were lost since.
    if (complete !== undefined) return !(complete && isEnded)
    // Events of an attempt before the last one cannot be added any more.
    return others !== undefined && !isEnded && attempt.number >= (book.last?.attempt_number ?? 0)
  }
  const open = attempts.filter(isOpen)
  // Those before are read again: an engine may count its tokens over all attempts.
  const copies = open.every(isOurs)
    ? []
    : attempts.filter(
        (attempt) => !isOurs(attempt) && (open.includes(attempt) || book.ended.has(attempt.number)),
      )
  let added = 0
  const copy = timedEvents({
    write(event) {
      if (book.append(event)) added++
    },
    end() {},
  })
  for (const attempt of attempts.filter((each) => open.includes(each) || copies.includes(each))) {
    await gone(dir, attempt, wait, signal)
    if (isOurs(attempt)) added += await complete(dir, attempt, book, reading)
    else await pour(readAttempt(dir, attempt, others), copy)
  }
  copy.end()
  await book.settled()
  book.sync()
  return { attempts: open.map((attempt) => attempt.number), added }
}

async function pour<T>(items: Iterable<T>, sink: Sink<T>): Promise<void> {
  for (const item of items) {
    sink.write(item)
    await setImmediate()
  }
}

async function complete(
  dir: string,
  attempt: Attempt,
  book: Journal,
  options: ReadAttemptOptions,
): Promise<number> {
  const meta = endedMeta(attempt)
  const started = startOf(attempt, meta)
  const chunks = new LineFile(attempt.chunks ?? join(dir, fileNames(attempt.number).chunks))
  let added = 0
  let said: LastWords = { session: null, text: null }
  let ended: Partial<Meta> = { outcome: null, ok: null }
  try {
    // Bytes that were recorded but never read get the current time, which stays for every later replay.
    const found = (channel: Channel, from: number, length: number) => {
      const ms = Math.max(0, Date.now() - started)
      chunks.append(chunkLine({ channel, from, length, ms }))
      return started + ms
    }
    const sink = timedEvents({
      write(event) {
        if (book.append(event)) added++
        said = lastWords(said, event)
        if (event.type === 'lifecycle.completion.state') ended = endInMeta(event.data, said)
      },
      end() {},
    })
    await pour(readAttempt(dir, attempt, options, found), sink)
    sink.end()
    await book.settled()
    book.sync()
  } catch (error) {
    throw otherReading(dir, attempt, error)
  } finally {
    chunks.close()
  }
  const { exit_code = null, signal = null, reason } = meta
  const isKnown = exitEvidence({ code: exit_code, signal }, reason).signal !== null
  const lost = exit_code === null && signal === null && !isKnown && reason !== 'not_started'
  writeMeta(attempt.meta!, {
    // Cast: we wrote the meta of what we resume.
    ...(readJson(attempt.meta) as unknown as Meta),
    ended_at: meta.ended_at ?? new Date().toISOString(),
    ...(lost ? { reason: 'recorder_lost' } : {}),
    ...ended,
    bytes: logSizes(attempt.logs),
    complete: true,
  })
  return added
}

/** The fault if the logs give other events than those recorded: they are read with other options. */
function otherReading(dir: string, attempt: Attempt, error: unknown): unknown {
  if (!Fault.is(error) || error.code !== 'JOURNAL_MISMATCH') return error
  return new Fault(
    'JOURNAL_MISMATCH',
    `the logs of attempt ${attempt.number} in ${quote(dir, 160)} do not give the events that are recorded there; ` +
      'give the options it was recorded with: the same schema (--schema), which is not recorded, and no other engine or reading option; ' +
      'if another version recorded it, move events.jsonl away, and it is created again',
    { cause: error },
  )
}

/** How long the recorders may need for the rest in the pipes after a process is gone. */
export const RECORDER_MS = 5000
/** A process with unknown pid counts as gone when its logs have not changed for this long. */
const QUIET_MS = 1000

/** Waits until the process of a lost attempt and its recorders are gone: they may still be writing. */
async function gone(
  dir: string,
  attempt: Attempt,
  wait: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const meta = endedMeta(attempt)
  const { run_id = '', argv = [] } = meta
  if (meta.ended_at !== undefined) return
  for (let first = true; lives(attempt, meta); first = false) {
    if (!wait)
      throw new Fault(
        'JOURNAL_LOCKED',
        `attempt ${attempt.number} of the run ${quote(run_id, 60)} (${quote(argv.join(' '))}) lost its recorder, ` +
          `but ${stillRunning(meta)}; end it, or wait for it: resume(${quote(dir, 160)}), npx agent-sluice replay DIR --resume`,
      )
    await setTimeout(first ? 10 : 100, undefined, { signal })
  }
  const until = Date.now() + RECORDER_MS
  while (isDraining(meta) && Date.now() < until) await setTimeout(10, undefined, { signal })
}

/** What to say about an agent whose recorder was killed: it was left alone. */
export function stillRunning(meta: Partial<Meta> | undefined): string {
  return `its process${typeof meta?.pid === 'number' ? ` ${meta.pid}` : ''} is still running`
}

/** Whether the process of an attempt is still running. */
export function lives(attempt: Attempt, { pid, pid_started = null }: Partial<Meta>): boolean {
  if (typeof pid === 'number') return isSameProcess(pid, pid_started)
  // We were killed between the start of the process and storing its pid.
  return Object.values(attempt.logs).some((path) => Date.now() - writtenAt(path) < QUIET_MS)
}

/** Whether a recorder may still write the rest of the pipes into the logs. */
export function isDraining({ recorders = [] }: Partial<Meta>): boolean {
  return recorders.some((recorder) => isSameProcess(recorder, null))
}
