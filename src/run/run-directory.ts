import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { resolve } from 'node:path'
import { Fault, type Note, quote } from '../base/fault.ts'
import { type Journal, type JournalOptions, openJournal } from '../disk/journal.ts'
import { listAttempts } from './audit.ts'
import { fixedDir, keepOutOfGit, linkLatest, newAuditDir, type Undo, undoOf } from './audit-dir.ts'
import { readMeta } from './meta.ts'

export interface RunDirectoryOptions extends Pick<JournalOptions, 'fsync'> {
  /** The directory of this run, or the one in which it gets its own. */
  readonly audit: string | undefined
  readonly runs: string | undefined
  readonly runId: string | undefined
}

/** The directory of a run, held for one attempt: nobody else writes there until it is released. */
export class RunDirectory {
  readonly path: string
  readonly runId: string
  readonly attempt: number
  readonly journal: Journal
  readonly #fresh: boolean
  readonly #undo: Undo
  /** Made before anything looks at the directory: it is no file of the agent. */
  readonly #ignoring: string | undefined
  #released = false

  /** `id` is the run id if neither the caller nor the directory knows one. */
  constructor({ audit, runs = '', runId, fsync }: RunDirectoryOptions, id: string) {
    this.#fresh = audit === undefined
    this.path = resolve(
      audit === undefined
        ? newAuditDir(resolve(runs), (runId === undefined ? id : randomUUID()).slice(0, 8), new Date())
        : fixedDir(audit),
    )
    this.#undo = undoOf(this.path, this.#fresh)
    this.journal = openJournal(this.path, { fsync })
    this.#ignoring = keepOutOfGit(this.#undo.made)
    const attempts = listAttempts(this.path)
    const { last } = this.journal
    const known = last?.run_id ?? readMeta(attempts.at(-1)?.meta)?.run_id
    this.runId = runId ?? known ?? id
    if (known !== undefined && this.runId !== known) {
      this.journal.close()
      const whose = `${quote(this.path, 200)} belongs to the run ${quote(known, 100)}, not to ${quote(this.runId, 100)}`
      throw new Fault('JOURNAL_MISMATCH', `${whose}; name another directory, or no runId`)
    }
    // The journal also has attempts whose logs were removed.
    this.attempt = 1 + Math.max(last?.attempt_number ?? 0, ...attempts.map((found) => found.number))
  }

  /** The process was started. Returns what went wrong, if anything. */
  begun(): readonly Note[] {
    return this.#fresh ? linkLatest(this.path) : []
  }

  /**
   * Releases the directory; if nothing was started, with nothing added to it. Once: it may have another owner
   * after that.
   */
  release(begun: boolean): void {
    if (this.#released) return
    this.#released = true
    if (!begun) this.#undo.files()
    if (!begun && this.#ignoring !== undefined) fs.rmSync(this.#ignoring, { force: true })
    this.journal.close()
    if (!begun) this.#undo.dirs()
  }
}
