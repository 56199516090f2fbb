// agent-sluice/json-schema: JSON Schemas for the entries without a validator.
import { jsonSchema } from './values/schema/json-schema.ts'
import { acceptPlainSchemas } from './values/schema/schema.ts'

// With it, a bundle has ajv for plain JSON Schemas, too.
acceptPlainSchemas(jsonSchema)

export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
