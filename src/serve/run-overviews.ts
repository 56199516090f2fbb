import fs from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { orElse } from '../base/fault.ts'
import { readBlock, withPlain } from '../disk/plain-file.ts'
import { MAX_LINE } from '../disk/read-journal.ts'
import { type Cost, readCost } from '../events/cost.ts'
import { asText, isRecord } from '../events/engine.ts'
import { type AgentEvent, type FailureClass, isEvent } from '../events/event.ts'
import { isGood, type OutcomeEvidence, outcomeOf, readFailure, readState } from '../events/run-outcome.ts'
import { type Tokens, tokensOf } from '../events/tokens.ts'
import { type Attempt, channels, logSizes } from '../run/attempt-logs.ts'
import { type Meta, modelIn } from '../run/meta.ts'
import { whyOf } from '../views/why.ts'
import type { RunPlace } from './run-place.ts'
import { turn } from './turns.ts'

/** Facts about a whole run, from its events. */
export interface RunOverview {
  readonly run_id: string | undefined
  readonly engine: string | undefined
  readonly ts: string | undefined
  /** The attempt; of any type, because another program may have written the journal. */
  readonly attempt: unknown
  readonly model?: string | undefined
  /** The user's first prompt. */
  readonly task?: string | undefined
  /** Why the last attempt ended badly, or what went wrong in it so far. */
  readonly problem?: string | undefined
  /** The first request of the last attempt that nobody answered. */
  readonly waits_for?: string | undefined
  /** Number of files that it changed. */
  readonly files?: number | undefined
  /** Its end was not read yet, or is too far away to be read for a list. */
  readonly unread?: true
  readonly completion?:
    | (OutcomeEvidence & {
        readonly reason_code: string | undefined
        readonly failure_class?: FailureClass | undefined
        readonly cost?: Cost | undefined
        readonly tokens?: Tokens | undefined
      })
    | undefined
}

/** Reads the overview of a run from its events, or from those of them that matter. */
export class OverviewReader {
  readonly #why = whyOf()
  readonly #files = new Set<string>()
  #last: AgentEvent | undefined
  #task: string | undefined
  #model: string | undefined

