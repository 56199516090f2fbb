import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Ajv, ErrorObject, KeywordDefinition, Options, ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject } from '../../base/check-options.ts'
import { Fault, quote, visible } from '../../base/fault.ts'
import ajvLoader from './load-ajv.cjs'
import { type JsonSchema, madeOf } from './schema.ts'

export type { JsonSchema } from './schema.ts'

/**
 * Makes a Standard Schema of a JSON Schema, so that it can have a type. Values are checked, never
 * changed: no coercion, no defaults, nothing removed. A schema is compiled once. Schemas are trusted: one
 * with a catastrophic `pattern` is as slow as it is written.
 *
 * @example
 * const report = jsonSchema<{ issues: string[] }>({ type: 'object', required: ['issues'] })
 * parse(text, { schema: report }).issues
 */
export function jsonSchema<T = unknown>(schema: JsonSchema): StandardSchemaV1<unknown, T> {
  return standardOf(schema, ajvLoader)
}

/** What `load-ajv.cjs` exports. */
export interface AjvLoader {
  draft07(): typeof Ajv
  draft2020(): typeof Ajv2020
  addFormats(ajv: Ajv): void
}

/** The same, by the ajv that `loader` has: a bundler that leaves `jsonSchema` out leaves ajv out. */
export function standardOf<T>(schema: JsonSchema, loader: AjvLoader): StandardSchemaV1<unknown, T> {
  if (!isObject(schema))
    throw new Fault('BAD_SCHEMA', 'jsonSchema needs an object, such as jsonSchema({ type: "object" })')
  const known = compiled.get(schema)
  // Cast: the caller says what the schema describes.
  if (known) return known as StandardSchemaV1<unknown, T>
  const passes = compile(schema, false, loader)
  let explain: ValidateFunction | undefined
  const made: StandardSchemaV1<unknown, T> = {
    '~standard': {
      version: 1,
      vendor: schema['$async'] === true ? 'agent-sluice, async' : 'agent-sluice',
      validate(value) {
        // A promise, if the schema has `$async`.
        const verdict: unknown = passes(value)
        if (verdict instanceof Promise) return awaited(verdict, value as T)
        if (verdict) return { value: value as T }
        // Stopping at the first error is fast; the full list is needed only when there is one.
        explain ??= compile(schema, true, loader)
        explain(value)
        return { issues: (explain.errors ?? passes.errors ?? []).map(issueOf) }
      },
    },
  }
  compiled.set(schema, made)
  madeOf(made, schema)
  return made
}

/** The result of a schema with `$async`, which throws its errors. */
async function awaited<T>(verdict: Promise<unknown>, value: T): Promise<StandardSchemaV1.Result<T>> {
  try {
    await verdict
    return { value }
  } catch (error) {
    // Cast: ajv throws an error with `errors`; anything else is a failure of the schema itself.
    const { errors } = (error ?? {}) as { errors?: ErrorObject[] }
    if (!Array.isArray(errors)) throw error
    return { issues: errors.map(issueOf) }
  }
}

const compiled = new WeakMap<JsonSchema, StandardSchemaV1>()

function compile(schema: JsonSchema, allErrors: boolean, loader: AjvLoader): ValidateFunction {
  const draft = draftOf(schema)
  try {
    const Draft = loader[draft]()
    // Compiling the schema of schemas takes longer than most schemas, so it is done once for all.
    const judge = judges.get(draft) ?? new Draft({ ...options, verbose: true })
    judges.set(draft, judge)
    if (!judge.validateSchema(schema)) throw new Error(judge.errors?.slice(0, 1).map(flawOf).join())
    // Own instance: two schemas may have the same `$id`, and none is kept longer than it is used.
    const ajv = new Draft({ ...options, allErrors, validateSchema: false })
    loader.addFormats(ajv)
    linearUniqueItems(ajv)
    return ajv.compile(schema)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Fault('BAD_SCHEMA', `the JSON Schema cannot be compiled: ${message}`, { cause: error })
  }
}

/** What is wrong in a schema, where, and what is there: `verbose` keeps the value. */
function flawOf(error: ErrorObject): string {
  return `${error.instancePath || 'it'} ${messageOf(error)}, but is ${spelled([error.data])}`
}

const options: Options = { strict: false, ownProperties: true, logger: false }
/** For each draft, what says whether a schema is one. */
const judges = new Map<Draft, Ajv>()

type Draft = 'draft2020' | 'draft07'

function draftOf(schema: JsonSchema): Draft {
  const draft = schema['$schema']
  if (draft === undefined) return 'draft2020'
  if (typeof draft === 'string') {
    const name = draft.replace(/^https?:\/\//, '').replace(/#$/, '')
    if (name === 'json-schema.org/draft/2020-12/schema' || name === 'json-schema.org/schema')
      return 'draft2020'
    if (name === 'json-schema.org/draft-07/schema') return 'draft07'
  }
  throw new Fault(
    'BAD_SCHEMA',
    `$schema ${quote(String(draft), 80)} is not supported; use draft 2020-12 or draft-07, or leave it out`,
  )
}

function issueOf(error: ErrorObject): StandardSchemaV1.Issue & { rule: string } {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return { rule: error.keyword, path, message: messageOf(error) }
}

function messageOf(error: ErrorObject): string {
  const { params, message = 'is not valid' } = error
  if (error.keyword === 'enum') return `must be one of ${spelled(params.allowedValues)}`
  if (error.keyword === 'const') return `must be ${spelled([params.allowedValue])}`
  if (error.keyword === 'additionalProperties')
    return `must not have the property ${quote(params.additionalProperty)}`
  return message
}

/** Values as JSON, so that `1` differs from `"1"`; as many as fit, each whole. */
function spelled(values: readonly unknown[]): string {
  let text = ''
  for (const [n, value] of values.entries()) {
    const next = visible(JSON.stringify(value) ?? '')
    const rest = values.length - n
    if (text.length + next.length > MAX_SPELLED)
      return n === 0 ? `${next.slice(0, MAX_SPELLED)}…` : `${text}, or ${rest} more`
    text += n === 0 ? next : `, ${next}`
  }
  return text
}

const MAX_SPELLED = 120

/**
 * `uniqueItems` in linear time: ajv compares every item with every other, unless their type is one scalar,
 * and the value comes from the agent (100,000 untyped numbers take a minute). Items that are equal as JSON
 * serialize to the same text.
 */
function linearUniqueItems(ajv: Ajv): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(uniqueItems)
}

const uniqueItems: KeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  compile: (wanted: boolean) => (items: readonly unknown[]) => !wanted || allDiffer(items),
  error: { message: 'must NOT have duplicate items' },
}

function allDiffer(items: readonly unknown[]): boolean {
  const seen = new Set<unknown>()
  for (const item of items) {
    // An object is the text of its sorted JSON, which no string can equal: strings get a quote in front.
    const key =
      typeof item === 'object' && item !== null
        ? sortedJson(item)
        : typeof item === 'string'
          ? `"${item}`
          : item
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

/** JSON with sorted keys. Values were parsed within maxDepth, so the recursion is bounded. */
function sortedJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`
  const record = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(record).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sortedJson(record[key])}`).join()}}`
}
