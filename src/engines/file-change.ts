import { isRecord, type Say, text } from '../events/engine.ts'

/** Tools that write a file, and what they do to it. */
const writers: Readonly<Record<string, 'created' | 'modified'>> = {
  write: 'created',
  write_file: 'created',
  create: 'created',
  edit: 'modified',
  edit_file: 'modified',
  replace: 'modified',
}

/**
 * Reports the file that a successful call has changed. `shown` may contain the text from before: then the
 * file existed.
 */
export function sayChange(name: string, path: string | undefined, shown: unknown, say: Say): void {
  const change = Object.hasOwn(writers, name) ? writers[name] : undefined
  if (change === undefined || path === undefined) return
  const { originalContent, fileDiff } = isRecord(shown) ? shown : {}
  say.artifact(text(originalContent) ? 'modified' : change, path, text(fileDiff))
}

/** The path in the arguments of a call. */
export function pathOf(input: unknown): string | undefined {
  return isRecord(input) ? (text(input['file_path']) ?? text(input['path'])) : undefined
}
