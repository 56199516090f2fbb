import type { StandardSchemaV1 } from '@standard-schema/spec'
import { badOption, clip, Fault, quote, type SchemaError, visible } from '../../base/fault.ts'

/**
 * Any Standard Schema (zod, valibot, arktype, …), or a plain JSON Schema object. `T` is the type of what
 * passes; of a plain one, the caller says it.
 *
 * @example
 * const read = <T>(raw: string, schema: Schema<T>): T => parse(raw, { schema })
 */
export type Schema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema

/** The type of a value that passed the schema. */
export type SchemaOutput<S> = undefined extends S
  ? unknown
  : [Extract<S, StandardSchemaV1>] extends [never]
    ? unknown
    : StandardSchemaV1.InferOutput<Extract<S, StandardSchemaV1>>

/** The result of a schema: the value it returned, or the errors. */
type Checked = { readonly value: unknown } | { readonly errors: readonly SchemaError[] }

/** A schema as a function. */
export type Check = (value: unknown) => Checked

/**
 * Makes one synchronous function of any schema. Throws a Fault at once if it is not a schema, and a
 * BAD_SCHEMA when it returns a promise: nothing in a stream can wait for it.
 */
export function checkOf(schema: Schema): Check {
  const { validate } = standard(schema)['~standard']
  return (value) => {
    let checked: Checked | undefined
    try {
      checked = read(validate(value), value)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return {
        errors: [
          { path: '', rule: 'threw', message: visible(clip(`the schema threw: ${message}`, MAX_MESSAGE)) },
        ],
      }
    }
    if (checked) return checked
    throw new Fault(
      'BAD_SCHEMA',
      'the schema validates asynchronously; use one without async checks or transforms',
    )
  }
}

/** Reads the result of a schema, which is foreign code: throws if it is invalid. A promise: undefined. */
function read(
  result: ReturnType<StandardSchemaV1['~standard']['validate']>,
  value: unknown,
): Checked | undefined {
  if (!isObject(result)) throw new TypeError(`it returned ${describe(result)}`)
  if ('then' in result) {
    result.then(undefined, () => {})
    return undefined
  }
  // `issues` decides: a failed result may have a value, too.
  if (!result.issues) return { value: result.value }
  return { errors: result.issues.slice(0, MAX_ERRORS).map((issue) => errorOf(issue, value)) }
}

/** Maximum number of errors to keep: twenty describe a value that breaks a thousand rules. */
export const MAX_ERRORS = 20
const MAX_MESSAGE = 200

function standard(schema: Schema): StandardSchemaV1 {
  if ((typeof schema === 'object' || typeof schema === 'function') && schema !== null) {
    if ('~standard' in schema) return schema as StandardSchemaV1
    if (typeof schema === 'object' && !Array.isArray(schema)) return wrapped(schema)
  }
  const file = typeof schema === 'string' ? '; of a file, give what JSON.parse makes of its text' : ''
  throw new Fault(
    'BAD_SCHEMA',
    `expected a Standard Schema or a JSON Schema object, but got ${describe(schema)}${file}`,
  )
}

function errorOf(issue: StandardSchemaV1.Issue, root: unknown): SchemaError {
  let path = ''
  let found: unknown = root
  for (const segment of issue.path ?? []) {
    const key = typeof segment === 'object' ? segment.key : segment
    path += `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
    found =
      isObject(found) && Object.hasOwn(found, key) ? (found as Record<PropertyKey, unknown>)[key] : undefined
  }
  return {
    path: clip(path, MAX_MESSAGE),
    rule: ruleOf(issue),
    message: `${visible(clip(issue.message, MAX_MESSAGE))}, found ${describe(found)}`,
  }
}

/** The standard has no field for the rule; each library has its own. */
function ruleOf(issue: StandardSchemaV1.Issue & { rule?: unknown; code?: unknown; type?: unknown }): string {
  for (const name of [issue.rule, issue.code, issue.type]) {
    if (typeof name === 'string' && name !== '') return clip(name, 60)
  }
  return 'invalid'
}

function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isObject(value)) {
    const keys = Object.keys(value)
    return keys.length === 0 ? 'an empty object' : `an object with ${quote(keys.slice(0, 5).join(', '))}`
  }
  return clip(String(value), 40)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A JSON Schema as an object: draft 2020-12, or draft-07 if its `$schema` says so. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The JSON Schema inside each schema that `jsonSchema` wrapped. */
const sources = new WeakMap<object, JsonSchema>()

export function madeOf(made: StandardSchemaV1, source: JsonSchema): void {
  sources.set(made, source)
}

/** The JSON Schema behind a schema that is data: a plain one, or one that `jsonSchema` wrapped. */
export function plainSchemaOf(schema: Schema): JsonSchema | undefined {
  // Cast: anything but a Standard Schema is a plain one.
  return '~standard' in schema ? sources.get(schema) : (schema as JsonSchema)
}

type Wrap = (schema: JsonSchema) => StandardSchemaV1

let wrap: Wrap | undefined

/** Enables plain JSON Schemas. Entries without a validator do not call it, and stay small. */
export function acceptPlainSchemas(by: Wrap, when?: 'unless another does'): void {
  if (!when || !wrap) wrap = by
}

/** The Standard Schema for a plain one. */
export function wrapped(schema: JsonSchema): StandardSchemaV1 {
  if (wrap) return wrap(schema)
  throw badOption(
    "a plain JSON Schema works in 'agent-sluice' only; here, wrap it with jsonSchema() of 'agent-sluice/json-schema'",
  )
}
