import type { Note } from '../base/fault.ts'
import { tryParse } from '../values/parse.ts'
import { type Claim, check, fieldsOf } from './result.ts'

/** What repair would have read in a broken result, and what it would have changed for that. */
export interface Repaired {
  /** Empty if repair finds nothing, either; the notes say why. */
  readonly claim: Claim
  /** The first changes, in words: `dropped a comma at 41`. */
  readonly changes: readonly string[]
  /** What else speaks against this reading: a key that is there twice, a file that is cut. */
  readonly notes: readonly Note[]
}

const MAX_CHANGES = 5
const MAX_NOTES = 5

/**
 * Reads a result that is not JSON as `parse` would, for a person to look at: a result that had to be guessed never
 * counts.
 *
 * @example
 * repairOf('{"run_id":"run-7","status":"ok",}').claim.status // 'ok'
 */
export function repairOf(text: string): Repaired {
  const outcome = tryParse(text)
  if (!outcome.ok) return nothing(outcome.fault)
  const { fields, reasons } = fieldsOf(outcome.value)
  if (fields.size === 0) {
    return nothing({ code: 'WORK_FIELD_MISSING', message: 'there is no field of a result' })
  }
  const changes = outcome.notes.flatMap((note) => note.changes ?? [])
  // The changes are told one by one; that there are some is no news.
  const others = outcome.notes.filter(({ code }) => code !== 'OUTPUT_REPAIRED_GENERIC')
  return {
    claim: check(fields).claim,
    changes: changes.slice(0, MAX_CHANGES).map(({ kind, at }) => `${kind} at ${at}`),
    notes: [...others, ...reasons].slice(0, MAX_NOTES).map(({ code, message }) => ({ code, message })),
  }
}

function nothing({ code, message }: Pick<Note, 'code' | 'message'>): Repaired {
  return { claim: {}, changes: [], notes: [{ code, message }] }
}
