import { misfit } from './check-options.ts'

/**
 * Where a stage writes its output. `write` may be called any number of times, then `end` once.
 *
 * @example
 * const print: Sink<string> = { write: (line) => console.log(line), end() {} }
 */
export interface Sink<T> {
  write(value: T): void
  end(): void
  /**
   * Writes more of what `write` or `end` left because its turn was used up: call it until it returns false.
   * Only stages with an end of their turn leave something, as `valueStage(options, 256)`; `flow` calls it
   * when its reader has room.
   */
  more?(): boolean
}

/**
 * One step of a pipeline without streams: given the next sink, it returns the sink to write to. Use it where
 * there are no streams, `drive` it over an array, or make a stream of it with `flow`. All state lives in the
 * closure of that call, so a stage can be used for many inputs at once.
 *
 * @example
 * const double: Stage<number, number> = (next) => ({ write: (n) => next.write(2 * n), end: () => next.end()
 * })
 */
export type Stage<In, Out> = (next: Sink<Out>) => Sink<In>

/**
 * Makes one stage of two, of which the first writes to the second. Nothing is queued between them.
 *
 * @example
 * const stage = join(frameStage(), outcomeStage({ schema }))
 */
export function join<In, Mid, Out>(upper: Stage<In, Mid>, lower: Stage<Mid, Out>): Stage<In, Out> {
  checkStage('join', upper)
  checkStage('join', lower)
  return (next) => upper(lower(next))
}

/**
 * Runs a stage over an array, and returns all that it writes. For tests, and for inputs that are in memory.
 *
 * @example
 * drive(double, [1, 2, 3]) // [2, 4, 6]
 */
export function drive<In, Out>(stage: Stage<In, Out>, inputs: Iterable<In>): Out[] {
  checkStage('drive', stage)
  if (typeof inputs?.[Symbol.iterator] !== 'function')
    throw misfit('drive', 'an array of inputs', inputs, 'drive(frameStage(), [chunk])')
  const outputs: Out[] = []
  const sink = stage({ write: (value) => void outputs.push(value), end() {} })
  for (const input of inputs) sink.write(input)
  sink.end()
  return outputs
}

/** Throws BAD_OPTION if it is not a stage. The usual mistake is `values()` instead of `valueStage()`. */
export function checkStage(who: string, stage: unknown): void {
  if (typeof stage !== 'function')
    throw misfit(who, 'a stage, which is a function of the next sink', stage, `${who}(valueStage())`)
}

/**
 * How `flow` makes what its stage takes of what is written to the stream. A large input is cut into portions,
 * so that the reader can keep up.
 */
export interface Intake<In> {
  /** Makes one input of a written value; throws a Fault if that is impossible. */
  take(written: unknown): In
  /** The number of units the input can be split into (bytes, for instance). */
  size(input: In): number
  /** The units `[from, to)` of the input. */
  portion(input: In, from: number, to: number): In
  /** At the end: what `take` has kept back. */
  rest?(): In | undefined
}

/** Passes every value on whole. */
export function wholeIntake<In>(): Intake<In> {
  // Cast: an untyped Node stream passes on what the caller promised to write.
  return { take: (written) => written as In, size: () => 1, portion: (input) => input }
}
