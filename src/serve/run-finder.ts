import fs from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { orElse } from '../base/fault.ts'
import { EVENTS_FILE, LOCK_FILE } from '../disk/journal.ts'
import { isLocked, lockedRun } from '../disk/lock.ts'
import { isInside } from '../disk/plain-file.ts'
import { attemptsIn } from '../run/attempt-logs.ts'
import { isUnlockedRunning } from '../run/is-running.ts'
import { type Meta, readMeta } from '../run/meta.ts'
import { canReply } from '../run/reply.ts'
import { isSearched, readFolder } from '../run/run-directory.ts'
import { runInfo, taskOf } from './build-info.ts'
import type { RunInfo } from './run-info.ts'
import {
  fileMark,
  journalTail,
  type LogOverviews,
  type Marked,
  markOf,
  overviewIn,
  statsOf,
} from './run-overviews.ts'
import { auditPlace, type RunPlace } from './run-place.ts'

export interface FoundRun {
  readonly info: RunInfo
  readonly place: RunPlace
}

/** What can be done with runs here. */
export interface RunAbilities {
  readonly takes: (place: RunPlace, last?: Partial<Meta>) => boolean
  readonly reply: boolean
}

/** A run that is no longer listed, by the key of its place. */
export interface GoneRun {
  readonly gone: string
}

/** A folder, as it was before its entries were read. */
interface Folder {
  readonly path: string
  readonly depth: number
  /** Only a part of its stats: thousands of folders wait in memory, and stats have four dates each. */
  readonly marked: Marked
}

/** A folder that was looked at. */
interface KnownFolder {
  readonly depth: number
  readonly changed: number
  /** Of the folder and the files that may change in place: when it differs, the folder is read again. */
  readonly mark: string
  readonly files: readonly string[]
  /** Names of the folders in it. */
  readonly folders: ReadonlySet<string>
  /** Undefined if it is not a run, or was not read. */
  readonly run?: FoundRun | undefined
  /** It was not read, because there are enough newer runs. */
  readonly older?: true
}

/** Levels below the served directory that are searched, and folders that are remembered. */
const MAX_DEPTH = 6
const MAX_FOLDERS = 200_000
const MAX_RUNS = 20_000
/** Folders to look at in one step. */
const STEP = 16
/** A folder that changed less than this ago may change again without another time stamp. */
const SETTLED_MS = 100
/** Each look covers this many of the runs that ended last, and this many of all the others, in turn. */
const RECENT = 500
/** Folders that are not runs, and are looked at each time. */
const MAX_PARENTS = 5000
const NONE: ReadonlySet<string> = new Set()

/**
 * Finds the runs under a directory, including itself: every folder with logs or events. Links are not
 * followed, so a link `latest` next to the runs is not another run. There may be any number of runs, and the
 * page asks every two seconds, so after the first look, a look must not cost more with more runs: it covers
 * the runs in progress, the folders where new runs appear, the runs that ended last, and some of the rest.
 */
export class RunFinder {
  readonly #root: string
  readonly #logs: LogOverviews | undefined
  readonly #maxRuns: number
  readonly #known = new Map<string, KnownFolder>()
  /** By run id. */
  readonly #paths = new Map<string, string>()
  /** Folders that are not runs; runs whose end is not known; runs that ended last, the latest at the end. */
  readonly #parents = new Set<string>()
  readonly #open = new Set<string>()
  readonly #recent = new Set<string>()
  /** Where the look at others continues. */
  #others = this.#known.keys()
  #runs = 0
  #older = 0

  readonly #orders: RunAbilities | undefined

  /** Without `logs`, the end of a run that has no journal is unknown. The newest `maxRuns` are listed. */
  constructor(root: string, logs?: LogOverviews, maxRuns = MAX_RUNS, orders?: RunAbilities) {
    this.#root = root
    this.#orders = orders
    this.#logs = logs
    this.#maxRuns = maxRuns
  }

  /** Number of folders that are not looked into, because there are enough newer runs. */
  get older(): number {
    return this.#older
  }

