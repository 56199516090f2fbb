import fs from 'node:fs'
import { join, relative, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { checkPath, isName, misfit, type OptionTable, readOptions } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { writeWhole } from '../disk/durable.ts'
import { type Journal, LOCK_FILE, makeDir, openJournal } from '../disk/journal.ts'
import { takeLock } from '../disk/lock.ts'
import { readPlain } from '../disk/plain-file.ts'
import { folders } from '../run/folders.ts'
import { type Assembler, assembler } from './assemble.ts'
import { type Broker, markOf, Rewound, type RunName, type StoredBlock } from './broker.ts'
import { natsBroker } from './nats-broker.ts'
import { NATS_OPTIONS, type NatsOptions } from './nats-options.ts'
import { isToken, tokenOf } from './token.ts'

export interface MirrorOptions extends NatsOptions {
  /** Only the runs of this tenant. @default all */
  readonly tenant?: string | undefined
  /**
   * Ends when nothing arrived for this many milliseconds while the broker was reachable.
   * @default it continues until `signal`
   */
  readonly untilIdle?: number | undefined
  /** Called often, with the progress. */
  readonly onProgress?: ((progress: MirrorProgress) => void) | undefined
  /** Called at once for a run that cannot be mirrored; the others continue. */
  readonly onRefused?: ((dir: string, fault: Fault) => void) | undefined
}

function checkIdle(wait: unknown, who: string): void {
  if (typeof wait !== 'number' || !(wait > 0))
    throw misfit(who, 'milliseconds as untilIdle', wait, 'mirror("mirror", { untilIdle: 2000 })')
}

const MIRROR_OPTIONS = {
  tenant: { is: isName, needs: 'a name as tenant' },
  untilIdle: { check: checkIdle },
  onProgress: {},
  onRefused: {},
} as const satisfies OptionTable<Omit<MirrorOptions, keyof NatsOptions>>

/** The progress of `mirror`. */
export interface MirrorProgress {
  /** Runs that were received, and how many of them have ended. */
  readonly runs: number
  readonly over: number
  /** What was written since the start. */
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
 * await mirror('mirror', { servers: 'nats://hub:4222', untilIdle: 2000 })
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

/** A directory that is a mirror. */
export interface Mirror {
  /** Writes what the broker has and receives, until the signal or until it is idle. */
  follow(broker: Broker): Promise<MirrorProgress>
  progress(): MirrorProgress
  close(): void
}

/** The file with the position of the mirror in the stream, in its directory. */
const CURSOR_FILE = 'mirror.json'
const MIRROR_LOCK = 'mirror.lock'
const MAX_CURSOR = 4 << 20
const SAVE_MS = 1000
/**
 * Journals that are open at once, two files each. A run that is left out is opened again when something comes
 * for it.
 */
const MAX_OPEN = 1000

interface Cursor {
  readonly stream: string
  /** The tenant whose runs were read; undefined for all. */
  readonly tenant?: string | undefined
  /** The storage of the position. */
  readonly id: string
  /**
   * Which start of this machine it was written in: after a power cut the files may have less than the cursor
   * says.
   */
  readonly boot?: string | undefined
  readonly at: number
  /** Which block is there. After a loss at the broker it can be another one. */
  readonly mark?: string | undefined
  /** The runs that were not over, each as `tenant/run`. */
  readonly open: readonly string[]
}

interface MirroredRun {
  readonly dir: string
  blocks: Assembler
  book?: Journal | undefined
  over: boolean
  /**
   * The place of the block that could not be written. It and those after it are read again by the next
   * mirror.
   */
  refused?: number | undefined
}

/**
 * Takes the directory and opens the journals of the runs that were in progress when the previous mirror
 * ended: until their next event arrives, only the lock shows that they have not ended.
 */
export function openMirror(dir: string, options: MirrorOptions = {}): Mirror {
  const example = 'mirror("mirror", { servers: "nats://127.0.0.1:4222" })'
  checkPath('mirror', dir, example)
  const read = readOptions('mirror', options, example, { ...NATS_OPTIONS, ...MIRROR_OPTIONS })
  const { tenant, untilIdle, signal, stream } = read
  makeDir(dir)
  const lock = takeLock(join(dir, MIRROR_LOCK))
  const runs = new Map<string, MirroredRun>()
  /** Runs with an open journal, the most recently used last. */
  const opened = new Set<MirroredRun>()
  let maxOpen = MAX_OPEN
  let over = 0
  let events = 0
  let refusal: Fault | undefined
  let firstRefused = Number.POSITIVE_INFINITY
  const progress = () => ({ runs: runs.size, over, events })

  const boot = bootId()
  const saved = readCursor(join(dir, CURSOR_FILE))
  const close = () => {
    for (const run of [...opened]) shut(run)
    lock.release()
  }
  try {
    for (const key of new Set([...(saved?.open ?? []), ...leftOpen(dir)])) {
      const [of = '', run = ''] = key.split('/')
      if (isToken(of) && isToken(run) && fs.existsSync(join(dir, of, run))) reopen({ tenant: of, run })
    }
  } catch (error) {
    close()
    throw error
  }

  function runOf(name: RunName): MirroredRun {
    const key = `${name.tenant}/${name.run}`
    let run = runs.get(key)
    if (!run) {
      run = { dir: join(dir, name.tenant, name.run), blocks: assembler(), over: false }
      runs.set(key, run)
    }
    return run
  }

  /**
   * A damaged one is reported when something arrives for it, and must not keep the others from being
   * mirrored.
   */
  function reopen(name: RunName): void {
    try {
      bookOf(runOf(name))
    } catch (error) {
      if (!Fault.is(error) || isOfWholeDisk(error)) throw error
    }
  }

  /** The journal of a run, opened if it is not. */
  function bookOf(run: MirroredRun): Journal {
    opened.delete(run)
    opened.add(run)
    if (run.book) return run.book
    shutDown(maxOpen)
    try {
      // Nothing is lost by a power cut that the broker does not have.
      run.book = openJournal(run.dir, { fsync: 'end' })
    } catch (error) {
      if (!Fault.is(error) || codeOf(error.cause) !== 'EMFILE' || opened.size < 2) throw error
      // The system allows fewer open files.
      maxOpen = opened.size >> 1
      shutDown(maxOpen)
      return bookOf(run)
    }
    if (!run.blocks.last && run.book.last) {
      // Without its run: the journal itself says best that it is of another one.
      const { attempt_number, seq } = run.book.last
      run.blocks = assembler({ attempt_number, seq })
    }
    return run.book
  }

  /** Shuts those that were used longest ago until so many are open. */
  function shutDown(count: number): void {
    for (const oldest of opened) {
      if (opened.size <= count) break
      shut(oldest)
    }
  }

  function shut(run: MirroredRun): void {
    opened.delete(run)
    run.book?.close()
    run.book = undefined
  }

  function take(block: StoredBlock): void {
    const run = runOf(block.name)
    if (run.refused !== undefined) return
    if (!isToken(block.name.tenant) || !isToken(block.name.run))
      throw new Fault(
        'BROKER_FAILED',
        `message ${block.at} of the stream is of no run: its subject has other characters`,
      )
    // A run that is over and has all of this needs no open journal: after a lost cursor there are thousands
    // of them.
    if (!run.book && !(run.over && isStored(block, run.blocks))) bookOf(run)
    const found = run.blocks.feed(block)
    for (const { event, line } of found) bookOf(run).append(event, `${line}\n`)
    events += found.length
    if (run.over !== (block.end.over === true)) over += run.over ? -1 : 1
    run.over = block.end.over === true
    if (run.over) shut(run)
  }

  function refuse(run: MirroredRun, at: number, fault: Fault): void {
    run.refused = at
    firstRefused = Math.min(firstRefused, at)
    shut(run)
    refusal ??= fault
    options.onRefused?.(run.dir, fault)
  }

  /**
   * Up to where nothing has to be read again. A line that is half there is not on the disk, nor is what was
   * refused.
   */
  function settled(at: number): number {
    let first = Math.min(at, firstRefused - 1)
    for (const run of opened) if (run.blocks.open !== undefined) first = Math.min(first, run.blocks.open - 1)
    return first
  }

  async function save(id: string, last: number, mark: string | undefined): Promise<void> {
    const open = [...runs].filter(([, run]) => !run.over && run.refused === undefined).map(([key]) => key)
    const at = settled(last)
    const cursor: Cursor = { stream, tenant, id, boot, at, mark: at === last ? mark : undefined, open }
    await writeWhole(join(dir, CURSOR_FILE), JSON.stringify(cursor))
  }

  async function follow(broker: Broker): Promise<MirrorProgress> {
    const stop = new AbortController()
    const onAbort = () => stop.abort()
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    let idle: NodeJS.Timeout | undefined
    const stir = () => {
      if (untilIdle === undefined || stop.signal.aborted) return
      clearTimeout(idle)
      idle = setTimeout(async () => {
        if (await isIdle()) stop.abort()
        else stir()
      }, untilIdle)
    }
    let lastAsked = 0
    const isIdle = async (): Promise<boolean> => {
      const now = await broker.state().catch(() => undefined)
      // A broker that is away, and a cluster without a leader, give no answer: nothing can come.
      if (!now) await broker.reachable(stop.signal).catch(() => {})
      // The reader may be behind. What is of no run never reaches it, so it gets that time once.
      const isBehind = now !== undefined && now.last > at && now.last !== lastAsked
      lastAsked = now?.last ?? lastAsked
      return now !== undefined && !isBehind
    }
    let at = 0
    /** Of the block at this place. */
    let mark: string | undefined
    let id = ''
    let timer: NodeJS.Timeout | undefined
    /** One save at a time; a request meanwhile is covered by the next one. */
    let saving: Promise<void> = Promise.resolve()
    let savedAt: number | undefined
    const saveNow = () => {
      saving = saving
        .then(async () => {
          const now = at
          if (now !== savedAt) await save(id, now, mark)
          savedAt = now
        })
        .catch(() => {})
      return saving
    }
    try {
      const now = await stateOf(broker, stop.signal)
      id = now.id
      const isGood =
        saved?.stream === stream &&
        saved.tenant === tenant &&
        saved.id === id &&
        saved.boot === boot &&
        saved.at <= now.last
      if (isGood) {
        at = saved.at
        mark = saved.mark
      }
      stir()
      timer = setInterval(() => void saveNow(), SAVE_MS)
      for (let whole = at === 0; !stop.signal.aborted; ) {
        const again = await pass(whole)
        if (!again) break
        at = 0
        mark = undefined
        whole = true
      }
    } finally {
      clearTimeout(idle)
      clearInterval(timer)
      signal?.removeEventListener('abort', onAbort)
      if (id !== '') await saveNow()
    }
    if (refusal) throw refusal
    return progress()

    /** Reads on from `at`. True if everything must be read again: the cursor was wrong. */
    async function pass(whole: boolean): Promise<boolean> {
      const filter = { tenant: tenant === undefined ? undefined : tokenOf(tenant) }
      try {
        const expected = mark
        const start = expected === undefined ? at + 1 : at
        for await (const block of broker.read(start, filter, stop.signal)) {
          if (expected !== undefined && block.at === start) {
            if (markOf(block) !== expected) return true
            continue
          }
          try {
            take(block)
          } catch (error) {
            if (!Fault.is(error) || isOfWholeDisk(error)) throw error
            if (error.code === 'BROKER_GAP' && !whole) return true
            refuse(runOf(block.name), block.at, error)
          }
          at = block.at
          mark = markOf(block)
          stir()
          options.onProgress?.(progress())
        }
        return false
      } catch (error) {
        if (!(error instanceof Rewound)) throw error
        return true
      }
    }
  }

  return { follow, progress, close }
}

/** Whether all events of a block are there already. */
function isStored({ end }: StoredBlock, { last }: Assembler): boolean {
  return last !== undefined && (end.attempt - last.attempt_number || end.seq - last.seq) <= 0 && !end.part
}

/** A disk that takes nothing more: no run can be written, so none is refused. */
function isOfWholeDisk({ cause }: Fault): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE'].includes(codeOf(cause) ?? '')
}

/** Names this start of the machine, where that can be known. */
function bootId(): string | undefined {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return undefined
  }
}

