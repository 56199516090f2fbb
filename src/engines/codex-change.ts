import { isRecord, type Say, text } from '../events/profile.ts'

const changeOf = { add: 'created', update: 'modified', delete: 'deleted' } as const

/** The files an item or a patch changed. */
export function readChanges(changes: unknown, say: Say): void {
  for (const change of Array.isArray(changes) ? changes : []) {
    if (!isRecord(change) || typeof change['path'] !== 'string') continue
    // The app-server has the kind in an object, with where the file was moved to.
    const of = isRecord(change['kind']) ? change['kind'] : {}
    const kind = text(change['kind']) ?? text(of['type']) ?? ''
    const moved = text(of['move_path'])
    if (moved !== undefined) {
      say.artifact('deleted', change['path'])
      say.artifact('created', moved)
      continue
    }
    say.artifact(
      Object.hasOwn(changeOf, kind) ? changeOf[kind as keyof typeof changeOf] : 'modified',
      change['path'],
    )
  }
}

/** The words of an error, be it a string or an object. */
export function errorText(error: unknown): string {
  if (typeof error === 'string') return error
  return (isRecord(error) ? text(error['message']) : undefined) ?? 'an error without a message'
}
