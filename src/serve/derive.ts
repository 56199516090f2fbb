import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../base/fault.ts'
import type { Event } from '../events/event.ts'
import { diskFault } from '../sinks/disk-fault.ts'
import { EVENTS_FILE } from '../sinks/journal.ts'
import type { Place } from '../sinks/journal-line.ts'
import { jsonLine } from '../sinks/jsonl.ts'
import { type LineFile, openLines } from '../sinks/line-file.ts'
import { fingerprint } from './fingerprint.ts'
import { readLogs } from './read-logs.ts'
import { overviewOf, type RunOverview } from './run-overview.ts'
import type { RunPlace } from './run-place.ts'

/** Events that are made here because there is no journal of them. */
export interface Derived {
  /** The journal that is being filled. */
  readonly path: string
  /** True when everything is in it. */
  readonly over: () => boolean
  /** Why there is not everything in it, if so. */
  readonly fault: () => Fault | undefined
  /** How many bytes are in it. */
  readonly size: () => number
  /** The event that was added last. */
  readonly last: () => Place | undefined
  /** Whether the logs are still the ones that were read. */
  readonly fresh: () => boolean
  close(): void
}

/**
 * Reads a run that has logs but no `events.jsonl`, and keeps its events in a folder of our own: nothing is
 * ever written where the run is kept. A run that is still going on is followed. `onOver` is told what the logs with this
 * fingerprint say.
 */
export function derive(
  place: RunPlace,
  onOver: (print: string, told: RunOverview) => void = () => {},
): Derived {
  const folder = fs.mkdtempSync(join(tmpdir(), 'sluice-serve-'))
  const path = join(folder, EVENTS_FILE)
  const print = () => fingerprint(place.attempts())
  const stop = new AbortController()
  /** Of the logs that were read. */
  let read: string
  let follow: boolean
  let out: LineFile
  try {
    read = print()
    follow = place.isRunning()
    out = openLines(path)
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true })
    throw error
  }
  let over = false
  let size = 0
  let last: Event | undefined
  let fault: Fault | undefined
  const fill = async () => {
    const options = { follow: follow && place.isRunning, signal: stop.signal }
    for await (const event of readLogs(place, options)) {
      const line = jsonLine(event)
      out.append(line)
      size += Buffer.byteLength(line)
      last = event
    }
    // Before the end they grew with us; a reading that was not a following was of the files as they were at its start.
    if (follow) read = print()
    if (last) onOver(read, overviewOf(last))
  }
  const done = fill()
    .catch((error: unknown) => {
      if (!stop.signal.aborted) fault = Fault.is(error) ? error : diskFault('read', place.key, error)
    })
    .finally(() => {
      over = true
      out.close()
    })
  return {
    path,
    over: () => over,
    fault: () => fault,
    size: () => size,
    last: () => last,
    fresh: () => !over || read === print(),
    close() {
      stop.abort()
      void done.then(() => fs.rmSync(folder, { recursive: true, force: true }))
    },
  }
}
