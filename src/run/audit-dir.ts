import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Fault, type Note, quote } from '../base/fault.ts'
import { codeOf, diskFault } from '../base/system-error-code.ts'
import { DIAGNOSTICS_FILE, EVENTS_FILE, makeDir } from '../disk/journal.ts'

/** Where `sluice run` records, unless it is told otherwise. */
export const AUDITS = '.audit'
/** The link next to the directories of the runs that points to the newest of them. */
const LATEST = 'latest'

/**
 * Creates the directory of a new run: `.audit/2026-11-15T16-58-01.123Z-5e4d2f1a`. The time comes first, so
 * that the names sort by it, and has no colons, so that every file system accepts it.
 *
 * @example
 * const dir = newAuditDir('.audit', '5e4d2f1a', new Date())
 */
export function newAuditDir(base: string, id: string, now: Date): string {
  makeDir(base)
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
 * atomically, so that it is never missing. If that is not possible, a note says why; the run does not depend
 * on it.
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

/** Removes what was created for a run if the run never begins. */
export interface Undo {
  /** The topmost directory that was not there before; undefined if all were. */
  readonly made: string | undefined
  /** Removes empty files that were not there before. The caller must hold the lock of the directory. */
  files(): void
  /** Removes directories that were not there before, if they are empty. */
  dirs(): void
}

/** Looks at a directory before a run is recorded there; a `fresh` one was created for this run. */
export function undoOf(dir: string, fresh: boolean): Undo {
  const missing = (path: string) => !fs.lstatSync(path, { throwIfNoEntry: false })
  const dirs = fresh ? [dir, dirname(dir)] : []
  for (let path = dir; missing(path) && path !== dirname(path); path = dirname(path)) dirs.push(path)
  const made = fresh && isEmptyBut(dirname(dir), dir) ? dirname(dir) : fresh ? undefined : dirs.at(-1)
  const files = [EVENTS_FILE, DIAGNOSTICS_FILE].map((name) => join(dir, name)).filter(missing)
  return {
    made,
    files() {
      try {
        for (const path of files) {
          if (fs.lstatSync(path, { throwIfNoEntry: false })?.size === 0) fs.rmSync(path, { force: true })
        }
      } catch {
        // It cannot be removed: an empty file does not make the run fail.
      }
    },
    dirs() {
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
export function keepOutOfGit(made: string | undefined): string | undefined {
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

function isEmptyBut(dir: string, child: string): boolean {
  return fs.readdirSync(dir).every((name) => name === basename(child))
}

/**
 * The directory that a path refers to. A link such as `latest` is followed once, at the start: it may point
 * to another run a moment later.
 */
export function fixedDir(path: string): string {
  try {
    // Without a trailing slash, which would follow the link.
    return fs.lstatSync(resolve(path)).isSymbolicLink() ? fs.realpathSync(path) : path
  } catch {
    return path
  }
}

/** The fault for a directory without logs, which may be the parent of directories that have them. */
export function noLogs(path: string): Fault {
  const latest = join(path, LATEST)
  const next = fs.existsSync(latest)
    ? `it has a directory per run; give one of them, such as ${quote(latest, 200)}`
    : 'give the audit directory itself'
  return new Fault(
    'NOT_AN_AUDIT',
    `${quote(path, 200)} has no stdout.N.log, stderr.N.log or pty-output.N.log; ${next}`,
  )
}
