// agent-sluice/json-schema: JSON Schemas for the entries that bring no validator.
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
