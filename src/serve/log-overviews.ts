import fs from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { type Attempt, channels } from '../run/audit.ts'
import { fingerprint } from './fingerprint.ts'
import { readLogs } from './read-logs.ts'
import { overviewOf, type RunOverview } from './run-overview.ts'
import type { RunPlace } from './run-place.ts'

/** Overviews of runs without a journal, read from their logs in the background. */
export interface LogOverviews {
  /** The overview of these logs in their current state; if it is not known, they are read soon. */
  of(place: RunPlace, attempts: readonly Attempt[]): RunOverview | undefined
  /** Stores the overview of logs with this fingerprint that were read elsewhere. */
  learn(place: RunPlace, print: string, overview: RunOverview | undefined): void
  /**
   * Waits until everything requested is read, or for `ms` milliseconds. True if it is, and more is known than
   * before.
   */
  settled(ms: number): Promise<boolean>
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
      learn(place, print, await read(place, large))
      // A short log is read without yielding, and so would be ten thousand of them.
      await setImmediate()
    }
  }
  const read = async (place: RunPlace, large: boolean): Promise<RunOverview | undefined> => {
    let overview: RunOverview | undefined
    let count = 0
    const leave = new AbortController()
    try {
      for await (const event of readLogs(place, { signal: AbortSignal.any([signal, leave.signal]) })) {
        overview = overviewOf(event)
        if (large && ++count === MAX_HEAD) break
      }
    } catch {
      // Damaged or removed logs have no overview; a client that opens the run gets the error.
      return undefined
    } finally {
      leave.abort()
    }
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
    async settled(ms) {
      const before = learned
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
  let bytes = 0
  for (const { logs } of attempts) {
    for (const channel of channels) {
      const path = logs[channel]
      if (path !== undefined) bytes += fs.lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
    }
  }
  return bytes
}
