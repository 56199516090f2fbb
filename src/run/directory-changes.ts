import { resolve } from 'node:path'
import type { Note } from '../base/fault.ts'
import type { AttemptRecord, RecordOptions } from './attempt-record.ts'
import { compare, type FsDiff, type Snapshot, snapshot, withOutside } from './fs-diff.ts'
import { diffsOf, TreeDiff } from './tree-diff.ts'

/** What changes in the working directory of a run, from before its process starts until it has ended. */
export function directoryChanges({
  cwd,
  fsDiff,
  diff,
  records,
}: Pick<RecordOptions, 'cwd' | 'fsDiff' | 'diff' | 'records'>) {
  /** What is not compared. */
  const except = records === undefined ? undefined : resolve(records)
  const look = () => snapshot(cwd, { ...(fsDiff || {}), except })
  let before: Snapshot | undefined
  let tree: TreeDiff | undefined
  let changed: FsDiff | undefined
  return {
    /** Known when the process has ended. */
    diff: () => changed,
    async begin(): Promise<void> {
      if (fsDiff) before = await look()
      if (diff) tree = await TreeDiff.start(cwd, except)
    },
    /** Compares, and records: the diff of git in a file of its own, and with the files that changed. */
    async end(record: AttemptRecord): Promise<readonly Note[]> {
      if (!before) return []
      const found = withOutside(cwd, compare(before, await look()))
      // Cast: what is hidden in lists of texts leaves such.
      changed = (record.hide?.value(found) ?? found) as FsDiff
      record.write('fsDiff', `${JSON.stringify(changed)}\n`)
      const text = await tree?.end()
      if (text !== undefined) {
        const patch = record.shown(text)
        record.write('diff', patch)
        changed = { ...changed, diffs: diffsOf(patch) }
      }
      return tree?.note ? [tree.note] : []
    },
    close: () => tree?.close(),
  }
}
