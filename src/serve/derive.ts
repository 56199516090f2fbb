import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../base/fault.ts'
import { diskFault } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { LineFile } from '../disk/line-file.ts'
import type { Place } from '../disk/read-journal.ts'
import type { Event, RunOutcome } from '../events/event.ts'
import { jsonLine } from '../streams/jsonl.ts'
import { fingerprint, OverviewReader, type RunOverview, readLogs } from './log-overviews.ts'
import type { RunPlace } from './run-place.ts'

/** Events that are made here from logs, because there is no journal. */
export interface Derived {
  /** The journal that is being written. */
  readonly path: string
  /** True when it is complete. */
  readonly over: () => boolean
  /** Why it is incomplete, if it is. */
  readonly fault: () => Fault | undefined
  /** Its size in bytes. */
  readonly size: () => number
  /** The last event in it. */
  readonly last: () => Place | undefined
  /** How the run ended, if that is the last event in it. */
  readonly outcome: () => RunOutcome | undefined
  /** Whether the logs have not changed since they were read. */
  readonly fresh: () => boolean
  close(): void
}

/**
 * Reads a run that has logs but no `events.jsonl`, and stores its events in a temporary folder: nothing is
 * ever written to the directory of the run. A run in progress is followed. `onOver` is called with the
 * overview of the logs with this fingerprint.
 */
export function derive(
  place: RunPlace,
  onOver: (print: string, reported: RunOverview) => void = () => {},
): Derived {
  const folder = fs.mkdtempSync(join(tmpdir(), 'sluice-serve-'))
  const path = join(folder, EVENTS_FILE)
  const print = () => fingerprint(place.attempts())
  const stop = new AbortController()
  /** Fingerprint of the logs that were read. */
  let read: string
  let follow: boolean
  let out: LineFile
  try {
    read = print()
    follow = place.isRunning()
    out = new LineFile(path)
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true })
    throw error
  }
  let over = false
  let size = 0
  let last: Event | undefined
  const reader = new OverviewReader()
  let fault: Fault | undefined
  const fill = async () => {
    const options = { follow: follow && place.isRunning, signal: stop.signal }
    for await (const event of readLogs(place, options)) {
      const line = jsonLine(event)
      out.append(line)
      size += Buffer.byteLength(line)
      last = event
      reader.take(event)
    }
    // While we followed, they grew with us; without following, we read the files as they were at the start.
    if (follow) read = print()
    const overview = reader.overview()
    if (overview) onOver(read, overview)
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
    outcome: () => reader.overview()?.completion?.outcome,
    fresh: () => !over || read === print(),
    close() {
      stop.abort()
      void done.then(() => fs.rmSync(folder, { recursive: true, force: true }))
    },
  }
}
