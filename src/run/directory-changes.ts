import { resolve } from 'node:path'
import type { Note } from '../base/fault.ts'
import type { AttemptRecord } from './attempt-record.ts'
import { compare, type FsDiff, type Snapshot, snapshot, withOutside } from './fs-diff.ts'
import type { RecordOptions } from './record-options.ts'
import { diffsOf, TreeDiff } from './tree-diff.ts'

type Options = Pick<RecordOptions, 'cwd' | 'fsDiff' | 'diff' | 'records'>

/** What changes in the working directory of a run, from before its process starts until it has ended. */
export class DirectoryChanges {
  /** Known when the process has ended. */
  diff: FsDiff | undefined
  readonly #options: Options
  /** What is not compared. */
  readonly #except: string | undefined
  #before: Snapshot | undefined
  #tree: TreeDiff | undefined

  constructor(options: Options) {
    this.#options = options
    this.#except = options.records === undefined ? undefined : resolve(options.records)
  }

  async begin(): Promise<void> {
    const { cwd, fsDiff, diff } = this.#options
    if (fsDiff) this.#before = await this.#look()
    if (diff) this.#tree = await TreeDiff.start(cwd, this.#except)
  }

  /** Compares, and records: the diff of git in a file of its own, and with the files that changed. */
  async end(record: AttemptRecord): Promise<readonly Note[]> {
    if (!this.#before) return []
    const diff = withOutside(this.#options.cwd, compare(this.#before, await this.#look()))
    this.diff = diff
    record.write('fsDiff', `${JSON.stringify(diff)}\n`)
    const found = await this.#tree?.end()
    if (found !== undefined) {
      const patch = record.shown(found)
      record.write('diff', patch)
      this.diff = { ...diff, diffs: diffsOf(patch) }
    }
    return this.#tree?.note ? [this.#tree.note] : []
  }

  close(): void {
    this.#tree?.close()
  }

  #look(): Promise<Snapshot> {
    const { cwd, fsDiff } = this.#options
    return snapshot(cwd, { ...(fsDiff || {}), except: this.#except })
  }
}
