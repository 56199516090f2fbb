import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Fault, type Note, orElse, quote } from '../base/fault.ts'
import { codeOf, diskFault } from '../base/system-error-code.ts'
import { DIAGNOSTICS_FILE, EVENTS_FILE, makeRunDir, openJournal } from '../disk/journal.ts'
import { listAttempts } from './attempt-logs.ts'
import { readMeta } from './meta.ts'
import type { RunOptions } from './run-options.ts'

/** `audit` is the directory of this run, `runs` the one in which it gets its own. */
type Recorded = Pick<RunOptions, 'audit' | 'runs' | 'runId' | 'fsync'>

/** The directory of a run, held for one attempt: nobody else writes there until it is released. */
export type RunDirectory = ReturnType<typeof runDirectory>

/** Takes the directory. `id` is the run id if neither the caller nor the directory knows one. */
export function runDirectory({ audit, runs = '', runId, fsync }: Recorded, id: string) {
  const isFresh = audit === undefined
  const path = resolve(
    isFresh
      ? newAuditDir(resolve(runs), (runId === undefined ? id : randomUUID()).slice(0, 8), new Date())
      : fixedDir(audit),
  )
  const undo = undoOf(path, isFresh)
  const journal = openJournal(path, { fsync })
  // Made before anything looks at the directory, so it does not count as a file of the agent.
  const ignoring = keepOutOfGit(undo.made)
  const attempts = listAttempts(path)
  const { last } = journal
  const known = last?.run_id ?? readMeta(attempts.at(-1)?.meta)?.run_id
  const own = runId ?? known ?? id
  if (known !== undefined && own !== known) {
    journal.close()
    const whose = `${quote(path, 200)} belongs to the run ${quote(known, 100)}, not to ${quote(own, 100)}`
    throw new Fault('JOURNAL_MISMATCH', `${whose}; name another directory, or no \`runId\``)
  }
  journal.names(own)
  let isReleased = false
  return {
    path,
    journal,
    runId: own,
    // The journal also has attempts whose logs were removed.
    attempt: 1 + Math.max(last?.attempt_number ?? 0, ...attempts.map((found) => found.number)),
    /** The recording stays, as the newest. Returns what went wrong, if anything. */
    begun: () => (isFresh ? linkLatest(path) : []),
    /** Releases the directory, unchanged if nothing is recorded. Once: it may have another owner then. */
    release(recorded: boolean): void {
      if (isReleased) return
      isReleased = true
      if (!recorded) undo.files()
      if (!recorded && ignoring !== undefined) fs.rmSync(ignoring, { force: true })
      journal.close()
      if (!recorded) undo.dirs()
    },
  }
}

/** Where `sluice run` records, unless it is told otherwise. */
export const AUDITS = '.audit'
/** The link next to the directories of the runs that points to the newest of them. */
const LATEST = 'latest'

/**
 * Creates the directory of a new run: `.audit/2026-11-15T16-58-01.123Z-5e4d2f1a`. The time comes first, so
 * that the names sort by it, and has no colons, so that every file system accepts it.
 */
export function newAuditDir(base: string, id: string, now: Date): string {
  makeRunDir(base)
  const time = now.toISOString().replaceAll(':', '-')
  // The name is taken by another run: try a random id.
  for (let short = id; ; short = randomUUID().slice(0, 8)) {
    const dir = join(base, `${time}-${short}`)
    try {
      fs.mkdirSync(dir, { mode: 0o700 })
      return dir
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw diskFault('make', dir, error)
    }
  }
}

/**
 * Points `latest` to this directory. The link is relative, so that the folder can be moved, and is replaced
 * atomically, so that it is never missing. If that fails, a note says why, and the run goes on.
 */
export function linkLatest(dir: string): readonly Note[] {
  const link = join(dirname(dir), LATEST)
  const draft = join(dirname(dir), `.${LATEST}-${randomUUID()}`)
  try {
    const there = fs.lstatSync(link, { throwIfNoEntry: false })
    if (there && !there.isSymbolicLink()) throw Object.assign(new Error(), { code: 'EEXIST' })
    fs.symlinkSync(basename(dir), draft, 'dir')
    fs.renameSync(draft, link)
    return []
  } catch (error) {
    fs.rmSync(draft, { force: true })
    const why = codeOf(error) === 'EEXIST' ? 'something that is not a link has that name' : codeOf(error)
    return [
      {
        code: 'LATEST_NOT_LINKED',
        message: `${quote(link, 200)} does not point to this run (${why}); it is recorded in ${quote(dir, 200)}`,
      },
    ]
  }
}

/** Names that `newAuditDir` gives. */
export const RUN_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{8}$/

/** Removes `latest` if the run that it pointed to is gone. */
export function unlinkLatest(runs: string): void {
  const link = join(runs, LATEST)
  if (fs.lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() && !fs.existsSync(link))
    fs.rmSync(link, { force: true })
}

