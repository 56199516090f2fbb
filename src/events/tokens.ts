import type { Cost } from './cost.ts'

/**
 * Token counts, with the same names for every engine. `cached` is the part of `input` that came from a cache,
 * `cache_write` the part that was written to one, `reasoning` the part of `output` that was used for
 * thinking. A count that the engine did not report is missing, not 0.
 *
 * @example
 * if (isEvent(event, 'lifecycle.completion.state')) console.log(event.data.tokens?.output)
 */
export interface Tokens {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly cache_write?: number
  readonly reasoning?: number
}

/** What a session has used, and what it cost. */
export interface TokensAndCost extends Tokens {
  readonly cost?: Cost
}

type Counts = { -readonly [K in keyof Tokens]: Tokens[K] }

/** Adds up the tokens of a run. If an engine reports a running total, only the increase is added. */
export function tokenCounter() {
  let sum: Tokens | undefined
  let before: Tokens = {}

  const add = (counts: Tokens): Tokens => {
    sum = sum ? each(sum, counts, plus) : each(counts, counts, same)
    return counts
  }

  return {
    /** Counts of one step or turn. */
    add,
    /** The running total begins here: what it was before is not this run's. */
    startAt(total: Tokens): void {
      before = total
    },
    /** The running total, which some engines report. */
    soFar(total: Tokens): Tokens {
      // A total that decreases has started over. One that is missing has not changed.
      const again = !isEmpty(each(total, before, decrease))
      const counts = each(total, again ? {} : before, increase)
      before = again ? total : each(total, before, known)
      return add(counts)
    },
    /** For the whole run: a count is included if it was reported each time. */
    sum(): Tokens | undefined {
      return sum && !isEmpty(sum) ? each(sum, sum, same) : undefined
    },
  }
}

/**
 * The counts that `make` gives for each kind. By name and always in the same order: all have a few shapes,
 * and none becomes a slow object because a key was deleted.
 */
function each<Value>(
  a: { readonly [K in keyof Tokens]?: Value },
  b: { readonly [K in keyof Tokens]?: Value },
  make: (a: Value | undefined, b: Value | undefined) => number | undefined,
): Tokens {
  const counts: Counts = {}
  const input = make(a.input, b.input)
  if (input !== undefined) counts.input = input
  const output = make(a.output, b.output)
  if (output !== undefined) counts.output = output
  const cached = make(a.cached, b.cached)
  if (cached !== undefined) counts.cached = cached
  const written = make(a.cache_write, b.cache_write)
  if (written !== undefined) counts.cache_write = written
  const reasoning = make(a.reasoning, b.reasoning)
  if (reasoning !== undefined) counts.reasoning = reasoning
  return counts
}

type Count = number | undefined

const same = (a: Count) => a
const known = (a: Count, b: Count) => a ?? b
const plus = (a: Count, b: Count) => (a === undefined || b === undefined ? undefined : a + b)
const increase = (a: Count, b: Count) => (a === undefined ? undefined : a - (b ?? 0))
const decrease = (a: Count, b: Count) => (a !== undefined && a < (b ?? 0) ? a : undefined)

function isEmpty(counts: Tokens): boolean {
  for (const _ in counts) return false
  return true
}

/**
 * Reads counts from an engine's own record; what is not a count is left out. Undefined without any.
 *
 * @example
 * const usage = { input_tokens: 3, output_tokens: '?' }
 * tokensOf({ input: usage.input_tokens, output: usage.output_tokens }) // { input: 3 }
 */
export function tokensOf(reported: { readonly [K in keyof Tokens]?: unknown }): Tokens | undefined {
  const counts = each(reported, reported, asCount)
  return isEmpty(counts) ? undefined : counts
}

function asCount(count: unknown): Count {
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}
