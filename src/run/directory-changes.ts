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
    const found = withOutside(this.#options.cwd, compare(this.#before, await this.#look()))
    // Cast: what is hidden in lists of texts leaves such.
    const diff = (record.hide?.value(found) ?? found) as typeof found
    this.diff = diff
    record.write('fsDiff', `${JSON.stringify(diff)}\n`)
    const changes = await this.#tree?.end()
    if (changes !== undefined) {
      const patch = record.shown(changes)
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
