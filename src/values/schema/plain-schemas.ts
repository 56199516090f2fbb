import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Fault } from '../../base/fault.ts'

/** A JSON Schema as an object: draft 2020-12, or draft-07 if its `$schema` says so. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Wrap = (schema: JsonSchema) => StandardSchemaV1

let wrap: Wrap | undefined

/**
 * Enables plain JSON Schemas. Only the entries that include a validator call it, so that the small ones stay
 * small.
 */
export function acceptPlainSchemas(by: Wrap): void {
  wrap = by
}

/** The Standard Schema for a plain one. */
export function wrapped(schema: JsonSchema): StandardSchemaV1 {
  if (wrap) return wrap(schema)
  throw new Fault(
    'BAD_OPTION',
    "a plain JSON Schema works in 'agent-sluice' only; here, wrap it with jsonSchema() of 'agent-sluice/json-schema'",
  )
}
