import { isRecord, type Say, text } from '../../events/profile.ts'

/** Tools that write a file, and what they do to it. */
const writers: Readonly<Record<string, 'created' | 'modified'>> = {
  write: 'created',
  write_file: 'created',
  create: 'created',
  edit: 'modified',
  edit_file: 'modified',
  replace: 'modified',
}

/** Says which file a call that succeeded has changed. `shown` may have the text from before: then the file was there. */
export function sayChange(name: string, path: string | undefined, shown: unknown, say: Say): void {
  const change = Object.hasOwn(writers, name) ? writers[name] : undefined
  if (change === undefined || path === undefined) return
  const { originalContent, fileDiff } = isRecord(shown) ? shown : {}
  say.artifact(text(originalContent) ? 'modified' : change, path, text(fileDiff))
}

/** The file that the arguments of a call name. */
export function pathOf(input: unknown): string | undefined {
  return isRecord(input) ? (text(input['file_path']) ?? text(input['path'])) : undefined
}
