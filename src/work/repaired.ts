import { tryParse } from '../values/parse.ts'
import { type Claim, check, fieldsOf } from './result.ts'

/** What repair would have read in a broken result, and what it would have changed for that. */
export interface Repaired {
  readonly claim: Claim
  /** The first changes, in words: `dropped a comma at 41`. */
  readonly changes: readonly string[]
}

const MAX_CHANGES = 5

/**
 * Reads a result that is not JSON as `parse` would, for a person to look at: a result that had to be guessed never
 * counts. Undefined if repair finds nothing, either.
 *
 * @example
 * repairOf('{"run_id":"run-7","status":"ok",}')?.claim.status // 'ok'
 */
export function repairOf(text: string): Repaired | undefined {
  const outcome = tryParse(text)
  if (!outcome.ok) return undefined
  const { fields } = fieldsOf(outcome.value)
  if (fields.size === 0) return undefined
  const changes = outcome.notes.flatMap((note) => note.changes ?? [])
  return {
    claim: check(fields).claim,
    changes: changes.slice(0, MAX_CHANGES).map(({ kind, at }) => `${kind} at ${at}`),
  }
}
