import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAttempts } from '../run/audit.ts'
import { replay } from '../run/replay.ts'
import { EVENTS_FILE } from '../sinks/journal.ts'
import { jsonLine } from '../sinks/jsonl.ts'
import { isRunning } from './runs.ts'

/** Events that are made here because nobody wrote them. */
export interface Derived {
  /** The journal that is being filled. */
  readonly path: string
  /** True when everything is in it. */
  readonly over: () => boolean
  close(): void
}

/**
 * Reads a run that has logs but no `events.jsonl`, and keeps its events in a folder of our own: nothing is
 * ever written into the served directory. A run that is still going on is followed.
 */
export function derive(dir: string): Derived {
  const folder = fs.mkdtempSync(join(tmpdir(), 'sluice-serve-'))
  const path = join(folder, EVENTS_FILE)
  let events: ReturnType<typeof replay>
  let out: number
  try {
    events = replay(dir, { follow: isRunning(dir, listAttempts(dir)) })
    out = fs.openSync(path, 'wx')
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true })
    throw error
  }
  let over = false
  const done = (async () => {
    for await (const event of events) fs.writeSync(out, jsonLine(event))
  })()
    // A directory that vanished is a run that ended here.
    .catch(() => {})
    .finally(() => {
      over = true
      fs.closeSync(out)
    })
  return {
    path,
    over: () => over,
    close() {
      events.destroy()
      void done.then(() => fs.rmSync(folder, { recursive: true, force: true }))
    },
  }
}
