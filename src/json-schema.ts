// agent-sluice/json-schema: JSON Schemas for the entries without a validator.
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
