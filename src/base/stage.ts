import { misfit } from './check-options.ts'

/**
 * What a floor writes to. `write` may be called any number of times, then `end` once.
 *
 * @example
 * const print: Sink<string> = { write: (line) => console.log(line), end() {} }
 */
export interface Sink<T> {
  write(value: T): void
  end(): void
  /**
   * Goes on with what `write` or `end` left undone, because it had written enough for one turn; true while there
   * is more. Only stages that were asked to take turns have it: `flow` asks, so that its reader can keep up.
   */
  more?(): boolean
}

/**
 * A floor: given the sink below, it makes the sink above. All of its state lives in the closure that
 * one call makes, so a stage can be used for many inputs at once.
 *
 * @example
 * const double: Stage<number, number> = (next) => ({ write: (n) => next.write(2 * n), end: () => next.end() })
 */
export type Stage<In, Out> = (next: Sink<Out>) => Sink<In>

/**
 * Puts one floor on top of another. Nothing is queued between them: a write above is a call below.
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
 * Runs a stage over an array, without streams. For tests, and for inputs that are already in memory.
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

/** Throws BAD_OPTION for what is no stage; a `values()` in the place of a `valueStage()` is the usual slip. */
export function checkStage(who: string, stage: unknown): void {
  if (typeof stage !== 'function')
    throw misfit(who, 'a stage, which is a function of the next sink', stage, `${who}(valueStage())`)
}

/** How what is written at the door becomes what the stage takes, one bounded portion at a time. */
export interface Intake<In> {
  /** Makes one input of what was written; throws a Fault for what cannot be one. */
  take(written: unknown): In
  /** In how many units the input can be portioned (bytes, say). */
  size(input: In): number
  /** The units `[from, to)` of the input. */
  portion(input: In, from: number, to: number): In
  /** What `take` kept back, when nothing follows any more. */
  rest?(): In | undefined
}

/** Every value is passed on whole. */
export function wholeIntake<In>(): Intake<In> {
  // The cast is the door: an untyped Node stream hands over what the caller promised to write.
  return { take: (written) => written as In, size: () => 1, portion: (input) => input }
}
