import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { checkPath, isFunction, isName, OFF, type OptionTable, readOptions } from '../base/check-options.ts'
import { DURATION_ABOVE_0, type Duration } from '../base/duration.ts'
import { Fault, quote } from '../base/fault.ts'
import { afterLoopTime } from '../base/loop-time.ts'
import { cannotRead, diskFault } from '../base/system-error-code.ts'
import { EVENTS_FILE, LOCK_FILE } from '../disk/journal.ts'
import { Waker, watchPath } from '../disk/wake.ts'
import type { AgentEvent } from '../events/event.ts'
import { orderIn } from '../run/orders.ts'
import { folders, isSkipped } from '../run/run-directory.ts'
import { type Broker, type OrderAnswer, tokenOf } from './broker.ts'
import { natsBroker } from './nats-broker.ts'
import { NATS_OPTIONS, type NatsOptions } from './nats-connection.ts'
import { ShippedRun, type ShipRunOptions } from './ship-run.ts'

/** The options of `ship()`. */
export interface ShipOptions extends NatsOptions {
  /**
   * The owner of these runs: the second part of their subjects, which permissions can refer to.
   * @default 'default'
   */
  readonly tenant?: string | undefined
  /** Keep watching for new runs, and for runs that continue, until `signal`. @default false */
  readonly follow?: boolean | undefined
  /**
   * Passes orders from `serve --from … --control` on to runs of this host with `control: true`. Everyone who
   * may publish under `<stream>-control.<tenant>` at the broker may then give them. Read docs/control.md
   * first.
   * @default false
   */
  readonly control?: boolean | undefined
  /** Changes every event before it is sent, as `redactor().event` does. @default none */
  readonly redact?: ((event: AgentEvent) => AgentEvent) | undefined
  /** How many runs may wait at the same time for the broker to acknowledge events of them. @default 32 */
  readonly maxInFlight?: number | undefined
  /** Called often, with the progress. */
  readonly onProgress?: ((progress: ShipProgress) => void) | undefined
  /** Called at once for a run that cannot be shipped; the others continue. */
  readonly onRefused?: ((dir: string, fault: Fault) => void) | undefined
  /**
   * How long the broker may be connected and accept nothing, for example because its disk is
   * full. After that `ship` fails with BROKER_FAILED; with `follow` it calls `onStall` and keeps trying.
   * @default '30s'
   */
  readonly maxStall?: Duration | undefined
  /** With `follow`: called once when the broker begins to accept nothing for `maxStall`. */
  readonly onStall?: ((fault: Fault) => void) | undefined
}

const isAbove0 = (value: unknown) => typeof value === 'number' && value > 0

const SHIP_OPTIONS = {
  tenant: { default: 'default', is: isName, needs: 'a name as tenant' },
  follow: OFF,
  control: OFF,
  redact: { is: isFunction, needs: 'a function as redact' },
  maxInFlight: { default: 32, is: isAbove0, needs: 'a number above 0 as maxInFlight' },
  onProgress: { is: isFunction, needs: 'a function as onProgress' },
  onRefused: { is: isFunction, needs: 'a function as onRefused' },
  maxStall: { ...DURATION_ABOVE_0, default: 30_000 },
  onStall: { is: isFunction, needs: 'a function as onStall' },
} as const satisfies OptionTable<Omit<ShipOptions, keyof NatsOptions>>

const EXAMPLE = 'ship(".audit", { servers: "nats://127.0.0.1:4222" })'
const shipOptions = (options: ShipOptions) =>
  readOptions('ship', options, EXAMPLE, { ...NATS_OPTIONS, ...SHIP_OPTIONS })

/** The progress of `ship`. */
export interface ShipProgress {
  /** Runs that were found. */
  readonly runs: number
  /** Those of them that have ended, and that the broker has whole. */
  readonly over: number
  /** What has arrived at the broker since the start. */
  readonly events: number
  readonly bytes: number
}

