import fs from 'node:fs'
import type { Cost } from '../events/cost.ts'
import { type Event, type FailureClass, isEvent } from '../events/event.ts'
import type { OutcomeEvidence } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import { type Attempt, channels, logSizes } from '../run/audit.ts'
import { Conversation, type RequestItem } from '../views/conversation.ts'
import type { Problem } from '../views/problems.ts'
import { askWords } from '../views/tool-text.ts'
import type { RunPlace } from './run-place.ts'
import { turn } from './turns.ts'

/** Facts about a whole run, from its events. */
export interface RunOverview {
  readonly run_id: string | undefined
  readonly engine: string | undefined
  readonly ts: string | undefined
  /** The attempt; of any type, because another program may have written the journal. */
  readonly attempt: unknown
  /** The user's first prompt. */
  readonly task?: string | undefined
  /** What went wrong first in the last attempt. */
  readonly problem?: string | undefined
  /** The last request of the last attempt, if nobody answered it. */
  readonly waits_for?: string | undefined
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
  readonly #talk = new Conversation()
  #last: Event | undefined
  #task: string | undefined
  #problem: Problem | undefined
  #request: RequestItem | undefined

  take(event: Event): void {
    if (event.attempt_number !== this.#last?.attempt_number) this.#problem = this.#request = undefined
    const item = this.#talk.take(event)
    if (item.kind === 'prompt') this.#task ??= item.text.slice(0, MAX_TASK)
    if (item.kind === 'request') this.#request = item
    const { problem } = item
    // A failed tool is often mended on the way, and a bad end only says that something went wrong.
    if (problem && (!this.#problem || weights[problem.kind] > weights[this.#problem.kind]))
      this.#problem = problem
    this.#last = event
  }

  /** A completion counts only if nothing follows it. */
  overview(): RunOverview | undefined {
    const event = this.#last
    if (!event) return undefined
    const completion = isEvent(event, 'lifecycle.completion.state') ? event.data : undefined
    const { run_id, ts, attempt_number: attempt } = event
    const asked = this.#request
    return {
      ...{ run_id, engine: event.source.engine, ts, attempt, completion },
      task: this.#task,
      problem: this.#problem?.title,
      waits_for: asked && (asked.by ?? 'end') === 'end' ? askWords(asked) : undefined,
    }
  }
}

/** Characters of a task to keep, as in `meta.json`. */
const MAX_TASK = 2000

const weights = { end: 0, tool: 1, engine: 2, turn: 2, output: 2, result: 2, limit: 2 } as const

/** Overviews of runs without a journal, read from their logs in the background. */
export interface LogOverviews {
  /** The overview of these logs in their current state; if it is not known, they are read soon. */
  of(place: RunPlace, attempts: readonly Attempt[]): RunOverview | undefined
  /** Stores the overview of logs with this fingerprint that were read elsewhere. */
  learn(place: RunPlace, print: string, overview: RunOverview | undefined): void
  /** How many were read so far. */
  learned(): number
  /**
   * Waits until everything requested is read, or for `ms` milliseconds. True if it is, and more than `before`
   * were read.
   */
  settled(ms: number, before: number): Promise<boolean>
}

/** Number of runs to remember; more than are listed. */
const MAX_KNOWN = 20_000
/** Number of events to read to find the engine of larger logs. */
const MAX_HEAD = 100

/**
 * Reads the logs of runs that have no `events.jsonl`, one run after the other, and remembers the overviews
 * until one of their files changes: the page requests the list every two seconds, and the server must not
 * read them again each time.
 */
export function logOverviews(signal: AbortSignal): LogOverviews {
  /** By place, in order of the last request. */
  const known = new Map<string, { readonly print: string; readonly overview: RunOverview | undefined }>()
  const queue = new Map<
    string,
    { readonly place: RunPlace; readonly print: string; readonly large: boolean }
  >()
  let reading: Promise<void> | undefined
  let learned = 0

  const learn = ({ key }: RunPlace, print: string, overview: RunOverview | undefined) => {
    known.set(key, { print, overview })
    if (queue.get(key)?.print === print) queue.delete(key)
    learned++
  }
  const readAll = async () => {
    for (const { place, print, large } of queue.values()) {
      if (signal.aborted) return
      // A short log is read without waiting, and so would be ten thousand of them.
      await turn()
      learn(place, print, await read(place, large))
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
    return large && overview ? { ...overview, completion: undefined } : overview
  }

  return {
    of(place, attempts) {
      const { key, maxListed } = place
      const print = fingerprint(attempts)
      const found = known.get(key)
      known.delete(key)
      if (found?.print === print) {
        known.set(key, found)
        return found.overview
      }
      for (const old of known.keys()) {
        if (known.size < MAX_KNOWN) break
        known.delete(old)
      }
      if (queue.get(key)?.print === print) return undefined
      queue.set(key, { place, print, large: bytesIn(attempts) > maxListed })
      reading ??= readAll().finally(() => {
        reading = undefined
      })
      return undefined
    },
    learn,
    learned: () => learned,
    async settled(ms, before) {
      const until = performance.now() + ms
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms)
      })
      while (reading && performance.now() < until) await Promise.race([reading, late])
      clearTimeout(timer)
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
): AsyncGenerator<Event> {
  for await (const event of place.replay(options)) {
    await turn()
    yield event
  }
}

/**
 * Identifies the files of these attempts with their age and size: the value changes when one of them does.
 */
export function fingerprint(attempts: readonly Attempt[]): string {
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

/** Changes with what a file or a folder holds. */
export function markOf({ dev, ino, size, mtimeMs }: fs.Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`
}

/** Undefined if there is nothing, or nothing that may be looked at. */
export function statsOf(path: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
