import fs from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { type Attempt, channels } from '../run/audit.ts'
import { fingerprint } from './fingerprint.ts'
import { readLogs } from './read-logs.ts'
import { overviewOf, type RunOverview } from './run-overview.ts'
import type { RunPlace } from './run-place.ts'

/** What the logs of runs without a journal say, read in the background. */
export interface LogOverviews {
  /** What is known of these logs as they are now; if nothing is, they are read soon. */
  of(place: RunPlace, attempts: readonly Attempt[]): RunOverview | undefined
  /** The logs with this fingerprint were read elsewhere, and say this. */
  learn(place: RunPlace, print: string, told: RunOverview | undefined): void
  /** Waits until all that was asked for is read, or so many milliseconds. True if it is, and more is known than before. */
  settled(ms: number): Promise<boolean>
}

/** So many runs are remembered; more than are listed. */
const MAX_KNOWN = 20_000
/** So many events are looked at to learn the engine of larger ones. */
const MAX_HEAD = 100

/**
 * Reads the logs of runs that have no `events.jsonl`, one run after the other, and remembers what they say until one of their
 * files changes: a list of runs is asked for every two seconds, and must not read them again each time.
 */
export function logOverviews(signal: AbortSignal): LogOverviews {
  /** By place; the ones that were asked for last are at the end. */
  const known = new Map<string, { readonly print: string; readonly told: RunOverview | undefined }>()
  const queue = new Map<
    string,
    { readonly place: RunPlace; readonly print: string; readonly large: boolean }
  >()
  let reading: Promise<void> | undefined
  let learned = 0

  const learn = ({ key }: RunPlace, print: string, told: RunOverview | undefined) => {
    known.set(key, { print, told })
    if (queue.get(key)?.print === print) queue.delete(key)
    learned++
  }
  const readAll = async () => {
    for (const { place, print, large } of queue.values()) {
      if (signal.aborted) return
      learn(place, print, await read(place, large))
      // A short log is read in one turn of the event loop, and so would be ten thousand of them.
      await setImmediate()
    }
  }
  const read = async (place: RunPlace, large: boolean): Promise<RunOverview | undefined> => {
    let told: RunOverview | undefined
    let count = 0
    const leave = new AbortController()
    try {
      for await (const event of readLogs(place, { signal: AbortSignal.any([signal, leave.signal]) })) {
        told = overviewOf(event)
        if (large && ++count === MAX_HEAD) break
      }
    } catch {
      // Logs that are damaged, or gone by now, tell nothing; who opens the run is told why.
      return undefined
    } finally {
      leave.abort()
    }
    return large && told ? { ...told, completion: undefined } : told
  }

  return {
    of(place, attempts) {
      const { key, maxListed } = place
      const print = fingerprint(attempts)
      const found = known.get(key)
      known.delete(key)
      if (found?.print === print) {
        known.set(key, found)
        return found.told
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
