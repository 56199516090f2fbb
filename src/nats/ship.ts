import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { checkPath, isFunction, isName, type OptionTable, readOptions } from '../base/check-options.ts'
import { diskFault } from '../base/disk-fault.ts'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import type { Event } from '../events/event.ts'
import { folders, isSkipped } from '../run/folders.ts'
import type { Broker } from './broker.ts'
import { natsBroker } from './nats-broker.ts'
import { NATS_OPTIONS, type NatsOptions } from './nats-options.ts'
import { type ShippedRun, shipRun } from './ship-run.ts'

export interface ShipOptions extends NatsOptions {
  /**
   * The owner of these runs: the second part of their subjects, which permissions can refer to.
   * @default 'default'
   */
  readonly tenant?: string | undefined
  /** Keep watching for new runs, and for runs that continue, until `signal`. @default false */
  readonly follow?: boolean | undefined
  /** Changes every event before it is sent. The journal is not changed. @default none */
  readonly redact?: ((event: Event) => Event) | undefined
  /** Number of runs with a block in flight at the same time. @default 32 */
  readonly maxInFlight?: number | undefined
  /** Called often, with the progress. */
  readonly onProgress?: ((progress: ShipProgress) => void) | undefined
  /** Called at once for a run that cannot be shipped; the others continue. */
  readonly onRefused?: ((dir: string, fault: Fault) => void) | undefined
  /**
   * Milliseconds for which the broker may be connected and accept nothing, for example because its disk is
   * full. After that `ship` fails with BROKER_FAILED; with `follow` it calls `onStall` and keeps trying.
   * @default 30000
   */
  readonly maxStall?: number | undefined
  /**
   * With `follow`: called once when the broker accepts nothing for `maxStall`, until it accepts something
   * again.
   */
  readonly onStall?: ((fault: Fault) => void) | undefined
}

const isAbove0 = (value: unknown) => typeof value === 'number' && value > 0

const SHIP_OPTIONS = {
  tenant: { default: 'default', is: isName, needs: 'a name as tenant' },
  follow: { default: false },
  redact: { is: isFunction, needs: 'a function as redact' },
  maxInFlight: { default: 32, is: isAbove0, needs: 'a number above 0 as maxInFlight' },
  onProgress: { is: isFunction, needs: 'a function as onProgress' },
  onRefused: { is: isFunction, needs: 'a function as onRefused' },
  maxStall: { default: 30_000, is: isAbove0, needs: 'a number above 0 as maxStall' },
  onStall: { is: isFunction, needs: 'a function as onStall' },
} as const satisfies OptionTable<Omit<ShipOptions, keyof NatsOptions>>

const EXAMPLE = 'ship(".audit", { servers: "nats://127.0.0.1:4222" })'
const shipOptions = (options: ShipOptions) =>
  readOptions('ship', options, EXAMPLE, { ...NATS_OPTIONS, ...SHIP_OPTIONS })

/** The progress of `ship`. */
export interface ShipProgress {
  /** Runs that were found, and how many of them have ended and are acknowledged. */
  readonly runs: number
  readonly over: number
  /** What the broker has acknowledged since the start. */
  readonly events: number
  readonly bytes: number
}

/**
 * Sends the runs under a directory to NATS JetStream: every folder with an `events.jsonl`. Each event arrives
 * once and in order, despite crashes of this process, of the broker and of the readers. Waits for runs that
 * are being written, and resolves when all have ended and are acknowledged; with `follow`, when the signal is
 * aborted.
 *
 * The journal is the queue: while the broker is unreachable nothing is held in memory, and after a restart
 * the broker says where to continue. If the broker has other events of a run, that run is refused
 * (RUN_REFUSED); the others are shipped, and then that Fault is thrown.
 *
 * @example
 * await ship('.audit', { servers: 'nats://hub:4222', tenant: 'host-a' })
 */
export async function ship(dir: string, options: ShipOptions = {}): Promise<ShipProgress> {
  checkPath('ship', dir, EXAMPLE)
  const read = shipOptions(options)
  const root = realDir(dir)
  const broker = await natsBroker(read)
  try {
    return await shipTo(broker, root, read)
  } finally {
    await broker.close()
  }
}

