import { isDeepStrictEqual } from 'node:util'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unlessAborted } from '../base/unless-aborted.ts'
import { type JsonSchema, wrapped } from '../values/schema/plain-schemas.ts'
import type { Schema } from '../values/schema/schema.ts'

type Result = StandardSchemaV1.Result<unknown>
type Validate = StandardSchemaV1['~standard']['validate']

/** One value that the schema was asked about. */
interface Question {
  readonly value: unknown
  /** Gives what the schema said, or throws what it threw. Undefined while that is not known. */
  answer: (() => Result) | undefined
}

/** A schema that may answer with a promise, for readers that cannot wait. */
export interface AwaitedSchema {
  /** The schema with answers at once: what is not known yet is a rejection. */
  readonly schema: StandardSchemaV1
  /** Whether it ever answered with a promise, so that something may have been rejected before the answer was known. */
  isAsync(): boolean
  /**
   * Waits for what the schema was asked since the last time. True if there was something: then what was read with the
   * rejections has to be read again.
   */
  answered(signal: AbortSignal | undefined): Promise<boolean>
}

/** The schema as one that may answer with a promise: it is code and not ours, or a JSON Schema that says `$async`. */
export function asyncSchema(schema: Schema | undefined): StandardSchemaV1 | undefined {
  if (schema === undefined || schema === null) return undefined
  if ('~standard' in schema) {
    // The cast is the door: what has that key is a Standard Schema.
    const standard = schema as StandardSchemaV1
    return standard['~standard'].vendor === 'agent-sluice' ? undefined : standard
  }
  return (schema as JsonSchema)['$async'] === true ? wrapped(schema as JsonSchema) : undefined
}

/**
 * Remembers what a schema says of each value. The ladder is synchronous and stays so: a text is read, what the schema
 * has to think about is rejected for now, its promises are awaited, and the text is read again with the answers at hand.
 * A rejection makes the ladder look further, so the first reading finds nearly every candidate, and two readings are
 * enough for nearly every text.
 */
export function awaitedSchema(schema: StandardSchemaV1): AwaitedSchema {
  const { vendor, validate } = schema['~standard']
  const known = new Map<string, Question[]>()
  let waiting: (() => Promise<void>)[] = []
  let rounds = 0

  /** The first promise runs already when it is seen; the questions behind it are asked later, one at a time. */
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
    // It is awaited below; until then its failure must not end the process.
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
          // Most schemas never answer with a promise, and then nothing is remembered.
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

/** A text whose candidates appear one by one, each behind the answer about the one before, is not read for ever. */
const MAX_ROUNDS = 8
const PENDING: Result = { issues: [{ message: 'the schema has not answered yet' }] }
const NOTHING: Result = { issues: [{ message: 'the schema answered with nothing' }] }
const TOO_MANY: Result = {
  issues: [{ message: `a candidate was found only after ${MAX_ROUNDS} readings, and is not looked at` }],
}

function isAbout(value: unknown): (question: Question) => boolean {
  return (question) => isDeepStrictEqual(question.value, value)
}

/** Equal values have equal keys; a value that cannot be spelled shares one with others. */
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
