import { join } from 'node:path'
import type { Transform } from 'node:stream'
import { checkPath, type OptionTable, readOptions } from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { Fault, orElse, quote } from '../base/fault.ts'
import type { Stage } from '../base/stage.ts'
import { diskFault, onDisk } from '../base/system-error-code.ts'
import { type AgentEvent, eventsOnly } from '../events/event.ts'
import { type Flow, flow } from '../streams/flow.ts'
import { jsonLine } from '../streams/jsonl.ts'
import { makeDir } from './durable.ts'
import { LineFile } from './line-file.ts'
import { takeLock } from './lock.ts'
import { comparePlaces, type EventPlace, type JournalLine, readLine, storedEvents } from './read-journal.ts'

export const EVENTS_FILE = 'events.jsonl'
export const DIAGNOSTICS_FILE = 'parser_diagnostics.jsonl'
export const LOCK_FILE = 'journal.lock'

/** The options of `journal()`. */
export interface JournalOptions {
  /**
   * When to call fsync: after `each` event, at an `interval`, or only at the `end`. A crash of
   * this process loses nothing in any case; this is about power cuts.
   * @default 'interval'
   */
  readonly fsync?: 'each' | 'interval' | 'end' | undefined
  /** How long between two syncs with `interval`. @default '1s' */
  readonly interval?: Duration | undefined
  /** Aborting it destroys the flow; the lines written so far stay complete. */
  readonly signal?: AbortSignal | undefined
}

const isFsync = (fsync: unknown) => ['each', 'interval', 'end'].includes(fsync as string)

export const JOURNAL_OPTIONS = {
  fsync: { default: 'interval', is: isFsync, needs: "'each', 'interval' or 'end' as fsync" },
  interval: { ...DURATION, default: 1000 },
} as const satisfies OptionTable<JournalOptions>

/**
 * Passes events on and stores them: appends each to `events.jsonl` in the directory, and the diagnostics
 * also to `parser_diagnostics.jsonl`. An event is passed on only when its whole line is written.
 *
 * The directory belongs to one run and one writer: a second one is refused with JOURNAL_LOCKED (the lock of a
 * dead process is taken over). A tail that a crash tore is repaired. When a run is fed again after a crash,
 * events that are already there are passed on without being written twice, and the first new one continues
 * `seq`; events that do not belong to this journal are refused with JOURNAL_MISMATCH, and so is a journal
 * that is damaged inside: a line that is not an event, a gap, duplicate events. It is read once for that,
 * when it is opened. A disk error ends the flow with JOURNAL_FAILED and leaves whole lines.
 *
 * @example
 * await pipeline(tap(child), events(opencode), journal('.audit'), chat(), sse(), response)
 */
export function journal(dir: string, options: JournalOptions = {}): Flow<AgentEvent> {
  checkPath('journal', dir, 'journal(".audit/run-7")')
  const example = 'journal(".audit/run-7", { fsync: "each" })'
  const book = openJournal(dir, readOptions('journal', options, example, JOURNAL_OPTIONS))
  const stage: Stage<AgentEvent, AgentEvent> = (next) => ({
    write(event) {
      book.append(event)
      next.write(event)
    },
    // Closed before the reader sees the end.
    end() {
      book.sync()
      book.close()
      next.end()
    },
  })
  const made = settledEnd(flow(stage, { signal: options.signal, intake: eventsOnly('journal') }), book)
  // Also when it is destroyed early, which a stage does not notice.
  made.once('close', () => book.close())
  return made
}

/** Delays the end of a flow until background syncs are done: if one fails, the flow must fail. */
export function settledEnd<F extends Transform>(made: F, book: Journal): F {
  const flush = made._flush.bind(made)
  made._flush = (done) => {
    void book.settled().then(() => {
      // If the flow was destroyed while waiting, the journal is already closed.
      if (made.destroyed) done()
      else flush(done)
    })
  }
  return made
}

export type Journal = ReturnType<typeof openJournal>

