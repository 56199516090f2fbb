import { isObject, misfit } from '../../base/check-options.ts'
import { badOption, quote } from '../../base/fault.ts'

/**
 * A JSON value that is neither an object nor an array.
 *
 * @example
 * const wanted: JsonScalar[] = ['turn.completed', 1, true, null]
 */
export type JsonScalar = string | number | boolean | null

/**
 * Which records are wanted: for each key the scalar, or one of the scalars, that the record must have at its
 * top level. All keys must match. Numbers are compared by value (`1`, `1.0` and `1e0` are one number), text
 * exactly; a missing key matches nothing, not even `null`; if a key occurs twice, the last one counts.
 *
 * @example
 * const where: Where = { type: ['turn.completed', 'turn.failed'], exit_code: 1 }
 */
export type Where = Readonly<Record<string, JsonScalar | readonly JsonScalar[]>>

/** One key of a `Where`, and the scalars it may have. */
export interface Condition {
  readonly key: string
  readonly scalars: ReadonlySet<JsonScalar>
}

const EXAMPLE = "values({ lines: true, where: { type: 'turn.completed' } })"

/** Reads the option `where`; throws BAD_OPTION if it is invalid. */
export function conditionsOf(where: unknown): readonly Condition[] {
  if (!isObject(where)) throw misfit('where', 'an object of keys and scalars', where, EXAMPLE)
  const conditions = Object.entries(where).map(([key, wanted]: [string, unknown]): Condition => {
    const scalars = Array.isArray(wanted) ? (wanted as readonly unknown[]) : [wanted]
    if (scalars.length === 0)
      throw badOption(`where: ${quote(key)} has no values, so nothing could match; name one`)
    return { key, scalars: new Set(scalars.map((scalar) => checkScalar(key, scalar))) }
  })
  if (conditions.length === 0)
    throw badOption(`where has no keys; leave it out, or call it like this: ${EXAMPLE}`)
  return conditions
}

function checkScalar(key: string, scalar: unknown): JsonScalar {
  if (scalar === null || typeof scalar === 'string' || typeof scalar === 'boolean') return scalar
  if (typeof scalar === 'number' && Number.isFinite(scalar)) return scalar
  const what = 'a string, a finite number, true, false or null, or an array of these'
  throw badOption(`where: ${quote(key)} needs ${what}, but got ${quote(String(scalar))}`)
}

/** Whether a parsed record matches all conditions. Only an object can. */
export function fits(conditions: readonly Condition[], record: unknown): boolean {
  if (!isObject(record)) return false
  // A Set treats 0 and -0 as one number, as `===` does.
  return conditions.every(
    ({ key, scalars }) =>
      Object.hasOwn(record, key) && scalars.has((record as Record<string, JsonScalar>)[key] as JsonScalar),
  )
}
