import type { Note } from '../base/fault.ts'
import { tryParse } from '../values/parse.ts'
import { type Claim, check, fieldsOf } from './result.ts'

/** What a repair would read in a broken result, and its changes. */
export interface Repaired {
  /** Empty if the repair finds nothing; the notes say why. */
  readonly claim: Claim
  /** The first changes, in words: `dropped a comma at 41`. */
  readonly changes: readonly string[]
  /** Other reasons against this reading: a key that occurs twice, a file that was cut. */
  readonly notes: readonly Note[]
}

const MAX_CHANGES = 5
const MAX_NOTES = 5

/**
 * Reads a result that is not JSON as `parse` would, for display only: a repaired result never
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
  // The changes are listed one by one, so the general note is left out.
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