  /**
   * The runs that are new or may have changed since the last look, the last changed first, and those that are
   * gone; undefined after a step without any, where a caller may pause.
   */
  *look(): Generator<FoundRun | GoneRun | undefined, void> {
    const isFirst = this.#known.size === 0
    const waiting = isFirst ? folderAt(this.#root, 0) : []
    let looked = 0
    for (const path of this.#due()) {
      // It may have gone with the folder above it.
      const known = this.#known.get(path)
      if (!known) continue
      const [folder] = folderAt(path, known.depth)
      if (!folder) yield* this.#forget(path)
      else if (!isSame(folder, known)) push(waiting, folder)
      if (++looked % STEP === 0) yield undefined
    }
    for (let next = popNewest(waiting); next; next = popNewest(waiting)) {
      if (this.#known.size >= MAX_FOLDERS && !this.#known.has(next.path)) continue
      const isFull = isFirst && this.#runs >= this.#maxRuns
      // A run in progress is listed, however long ago it began.
      const isPutOff = isFull && !isLocked(join(next.path, LOCK_FILE)) && !isParent(next.path)
      if (isPutOff) this.#putOff(next)
      else yield* this.#enter(next, waiting)
      yield undefined
    }
    // At first the newest were found first, then the others as they changed.
    const recent = [...this.#recent]
    this.#recent.clear()
    for (const path of isFirst ? recent.slice(0, RECENT).reverse() : recent.slice(-RECENT))
      this.#recent.add(path)
    if (this.#runs > this.#maxRuns * 1.1) yield* this.#putOffOldest()
  }

  /** The run with this id, or else with this run id. */
  find(id: string): FoundRun | undefined {
    return this.#at(id) ?? this.#named(id)
  }

  /** Its path is followed by names that were listed: nothing else reaches the disk. */
  #at(id: string): FoundRun | undefined {
    const [top] = folderAt(this.#root, 0)
    const own = top && this.#idOf(this.#root) === id ? this.#runAt(top) : undefined
    if (own) return own
    let folder = top
    for (const name of id.split('/')) {
      if (!folder || folder.depth >= MAX_DEPTH || !this.#foldersIn(folder).has(name)) return undefined
      ;[folder] = folderAt(join(folder.path, name), folder.depth + 1)
    }
    return folder && this.#runAt(folder)
  }

  /** The run with this id in its records, as far as it was seen. */
  #named(run: string): FoundRun | undefined {
    const path = this.#paths.get(run)
    const known = path === undefined ? undefined : this.#known.get(path)
    const [folder] = known ? folderAt(path!, known.depth) : []
    const found = folder && this.#runAt(folder)
    return found?.info.run_id === run ? found : undefined
  }

  /** Those to look at now. */
  #due(): Set<string> {
    const due = new Set([...this.#open, ...this.#recent])
    let parents = 0
    for (const path of this.#parents) if (parents++ < MAX_PARENTS) due.add(path)
    for (let count = 0; count < RECENT; count++) {
      const { value, done } = this.#others.next()
      if (!done) due.add(value)
      else if (count > 0 || this.#known.size === 0) break
      else this.#others = this.#known.keys()
    }
    return due
  }

  /** Reads a folder, and adds the new ones in it to those that wait. */
  *#enter(folder: Folder, waiting: Folder[]): Generator<FoundRun | GoneRun | undefined, void> {
    const { path, depth, marked } = folder
    const before = this.#known.get(path)
    const entries = entriesOf(path)
    const folders = depth < MAX_DEPTH ? searchedIn(entries) : NONE
    const files = filesIn(entries)
    const mark = marksOf(folder, files)
    const isKept = before?.run && before.mark === mark && !isOpen(before.run)
    const run = isKept ? before.run : this.#read(path, entries)
    this.#drop(path)
    this.#keep(path, { depth, changed: marked.mtimeMs, mark, files, folders, run })
    if (run) yield run
    else if (before?.run) yield { gone: before.run.place.key }
    let looked = 0
    for (const name of folders) {
      if (before?.folders.has(name)) continue
      // `join` takes a quarter of the time that looking at a folder takes.
      for (const found of folderAt(`${path}${sep}${name}`, depth + 1)) push(waiting, found)
      if (++looked % STEP === 0) yield undefined
    }
    for (const name of before?.folders ?? [])
      if (!folders.has(name)) yield* this.#forget(`${path}${sep}${name}`)
  }

  #keep(path: string, now: KnownFolder): void {
    this.#known.set(path, now)
    if (now.older) this.#older++
    else if (!now.run || now.folders.size > 0) this.#parents.add(path)
    if (!now.run) return
    this.#runs++
    if (now.run.info.run_id !== null) this.#paths.set(now.run.info.run_id, path)
    if (isOpen(now.run)) this.#open.add(path)
    else this.#recent.add(path)
  }

  #drop(path: string): void {
    const known = this.#known.get(path)
    if (known?.older) this.#older--
    if (known?.run) this.#runs--
    const run = known?.run?.info.run_id
    if (run != null && this.#paths.get(run) === path) this.#paths.delete(run)
    for (const paths of [this.#known, this.#parents, this.#open, this.#recent]) paths.delete(path)
  }

  /** A folder is gone, and what was in it. */
  *#forget(path: string): Generator<GoneRun, void> {
    const known = this.#known.get(path)
    this.#drop(path)
    if (known?.run) yield { gone: known.run.place.key }
    for (const name of known?.folders ?? []) yield* this.#forget(`${path}${sep}${name}`)
  }

  /** It is looked at in turn with all others, and read when it changes. */
  #putOff(folder: Folder): void {
    const { path, depth, marked } = folder
    const mark = marksOf(folder, [])
    this.#keep(path, { depth, changed: marked.mtimeMs, mark, files: [], folders: NONE, older: true })
  }

  *#putOffOldest(): Generator<GoneRun, void> {
    const runs = [...this.#known].filter(([, { run, folders }]) => run && !isOpen(run) && folders.size === 0)
    runs.sort(([, a], [, b]) => a.changed - b.changed)
    for (const [path, { depth, run }] of runs.slice(0, this.#runs - this.#maxRuns)) {
      this.#drop(path)
      for (const folder of folderAt(path, depth)) this.#putOff(folder)
      yield { gone: run!.place.key }
    }
  }

  #idOf(path: string): string {
    return relative(this.#root, path).split(sep).join('/') || basename(this.#root) || 'run'
  }

  #foldersIn(folder: Folder): ReadonlySet<string> {
    const known = this.#known.get(folder.path)
    return known && !known.older && isSame(folder, known) ? known.folders : searchedIn(entriesOf(folder.path))
  }

  #runAt(folder: Folder): FoundRun | undefined {
    const known = this.#known.get(folder.path)
    return known?.run && isSame(folder, known) ? known.run : this.#read(folder.path, entriesOf(folder.path))
  }

  #read(path: string, entries: readonly fs.Dirent[]): FoundRun | undefined {
    try {
      const run = this.#readRun(path, entries)
      // A folder may have become a link since it was seen: then all this is of somewhere else.
      return run && isInside(fs.realpathSync.native(path), this.#root) ? run : undefined
    } catch {
      // It was removed or replaced while it was read: the other runs are listed all the same.
      return undefined
    }
  }

  #readRun(path: string, entries: readonly fs.Dirent[]): FoundRun | undefined {
    const root = this.#root
    // There may be thousands of runs beside the files of one.
    const files = entries.filter((entry) => !entry.isDirectory())
    const has = (file: string) => files.some(({ name }) => name === file)
    const stats = has(EVENTS_FILE) ? statsOf(join(path, EVENTS_FILE)) : undefined
    const journal = stats?.isFile() ? stats : undefined
    const attempts = attemptsIn(path, files, root)
    if (!journal && attempts.length === 0) return undefined
    const place = auditPlace(path, root)
    const last = readMeta(attempts.at(-1)?.meta, root)
    const first = attempts.length > 1 ? readMeta(attempts[0]?.meta, root) : last
    const locked = has(LOCK_FILE) && isLocked(join(path, LOCK_FILE))
    const running = locked || isUnlockedRunning(path, attempts.at(-1), last)
    const lost = running && !locked && last?.complete === false
    const asked = taskOf(first) === undefined
    const ended = running || asked ? undefined : overviewIn(last)
    // An empty journal that no recorder holds has nothing that the logs lack.
    const hasTail = journal && (journal.size > 0 || locked)
    const tail = hasTail ? () => journalTail(join(path, EVENTS_FILE), root, asked) : () => undefined
    const fromLogs = () => {
      const whole = running ? undefined : this.#logs?.of(place, attempts)
      const stored = whole && !whole.unread ? undefined : tail()
      return stored ? { ...whole, ...stored } : whole
    }
    const told = ended ?? (hasTail && (running || last?.complete !== false) ? tail() : fromLogs())
    const run_id = locked ? lockedRun(join(path, LOCK_FILE)) : undefined
    const id = this.#idOf(path)
    const info = runInfo({ id, run_id, running, lost, first, last, attempts, told })
    const can = {
      ...(!hasTail && { logs_only: true as const }),
      ...(locked && this.#orders?.takes(place, last) && { control: true as const }),
      ...(this.#orders?.reply && !running && last && canReply(last) && { reply: true as const }),
    }
    return { place, info: { ...info, ...can } }
  }
}

/** Whether its end is not known yet. */
function isOpen({ info }: FoundRun): boolean {
  return info.state === 'running' || info.state === 'unread'
}

/** Whether a folder does not have to be read again. */
function isSame(folder: Folder, { mark, files, run }: KnownFolder): boolean {
  if (marksOf(folder, files) !== mark || Date.now() - folder.marked.mtimeMs < SETTLED_MS) return false
  // A recorder that is killed changes nothing. Only those that hold a lock write a journal.
  return !run || !isOpen(run) || isLocked(join(folder.path, LOCK_FILE))
}

/** The entries of a folder; none if it cannot be read. */
function entriesOf(path: string): readonly fs.Dirent[] {
  return orElse(() => readFolder(path), [])
}

/** Whether a folder is not a run itself, but may have some in it. */
function isParent(path: string): boolean {
  const entries = entriesOf(path)
  if (!entries.some(isSearched)) return false
  return !entries.some(({ name }) => name === EVENTS_FILE) && attemptsIn(path, entries).length === 0
}

function searchedIn(entries: readonly fs.Dirent[]): ReadonlySet<string> {
  const names = entries.filter(isSearched).map(({ name }) => name)
  return names.length > 0 ? new Set(names) : NONE
}

/** The files that change in place: a journal, and metas of other programs; without a journal also logs. */
function filesIn(entries: readonly fs.Dirent[]): string[] {
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  if (!files.includes(EVENTS_FILE)) return files
  return files.filter((name) => name === EVENTS_FILE || name.startsWith('meta'))
}

function marksOf({ path, marked }: Folder, files: readonly string[]): string {
  return [markOf(marked), ...files.map((name) => fileMark(`${path}${sep}${name}`))].join()
}

/** A folder that is there now, or nothing. */
function folderAt(path: string, depth: number): Folder[] {
  const stats = statsOf(path)
  if (!stats?.isDirectory()) return []
  const { dev, ino, size, mtimeMs } = stats
  return [{ path, depth, marked: { dev, ino, size, mtimeMs } }]
}

/** Adds a folder to a heap: the one at half the index of another changed later, or at the same time. */
function push(heap: Folder[], folder: Folder): void {
  let at = heap.length
  for (; at > 0; at = (at - 1) >> 1) {
    const above = heap[(at - 1) >> 1]!
    if (above.marked.mtimeMs >= folder.marked.mtimeMs) break
    heap[at] = above
  }
  heap[at] = folder
}

/** Takes the folder that changed last from the heap. */
function popNewest(heap: Folder[]): Folder | undefined {
  const [newest] = heap
  const moved = heap.pop()
  if (!moved || moved === newest) return newest
  let at = 0
  for (let below = 1; below < heap.length; below = 2 * at + 1) {
    if (below + 1 < heap.length && changed(heap, below + 1) > changed(heap, below)) below++
    if (changed(heap, below) <= moved.marked.mtimeMs) break
    heap[at] = heap[below]!
    at = below
  }
  heap[at] = moved
  return newest
}

function changed(heap: readonly Folder[], at: number): number {
  return heap[at]!.marked.mtimeMs
}
