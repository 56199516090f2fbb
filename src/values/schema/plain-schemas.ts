import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Fault } from '../../base/fault.ts'
import { createRequire } from '../../base/platform.ts'
import { type AjvLoader, standardOf } from './json-schema.ts'
import type { JsonSchema } from './schema.ts'

/**
 * The Standard Schema for a plain JSON Schema. A bundler cannot see whether a program has one, so ajv comes
 * by a `require` that no bundler follows: the bundle of a program without one is smaller by all of ajv.
 */
export function plainSchema(schema: JsonSchema): StandardSchemaV1 {
  return standardOf(schema, ajvBeside())
}

function ajvBeside(): AjvLoader {
  try {
    // A bundle in CommonJS has no `import.meta`.
    return createRequire(import.meta.url ?? __filename)('./load-ajv.cjs')
  } catch (error) {
    const message =
      "this bundle has no ajv, which checks JSON Schemas: add import 'agent-sluice/json-schema' to the program"
    throw new Fault('BAD_SCHEMA', message, { cause: error })
  }
}
