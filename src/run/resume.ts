import fs from 'node:fs'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { checkOptions, checkPath } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import { outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { type Journal, openJournal } from '../sinks/journal.ts'
import { openLines } from '../sinks/line-file.ts'
import { isSameProcess } from '../sinks/lock.ts'
import { type Attempt, fileNames, listAttempts } from './audit.ts'
import { fixedDir } from './audit-dir.ts'
import { chunkLine } from './chunk-log.ts'
import { type Meta, readJson, writeMeta } from './meta.ts'
import { endedMeta, RECORDED_OPTIONS, type RecordedOptions, readAttempt, startOf } from './read-attempt.ts'
import { timedEvents } from './timed.ts'

/** What a resume found to do. */
export interface Resumed {
  /** Attempts that had been left incomplete. */
  readonly attempts: readonly number[]
  /** Events that were added to `events.jsonl`. */
  readonly added: number
}

/**
 * Completes `events.jsonl` after a crash of the recorder: reads the raw logs again, checks that the events that
 * are there are the same, and adds the missing ones. Nothing is added twice; a directory that is complete
 * is left as it is. A journal that is damaged is refused with JOURNAL_MISMATCH; once it is moved away, this makes it again. If the agent itself is still running, this waits for it.
 *
 * @example
 * const { added } = await resume('.audit/latest')
 */
export async function resume(
  dir: string,
  options: RecordedOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<Resumed> {
  checkPath('resume', dir, 'resume(".audit/latest")')
  checkOptions('resume', options, 'resume(".audit/latest", { signal })', RECORDED_OPTIONS)
  const fixed = fixedDir(dir)
  const book = openJournal(fixed)
  try {
    return await resumeInto(fixed, book, options)
  } finally {
    book.close()
  }
}

/** The same with a journal that is already open. */
export async function resumeInto(
  dir: string,
  book: Journal,
  options: RecordedOptions & { readonly signal?: AbortSignal | undefined; readonly wait?: boolean } = {},
): Promise<Resumed> {
  const { signal, wait = true, ...reading } = options
  const attempts = listAttempts(dir)
  const open = attempts.filter((attempt) => {
    const { complete } = endedMeta(attempt)
    // What a meta calls complete may have lost its events since.
    return complete === false || (complete === true && !book.ended.has(attempt.number))
  })
  let added = 0
  for (const attempt of open) {
    await gone(attempt, wait, signal)
    added += await complete(dir, attempt, book, reading)
  }
  return { attempts: open.map((attempt) => attempt.number), added }
}

async function complete(
  dir: string,
  attempt: Attempt,
  book: Journal,
  options: RecordedOptions,
): Promise<number> {
  const meta = endedMeta(attempt)
  const started = startOf(attempt, meta)
  const chunks = openLines(attempt.chunks ?? join(dir, fileNames(attempt.number).chunks))
  let added = 0
  let outcome: RunOutcome | null = null
  try {
    // Bytes that were recorded but never read count as read now, and stay so for every later replay.
    const found = (channel: 'stdout' | 'stderr' | 'pty', from: number, length: number) => {
      const ms = Math.max(0, Date.now() - started)
      chunks.append(chunkLine({ channel, from, length, ms }))
      return started + ms
    }
    const sink = timedEvents({
      write(event) {
        if (book.append(event)) added++
        if (event.type === 'lifecycle.completion.state') outcome = outcomeOf(event.data)
      },
      end() {},
    })
    for (const item of readAttempt(dir, attempt, options, found)) {
      sink.write(item)
      await setImmediate()
    }
    sink.end()
    await book.settled()
    book.sync()
  } catch (error) {
    throw otherReading(dir, attempt, error)
  } finally {
    chunks.close()
  }
  const lost = meta.exit_code === null && meta.signal === null
  writeMeta(attempt.meta!, {
    // The cast: what we resume, we wrote.
    ...(readJson(attempt.meta) as unknown as Meta),
    ended_at: meta.ended_at ?? new Date().toISOString(),
    ...(lost ? { reason: 'recorder_lost' } : {}),
    outcome,
    bytes: sizes(attempt),
    complete: true,
  })
  return added
}

/** The events that the logs give are not the ones that were recorded: they are read with other options than then. */
function otherReading(dir: string, attempt: Attempt, error: unknown): unknown {
  if (!Fault.is(error) || error.code !== 'JOURNAL_MISMATCH') return error
  return new Fault(
    'JOURNAL_MISMATCH',
    `the logs of attempt ${attempt.number} in ${quote(dir, 160)} do not give the events that are recorded there; ` +
      'give the options it was recorded with: the same schema (--schema), which is not recorded, and no other engine or reading option; ' +
      'if another version recorded it, move events.jsonl away, and it is made again',
    { cause: error },
  )
}

function sizes(attempt: Attempt): Record<string, number> {
  return Object.fromEntries(
    Object.entries(attempt.logs).flatMap(([channel, path]) => {
      const stat = fs.lstatSync(path, { throwIfNoEntry: false })
      return stat?.isFile() ? [[channel, stat.size]] : []
    }),
  )
}

/** So long the recorders of a process that is gone may take for what is left in the pipes. */
export const RECORDER_MS = 5000
/** A process that is not known by number counts as gone when its logs have rested so long. */
const QUIET_MS = 1000

/** Waits until the process of a lost attempt and its recorders are gone: they may still be writing. */
async function gone(attempt: Attempt, wait: boolean, signal: AbortSignal | undefined): Promise<void> {
  const meta = endedMeta(attempt)
  const { pid, ended_at } = meta
  if (ended_at !== undefined) return
  for (let first = true; lives(attempt, meta); first = false) {
    if (!wait) {
      throw new Fault(
        'JOURNAL_LOCKED',
        `attempt ${attempt.number} lost its recorder, but its process${typeof pid === 'number' ? ` ${pid}` : ''} still runs; ` +
          'end it, or wait for it with npx agent-sluice replay --resume',
      )
    }
    await setTimeout(first ? 10 : 100, undefined, { signal })
  }
  const until = Date.now() + RECORDER_MS
  while (isDraining(meta) && Date.now() < until) await setTimeout(10, undefined, { signal })
}

/** Whether the process of an attempt is still there. */
export function lives(attempt: Attempt, { pid, pid_started = null }: Partial<Meta>): boolean {
  if (typeof pid === 'number') return isSameProcess(pid, pid_started)
  // Killed between the start of the process and the note of its number.
  return Object.values(attempt.logs).some((path) => {
    const written = fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    return Date.now() - written < QUIET_MS
  })
}

/** Whether somebody may still carry what is left in the pipes into the logs. */
export function isDraining({ recorders = [] }: Partial<Meta>): boolean {
  return recorders.some((recorder) => isSameProcess(recorder, null))
}
