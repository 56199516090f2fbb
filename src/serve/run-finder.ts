import fs from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { EVENTS_FILE, LOCK_FILE } from '../disk/journal.ts'
import { isLocked } from '../disk/lock.ts'
import { isInside } from '../disk/plain-file.ts'
import { attemptsIn } from '../run/attempt-logs.ts'
import { isUnlockedRunning } from '../run/is-running.ts'
import { readMeta } from '../run/meta.ts'
import { isSearched, readFolder } from '../run/run-directory.ts'
import { runInfo, taskOf } from './build-info.ts'
import type { RunInfo } from './run-info.ts'
import {
  fileMark,
  journalTail,
  type LogOverviews,
  type Marked,
  markOf,
  type RunOverview,
  statsOf,
} from './run-overviews.ts'
import { auditPlace, type RunPlace } from './run-place.ts'

export interface FoundRun {
  readonly info: RunInfo
  readonly place: RunPlace
}

/** A folder, as it was before its entries were read. */
interface Folder {
  readonly path: string
  readonly depth: number
  /** Not all of its stats: those of thousands of folders, with four dates each, would wait in memory. */
  readonly marked: Marked
}

/** What does not have to be read again, as long as its mark is the same. */
interface Kept {
  entries?: { readonly mark: string; readonly list: readonly fs.Dirent[] }
  tail?: { readonly mark: string; readonly overview: RunOverview | undefined }
  /** A run that is over; its mark changes with the folder, the journal and the metas. */
  ended?: { readonly mark: string; readonly run: FoundRun }
}

/** Levels below the served directory that are searched, and folders that are read. */
const MAX_DEPTH = 6
const MAX_FOLDERS = 50_000
/** Folders to look at in one step. */
const STEP = 16
/** A folder that changed less than this ago may change again without another time stamp. */
const SETTLED_MS = 100

/**
 * Finds the runs under a directory, including itself: every folder with logs or events. Links are not
 * followed, so a link `latest` next to the runs is not another run. There may be thousands of them, and the
 * page asks every two seconds: what did not change is not read again. Reused for every walk.
 */
export class RunFinder {
  readonly #root: string
  readonly #logs: LogOverviews | undefined
  readonly #maxRuns: number
  readonly #kept = new Map<string, Kept>()

  /** Without `logs`, the end of a run that has no journal is unknown. The newest `maxRuns` are listed. */
  constructor(root: string, logs?: LogOverviews, maxRuns = 20_000) {
    this.#root = root
    this.#logs = logs
    this.#maxRuns = maxRuns
  }

  /** All runs, the last changed first; undefined after a step without any, where a caller may pause. */
  *all(): Generator<FoundRun | undefined, void> {
    const seen = new Set<string>()
    let [runs, looked] = [0, 0]
    const waiting = folderAt(this.#root, 0)
    for (let next = popNewest(waiting); next; next = popNewest(waiting)) {
      if (seen.size >= MAX_FOLDERS || runs >= this.#maxRuns) break
      seen.add(next.path)
      const entries = this.#entries(next)
      yield undefined
      const run = this.#read(next, entries)
      if (run) runs++
      yield run
      if (next.depth >= MAX_DEPTH) continue
      for (const entry of entries) {
        if (!isSearched(entry)) continue
        // `join` takes a quarter of the time that looking at a folder takes.
        const path = `${next.path}${sep}${entry.name}`
        for (const folder of folderAt(path, next.depth + 1)) push(waiting, folder)
        if (++looked % STEP === 0) yield undefined
      }
    }
    for (const path of this.#kept.keys()) if (!seen.has(path)) this.#kept.delete(path)
  }

  /** The run with this id. Its path is followed by names that were listed: nothing else reaches the disk. */
  find(id: string): FoundRun | undefined {
    const [top] = folderAt(this.#root, 0)
    const own = top && this.#idOf(this.#root) === id ? this.#read(top, this.#entries(top)) : undefined
    if (own) return own
    let folder = top
    for (const name of id.split('/')) {
      if (!folder || folder.depth >= MAX_DEPTH) return undefined
      const entry = this.#entries(folder).find((one) => one.name === name)
      if (!entry || !isSearched(entry)) return undefined
      ;[folder] = folderAt(join(folder.path, name), folder.depth + 1)
    }
    return folder && this.#read(folder, this.#entries(folder))
  }

  #idOf(path: string): string {
    return relative(this.#root, path).split(sep).join('/') || basename(this.#root) || 'run'
  }

  #keptAt(path: string): Kept {
    const known = this.#kept.get(path) ?? {}
    this.#kept.set(path, known)
    return known
  }

  /** The entries of a folder; none if it cannot be read. */
  #entries({ path, marked }: Folder): readonly fs.Dirent[] {
    const kept = this.#keptAt(path)
    const mark = markOf(marked)
    if (kept.entries?.mark === mark) return kept.entries.list
    try {
      const list = readFolder(path)
      if (Date.now() - marked.mtimeMs > SETTLED_MS) kept.entries = { mark, list }
      return list
    } catch {
      return []
    }
  }

  #read({ path, marked }: Folder, entries: readonly fs.Dirent[]): FoundRun | undefined {
    const kept = this.#keptAt(path)
    // There may be thousands of runs beside the files of one.
    const files = entries.filter((entry) => !entry.isDirectory())
    const has = (file: string) => files.some(({ name }) => name === file)
    const journal = has(EVENTS_FILE) ? statsOf(join(path, EVENTS_FILE)) : undefined
    // Other programs write a meta in place.
    const metas = files.filter(({ name }) => name.startsWith('meta'))
    const marks = [
      markOf(marked),
      journal && markOf(journal),
      ...metas.map(({ name }) => fileMark(join(path, name))),
    ]
    const now = marks.join()
    if (kept.ended?.mark === now) return kept.ended.run
    delete kept.ended
    try {
      const locked = has(LOCK_FILE) && isLocked(join(path, LOCK_FILE))
      const run = this.#readRun(path, files, journal?.isFile() ? journal : undefined, locked)
      // A folder may have become a link since it was seen: then all this is of somewhere else.
      if (!run || !isInside(fs.realpathSync.native(path), this.#root)) return undefined
      // The end of logs without a journal may not be known yet.
      if (run.info.state !== 'running' && kept.tail) kept.ended = { mark: now, run }
      return run
    } catch {
      // It was removed or replaced while it was read: the other runs are listed all the same.
      return undefined
    }
  }

  #readRun(
    path: string,
    files: readonly fs.Dirent[],
    journal: fs.Stats | undefined,
    locked: boolean,
  ): FoundRun | undefined {
    const root = this.#root
    const kept = this.#keptAt(path)
    const attempts = attemptsIn(path, files, root)
    if (!journal && attempts.length === 0) return undefined
    const place = auditPlace(path, root)
    const last = readMeta(attempts.at(-1)?.meta, root)
    const first = attempts.length > 1 ? readMeta(attempts[0]?.meta, root) : last
    const running = locked || isUnlockedRunning(path, attempts.at(-1), last)
    const lost = running && !locked && last?.complete === false
    // An empty journal that no recorder holds has nothing that the logs lack.
    if (!journal || (journal.size === 0 && !locked)) delete kept.tail
    else if (kept.tail?.mark !== markOf(journal)) {
      const overview = journalTail(join(path, EVENTS_FILE), root, taskOf(first) === undefined)
      kept.tail = { mark: markOf(journal), overview }
    }
    const told = kept.tail ? kept.tail.overview : running ? undefined : this.#logs?.of(place, attempts)
    return { place, info: runInfo({ id: this.#idOf(path), running, lost, first, last, attempts, told }) }
  }
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