/**
 * Sends the runs under a directory to NATS JetStream: every folder with an `events.jsonl`. Each event arrives
 * once and in order, despite crashes of this process, of the broker and of the readers. Waits for runs that
 * are being written, and resolves when all have ended and are acknowledged; with `follow`, at the signal.
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
/** Number of folders and runs to look at before yielding to other work. */
const LOOKS_A_TURN = 100
/**
 * Milliseconds between two looks at everything: a watcher can fail silently on a network disk, and a process
 * that is killed changes no file.
 */
const RESCAN_MS = 300
/** With thousands of runs a rescan takes long: it gets one part in so many of the time. */
const RESCAN_SHARE = 20
/** Folders that are watched: those of runs that are being written, and those in which runs are made. */
const MAX_WATCHERS = 2000
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
}

/** The same over any broker. `root` is the real path of the directory. */
export async function shipTo(broker: Broker, root: string, options: ShipOptions): Promise<ShipProgress> {
  return await new Shipper(broker, root, shipOptions(options)).ship()
}

class Shipper {
  readonly #broker: Broker
  readonly #root: string
  readonly #options: ReturnType<typeof shipOptions>
  readonly #follow: boolean
  readonly #entries = new Map<string, Entry>()
  readonly #queue = new Set<Entry>()
  #busy = 0
  #events = 0
  #bytes = 0
  #refusal: Fault | undefined
  #fatal: { readonly error: unknown } | undefined
  /** Nothing was taken since an error: whether for too long, whether that was told, how to stop counting. */
  #stall: { isLong: boolean; told: boolean; readonly cancel: () => void } | undefined
  /** Wakes the loop of `ship`. */
  readonly #waker = new Waker(RESCAN_MS)
  readonly #stop = new AbortController()
  /** Aborted at the end, and with the signal of the caller. */
  readonly #signal: AbortSignal
  readonly #runOptions: ShipRunOptions
  /** Runs that are over, and those that are being written: thousands must not be counted each time. */
  #over = 0
  readonly #waiting = new Set<Entry>()
  /** By their path. */
  readonly #watchers = new Map<string, fs.FSWatcher>()

  constructor(broker: Broker, root: string, options: ReturnType<typeof shipOptions>) {
    this.#broker = broker
    this.#root = root
    this.#options = options
    this.#follow = options.follow
    this.#signal = AbortSignal.any([this.#stop.signal, options.signal ?? []].flat())
    // Every run adds a listener while the broker is unreachable.
    setMaxListeners(0, this.#signal)
    this.#runOptions = {
      tenant: options.tenant,
      control: options.control,
      redact: options.redact && guarded(options.redact),
      sent: (events, bytes) => {
        this.#events += events
        this.#bytes += bytes
        this.#moved()
      },
      alone: oneByOne(),
    }
  }

  async ship(): Promise<ShipProgress> {
    const { signal } = this.#options
    try {
      await this.#shipAll()
    } finally {
      this.#stop.abort()
      this.#endStall()
      for (const watcher of this.#watchers.values()) watcher.close()
    }
    if (this.#fatal) throw this.#fatal.error
    if (signal?.aborted && !this.#follow) throw signal.reason
    if (this.#refusal) throw this.#refusal
    return this.#progress()
  }

  /** Looks for runs and at those that are being written, until all are over, or until the signal. */
  async #shipAll(): Promise<void> {
    const { control, tenant } = this.#options
    if (control) {
      const take = (run: string, order: Uint8Array) => this.#order(run, order)
      const fail = (error: Fault) => {
        this.#fatal ??= { error }
        this.#waker.wake()
      }
      this.#broker.takeOrders(tokenOf(tenant), take, fail, this.#signal)
    }
    this.#watch(this.#root)
    let next = Number.NEGATIVE_INFINITY
    while (!this.#signal.aborted && !this.#fatal) {
      const isDone = this.#isIdle() && this.#waiting.size === 0
      if (performance.now() >= next || (isDone && !this.#follow)) {
        const before = this.#entries.size
        const took = await this.#rescan()
        next = performance.now() + Math.max(RESCAN_MS, took * RESCAN_SHARE)
        // Nothing new turned up while the last ones ended.
        if (!this.#follow && isDone && this.#entries.size === before && this.#isIdle()) break
      }
      // The end of every block wakes this loop.
      await this.#waker.sleep(this.#signal, next - performance.now())
    }
  }

  #isIdle(): boolean {
    return this.#queue.size === 0 && this.#busy === 0
  }

  #progress(): ShipProgress {
    const { size: runs } = this.#entries
    return { runs, over: this.#over, events: this.#events, bytes: this.#bytes }
  }

  /** The broker took something. */
  #moved(): void {
    this.#endStall()
    this.#options.onProgress?.(this.#progress())
  }

  #become(entry: Entry, state: Entry['state']): void {
    this.#over += Number(state === 'over') - Number(entry.state === 'over')
    entry.state = state
    if (state === 'waiting') this.#waiting.add(entry)
    else this.#waiting.delete(entry)
  }

  #enqueue(entry: Entry): void {
    if (entry.state === 'refused') return
    if (entry.busy) entry.again = true
    else this.#queue.add(entry)
    this.#drain()
  }

  #drain(): void {
    const { maxInFlight } = this.#options
    for (const entry of this.#queue) {
      if (this.#busy >= maxInFlight || this.#signal.aborted) return
      this.#queue.delete(entry)
      this.#busy++
      entry.busy = true
      void this.#work(entry).finally(() => {
        this.#busy--
        entry.busy = false
        if (entry.again) {
          entry.again = false
          this.#queue.add(entry)
        }
        this.#drain()
        if (this.#busy === 0 || this.#fatal) this.#waker.wake()
      })
    }
  }

