import fs from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkOptions, checkPath, isFunction, isName, type OptionTable } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import { cannotRead } from '../base/system-error-code.ts'
import { beginsWith } from '../disk/plain-file.ts'
import type { AgentEvent, EventWithRecord } from '../events/event.ts'
import { EVENT_OPTIONS } from '../events/event-stage.ts'
import { type Flow, flow } from '../streams/flow.ts'
import { type Attempt, listAttempts, singleLog } from './attempt-logs.ts'
import { follow, onceOver } from './follow.ts'
import { RECORDED_OPTIONS, type RecordedOptions, readAttempt } from './read-attempt.ts'
import { fixedDir, noLogs } from './run-directory.ts'
import { feed, type Opening, type TimedChunk, timedEvents, timedIntake } from './run-flow.ts'

/** The options of `replay()`. */
export interface ReplayOptions extends RecordedOptions {
  /** Only this attempt. @default all, one after the other */
  readonly attempt?: number | undefined
  /** `'real'` keeps the recorded pauses, `'full'` does not wait. @default 'full' */
  readonly speed?: 'full' | 'real' | undefined
  /**
   * Continue while the directory is being written, until the run has ended. A function is called when there
   * is nothing new, and says whether a process still writes; false ends the replay too.
   * @default false
   */
  readonly follow?: boolean | (() => boolean) | undefined
  /**
   * The real path of a directory: a file that is not really inside it is not read.
   * @default any file is read
   */
  readonly within?: string | undefined
  readonly signal?: AbortSignal | undefined
}

const isFollow = (value: unknown) => typeof value === 'boolean' || isFunction(value)

const REPLAY_OPTIONS = {
  attempt: EVENT_OPTIONS.attempt,
  speed: { default: 'full', words: ['full', 'real'] },
  follow: { default: false, is: isFollow, must: 'be true, false or a function, but is "%"' },
  within: { is: isName, needs: 'a path as within' },
} as const satisfies OptionTable<Omit<ReplayOptions, keyof RecordedOptions>>

/**
 * Reads an audit directory again (ours, or any with the same file names, one attempt or many), or a single
 * log. Emits the same events, byte for byte, as the live run.
 *
 * With `follow` it also waits for new output. A log that is truncated or replaced meanwhile is read again
 * from its start: events that were already emitted are not emitted twice, and LOG_RESTARTED says so.
 *
 * @example
 * for await (const event of replay('.audit/latest')) console.log(event.type)
 */
export function replay(
  path: string,
  options: ReplayOptions & { readonly record: true },
): Flow<EventWithRecord>
export function replay(path: string, options?: ReplayOptions): Flow<AgentEvent>
export function replay(path: string, options: ReplayOptions = {}): Flow<AgentEvent> {
  checkPath('replay', path, 'replay(".audit/latest")')
  checkOptions('replay', options, 'replay(".audit/latest", { speed: "real" })', {
    ...RECORDED_OPTIONS,
    ...REPLAY_OPTIONS,
  })
  return replayLogs(path, find(path, options.within), options)
}

/** The same for logs that were found already; `path` names them in faults. */
export function replayLogs(path: string, { dir, list }: Logs, options: ReplayOptions = {}): Flow<AgentEvent> {
  const { attempt, within: _, signal, ...given } = options
  const { speed = REPLAY_OPTIONS.speed.default, follow: following, ...reading } = given
  const stage = following ? onceOver(timedEvents) : timedEvents
  const made = flow(stage, { signal, intake: timedIntake })
  const going = typeof following === 'function' ? following : undefined
  const items = following
    ? follow(dir, { ...reading, attempt, list, until: made, going })
    : recorded(path, { dir, list }, attempt, reading)
  void feed(speed === 'real' && !following ? paced(items, made) : items, made)
  return made
}

async function* recorded(
  path: string,
  { dir, list }: Logs,
  wanted: number | undefined,
  options: RecordedOptions,
) {
  const attempts = list()
  if (attempts.length === 0) throw noLogs(path)
  const chosen = wanted === undefined ? attempts : attempts.filter((attempt) => attempt.number === wanted)
  if (chosen.length === 0) throw new Fault('NOT_AN_AUDIT', `${quote(path, 200)} has no attempt ${wanted}`)
  for (const attempt of chosen) yield* readAttempt(dir, attempt, options)
}

/** Delays every chunk until as much time has passed as when it was recorded. */
async function* paced(items: AsyncIterable<TimedChunk | Opening>, until: { destroyed: boolean }) {
  let began = performance.now()
  let origin = 0
  for await (const item of items) {
    if ('opens' in item) {
      began = performance.now()
      origin = item.time
    }
    // In short naps, so that a destroyed flow does not wait long.
    for (;;) {
      const left = item.time - origin - (performance.now() - began)
      if (left <= 0 || until.destroyed) break
      await setTimeout(Math.min(left, 100))
    }
    yield item
  }
}

/** Where the attempts of a run are. */
export interface Logs {
  readonly dir: string
  readonly list: () => readonly Attempt[]
}

/** In a directory, or a single log that counts as one. */
function find(path: string, within: string | undefined): Logs {
  let log: string | undefined
  try {
    // The user named it, and may use a link; below it, no link is followed.
    if (fs.statSync(path).isFile()) log = fs.realpathSync(path)
    // Checked here, because with `follow` a missing file would be waited for.
    if (log !== undefined) fs.accessSync(log, fs.constants.R_OK)
  } catch (error) {
    throw cannotRead('NOT_AN_AUDIT', path, error)
  }
  if (log !== undefined && beginsWith(log, '{"protocol_version":"'))
    throw new Fault(
      'NOT_AN_AUDIT',
      `${quote(path, 200)} has events, not what an agent printed; give the directory of the run, or parse its lines`,
    )
  if (log === undefined) {
    const dir = fixedDir(path)
    return { dir, list: () => listAttempts(dir, within) }
  }
  const single = singleLog(log, basename(path))
  return { dir: dirname(path), list: () => [single] }
}
