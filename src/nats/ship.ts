import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { checkPath, misfit } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import type { Event } from '../events/event.ts'
import { folders } from '../run/folders.ts'
import { diskFault } from '../sinks/disk-fault.ts'
import { EVENTS_FILE } from '../sinks/journal.ts'
import type { Broker } from './broker.ts'
import { natsBroker } from './nats-broker.ts'
import { checkNatsOptions, type NatsOptions } from './nats-options.ts'
import { type ShippedRun, shipRun } from './ship-run.ts'

export interface ShipOptions extends NatsOptions {
  /** Whose runs these are: the second part of their subjects, by which an operator can give permissions. @default 'default' */
  readonly tenant?: string | undefined
  /** Go on watching for new runs, and for runs that go on, until `signal`. @default false */
  readonly follow?: boolean | undefined
  /** Changes every event before it leaves this host. The journal stays as it is. @default none */
  readonly redact?: ((event: Event) => Event) | undefined
  /** Runs that have a block on its way at the same time. @default 32 */
  readonly maxInFlight?: number | undefined
  /** Is told how far it is, often. */
  readonly onProgress?: ((progress: ShipProgress) => void) | undefined
  /** Is told at once of a run that cannot be shipped; the others go on. */
  readonly onRefused?: ((dir: string, fault: Fault) => void) | undefined
}

/** How far `ship` is. */
export interface ShipProgress {
  /** Runs that were found, and how many of them are over and acknowledged. */
  readonly runs: number
  readonly over: number
  /** What the broker has acknowledged since the start. */
  readonly events: number
  readonly bytes: number
}

/**
 * Sends the runs under a directory to NATS JetStream: every folder with an `events.jsonl`. Each event arrives once and in order,
 * through crashes of this process, of the broker and of the readers. Waits for runs that are being written, and resolves when all are
 * over and acknowledged; with `follow`, when the signal is aborted.
 *
 * The journal is the queue: while the broker is away nothing is held in memory, and after a restart the broker is asked where to go on. A
 * run of which the broker has other events is refused (RUN_REFUSED); the others are shipped, and then that Fault is thrown.
 *
 * @example
 * await ship('.audit', { servers: 'nats://hub:4222', tenant: 'host-a' })
 */