/**
 * Looks at a directory before a run is recorded there, to remove what was created for the run if it never
 * begins. A `fresh` one was created for this run.
 */
function undoOf(dir: string, fresh: boolean) {
  // A path that cannot be looked at was not made here; opening the journal says what is wrong with it.
  const missing = (path: string) => orElse(() => !fs.lstatSync(path, { throwIfNoEntry: false }), false)
  const dirs = fresh ? [dir, dirname(dir)] : []
  for (let path = dir; missing(path) && path !== dirname(path); path = dirname(path)) dirs.push(path)
  const siblings = fresh ? orElse(() => fs.readdirSync(dirname(dir)), undefined) : undefined
  const isFirst = siblings?.every((name) => name === basename(dir))
  const made = isFirst ? dirname(dir) : fresh ? undefined : dirs.at(-1)
  const files = [EVENTS_FILE, DIAGNOSTICS_FILE].map((name) => join(dir, name)).filter(missing)
  return {
    /** The topmost directory that was not there before; undefined if all were. */
    made,
    /** Removes empty files that were not there before. The caller must hold the lock of the directory. */
    files(): void {
      try {
        for (const path of files) {
          if (fs.lstatSync(path, { throwIfNoEntry: false })?.size === 0) fs.rmSync(path, { force: true })
        }
      } catch {
        // It cannot be removed: an empty file does not make the run fail.
      }
    },
    /** Removes directories that were not there before, if they are empty. */
    dirs(): void {
      try {
        for (const path of dirs) fs.rmdirSync(path)
      } catch {
        // It is not empty: it stays, and so do its parents.
      }
    },
  }
}

/**
 * Prompts, answers and whatever the agent printed must not be committed by accident. Only in a directory that
 * was made for the run: one that was there before is the user's. Returns the file, if it was made.
 */
function keepOutOfGit(made: string | undefined): string | undefined {
  if (made === undefined) return undefined
  const path = join(made, '.gitignore')
  try {
    fs.writeFileSync(path, '*\n', { flag: 'wx', mode: 0o600 })
    return path
  } catch {
    // It is there already, or cannot be written: the run does not depend on it.
    return undefined
  }
}

/** Follows a link such as `latest` once, at the start: it may point to another run a moment later. */
export function fixedDir(path: string): string {
  // Without a trailing slash, which would follow the link.
  return orElse(() => (fs.lstatSync(resolve(path)).isSymbolicLink() ? fs.realpathSync(path) : path), path)
}

/** The fault for a directory without logs, which may be the parent of directories that have them. */
export function noLogs(path: string): Fault {
  const latest = join(path, LATEST)
  let next = 'give the audit directory itself'
  if (fs.existsSync(latest))
    next = `it has a directory per run; give one of them, such as ${quote(latest, 200)}`
  // A journal() of the user's own pipeline writes no logs.
  else if (fs.existsSync(join(path, EVENTS_FILE)))
    next = `its ${EVENTS_FILE} has the events already, one on each line`
  return new Fault(
    'NOT_AN_AUDIT',
    `${quote(path, 200)} has no stdout.N.log, stderr.N.log or pty-output.N.log; ${next}`,
  )
}

/** A folder and its entries, by name. */
export interface Folder {
  readonly path: string
  readonly entries: readonly fs.Dirent[]
}

export interface FolderOptions {
  /** How many levels below the first folder are searched. */
  readonly maxDepth: number
  /** Called for a folder that cannot be read. @default it is skipped */
  readonly unreadable?: ((path: string, error: unknown) => void) | undefined
}

const skipped = new Set(['node_modules', '.git'])

/** Whether folders of this name are skipped. */
export function isSkipped(name: string): boolean {
  return skipped.has(name)
}

/** Whether an entry is a folder that is looked into. */
export function isSearched(entry: fs.Dirent): boolean {
  return entry.isDirectory() && !isSkipped(entry.name)
}

/** A folder and those below it, one by one, in the order of their names. Links are not followed. */
export function* folders(root: string, options: FolderOptions): Generator<Folder> {
  const { maxDepth, unreadable } = options
  const waiting: { path: string; depth: number }[] = [{ path: root, depth: 0 }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { path, depth } = next
    let entries: readonly fs.Dirent[]
    try {
      entries = readFolder(path)
    } catch (error) {
      unreadable?.(path, error)
      continue
    }
    yield { path, entries }
    if (depth >= maxDepth) continue
    for (const entry of entries.toReversed())
      if (isSearched(entry)) waiting.push({ path: join(path, entry.name), depth: depth + 1 })
  }
}

/** The entries of a folder, by name. */
export function readFolder(path: string): readonly fs.Dirent[] {
  return fs.readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
}