const MAX_DEPTH = 6
/** Number of folders to read before yielding to other work. */
const FOLDERS_A_TURN = 100
/** Milliseconds between two checks of the journals that are being written; a watcher is usually faster. */
const POLL_MS = 100
/**
 * After so many milliseconds a run that does not grow is asked whether it is over; of thousands, one part in
 * so many at a time.
 */
const LOOK_MS = 300
const LOOKS = 50
const LOOK_SHARE = 20
/** Milliseconds between two walks over the directory. */
const WALK_MS = 500
/** With thousands of runs both take long, and are done less often: for one part in so many of the time. */
const POLL_SHARE = 5
const WALK_SHARE = 20
/** Journals that are watched; the others are polled. */
const MAX_WATCHERS = 500
/** Folders with runs that are watched for new ones; those in others are found by the next walk. */
const MAX_FOLDERS = 50
/** So long a new folder is looked into for its journal. */
const FRESH_MS = 5000
const MAX_BACKOFF_MS = 2000
/** Waiting longer than this for the broker means that it was away. */
const AWAY_MS = 50

interface Entry {
  readonly run: ShippedRun
  state: 'waiting' | 'over' | 'gone' | 'refused'
  busy: boolean
  /** Something changed while it was busy. */
  again: boolean
  failures: number
  /** When it was last checked. */
  looked: number
  watcher?: fs.FSWatcher | undefined
}