export async function ship(dir: string, options: ShipOptions = {}): Promise<ShipProgress> {
  const example = 'ship(".audit", { servers: "nats://127.0.0.1:4222" })'
  checkPath('ship', dir, example)
  checkNatsOptions('ship', options, example)
  if (options.tenant !== undefined && (typeof options.tenant !== 'string' || options.tenant === ''))
    throw misfit('ship', 'a name as tenant', options.tenant, example)
  for (const name of ['redact', 'onProgress', 'onRefused'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function')
      throw misfit('ship', `a function as ${name}`, options[name], example)
  const root = realDir(dir)
  const broker = await natsBroker(options)
  try {
    return await shipTo(broker, root, options)
  } finally {
    await broker.close()
  }
}

const MAX_DEPTH = 6
/** Folders that are looked into before others get their turn. */
const FOLDERS_A_TURN = 100
/** Milliseconds between two looks at the journals that are being written; a watcher is usually faster. */
const POLL_MS = 100
/** After so many milliseconds a run that does not grow is asked whether it is over. */
const LOOK_MS = 300
/** Milliseconds between two walks over the directory; a walk that takes long is made less often. */
const WALK_MS = 500
const WALK_SHARE = 5
/** Journals that are watched; the others are polled. */
const MAX_WATCHERS = 500
const MAX_BACKOFF_MS = 2000

interface Entry {
  readonly run: ShippedRun
  state: 'waiting' | 'over' | 'gone' | 'refused'
  busy: boolean
  /** Something changed while it was busy. */
  again: boolean
  failures: number
  /** When it was last looked at. */
  looked: number
  watcher?: fs.FSWatcher | undefined
}

/** The same over any broker. `root` is the real path of the directory. */
export async function shipTo(broker: Broker, root: string, options: ShipOptions): Promise<ShipProgress> {
  const { tenant = 'default', follow = false, maxInFlight = 32, signal } = options
  const redact = options.redact && guarded(options.redact)
  const entries = new Map<string, Entry>()
  const queue = new Set<Entry>()
  let busy = 0
  let events = 0
  let bytes = 0
  let refusal: Fault | undefined
  let fatal: { readonly error: unknown } | undefined
  /** Wakes the loop below. */
  let wake = () => {}
  const stop = new AbortController()
  // Every run listens to it while the broker is away.
  setMaxListeners(0, stop.signal)
  const alone = oneByOne()

  /** Runs by state: with thousands of them nothing may count them each time. */
  const counts = { waiting: 0, over: 0, gone: 0, refused: 0 }
  let watchers = 0
  const become = (entry: Entry, state: Entry['state']) => {
    counts[entry.state]--
    counts[state]++
    entry.state = state
  }

  const progress = (): ShipProgress => ({ runs: entries.size, over: counts.over, events, bytes })
  const sent = (moreEvents: number, moreBytes: number) => {
    events += moreEvents
    bytes += moreBytes
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
      if (entry.state === 'over') options.onProgress?.(progress())
    } catch (error) {
      entry.run.forget()
      if (stop.signal.aborted) return
      if (Fault.is(error) && error.code === 'BROKER_FAILED') fatal ??= { error }
      else if (Fault.is(error)) refuse(entry, error)
      else if (isOfDisk(error)) refuse(entry, diskFault('read', entry.run.dir, error))
      else if (error instanceof TypeError || error instanceof RangeError) fatal ??= { error }
      else await pause(entry)
    }
  }

  function refuse(entry: Entry, fault: Fault): void {
    become(entry, 'refused')
    refusal ??= fault
    watch(entry)
    options.onRefused?.(entry.run.dir, fault)
  }

  /** Waits until the broker can be asked again. Nothing is published meanwhile, so nothing piles up in the client. */
  async function pause(entry: Entry): Promise<void> {
    entry.again = true
    const ms = Math.min(MAX_BACKOFF_MS, 50 * 2 ** entry.failures++)
    await sleep(ms, stop.signal)
    try {
      await broker.reachable(stop.signal)
    } catch (error) {
      if (!stop.signal.aborted) fatal ??= { error }
    }
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
      // What was written before the watcher was there.
      enqueue(entry)
    } catch {
      // No watcher to be had: polling is enough.
    }
  }

  /** Looks after the runs that are being written: those that grew, and now and then whether the others are over. */
  function poll(): void {
    const now = performance.now()
    for (const entry of entries.values()) {
      if (entry.state !== 'waiting' || entry.busy || queue.has(entry)) continue
      if (now - entry.looked > LOOK_MS || sizeOf(entry.run.dir) !== entry.run.size) enqueue(entry)
    }
  }

  /** Finds new runs, and old ones that go on. */
  async function walk(): Promise<void> {
    let seen = 0
    for (const { path, entries: files } of folders(root, { maxDepth: MAX_DEPTH })) {
      if (++seen % FOLDERS_A_TURN === 0) await turn()
      if (stop.signal.aborted) return
      if (!files.some((file) => file.name === EVENTS_FILE && file.isFile())) continue
      const known = entries.get(path)
      if (!known) {
        const run = shipRun(broker, path, root, { tenant, redact, sent, alone })
        const entry: Entry = { run, state: 'waiting', busy: false, again: false, failures: 0, looked: 0 }
        counts.waiting++
        entries.set(path, entry)
        enqueue(entry)
      } else if (known.state === 'over' && sizeOf(path) !== known.run.size) enqueue(known)
    }
  }

  const onAbort = () => {
    stop.abort(signal?.reason)
    wake()
  }
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  try {
    let walked = Number.NEGATIVE_INFINITY
    let took = 0
    while (!stop.signal.aborted && !fatal) {
      const done = queue.size === 0 && busy === 0 && counts.waiting === 0
      if (done || performance.now() - walked > Math.max(WALK_MS, took * WALK_SHARE)) {
        const began = performance.now()
        const before = entries.size
        await walk()
        walked = performance.now()
        took = walked - began
        // Nothing new turned up while the last ones ended.
        if (!follow && done && entries.size === before && queue.size === 0 && busy === 0) break
        if (follow && done) await wakeable(WALK_MS)
      }
      poll()
      await wakeable(POLL_MS)
    }
  } finally {
    stop.abort()
    signal?.removeEventListener('abort', onAbort)
    for (const entry of entries.values()) entry.watcher?.close()
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

/** A redaction that throws must not let anything out, and is no trouble of the broker. */
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

/** Runs what it is given one after the other. */
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
