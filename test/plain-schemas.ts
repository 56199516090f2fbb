// Most tests give plain JSON Schemas to what they test, as users of the root entry do.
import '../src/values/schema/json-schema.ts'
