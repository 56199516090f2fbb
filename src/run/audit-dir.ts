import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Fault, type Note, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { diskFault } from '../sinks/disk-fault.ts'
import { DIAGNOSTICS_FILE, EVENTS_FILE, makeDir } from '../sinks/journal.ts'

/** Where runs are recorded that are not told where. */
export const AUDITS = '.audit'
/** The link beside the directories of the runs that leads to the newest of them. */
const LATEST = 'latest'

/**
 * Makes the directory of a new run: `.audit/2026-11-15T16-58-01.123Z-5e4d2f1a`. The time comes first, so that the names
 * sort by it, and has no colons, so that every file system takes it.
 *
 * @example
 * const dir = newAuditDir('.audit', '5e4d2f1a', new Date())
 */
export function newAuditDir(base: string, id: string, now: Date): string {
  makeDir(base)
  const time = now.toISOString().replaceAll(':', '-')
  // Another run has the name already: the next id is random.
  for (let short = id; ; short = randomUUID().slice(0, 8)) {
    const dir = join(base, `${time}-${short}`)
    try {
      fs.mkdirSync(dir)
      return dir
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw diskFault('make', dir, error)
    }
  }
}

/**
 * Lets `latest` lead to this directory. The link is relative, so that the folder can be moved, and is replaced in one step, so that
 * it always leads somewhere. Where that is not possible, a note says why; the run does not depend on it.
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
    const why = codeOf(error) === 'EEXIST' ? 'something that is no link has that name' : codeOf(error)
    return [
      {
        code: 'LATEST_NOT_LINKED',
        message: `${quote(link, 200)} does not lead to this run (${why}); it is recorded in ${quote(dir, 200)}`,
      },
    ]
  }
}

/** What is made for a run, to be taken away again if the run never begins. */
export interface Undo {
  /** Removes the files that were not there before and are empty. Only who holds the lock of the directory may. */
  files(): void
  /** Removes the directories that were not there before, as far as nothing is in them. */
  dirs(): void
}

/** Looks at what a directory has before a run is recorded there; one that is `fresh` was made for this run in its folder. */
export function undoOf(dir: string, fresh: boolean): Undo {
  const missing = (path: string) => !fs.lstatSync(path, { throwIfNoEntry: false })
  const dirs = fresh ? [dir, dirname(dir)] : []
  for (let path = dir; missing(path) && path !== dirname(path); path = dirname(path)) dirs.push(path)
  const files = [EVENTS_FILE, DIAGNOSTICS_FILE].map((name) => join(dir, name)).filter(missing)
  return {
    files() {
      try {
        for (const path of files) {
          if (fs.lstatSync(path, { throwIfNoEntry: false })?.size === 0) fs.rmSync(path, { force: true })
        }
      } catch {
        // It cannot be removed: an empty file is no failure of the run.
      }
    },
    dirs() {
      try {
        for (const path of dirs) fs.rmdirSync(path)
      } catch {
        // Something is in it: then it stays, and so do those above.
      }
    },
  }
}

/**
 * The directory that a path means. A link such as `latest` is followed once, at the start: it may lead to another run
 * a moment later.
 */
export function fixedDir(path: string): string {
  try {
    // Without a slash at its end, which would follow the link.
    return fs.lstatSync(resolve(path)).isSymbolicLink() ? fs.realpathSync(path) : path
  } catch {
    return path
  }
}

/** The fault for a directory that has no logs, which may be the one above those that have. */
export function noLogs(path: string): Fault {
  const latest = join(path, LATEST)
  const next = fs.existsSync(latest)
    ? `it holds a directory per run; give one of them, such as ${quote(latest, 200)}`
    : 'give the audit directory itself'
  return new Fault(
    'NOT_AN_AUDIT',
    `${quote(path, 200)} has no stdout.N.log, stderr.N.log or pty-output.N.log; ${next}`,
  )
}