async function stateOf(broker: Broker, signal: AbortSignal): Promise<{ id: string; last: number }> {
  for (;;) {
    try {
      return await broker.state()
    } catch (error) {
      if (Fault.is(error)) throw error
    }
    await delay(RETRY_MS, undefined, { signal })
    await broker.reachable(signal)
  }
}

const RETRY_MS = 200

/** The runs whose journals a killed mirror left locked. */
function leftOpen(dir: string): string[] {
  const keys: string[] = []
  for (const { path, entries } of folders(dir, { maxDepth: 2 })) {
    if (entries.some(({ name }) => name === LOCK_FILE)) keys.push(relative(dir, path).replaceAll(sep, '/'))
  }
  return keys
}

function readCursor(path: string): Cursor | undefined {
  try {
    const { stream, tenant, id, boot, at, mark, open } = JSON.parse(
      readPlain(path, MAX_CURSOR),
    ) as Partial<Cursor>
    if (typeof stream !== 'string' || typeof id !== 'string' || !Number.isSafeInteger(at)) return undefined
    const keys = Array.isArray(open) ? open.filter((key) => typeof key === 'string') : []
    return { stream, tenant, id, boot, at: Math.max(0, at as number), mark, open: keys }
  } catch {
    // Missing or invalid: everything is read again, and existing events are not written twice.
    return undefined
  }
}
