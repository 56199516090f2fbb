import { isRecord, type Say, text } from '../events/profile.ts'

const changeOf = { add: 'created', update: 'modified', delete: 'deleted' } as const

/** The files an item or a patch changed. */
export function readChanges(changes: unknown, say: Say): void {
  for (const change of Array.isArray(changes) ? changes : []) {
    if (!isRecord(change) || typeof change['path'] !== 'string') continue
    const kind = text(change['kind']) ?? ''
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
