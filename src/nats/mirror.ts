import fs from 'node:fs'
import { join, relative, sep } from 'node:path'
import {
  checkPath,
  isFunction,
  isName,
  isText,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { DURATION_ABOVE_0, type Duration, milliseconds } from '../base/duration.ts'
import { Fault, orElse } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { writeWhole } from '../disk/durable.ts'
import { EVENTS_FILE, type Journal, LOCK_FILE, makeRunDir, openJournal } from '../disk/journal.ts'
import { takeLock } from '../disk/lock.ts'
import { readPlain } from '../disk/plain-file.ts'
import { folders } from '../run/run-directory.ts'
import {
  type Assembler,
  assembler,
  type BlockFilter,
  type Broker,
  blockMark,
  isToken,
  Rewound,
  type RunName,
  type StoredBlock,
  tokenOf,
  untilAnswered,
} from './broker.ts'
import { natsBroker } from './nats-broker.ts'
import { NATS_OPTIONS, type NatsOptions } from './nats-connection.ts'

/** The options of `mirror()`. */
export interface MirrorOptions extends NatsOptions {
  /** Only the runs of this tenant. @default all */
  readonly tenant?: string | undefined
  /**
   * How long nothing may arrive while the broker is reachable; then it ends.
   * @default it continues until `signal`
   */
  readonly untilIdle?: Duration | undefined
  /** Called often, with the progress. */
  readonly onProgress?: ((progress: MirrorProgress) => void) | undefined
  /** Called at once for a run that cannot be mirrored; the others continue. */
  readonly onRefused?: ((dir: string, fault: Fault) => void) | undefined
}

const MIRROR_OPTIONS = {
  tenant: { is: isName, needs: 'a name as tenant' },
  untilIdle: DURATION_ABOVE_0,
  onProgress: { is: isFunction, needs: 'a function as onProgress' },
  onRefused: { is: isFunction, needs: 'a function as onRefused' },
} as const satisfies OptionTable<Omit<MirrorOptions, keyof NatsOptions>>

/** The progress of `mirror`. */
export interface MirrorProgress {
  /** Runs in the directory. */
  readonly runs: number
  /** Those of them that have ended. */
  readonly over: number
  /** What arrived and was written since the start. */
  readonly events: number
}

/**
 * Stores the runs that were shipped to NATS JetStream as directories: `<dir>/<tenant>/<run>/events.jsonl`,
 * byte for byte equal to the host's own (or to its redacted form), with the lock of a journal while the run
 * is in progress, so that `serve` shows them like runs of this machine. Follows until the signal is aborted.
 * After a crash it resumes where it was; one process can mirror into a directory at a time.
 *
 * If events of a run are missing at the broker, or its directory has other events, the run is not changed;
 * the others continue, and when the mirror ends, that Fault is thrown.
 *
 * @example
 * await mirror('mirror', { servers: 'nats://hub:4222', untilIdle: '2s' })
 */
export async function mirror(dir: string, options: MirrorOptions = {}): Promise<MirrorProgress> {
  const mirrored = openMirror(dir, options)
  try {
    const broker = await natsBroker(options)
    try {
      return await mirrored.follow(broker)
    } finally {
      await broker.close()
    }
  } catch (error) {
    if (options.signal?.aborted) return mirrored.progress()
    throw error
  } finally {
    mirrored.close()
  }
}

/** The file with the position of the mirror in the stream, in its directory. */
const CURSOR_FILE = 'mirror.json'
const MIRROR_LOCK = 'mirror.lock'
const MAX_CURSOR = 4 << 20
const SAVE_MS = 1000
/** Journals that are open at once, two files each; another one is opened when something comes for it. */
const MAX_OPEN = 1000

interface Cursor {
  readonly stream: string
  /** The tenant whose runs were read; undefined for all. */
  readonly tenant?: string | undefined
  /** The storage of the position. */
  readonly id: string
  /** Which start of this machine it is of: after a power cut the files may have less than it says. */
  readonly boot?: string | undefined
  readonly at: number
  /** Which block is there. After a loss at the broker it can be another one. */
  readonly mark?: string | undefined
  /** The runs that were not over, each as `tenant/run`, and those of them that take orders. */
  readonly open: readonly string[]
  readonly control?: readonly string[] | undefined
}

/** A run that is not over. */
interface MirroredRun {
  readonly dir: string
  blocks: Assembler
  book?: Journal | undefined
  /** Whether it is in the directory: a run gets a folder when its first event is complete. */
  stored: boolean
}

/**
 * Takes the directory and opens the journals of the runs that were in progress when the previous mirror
 * ended: until their next event arrives, only the lock shows that they have not ended.
 */
export function openMirror(dir: string, options: MirrorOptions = {}) {
  const example = 'mirror("mirror", { servers: "nats://127.0.0.1:4222" })'
  checkPath('mirror', dir, example)
  const read = readOptions('mirror', options, example, { ...NATS_OPTIONS, ...MIRROR_OPTIONS })
  makeRunDir(dir)
  const lock = takeLock(join(dir, MIRROR_LOCK))
  const { count, locked } = storedRuns(dir)
  const runs = new MirroredRuns(dir, count)
  const saved = readCursor(join(dir, CURSOR_FILE))
  const close = () => {
    runs.close()
    lock.release()
  }
  try {
    for (const key of saved?.control ?? []) runs.control.add(key)
    for (const key of new Set([...(saved?.open ?? []), ...locked])) {
      const [tenant = '', run = ''] = key.split('/')
      if (isToken(tenant) && isToken(run)) runs.reopen({ tenant, run })
    }
  } catch (error) {
    close()
    throw error
  }
  return {
    /** Writes what the broker has and receives, until the signal or until it is idle. */
    follow: (broker: Broker) => new Following(dir, runs, broker, read).follow(saved),
    progress: () => runs.progress(),
    /** Whether a run takes orders now. */
    takesOrders: (name: RunName) => runs.control.has(keyOf(name)),
    close,
  }
}

class MirroredRuns {
  readonly #dir: string
  /** Those that are not over. The others are on the disk alone: there may be any number of them. */
  readonly #runs = new Map<string, MirroredRun>()
  readonly #refused = new Set<string>()
  /** Runs that take orders, each as `tenant/run`. */
  readonly control = new Set<string>()
  /** Runs with an open journal, the most recently used last. */
  readonly #opened = new Set<MirroredRun>()
  #maxOpen = MAX_OPEN
  /** How many are in the directory, and how many of those are not over. */
  #stored: number
  #unended = 0
  #events = 0
  #firstRefused = Number.POSITIVE_INFINITY
  /** Why the first run was refused. */
  refusal: Fault | undefined

  constructor(dir: string, stored: number) {
    this.#dir = dir
    this.#stored = stored
  }

  progress(): MirrorProgress {
    return { runs: this.#stored, over: this.#stored - this.#unended, events: this.#events }
  }

  close(): void {
    for (const run of [...this.#opened]) this.#shut(run)
  }

  /** A damaged one is reported when something arrives for it; the others are mirrored. */
  reopen(name: RunName): void {
    try {
      // One that has no folder yet waits for its first event.
      if (!this.#takeUp(name).stored) this.#runs.delete(keyOf(name))
    } catch (error) {
      if (!Fault.is(error) || isOfWholeDisk(error)) throw error
      this.#runs.delete(keyOf(name))
      this.#unended--
    }
  }

  /** Writes the events of a block. */
  take(block: StoredBlock): void {
    const key = keyOf(block.name)
    if (this.#refused.has(key)) return
    if (!isToken(block.name.tenant) || !isToken(block.name.run))
      throw new Fault(
        'BROKER_FAILED',
        `message ${block.at} of the stream is of no run: its subject has other characters`,
      )
    const run = this.#runs.get(key) ?? this.#takeUp(block.name)
    // Before a folder is made: what is not a run must not fill the directory with names.
    const found = run.blocks.feed(block)
    for (const { event, line } of found) this.#bookOf(run).append(event, `${line}\n`)
    this.#events += found.length
    if (found.length > 0 && !run.stored) {
      run.stored = true
      this.#stored++
      this.#unended++
    }
    if (block.end.control) this.control.add(key)
    else this.control.delete(key)
    if (!block.end.over) return
    if (run.stored) this.#unended--
    this.#shut(run)
    this.#runs.delete(key)
  }

  /** The run of this block cannot be mirrored. Returns its directory. */
  refuse({ name, at }: StoredBlock, fault: Fault): string {
    const key = keyOf(name)
    const run = this.#runs.get(key)
    if (run) this.#shut(run)
    this.#runs.delete(key)
    this.control.delete(key)
    this.#refused.add(key)
    // The next mirror reads on from there.
    this.#firstRefused = Math.min(this.#firstRefused, at)
    this.refusal ??= fault
    return join(this.#dir, key)
  }

  /** Nothing up to here must be read again. Half a line is not on the disk, nor is what was refused. */
  settled(at: number): number {
    let first = Math.min(at, this.#firstRefused - 1)
    for (const { blocks } of this.#runs.values())
      if (blocks.open !== undefined) first = Math.min(first, blocks.open - 1)
    return first
  }

  /** The runs that are not over, each as `tenant/run`. */
  open(): string[] {
    return [...this.#runs.keys()]
  }

  #takeUp(name: RunName): MirroredRun {
    const dir = join(this.#dir, name.tenant, name.run)
    const stored = fs.existsSync(join(dir, EVENTS_FILE))
    const run: MirroredRun = { dir, blocks: assembler(), stored }
    this.#runs.set(keyOf(name), run)
    if (!stored) return run
    this.#unended++
    this.#bookOf(run)
    return run
  }

  /** The journal of a run, opened if it is not. */
  #bookOf(run: MirroredRun): Journal {
    this.#opened.delete(run)
    this.#opened.add(run)
    if (run.book) return run.book
    this.#shutDown()
    try {
      // Nothing is lost by a power cut that the broker does not have.
      run.book = openJournal(run.dir, { fsync: 'end' })
    } catch (error) {
      if (!Fault.is(error) || codeOf(error.cause) !== 'EMFILE' || this.#opened.size < 2) throw error
      // The system allows fewer open files.
      this.#maxOpen = this.#opened.size >> 1
      this.#shutDown()
      return this.#bookOf(run)
    }
    if (!run.blocks.last && run.book.last) {
      // Without its run: the journal itself says best that it is of another one.
      const { attempt_number, seq } = run.book.last
      run.blocks = assembler({ attempt_number, seq })
    }
    return run.book
  }

  /** Shuts those that were used longest ago until no more are open than may be. */
  #shutDown(): void {
    for (const oldest of this.#opened) {
      if (this.#opened.size <= this.#maxOpen) break
      this.#shut(oldest)
    }
  }

  #shut(run: MirroredRun): void {
    this.#opened.delete(run)
    run.book?.close()
    run.book = undefined
  }
}

/** Reads the blocks of a broker into the runs, and saves how far it is. */
class Following {
  readonly #dir: string
  readonly #runs: MirroredRuns
  readonly #broker: Broker
  readonly #options: MirrorOptions
  readonly #filter: BlockFilter
  /** This start of the machine, where that can be known. */
  readonly #boot = orElse(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), undefined)
  /** Aborted when it is idle, and with the signal of the caller. */
  readonly #signal: AbortSignal
  readonly #stop = new AbortController()
  #idle: NodeJS.Timeout | undefined
  #at = 0
  /** Of the block at this place. */
  #mark: string | undefined
  #id = ''
  /** One save at a time; a request meanwhile is covered by the next one. */
  #saving: Promise<void> = Promise.resolve()
  #savedAt: number | undefined

  constructor(dir: string, runs: MirroredRuns, broker: Broker, options: MirrorOptions) {
    this.#dir = dir
    this.#runs = runs
    this.#broker = broker
    this.#options = options
    this.#filter = { tenant: options.tenant === undefined ? undefined : tokenOf(options.tenant) }
    this.#signal = AbortSignal.any([this.#stop.signal, options.signal ?? []].flat())
  }

  async follow(saved: Cursor | undefined): Promise<MirrorProgress> {
    let timer: NodeJS.Timeout | undefined
    try {
      await this.#begin(saved)
      this.#stir()
      timer = setInterval(() => void this.#save(), SAVE_MS)
      for (let whole = this.#at === 0; !this.#signal.aborted; whole = true) {
        const again = await this.#pass(whole)
        if (!again) break
        this.#at = 0
        this.#mark = undefined
      }
    } finally {
      clearTimeout(this.#idle)
      clearInterval(timer)
      if (this.#id !== '') await this.#save()
    }
    if (this.#runs.refusal) throw this.#runs.refusal
    return this.#runs.progress()
  }

  /** Takes the place of the cursor, if it is of the same storage, in the same start of this machine. */
  async #begin(saved: Cursor | undefined): Promise<void> {
    const { tenant, stream = NATS_OPTIONS.stream.default } = this.#options
    const now = await untilAnswered(this.#broker, this.#signal, () => this.#broker.state())
    this.#id = now.id
    const isGood =
      saved?.stream === stream &&
      saved.tenant === tenant &&
      saved.id === now.id &&
      saved.boot === this.#boot &&
      saved.at <= now.last
    if (!isGood) return
    this.#at = saved.at
    this.#mark = saved.mark
  }

  /** Reads on from the current place. True if everything must be read again: the cursor was wrong. */
  async #pass(whole: boolean): Promise<boolean> {
    const { onProgress, onRefused } = this.#options
    const expected = this.#mark
    const start = expected === undefined ? this.#at + 1 : this.#at
    try {
      for await (const block of this.#broker.read(start, this.#filter, this.#signal)) {
        if (expected !== undefined && block.at === start) {
          if (blockMark(block) !== expected) return true
          continue
        }
        try {
          if (!block.copied) this.#runs.take(block)
        } catch (error) {
          if (!Fault.is(error) || isOfWholeDisk(error)) throw error
          if (error.code === 'BROKER_GAP' && !whole) return true
          const dir = this.#runs.refuse(block, error)
          onRefused?.(dir, error)
        }
        this.#at = block.at
        this.#mark = blockMark(block)
        this.#stir()
        onProgress?.(this.#runs.progress())
      }
      return false
    } catch (error) {
      if (!(error instanceof Rewound)) throw error
      return true
    }
  }

  /** Something arrived: the time until it is idle begins again. */
  #stir(): void {
    const { untilIdle } = this.#options
    if (untilIdle === undefined || this.#signal.aborted) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(async () => {
      if (await this.#isIdle()) this.#stop.abort()
      else this.#stir()
    }, milliseconds(untilIdle))
  }

  async #isIdle(): Promise<boolean> {
    // The reader may be behind, or have found no server that gives it anything.
    const pending = await this.#broker.pending(this.#at, this.#filter).catch(() => undefined)
    // A broker that is away, and a cluster without a leader, give no answer: nothing can come.
    if (pending === undefined) await this.#broker.reachable(this.#signal).catch(() => {})
    return pending === 0
  }

  #save(): Promise<void> {
    this.#saving = this.#saving
      .then(async () => {
        const last = this.#at
        if (last !== this.#savedAt) await writeWhole(join(this.#dir, CURSOR_FILE), this.#cursor())
        this.#savedAt = last
      })
      .catch(() => {})
    return this.#saving
  }

  #cursor(): string {
    const { tenant, stream = NATS_OPTIONS.stream.default } = this.#options
    const at = this.#runs.settled(this.#at)
    const mark = at === this.#at ? this.#mark : undefined
    const open = this.#runs.open()
    const control = this.#runs.control.size > 0 ? [...this.#runs.control] : undefined
    const cursor: Cursor = { stream, tenant, id: this.#id, boot: this.#boot, at, mark, open, control }
    return JSON.stringify(cursor)
  }
}

function keyOf({ tenant, run }: RunName): string {
  return `${tenant}/${run}`
}

/** A disk that takes nothing more: no run can be written, so none is refused. */
function isOfWholeDisk({ cause }: Fault): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE'].includes(codeOf(cause) ?? '')
}

/** How many runs are there, and those whose journals a killed mirror left locked. */
function storedRuns(dir: string): { count: number; locked: string[] } {
  const locked: string[] = []
  let count = 0
  for (const { path, entries } of folders(dir, { maxDepth: 2 })) {
    const names = entries.map(({ name }) => name)
    if (names.includes(EVENTS_FILE)) count++
    if (names.includes(LOCK_FILE)) locked.push(relative(dir, path).replaceAll(sep, '/'))
  }
  return { count, locked }
}

function readCursor(path: string): Cursor | undefined {
  try {
    const { stream, tenant, id, boot, at, mark, open, control } = JSON.parse(
      readPlain(path, MAX_CURSOR),
    ) as Partial<Cursor>
    if (typeof stream !== 'string' || typeof id !== 'string' || !Number.isSafeInteger(at)) return undefined
    const keysIn = (list: unknown) => (Array.isArray(list) ? list.filter(isText) : [])
    const keys = { open: keysIn(open), control: keysIn(control) }
    return { stream, tenant, id, boot, at: Math.max(0, at as number), mark, ...keys }
  } catch {
    // Missing or invalid: everything is read again, and existing events are not written twice.
    return undefined
  }
}
