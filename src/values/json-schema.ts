import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { Fault, quote } from '../base/fault.ts'

/** A JSON Schema as an object: draft 2020-12, or draft-07 if its `$schema` says so. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * Makes a Standard Schema of a JSON Schema, so that a type can be given to it. Values are judged, never
 * changed: no coercion, no defaults, nothing removed. A schema is compiled once. Schemas are trusted: one
 * with a catastrophic `pattern` is as slow as it is written.
 *
 * @example
 * const report = jsonSchema<{ issues: string[] }>({ type: 'object', required: ['issues'] })
 * parse(text, { schema: report }).issues
 */
export function jsonSchema<T = unknown>(schema: JsonSchema): StandardSchemaV1<unknown, T> {
  const known = compiled.get(schema)
  // The cast is the door: the caller says what the schema describes.
  if (known) return known as StandardSchemaV1<unknown, T>
  const passes = compile(schema, false)
  let explain: ValidateFunction | undefined
  const made: StandardSchemaV1<unknown, T> = {
    '~standard': {
      version: 1,
      vendor: 'agent-sluice',
      validate(value) {
        if (passes(value)) return { value: value as T }
        // Stopping at the first error is fast; all of them are wanted only when there is one.
        explain ??= compile(schema, true)
        explain(value)
        return { issues: (explain.errors ?? passes.errors ?? []).map(issueOf) }
      },
    },
  }
  compiled.set(schema, made)
  return made
}

const compiled = new WeakMap<JsonSchema, StandardSchemaV1>()

function compile(schema: JsonSchema, allErrors: boolean): ValidateFunction {
  const options: Options = { allErrors, strict: false, ownProperties: true, logger: false }
  const Draft = draftOf(schema)
  try {
    // An instance of its own: two schemas may have the same `$id`, and none is kept longer than it is used.
    const ajv = new Draft(options)
    formats.default(ajv)
    return ajv.compile(schema)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Fault('BAD_SCHEMA', `the JSON Schema cannot be compiled: ${message}`, { cause: error })
  }
}

function draftOf(schema: JsonSchema): typeof Ajv | typeof Ajv2020 {
  const draft = schema['$schema']
  if (draft === undefined) return Ajv2020
  if (typeof draft === 'string') {
    const name = draft.replace(/^https?:\/\//, '').replace(/#$/, '')
    if (name === 'json-schema.org/draft/2020-12/schema' || name === 'json-schema.org/schema') return Ajv2020
    if (name === 'json-schema.org/draft-07/schema') return Ajv
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
  if (error.keyword === 'enum')
    return `must be one of ${quote(params.allowedValues.map(String).join(', '), 120)}`
  if (error.keyword === 'const') return `must be ${quote(JSON.stringify(params.allowedValue) ?? '', 120)}`
  if (error.keyword === 'additionalProperties')
    return `must not have the property ${quote(params.additionalProperty)}`
  return message
}
