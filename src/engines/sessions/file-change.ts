import { isRecord, type Say, text } from '../../events/profile.ts'
import { unifiedDiff } from '../unified-diff.ts'

/** Tools that write a file, and what they do to it. */
const writers: Readonly<Record<string, 'created' | 'modified'>> = {
  write: 'created',
  write_file: 'created',
  create: 'created',
  edit: 'modified',
  edit_file: 'modified',
  replace: 'modified',
}

/** Says which file a call that succeeded has changed. `shown` may have the text from before (then the file was there) and a diff. */
export function sayChange(name: string, path: string | undefined, shown: unknown, say: Say): void {
  const change = Object.hasOwn(writers, name) ? writers[name] : undefined
  if (change === undefined || path === undefined) return
  const before = isRecord(shown) ? text(shown['originalContent']) : undefined
  say.artifact(
    before ? 'modified' : change,
    path,
    isRecord(shown) ? unifiedDiff(shown['fileDiff']) : undefined,
  )
}

/** The file that the arguments of a call name. */
export function pathOf(input: unknown): string | undefined {
  return isRecord(input) ? (text(input['file_path']) ?? text(input['path'])) : undefined
}
