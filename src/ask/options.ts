import {
  isFunction,
  isObject,
  isText,
  isWhole,
  misfit,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import type { Duration } from '../base/duration.ts'
import { badOption, Fault } from '../base/fault.ts'
import { CACHE_OPTIONS, type Cache } from '../disk/cache.ts'
import { shared } from '../streams/flow.ts'
import type { Outcome } from '../values/outcome.ts'
import type { ParseOptions } from '../values/parse.ts'
import type { Schema, SchemaOutput } from '../values/schema/schema.ts'
import { VALUES_OPTIONS } from '../values/values.ts'
import type { RetryPrompt } from './retry-prompt.ts'

/** The answer of a call: the whole text, or a stream of it (a Readable is one). */
export type AskAnswer = string | AsyncIterable<string | Uint8Array>

/** The request passed to a call. */
export interface AskRequest {
  readonly prompt: string
  readonly system?: string
  readonly temperature: number
  /** From 1. */
  readonly attempt: number
  /** Aborted with the `signal` of `ask`, and when your program is told to end. */
  readonly signal: AbortSignal
}

/**
 * Any function that calls a model. If it rejects, so does `ask`, with the same error, and does not ask again.
 *
 * @example
 * const call: AskCall = async ({ prompt, signal }) => (await client.complete(prompt, { signal })).text
 */
export type AskCall = (request: AskRequest) => AskAnswer | Promise<AskAnswer>

/** What `onAttempt` is told about an attempt, besides its outcome. */
export interface AskAttempt {
  /** From 1; 0 for an answer from the cache. */
  readonly attempt: number
  readonly cached: boolean
  readonly durationMs: number
}

/** What to ask, what a good answer is, and how often to try. Parsing options are those of `parse`. */
export interface AskOptions<S extends Schema | undefined = Schema | undefined> extends ParseOptions<S> {
  readonly prompt: string
  /** @default none */
  readonly system?: string | undefined
  /** @default 0.7 */
  readonly temperature?: number | undefined
  /** How often to ask again when an answer does not pass; 0 for never. @default 1 */
  readonly rounds?: number | undefined
  /**
   * What is appended to the prompt when it is asked again: our words in English or Chinese, or yours.
   * @default 'en'
   */
  readonly retryPrompt?: 'en' | 'zh' | RetryPrompt | undefined
  /** Stores answers that passed, repaired ones too; never failures. @default none */
  readonly cache?: Cache | undefined
  /**
   * How long to wait for each call of the cache; then it is not used, with a note CACHE_FAILED.
   * @default '10s'
   */
  readonly maxCacheWait?: Duration | undefined
  /** Your word for what the cache cannot see: the model, a schema that is code, normalizers. @default none */
  readonly cacheKey?: string | undefined
  /** Aborting it rejects with its reason, and is passed to the call. */
  readonly signal?: AbortSignal | undefined
  /**
   * Stop reading a streamed answer as soon as a value in it is closed and passes.
   * @default false: read it to its end
   */
  readonly stopWhenValid?: boolean | undefined
  /** Called with the outcome of each attempt, and awaited. If it throws, so does `ask`. @default none */
  readonly onAttempt?: ((outcome: Outcome<SchemaOutput<S>>, info: AskAttempt) => unknown) | undefined
}

const example = 'ask(call, { prompt: "List the issues as JSON.", schema })'

function checkSchema(schema: unknown): void {
  // Its content is checked when it is compiled.
  if (typeof schema !== 'object' && typeof schema !== 'function')
    throw new Fault('BAD_SCHEMA', 'schema must be a Standard Schema or a JSON Schema object')
}

const isRetryPrompt = (prompt: unknown) => prompt === 'en' || prompt === 'zh' || isFunction(prompt)

/** Those that `values()` does not have, or has in another way. */
const ASK_OPTIONS = {
  schema: { check: checkSchema },
  pick: { default: 'first', words: ['first', 'last'] },
  prompt: {},
  system: { is: isText, needs: 'a text as system' },
  temperature: { default: 0.7, is: Number.isFinite, must: 'be a number, but is %' },
  rounds: { default: 1, is: isWhole, must: 'be a whole number from 0, but is %', was: 'retries' },
  retryPrompt: { default: 'en', is: isRetryPrompt, must: "be 'en', 'zh' or a function, but is %" },
  ...CACHE_OPTIONS,
  stopWhenValid: OFF,
  onAttempt: { is: isFunction, needs: 'a function as onAttempt' },
} as const satisfies OptionTable<Omit<AskOptions, keyof ParseOptions> & Pick<AskOptions, 'schema' | 'pick'>>

/** Those of the options that are about parsing. */
export function parseOptionsOf<S extends Schema | undefined>(options: AskOptions<S>): ParseOptions<S> {
  const own = Object.entries(options).filter(([name]) => Object.hasOwn(VALUES_OPTIONS, name))
  // The cast is the door: `Object.entries` loses the types of the values.
  return Object.fromEntries(own) as ParseOptions<S>
}

/** The options with their defaults. Misuse throws before the first call costs anything. */
export function readAskOptions<S extends Schema | undefined>(call: AskCall, options: AskOptions<S>) {
  if (typeof call !== 'function') throw misfit('ask', 'a function that calls the model', call, example)
  if (!isObject(options)) throw misfit('ask', 'an object of options', options, example)
  const read = readOptions('ask', options, example, { ...VALUES_OPTIONS, ...ASK_OPTIONS })
  if (typeof read.prompt !== 'string' || read.prompt === '') {
    throw badOption('ask needs a prompt that is a string and not empty')
  }
  if (read.pick === 'last' && read.stopWhenValid) {
    throw badOption('stopWhenValid takes the first value, so it cannot be used with pick: last')
  }
  if (read.signal) shared(read.signal)
  return read
}
