import type { Schema, Value } from '../values/schema/schema.ts'
import type { Call } from './answer.ts'
import { attempts, type Snapshot } from './attempts.ts'
import { type AskOptions, checkCall, readAskOptions } from './options.ts'

/**
 * Asks a model until its answer parses and passes the schema, and returns the value. If an answer does not
 * pass, the model is asked again, with the original prompt and a short summary of what was wrong.
 *
 * A call that rejects is not retried, and `ask` rejects with its error. If no answer passes, a Fault is
 * thrown with the code of the last one and all `attempts`.
 *
 * `ask.stream` shows the progress: snapshots of the value so far, then the value.
 *
 * @example
 * const report = await ask(call, { prompt: 'List the issues as JSON.', schema: Report, retries: 2 })
 */
async function askOnce<S extends Schema | undefined = undefined>(
  call: Call,
  options: AskOptions<S>,
): Promise<Value<S>> {
  checkCall(call)
  readAskOptions(options)
  for await (const snapshot of attempts(call, options, false)) {
    if (snapshot.done) return snapshot.value
  }
  throw new Error('unreachable: attempts end with a value or a fault')
}

/**
 * Like `ask`, but shows the value while it arrives. All snapshots together take time linear in the answer,
 * whatever the size of the deltas, because they share one value that grows in place.
 *
 * @example
 * for await (const { done, value } of ask.stream(call, { prompt, schema: Report })) {
 *   render(value)
 *   if (done) save(value)
 * }
 */
function stream<S extends Schema | undefined = undefined>(
  call: Call,
  options: AskOptions<S>,
): AsyncGenerator<Snapshot<Value<S>>, undefined> {
  checkCall(call)
  readAskOptions(options)
  return attempts(call, options, true)
}

export const ask: typeof askOnce & { readonly stream: typeof stream } = Object.assign(askOnce, { stream })