/** The same over any broker. `root` is the real path of the directory. */
export async function shipTo(broker: Broker, root: string, options: ShipOptions): Promise<ShipProgress> {
  const { tenant, follow, maxInFlight, maxStall, signal } = shipOptions(options)
  const redact = options.redact && guarded(options.redact)
  const entries = new Map<string, Entry>()
  const queue = new Set<Entry>()
  let busy = 0
  let events = 0
  let bytes = 0
  let refusal: Fault | undefined
  let fatal: { readonly error: unknown } | undefined
  /** Since when the broker is there and takes nothing, and whether that was told. */
  let stalled: number | undefined
  let stallTold = false
  /** Wakes the loop below. */
  let wake = () => {}
  const stop = new AbortController()
  // Every run adds a listener while the broker is unreachable.
  setMaxListeners(0, stop.signal)
  const alone = oneByOne()

  /** Runs by state: with thousands of them they must not be counted each time. */
  const counts = { waiting: 0, over: 0, gone: 0, refused: 0 }
  let watchers = 0
  /** Those that are being written, the one that was looked at last at the end. */
  const waiting = new Set<Entry>()
  const become = (entry: Entry, state: Entry['state']) => {
    counts[entry.state]--
    counts[state]++
    entry.state = state
    if (state === 'waiting') waiting.add(entry)
    else waiting.delete(entry)
  }
  const watchedFolders = new Map<string, fs.FSWatcher>()
  /** What was made just now beside other runs, and until when it is looked into. */
  const fresh = new Map<string, number>()

  const progress = (): ShipProgress => ({ runs: entries.size, over: counts.over, events, bytes })
  const sent = (moreEvents: number, moreBytes: number) => {
    events += moreEvents
    bytes += moreBytes
    moving()
    options.onProgress?.(progress())
  }

  function enqueue(entry: Entry): void {
    if (entry.state === 'refused') return
    if (entry.busy) entry.again = true
    else queue.add(entry)
    drain()
  }

  function drain(): void {
    for (const entry of queue) {
      if (busy >= maxInFlight || stop.signal.aborted) return
      queue.delete(entry)
      busy++
      entry.busy = true
      void work(entry).finally(() => {
        busy--
        entry.busy = false
        if (entry.again) {
          entry.again = false
          queue.add(entry)
        }
        drain()
        if (busy === 0 || fatal) wake()
      })
    }
  }

  async function work(entry: Entry): Promise<void> {
    try {
      become(entry, await entry.run.pump())
      entry.failures = 0
      entry.looked = performance.now()
      watch(entry)
      if (entry.state === 'gone') entries.delete(entry.run.dir)
      if (entry.state === 'over') {
        moving()
        options.onProgress?.(progress())
      }
    } catch (error) {
      entry.run.forget()
      if (stop.signal.aborted) return
      if (Fault.is(error) && error.code === 'BROKER_FAILED') fatal ??= { error }
      else if (Fault.is(error)) refuse(entry, error)
      else if (isOfDisk(error)) refuse(entry, diskFault('read', entry.run.dir, error))
      else if (error instanceof TypeError || error instanceof RangeError) fatal ??= { error }
      else await pause(entry, error)
    }
  }

  function moving(): void {
    stalled = undefined
    stallTold = false
  }

  function refuse(entry: Entry, fault: Fault): void {
    become(entry, 'refused')
    refusal ??= fault
    watch(entry)
    options.onRefused?.(entry.run.dir, fault)
  }

  /**
   * Waits until the broker can be asked again. Nothing is published meanwhile, so nothing piles up in the
   * client.
   */
  async function pause(entry: Entry, why: unknown): Promise<void> {
    entry.again = true
    const ms = Math.min(MAX_BACKOFF_MS, 50 * 2 ** entry.failures++)
    stalled ??= performance.now()
    await sleep(ms, stop.signal)
    try {
      const asked = performance.now()
      await broker.reachable(stop.signal)
      if (performance.now() - asked > AWAY_MS) stalled = undefined
      else if (stalled !== undefined && asked - stalled >= maxStall) stall(why)
    } catch (error) {
      if (!stop.signal.aborted) fatal ??= { error }
    }
  }

  function stall(cause: unknown): void {
    const fault = new Fault(
      'BROKER_FAILED',
      `the broker is there, but has taken nothing for ${Math.round(maxStall / 1000)} s (${quote((cause as Error).message, 120)}). ` +
        'Look at its log, at its disk and at the limits of the stream (max_bytes). Nothing is lost: the journals wait',
      { cause },
    )
    if (!follow) fatal ??= { error: fault }
    else if (!stallTold) options.onStall?.(fault)
    stallTold = true
  }

  function watch(entry: Entry): void {
    if (entry.state !== 'waiting') {
      if (entry.watcher) watchers--
      entry.watcher?.close()
      entry.watcher = undefined
      return
    }
    if (entry.watcher || watchers >= MAX_WATCHERS) return
    try {
      entry.watcher = fs.watch(join(entry.run.dir, EVENTS_FILE), { persistent: false }, () => enqueue(entry))
      entry.watcher.on('error', () => entry.watcher?.close())
      watchers++
      // For what was written before the watcher was there.
      enqueue(entry)
    } catch {
      // No watcher available: polling is enough.
    }
  }

  /**
   * Checks the runs that are being written: those that grew, and from time to time whether the others have
   * ended.
   */
  function poll(): void {
    const now = performance.now()
    let looks = Math.max(LOOKS, waiting.size / LOOK_SHARE)
    for (const entry of [...waiting]) {
      if (entry.busy || queue.has(entry)) continue
      if (now - entry.looked > LOOK_MS && looks > 0) {
        looks--
        waiting.delete(entry)
        waiting.add(entry)
        enqueue(entry)
      } else if (sizeOf(entry.run.dir) !== entry.run.size) enqueue(entry)
    }
  }

  /** Finds new runs, and old ones that go on. Gives the milliseconds that it took by itself. */
  async function walk(top: string): Promise<number> {
    let seen = 0
    let took = 0
    let since = performance.now()
    for (const { path, entries: files } of folders(top, { maxDepth: MAX_DEPTH })) {
      if (++seen % FOLDERS_A_TURN === 0) {
        took += performance.now() - since
        await turn()
        since = performance.now()
      }
      if (stop.signal.aborted) break
      if (!files.some((file) => file.name === EVENTS_FILE && file.isFile())) continue
      const known = entries.get(path)
      if (!known) {
        const run = shipRun(broker, path, root, { tenant, redact, sent, alone })
        const entry: Entry = { run, state: 'waiting', busy: false, again: false, failures: 0, looked: 0 }
        counts.waiting++
        waiting.add(entry)
        entries.set(path, entry)
        if (path !== root) watchFolder(dirname(path))
        enqueue(entry)
      } else if (known.state === 'over' && sizeOf(path) !== known.run.size) enqueue(known)
    }
    return took + performance.now() - since
  }

  /** With thousands of runs a walk takes long; a new one is usually made beside them. */
  function watchFolder(path: string): void {
    if (!follow || watchedFolders.has(path) || watchedFolders.size >= MAX_FOLDERS) return
    try {
      const watcher = fs.watch(path, { persistent: false }, (_, name) => {
        if (name !== null && !isSkipped(name)) fresh.set(join(path, name), performance.now() + FRESH_MS)
      })
      watcher.on('error', () => watcher.close())
      watchedFolders.set(path, watcher)
    } catch {
      // No watcher to be had: the next walk finds it.
    }
  }

  const onAbort = () => {
    stop.abort(signal?.reason)
    wake()
  }
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  try {
    watchFolder(root)
    let nextWalk = Number.NEGATIVE_INFINITY
    let nextPoll = Number.NEGATIVE_INFINITY
    while (!stop.signal.aborted && !fatal) {
      const began = performance.now()
      const done = queue.size === 0 && busy === 0 && counts.waiting === 0
      if (began >= nextWalk || (done && !follow)) {
        const before = entries.size
        const took = await walk(root)
        nextWalk = performance.now() + Math.max(WALK_MS, took * WALK_SHARE)
        // Nothing new turned up while the last ones ended.
        if (!follow && done && entries.size === before && queue.size === 0 && busy === 0) break
      }
      // The end of every block wakes this loop.
      const polled = performance.now()
      if (polled >= nextPoll) {
        poll()
        for (const [path, until] of fresh) {
          if (polled <= until) await walk(path)
          if (polled > until || entries.has(path)) fresh.delete(path)
        }
        const ended = performance.now()
        nextPoll = ended + Math.max(POLL_MS, (ended - polled) * POLL_SHARE)
      }
      await wakeable(Math.min(WALK_MS, nextPoll - performance.now()))
    }
  } finally {
    stop.abort()
    signal?.removeEventListener('abort', onAbort)
    for (const entry of entries.values()) entry.watcher?.close()
    for (const watcher of watchedFolders.values()) watcher.close()
  }
  if (fatal) throw fatal.error
  if (signal?.aborted && !follow) throw signal.reason
  if (refusal) throw refusal
  return progress()

  function wakeable(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (stop.signal.aborted) wake()
    })
  }
}

/** Whether an error comes from a system call on a file. */
function isOfDisk(error: unknown): boolean {
  return (
    error instanceof Error &&
    'syscall' in error &&
    ['open', 'read', 'fstat', 'lstat'].includes(String(error.syscall))
  )
}

/** If the redaction throws, nothing may be sent, and it is not an error of the broker. */
function guarded(redact: (event: Event) => Event): (event: Event) => Event {
  return (event) => {
    try {
      return redact(event)
    } catch (error) {
      const { attempt_number, seq } = event
      throw new Fault(
        'RUN_REFUSED',
        `redact threw on event ${attempt_number}.${seq}, so nothing from there on was sent`,
        {
          cause: error,
        },
      )
    }
  }
}

/** Runs functions one after the other. */
function oneByOne(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const mine = last.then(act)
    last = mine.catch(() => {})
    return mine
  }
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}

function sizeOf(dir: string): number {
  return fs.lstatSync(join(dir, EVENTS_FILE), { throwIfNoEntry: false })?.size ?? 0
}

function realDir(dir: string): string {
  try {
    return fs.realpathSync(dir)
  } catch (error) {
    throw new Fault('BAD_OPTION', `${quote(dir, 200)} cannot be read (${codeOf(error)})`, { cause: error })
  }
}