  take(event: AgentEvent): void {
    const item = this.#why.write(event)
    if (item.kind === 'prompt') this.#task ??= item.text.slice(0, MAX_TASK)
    if (item.kind === 'artifact' && this.#files.size < MAX_FILES) this.#files.add(item.path)
    if (isEvent(event, 'lifecycle.run.status')) this.#model = modelIn(event) ?? this.#model
    this.#last = event
  }

  /** A completion counts only if nothing follows it. */
  overview(): RunOverview | undefined {
    const event = this.#last
    if (!event) return undefined
    // No list shows the answer, which may be long.
    const completion = isEvent(event, 'lifecycle.completion.state')
      ? { ...event.data, answer: undefined }
      : undefined
    const { run_id, ts, attempt_number: attempt } = event
    const { first, request } = this.#why.why()
    return {
      ...{ run_id, engine: event.source.engine, ts, attempt, completion },
      task: this.#task,
      model: this.#model,
      problem: first?.title,
      waits_for: request?.title,
      files: this.#files.size,
    }
  }
}

/** Characters of a task to keep, as in `meta.json`. */
const MAX_TASK = 2000
/** Files to tell apart; no list needs a larger number. */
const MAX_FILES = 10_000

/** Number of runs to remember; more than are listed. */
const MAX_KNOWN = 20_000
/** Number of events to read to find the engine of larger logs. */
const MAX_HEAD = 100

/** Of a run whose end was not read yet. */
export const UNREAD: RunOverview = {
  ...{ run_id: undefined, engine: undefined, ts: undefined, attempt: undefined },
  unread: true,
}

export type LogOverviews = ReturnType<typeof logOverviews>

/**
 * Reads the logs of runs that have no `events.jsonl` in the background, one run after the other. Remembers
 * the overviews until one of their files changes: the page requests the list every two seconds, and the
 * server must not read them again each time.
 */
export function logOverviews(signal: AbortSignal) {
  /** By place, in order of the last request. */
  const known = new Map<string, { readonly mark: string; readonly overview: RunOverview | undefined }>()
  const queue = new Map<
    string,
    { readonly place: RunPlace; readonly mark: string; readonly large: boolean }
  >()
  let reading: Promise<void> | undefined
  let learned = 0

  const learn = ({ key }: RunPlace, mark: string, overview: RunOverview | undefined) => {
    known.set(key, { mark, overview })
    if (queue.get(key)?.mark === mark) queue.delete(key)
    learned++
  }
  const readAll = async () => {
    for (const { place, mark, large } of queue.values()) {
      if (signal.aborted) return
      // A short log is read without waiting, and so would be ten thousand of them.
      await turn()
      learn(place, mark, await read(place, large))
    }
  }
  const read = async (place: RunPlace, large: boolean): Promise<RunOverview | undefined> => {
    const reader = new OverviewReader()
    let count = 0
    const leave = new AbortController()
    try {
      for await (const event of readLogs(place, { signal: AbortSignal.any([signal, leave.signal]) })) {
        reader.take(event)
        if (large && ++count === MAX_HEAD) break
      }
    } catch {
      // Damaged or removed logs have no overview; a client that opens the run gets the error.
      return undefined
    } finally {
      leave.abort()
    }
    const overview = reader.overview()
    return large && overview ? { ...overview, completion: undefined, unread: true } : overview
  }

  return {
    /** The overview of these logs in their current state; if it is `unread`, they are read soon. */
    of(place: RunPlace, attempts: readonly Attempt[]): RunOverview | undefined {
      const { key, maxListed } = place
      const mark = logsMark(attempts)
      const found = known.get(key)
      known.delete(key)
      if (found?.mark === mark) {
        known.set(key, found)
        return found.overview
      }
      for (const old of known.keys()) {
        if (known.size < MAX_KNOWN) break
        known.delete(old)
      }
      if (queue.get(key)?.mark === mark) return UNREAD
      queue.set(key, { place, mark, large: bytesIn(attempts) > maxListed })
      reading ??= readAll().finally(() => {
        reading = undefined
      })
      return UNREAD
    },
    /** Stores the overview of logs with this mark that were read elsewhere. */
    learn,
    /** How many were read so far. */
    learned: () => learned,
    /** Waits for what was requested, at most `ms`. True if all is read, and more than `before`. */
    async settled(ms: number, before: number): Promise<boolean> {
      const until = performance.now() + ms
      const late = delay(ms, undefined, { ref: false })
      while (reading && performance.now() < until) await Promise.race([reading, late])
      return learned > before && reading === undefined
    },
  }
}

function bytesIn(attempts: readonly Attempt[]): number {
  return attempts.flatMap(({ logs }) => Object.values(logSizes(logs))).reduce((sum, bytes) => sum + bytes, 0)
}

/** The events of logs, read so that the server stays responsive. `signal` ends it. */
export async function* readLogs(
  place: RunPlace,
  options: Parameters<RunPlace['replay']>[0],
): AsyncGenerator<AgentEvent> {
  for await (const event of place.replay(options)) {
    await turn()
    yield event
  }
}

/** Identifies the files of these attempts by age and size: it changes when one of them does. */
export function logsMark(attempts: readonly Attempt[]): string {
  return attempts
    .flatMap(({ logs, chunks, meta, fsDiff }) => [
      ...channels.map((name) => logs[name]),
      chunks,
      meta,
      fsDiff,
    ])
    .map((path) => (path === undefined ? '' : fileMark(path)))
    .join()
}

/** The same for one file; empty if it is missing. */
export function fileMark(path: string): string {
  const stats = statsOf(path)
  return stats ? markOf(stats) : ''
}

/** What tells that a file or a folder has changed. */
export type Marked = Pick<fs.Stats, 'dev' | 'ino' | 'size' | 'mtimeMs'>

/** Changes with what a file or a folder holds. */
export function markOf({ dev, ino, size, mtimeMs }: Marked): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`
}

/** Undefined if there is nothing, or nothing that may be looked at. */
export function statsOf(path: string): fs.Stats | undefined {
  return orElse(() => fs.lstatSync(path, { throwIfNoEntry: false }), undefined)
}

/**
 * What the meta of an attempt tells of its end; undefined if that is not all that a list shows. What a run
 * waits for is only in its events.
 */
export function overviewIn(meta: Partial<Meta> | undefined): RunOverview | undefined {
  const { run_id, engine, started_at: ts, attempt_number: attempt, complete } = meta ?? {}
  const { state, outcome, reason_code, problem, failure_class, tokens, cost } = meta ?? {}
  if (!complete || state === undefined || !outcome || outcome === 'needs_input') return undefined
  const completion = { state, outcome, evidence: {}, reason_code, failure_class, tokens, cost }
  // Cast: the outcome decides, not the evidence.
  return { run_id, engine, ts, attempt, problem, completion: completion as RunOverview['completion'] }
}

/** Bytes at the end of a journal, of a run that ended well and of any other. */
const SHORT_TAIL = 4 * 1024
const TAIL = 64 * 1024

/**
 * What the end of a journal tells, and the task at its start if it is `asked` for. Undefined if there is no
 * event, or the file is not really inside `root`.
 */
export function journalTail(path: string, root: string, asked: boolean): RunOverview | undefined {
  try {
    return withPlain(path, root, (fd) => {
      const { size } = fs.fstatSync(fd)
      const linesIn = (from: number, to: number) =>
        readBlock(fd, from, to - from)
          .toString()
          .split('\n')
      // The last line may be longer than the block: its answer can be as long as any message.
      const last = (length: number): string[] => {
        const lines = linesIn(Math.max(0, size - length), size)
        return lines.length > 2 || length >= Math.min(size, MAX_LINE) ? lines : last(length * 8)
      }
      let ended = lastEvents(last(SHORT_TAIL))
      let lines: readonly string[] | undefined
      if (!ended?.completion || !isGood(outcomeOf(ended.completion))) {
        lines = last(TAIL)
        if (!ended?.completion) ended = lastEvents(lines)
        ended &&= { ...ended, ...telling(ended, lines) }
      }
      if (!ended || !asked) return ended && { ...ended, task: undefined }
      const first = lines && size <= TAIL ? lines : linesIn(0, Math.min(size, TAIL))
      return { ...ended, task: telling(undefined, first).task }
    })
  } catch {
    return undefined
  }
}

/** The start of a line of a journal. */
const PIECE = /"type":"(?:agent\.message|agent\.reasoning|tool\.call\.input)\.delta"/

/** What the events in these lines tell: of a run that ended badly or not yet, else its task alone. */
function telling(ended: RunOverview | undefined, lines: readonly string[]): Partial<RunOverview> {
  const reader = new OverviewReader()
  for (const line of lines) {
    // Pieces of a message or a thought, which may be thousands, say nothing that its end does not say.
    if (ended ? PIECE.test(line.slice(0, 80)) : !line.includes('"user.message"')) continue
    try {
      const event = JSON.parse(line)
      if (!ended || event.attempt_number === ended.attempt) reader.take(event)
    } catch {
      // The first line of the block may be incomplete.
    }
  }
  const { task, problem, waits_for } = reader.overview() ?? {}
  return { task, problem, waits_for }
}

/** Another program may have written it: only strings count as text. */
function lastEvents(lines: readonly string[]): RunOverview | undefined {
  let overview: RunOverview | undefined
  // The last whole line has the run and attempt, the last completion of that attempt the outcome.
  for (let i = lines.length - 2; i >= 0; i--) {
    try {
      const event = JSON.parse(lines[i]!)
      const { run_id, ts, attempt_number: attempt } = event
      overview ??= { run_id: asText(run_id), engine: asText(event.source.engine), ts: asText(ts), attempt }
      // The previous attempt ended; this one has no end.
      if (attempt !== overview.attempt) return overview
      // Journals of before 0.2 have no `type` at the top.
      if ((event.type ?? event.event?.type) === 'lifecycle.completion.state')
        return { ...overview, completion: completionIn(event.data) }
    } catch {
      // The first line of the block may be incomplete.
    }
    if (overview && lines.length - i > 16) break
  }
  return overview
}

function completionIn(data: Record<string, unknown>): RunOverview['completion'] {
  const state = readState(data['state']) ?? 'unknown'
  const { evidence, tokens } = data
  const { request, ...seen } = isRecord(evidence) ? evidence : {}
  const end = { state, evidence: { ...seen, ...(typeof request === 'string' && { request }) } }
  // Cast: `outcomeOf` checks each of them.
  const outcome = outcomeOf({ ...end, outcome: data['outcome'] } as OutcomeEvidence)
  return {
    ...(end as OutcomeEvidence),
    outcome,
    failure_class: readFailure(data['failure_class']),
    cost: readCost(data['cost']),
    tokens: isRecord(tokens) ? tokensOf(tokens) : undefined,
    reason_code: asText(data['reason_code']),
  }
}