  async #work(entry: Entry): Promise<void> {
    try {
      this.#become(entry, await entry.run.pump())
      entry.failures = 0
      this.#watchRun(entry)
      if (entry.state === 'gone') this.#entries.delete(entry.run.dir)
      if (entry.state === 'over') this.#moved()
    } catch (error) {
      entry.run.forget()
      if (this.#signal.aborted) return
      if (Fault.is(error) && error.code === 'BROKER_FAILED') this.#fatal ??= { error }
      else if (Fault.is(error)) this.#refuse(entry, error)
      else if (isOfDisk(error)) this.#refuse(entry, diskFault('read', entry.run.dir, error))
      else if (error instanceof TypeError || error instanceof RangeError) this.#fatal ??= { error }
      else await this.#pause(entry, error)
    }
  }

  #refuse(entry: Entry, fault: Fault): void {
    this.#become(entry, 'refused')
    this.#refusal ??= fault
    this.#watchRun(entry)
    this.#options.onRefused?.(entry.run.dir, fault)
  }

  /** Gives an order to a run. No answer if it is of another host of this tenant, or takes none. */
  #order(run: string, text: Uint8Array): Uint8Array | undefined {
    const answer = (told: OrderAnswer) => Buffer.from(JSON.stringify(told))
    try {
      const order = orderIn(Buffer.from(text).toString())
      for (const { run: shipped } of this.#entries.values()) {
        const given = shipped.order(run, order)
        if (given !== undefined) return answer({ given })
      }
      return undefined
    } catch (error) {
      return answer({ why: (error as Error).message }) // cast: only errors are thrown here
    }
  }

  /** Waits until the broker can be asked again. Meanwhile nothing piles up in the client. */
  async #pause(entry: Entry, why: unknown): Promise<void> {
    const signal = this.#signal
    entry.again = true
    const ms = Math.min(MAX_BACKOFF_MS, 50 * 2 ** entry.failures++)
    this.#stall ??= this.#beginStall()
    // Rejects when the signal is aborted.
    await delay(ms, undefined, { signal }).catch(() => {})
    try {
      const asked = performance.now()
      await this.#broker.reachable(signal)
      if (performance.now() - asked > AWAY_MS) this.#endStall()
      else if (this.#stall?.isLong) this.#tellStall(this.#stall, why)
    } catch (error) {
      if (!signal.aborted) this.#fatal ??= { error }
    }
  }

  #beginStall() {
    const stall = { isLong: false, told: false, cancel: () => {} }
    stall.cancel = afterLoopTime(this.#options.maxStall, () => {
      stall.isLong = true
    })
    return stall
  }

  #endStall(): void {
    this.#stall?.cancel()
    this.#stall = undefined
  }

  #tellStall(stall: { told: boolean }, cause: unknown): void {
    const { maxStall, onStall } = this.#options
    const fault = new Fault(
      'BROKER_FAILED',
      `the broker is there, but has taken nothing for ${Math.round(maxStall / 1000)} s (${quote((cause as Error).message, 120)}). ` +
        'Look at its log, at its disk and at the limits of the stream (max_bytes). Nothing is lost: the journals wait',
      { cause },
    )
    if (!this.#follow) this.#fatal ??= { error: fault }
    else if (!stall.told) onStall?.(fault)
    stall.told = true
  }

  /** Watches a run while it is being written. */
  #watchRun({ run: { dir }, state }: Entry): void {
    if (state !== 'waiting') this.#unwatch(dir)
    // Once more, for what was written before the watcher was there.
    else if (this.#watch(dir)) this.#changed(dir, EVENTS_FILE)
  }

  /** True if it is watched from now on. */
  #watch(folder: string): boolean {
    if (this.#watchers.has(folder) || this.#watchers.size >= MAX_WATCHERS) return false
    const watcher = watchPath(folder, (name) => this.#changed(folder, name))
    if (watcher) this.#watchers.set(folder, watcher)
    return watcher !== undefined
  }

  #unwatch(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  /** Something in a watched folder: a run goes on or ends, or a new one is made there. */
  #changed(folder: string, name: string | null): void {
    const known = this.#entries.get(folder)
    if (known) {
      // Its logs are of no interest here.
      if (name === null || name === EVENTS_FILE || name === LOCK_FILE) this.#enqueue(known)
    } else if (name === EVENTS_FILE) this.#found(folder)
    else if (!fs.existsSync(folder)) this.#unwatch(folder)
    else if (name !== null && !isSkipped(name)) {
      const made = join(folder, name)
      const look = (path: string) => fs.lstatSync(path, { throwIfNoEntry: false })
      if (look(made)?.isDirectory() && this.#watch(made) && look(join(made, EVENTS_FILE))?.isFile())
        this.#found(made)
    }
  }

  /** Finds what no watcher told of. Gives the milliseconds that it took by itself. */
  async #rescan(): Promise<number> {
    let seen = 0
    let took = 0
    let since = performance.now()
    for (const _ of this.#looks()) {
      if (this.#signal.aborted) break
      if (++seen % LOOKS_A_TURN !== 0) continue
      took += performance.now() - since
      await turn()
      since = performance.now()
    }
    return took + performance.now() - since
  }

  /** Looks for new runs and old ones that go on, and then at those that are being written, one by one. */
  *#looks(): Generator<void> {
    for (const { path, entries: files } of folders(this.#root, { maxDepth: MAX_DEPTH })) {
      if (files.some((file) => file.name === EVENTS_FILE && file.isFile())) this.#found(path)
      yield
    }
    for (const entry of [...this.#waiting]) {
      const { run, busy } = entry
      if (!busy && !this.#queue.has(entry) && (run.hasChanged() || run.isUntold())) this.#enqueue(entry)
      yield
    }
  }

  #found(path: string): void {
    const known = this.#entries.get(path)
    if (known) {
      if (known.state === 'over' && known.run.hasChanged()) this.#enqueue(known)
      return
    }
    const run = new ShippedRun(this.#broker, path, this.#root, this.#runOptions)
    const entry: Entry = { run, state: 'waiting', busy: false, again: false, failures: 0 }
    this.#waiting.add(entry)
    this.#entries.set(path, entry)
    // The next one is usually made beside it.
    if (path !== this.#root) this.#watch(dirname(path))
    this.#enqueue(entry)
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
function guarded(redact: (event: AgentEvent) => AgentEvent): (event: AgentEvent) => AgentEvent {
  return (event) => {
    try {
      return redact(event)
    } catch (error) {
      const { attempt_number, seq } = event
      throw new Fault(
        'RUN_REFUSED',
        `redact threw on event ${attempt_number}.${seq}, so nothing from there on was sent`,
        { cause: error },
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

function realDir(dir: string): string {
  try {
    return fs.realpathSync(dir)
  } catch (error) {
    throw cannotRead('BAD_OPTION', dir, error)
  }
}
