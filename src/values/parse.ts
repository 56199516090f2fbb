import { drive } from '../base/stage.ts'
import type { Chunk } from '../frames/chunk.ts'
import type { Outcome } from './outcome.ts'
import type { Schema, Value } from './schema/schema.ts'
import { type ValuesOptions, valueStage } from './values.ts'

/** The options of `values()` that make sense for a text that is already there. */
export type ParseOptions<S extends Schema | undefined = undefined> = Omit<
  ValuesOptions<S>,
  'pick' | 'items' | 'signal'
>

/**
 * Parses a text that holds a payload, and gives the first value that passes. Throws a Fault if there is none.
 *
 * @example
 * const report = parse('Sure: <json>{"issues": [],}</json>', { schema: Report })
 */
export function parse<S extends Schema | undefined = undefined>(
  text: string,
  options: ParseOptions<S> = {},
): Value<S> {
  const outcome = tryParse(text, options)
  if (outcome.ok) return outcome.value
  Error.captureStackTrace(outcome.fault, parse)
  throw outcome.fault
}

/**
 * Like `parse`, but gives the outcome. It is what `values({ pick: 'first' })` gives for the same text, in
 * whatever chunks that comes.
 *
 * @example
 * const outcome = tryParse('{"a":1,}')
 * outcome.ok && outcome.repair_level // 'deterministic_generic'
 */
export function tryParse<S extends Schema | undefined = undefined>(
  text: string,
  options: ParseOptions<S> = {},
): Outcome<Value<S>> {
  const chunk: Chunk = { channel: 'stdout', bytes: Buffer.from(text) }
  const [outcome] = drive(valueStage({ ...options, pick: 'first' }), [chunk])
  // A value stage always has something to say, if only that there was nothing.
  return outcome!
}
