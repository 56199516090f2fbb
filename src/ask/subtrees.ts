import type { SchemaError } from '../base/fault.ts'
import type { JsonSchema } from '../values/schema/plain-schemas.ts'
import { type Check, checkOf, type Schema } from '../values/schema/schema.ts'
import { type Branch, pointer, valueAt } from './growing-value.ts'
import type { Snapshots } from './snapshots.ts'

/**
 * Checks the parts of a growing value, each when it is finished and never before: a list that is still
 * growing has not broken its `minItems`. Only a plain JSON Schema can check parts; any other
 * schema is applied at the end.
 */
export function subtreeCheck(schema: Schema | undefined): (seen: Snapshots) => readonly SchemaError[] {
  if (schema === undefined || '~standard' in schema) return () => NONE
  const root = schema as JsonSchema
  const checks = new Map<JsonSchema, Check | undefined>()
  /** Errors of a part that were reported, so that they are not reported again for the whole. */
  const reported = new Set<string>()

  /** Compiled once for each part of the schema, with the definitions that it may refer to. */
  function checkFor(part: JsonSchema): Check | undefined {
    if (!checks.has(part)) {
      const { $schema, $defs, definitions } = root
      const shared = Object.entries({ $schema, $defs, definitions }).filter(
        ([, found]) => found !== undefined,
      )
      try {
        checks.set(part, checkOf({ ...part, ...Object.fromEntries(shared) }))
      } catch {
        checks.set(part, undefined) // it refers to a place that only the whole schema has
      }
    }
    return checks.get(part)
  }

  return (seen) => {
    const errors: SchemaError[] = []
    for (const { branch, key } of seen.finished()) {
      // The ladder checks the whole value, because it may also have to repair it.
      if (branch === undefined) continue
      const part = partAt(root, branch, key)
      const result = part && checkFor(part)?.(valueAt(branch, key))
      if (!result || !('errors' in result)) continue
      const path = pointer(branch, key)
      for (const error of result.errors) {
        const found = { ...error, path: path + error.path }
        const name = `${found.rule} ${found.path}`
        if (!reported.has(name)) errors.push(found)
        reported.add(name)
      }
    }
    return errors
  }
}

const NONE: readonly SchemaError[] = []

/** The part of the schema for a place, if it can be found directly. */
function partAt(root: JsonSchema, branch: Branch, key: string | number): JsonSchema | undefined {
  const parent = branch.parent === undefined ? root : partAt(root, branch.parent, branch.key)
  const holder = parent && resolve(root, parent)
  if (!holder) return undefined
  if (typeof key === 'number') {
    const { prefixItems, items } = holder
    return asSchema(Array.isArray(prefixItems) && key < prefixItems.length ? prefixItems[key] : items)
  }
  const properties = asSchema(holder['properties'])
  if (properties && Object.hasOwn(properties, key)) return asSchema(properties[key])
  return holder['patternProperties'] === undefined ? asSchema(holder['additionalProperties']) : undefined
}

/** Follows `#/$defs/name` and `#/definitions/name`, a few times. */
function resolve(root: JsonSchema, schema: JsonSchema): JsonSchema | undefined {
  let found: JsonSchema | undefined = schema
  for (let hops = 0; found && typeof found['$ref'] === 'string'; hops++) {
    const match = /^#\/(\$defs|definitions)\/([^/~%]{1,200})$/.exec(found['$ref'])
    const shelf: JsonSchema | undefined = match ? asSchema(root[match[1]!]) : undefined
    found = hops < 10 && shelf && Object.hasOwn(shelf, match![2]!) ? asSchema(shelf[match![2]!]) : undefined
  }
  return found
}

function asSchema(value: unknown): JsonSchema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonSchema)
    : undefined
}
