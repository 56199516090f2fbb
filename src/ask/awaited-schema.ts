import { isDeepStrictEqual } from 'node:util'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unlessAborted } from '../base/unless-aborted.ts'
import { type JsonSchema, wrapped } from '../values/schema/plain-schemas.ts'
import type { Schema } from '../values/schema/schema.ts'

type Result = StandardSchemaV1.Result<unknown>
type Validate = StandardSchemaV1['~standard']['validate']

/** One value that the schema was called with. */
interface Question {
  readonly value: unknown
  /** Returns the schema's result, or throws its error. Undefined while that is not known. */
  answer: (() => Result) | undefined
}

/** A schema that may return a promise, for readers that cannot wait. */
export interface AwaitedSchema {
  /** The schema with synchronous results: a pending value counts as rejected. */
  readonly schema: StandardSchemaV1
  /**
   * Whether it ever returned a promise, so that something may have been rejected before its result was known.
   */
  isAsync(): boolean
  /**
   * Waits for all pending results. True if there were any: then what was read with the
   * rejections must be read again.
   */
  answered(signal: AbortSignal | undefined): Promise<boolean>
}

/** The schema if it may return a promise: it is the caller's code, or a JSON Schema with `$async`. */
export function asyncSchema(schema: Schema | undefined): StandardSchemaV1 | undefined {
  if (schema === undefined || schema === null) return undefined
  if ('~standard' in schema) {
    // Cast: an object with that key is a Standard Schema.
    const standard = schema as StandardSchemaV1
    return standard['~standard'].vendor === 'agent-sluice' ? undefined : standard
  }
  return (schema as JsonSchema)['$async'] === true ? wrapped(schema as JsonSchema) : undefined
}

/**
 * Remembers the result of a schema for each value. The ladder stays synchronous: a text is read, pending
 * values are rejected for now, their promises are awaited, and the text is read again with the results. A
 * rejection makes the ladder look further, so the first reading finds nearly every candidate, and two
 * readings are enough for nearly every text.
 */
export function awaitedSchema(schema: StandardSchemaV1): AwaitedSchema {
  const { vendor, validate } = schema['~standard']
  const known = new Map<string, Question[]>()
  let waiting: (() => Promise<void>)[] = []
  let rounds = 0

  /** The first promise is already running when it is seen; the later questions are asked one at a time. */
  function ask(question: Question): Result | undefined {
    const settle = async (asked: () => ReturnType<Validate>) => {
      try {
        const result = await asked()
        question.answer = () => result ?? NOTHING
      } catch (error) {
        question.answer = () => {
          throw error
        }
      }
    }
    if (waiting.length > 0) {
      waiting.push(() => settle(() => validate(question.value)))
      return undefined
    }
    const result = validate(question.value)
    if (!isPromise(result)) return result
    // It is awaited below; until then its rejection must not end the process.
    result.then(undefined, () => {})
    waiting.push(() => settle(() => result))
    return undefined
  }

  return {
    schema: {
      '~standard': {
        version: 1,
        vendor,
        validate(value) {
          // Most schemas never return a promise, and then nothing is remembered.
          const found = known.size === 0 ? undefined : known.get(keyOf(value))?.find(isAbout(value))
          if (found) return found.answer?.() ?? PENDING
          if (rounds >= MAX_ROUNDS) return TOO_MANY
          const question: Question = { value, answer: undefined }
          const result = ask(question)
          if (result) return result
          const key = keyOf(value)
          known.set(key, [...(known.get(key) ?? []), question])
          return PENDING
        },
      },
    },
    isAsync: () => known.size > 0,
    async answered(signal) {
      if (waiting.length === 0) return false
      rounds++
      for (const wait of waiting) await unlessAborted(wait, signal)
      waiting = []
      return true
    },
  }
}

/**
 * Limit of readings, for a text whose candidates appear one by one, each only after the result for the one
 * before.
 */
const MAX_ROUNDS = 8
const PENDING: Result = { issues: [{ message: 'the result of the schema is pending' }] }
const NOTHING: Result = { issues: [{ message: 'the schema returned nothing' }] }
const TOO_MANY: Result = {
  issues: [{ message: `a candidate was found only after ${MAX_ROUNDS} readings, and is not checked` }],
}

function isAbout(value: unknown): (question: Question) => boolean {
  return (question) => isDeepStrictEqual(question.value, value)
}

/** Equal values have equal keys; values that cannot be serialized share one. */
function keyOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

function isPromise(result: ReturnType<Validate>): result is Promise<Result> {
  return typeof result === 'object' && result !== null && 'then' in result
}
