// Most tests give plain JSON Schemas to what they test, as users of the root entry do.
import { plainSchema } from '../src/values/schema/plain-schemas.ts'
import { acceptPlainSchemas } from '../src/values/schema/schema.ts'

acceptPlainSchemas(plainSchema)
