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
export interface Spent extends Tokens {
  readonly cost?: Cost
}

const kinds = ['input', 'output', 'cached', 'cache_write', 'reasoning'] as const

type Counts = { -readonly [K in keyof Tokens]: Tokens[K] }

/** Adds up the tokens of a run. If an engine reports a running total, only the increase is added. */
export function tokenCounter() {
  let sum: Counts | undefined
  let before: Counts = {}

  const add = (counts: Tokens): Tokens => {
    if (!sum) sum = { ...counts }
    else for (const kind of kinds) put(sum, kind, plus(sum[kind], counts[kind]))
    return counts
  }

  return {
    /** Counts of one step or turn. */
    add,
    /** The running total begins here: what it was before is not this run's. */
    startAt(total: Tokens): void {
      before = { ...total }
    },
    /** The running total, which some engines report. */
    soFar(total: Tokens): Tokens {
      const counts: Counts = {}
      // A total that decreases has started over. One that is missing has not changed.
      const again = kinds.some((kind) => (total[kind] ?? before[kind] ?? 0) < (before[kind] ?? 0))
      for (const kind of kinds)
        put(counts, kind, again ? total[kind] : plus(total[kind], -(before[kind] ?? 0)))
      if (again) before = { ...total }
      else for (const kind of kinds) if (total[kind] !== undefined) before[kind] = total[kind]
      return add(counts)
    },
    /** For the whole run: a count is included if it was reported each time. */
    sum(): Tokens | undefined {
      return sum && kinds.some((kind) => sum?.[kind] !== undefined) ? { ...sum } : undefined
    },
  }
}

function put(counts: Counts, kind: keyof Tokens, count: number | undefined): void {
  if (count !== undefined) counts[kind] = count
  else if (counts[kind] !== undefined) delete counts[kind]
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}

/**
 * Reads counts from an engine's own record; anything that is not a count is left out. Undefined if there is
 * none.
 *
 * @example
 * const usage = { input_tokens: 3, output_tokens: '?' }
 * tokensOf({ input: usage.input_tokens, output: usage.output_tokens }) // { input: 3 }
 */
export function tokensOf(reported: { readonly [K in keyof Tokens]?: unknown }): Tokens | undefined {
  const counts: Counts = {}
  for (const kind of kinds) {
    const count = reported[kind]
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) counts[kind] = count
  }
  return Object.keys(counts).length === 0 ? undefined : counts
}