export function openJournal(
  dir: string,
  {
    fsync = JOURNAL_OPTIONS.fsync.default,
    interval = JOURNAL_OPTIONS.interval.default,
  }: { readonly fsync?: JournalOptions['fsync']; readonly interval?: number } = {},
) {
  makeRunDir(dir)
  const lock = takeLock(join(dir, LOCK_FILE))
  const files: LineFile[] = []
  let timer: NodeJS.Timeout | undefined
  let last: EventPlace | undefined
  const ended = new Set<number>()
  /** The lines that were already there, read in step with the events of a run that is fed again. */
  let kept: Generator<JournalLine, void> | undefined

  let settling = false
  let closed = false
  const close = () => {
    if (closed) return
    closed = true
    clearInterval(timer)
    for (const file of files) file.close()
    lock.release()
  }
  const open = (name: string) => {
    const file = new LineFile(join(dir, name))
    files.push(file)
    return file
  }
  let events: LineFile
  let diagnostics: LineFile
  try {
    events = open(EVENTS_FILE)
    diagnostics = open(DIAGNOSTICS_FILE)
    last = lastPlace(join(dir, EVENTS_FILE), events, ended)
    agree(events, last, diagnostics, join(dir, DIAGNOSTICS_FILE))
    // Many runs have none: so the file is there, and is not held open.
    diagnostics.rest()
  } catch (error) {
    close()
    throw Fault.is(error) ? error : diskFault('read', dir, error)
  }
  if (fsync === 'interval')
    timer = setInterval(() => {
      if (!settling) for (const file of files) file.syncSoon()
    }, interval).unref()
  return {
    /** The last event in it, if there is one. */
    get last(): EventPlace | undefined {
      return last
    },
    /** The attempts whose end was in the journal when it was opened. */
    ended,
    /** Stores an event; false if it was there already. `line` is its text, with the LF. */
    append(event: AgentEvent, line: string = jsonLine(event)): boolean {
      return this.appendAll([event], [line]) === 1
    },
    /** Stores events with one write, all or none of them. How many were written. */
    appendAll(all: readonly AgentEvent[], lines: readonly string[] = all.map(jsonLine)): number {
      let before = last
      const added: string[] = []
      const notes: string[] = []
      for (const [index, event] of all.entries()) {
        if (before && event.run_id !== before.run_id)
          throw used(dir, before, `an event of run ${quote(event.run_id)} arrives`)
        if (before && comparePlaces(event, before) <= 0) {
          kept ??= events.lines()
          verify(kept, event, dir, before)
          continue
        }
        kept = undefined
        const next = before && event.attempt_number === before.attempt_number ? before.seq + 1 : 1
        if (event.seq !== next) throw gap(dir, before, next, event)
        added.push(lines[index]!)
        if (event.event.category === 'diagnostic') notes.push(lines[index]!)
        before = { run_id: event.run_id, attempt_number: event.attempt_number, seq: event.seq }
      }
      if (added.length === 0) return 0
      events.append(...added)
      if (notes.length > 0) diagnostics.append(...notes)
      if (fsync === 'each') for (const file of files) file.sync()
      last = before
      return added.length
    },
    sync(): void {
      for (const file of files) file.sync()
    },
    /** Waits for background syncs, and starts none meanwhile; `sync` then reports their errors. */
    async settled(): Promise<void> {
      settling = true
      await Promise.all(files.map((file) => file.settled()))
      settling = false
    },
    /** Says whose journal it is before it has an event, as far as that can be written. */
    names: (run: string) => orElse(() => lock.names(run), undefined),
    /** Closes the files and releases the lock. */
    close,
  }
}

/** The last event of a journal, and the attempts that have `ended` in it. */
function lastPlace(path: string, events: LineFile, ended: Set<number>): EventPlace | undefined {
  let last: EventPlace | undefined
  // All of it: nothing may be appended to a damaged journal.
  for (const { place } of storedEvents(path, events.lines())) {
    if (place.type === 'lifecycle.completion.state') ended.add(place.attempt_number)
    last = place
  }
  return last
}

/** Creates the directory of a run and its parents, for this user only. */
export function makeRunDir(dir: string): void {
  onDisk('make', dir, () => makeDir(dir, 0o700))
}

/**
 * A crash between the two writes of one diagnostic leaves it in `events.jsonl` only; after a power cut the
 * other file may be the newer one. Both can only affect the tail, so only the tails are compared.
 */
function agree(events: LineFile, last: EventPlace | undefined, diagnostics: LineFile, path: string): void {
  for (let line = diagnostics.last(); line !== undefined; line = diagnostics.last()) {
    const { place } = readLine(line)
    if (!place)
      throw new Fault(
        'JOURNAL_MISMATCH',
        `${quote(path, 200)} ends with a line that is not an event; move it away, ${quote(EVENTS_FILE)} has all of them`,
      )
    if (last && comparePlaces(place, last) <= 0) break
    diagnostics.dropLast()
  }
  const text = events.last()
  if (text === undefined || text === diagnostics.last()) return
  if (readLine(text).place?.category === 'diagnostic') diagnostics.append(`${text}\n`)
}

function verify(kept: Generator<JournalLine, void>, event: AgentEvent, dir: string, last: EventPlace): void {
  for (;;) {
    const { value, place } = readLine(kept.next().value?.bytes ?? '')
    if (place && comparePlaces(place, event) < 0) continue
    // Cast: `readLine` has checked that it is an event.
    if (place && sameButTime(value as AgentEvent) === sameButTime(event)) return
    throw used(dir, last, `event ${event.seq} of attempt ${event.attempt_number} differs`)
  }
}

// A wall clock gives the same event a new time when the run is fed again; nothing else may differ.
export function sameButTime(event: AgentEvent): string {
  return JSON.stringify({ ...event, ts: '' })
}

function gap(dir: string, last: EventPlace | undefined, wanted: number, event: AgentEvent): Fault {
  const why = `event ${event.seq} of attempt ${event.attempt_number} arrives where event ${wanted} is next`
  if (last) return used(dir, last, why)
  return new Fault(
    'JOURNAL_MISMATCH',
    `${quote(dir, 200)} is empty, but ${why}; feed the run from its first event`,
  )
}

/** The fault for a directory that has other events than those that arrive, and what to do about it. */
function used(dir: string, { run_id, attempt_number, seq }: EventPlace, why: string): Fault {
  const holds = `${quote(dir, 160)} already holds run ${quote(run_id)} up to event ${seq} of attempt ${attempt_number}`
  const next = `{ runId: ${quote(run_id)}, attempt: ${attempt_number + 1} }`
  return new Fault(
    'JOURNAL_MISMATCH',
    `${holds}, but ${why}; use a fresh directory for another run, or events(engine, ${next}) for one more attempt of this one`,
  )
}
