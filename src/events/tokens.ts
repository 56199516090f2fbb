/**
 * Token counts, named alike for every engine. `cached` is the part of `input` that came from a cache, `reasoning` the part of
 * `output` that was thought and not said. A count that the engine did not tell is missing, not 0.
 *
 * @example
 * if (isEvent(event, 'lifecycle.completion.state')) console.log(event.data.tokens?.output)
 */
export interface Tokens {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly reasoning?: number
}

const kinds = ['input', 'output', 'cached', 'reasoning'] as const

type Counts = { -readonly [K in keyof Tokens]: Tokens[K] }

/** Adds up the tokens of a run. What an engine tells as a sum so far becomes what was added to it. */
export function tokenCounter() {
  let sum: Counts | undefined
  let before: Tokens = {}

  const add = (counts: Tokens): Tokens => {
    if (!sum) sum = { ...counts }
    else for (const kind of kinds) put(sum, kind, plus(sum[kind], counts[kind]))
    return counts
  }

  return {
    /** Counts of one step or turn. */
    add,
    /** The sum so far, as some engines tell it. */
    soFar(total: Tokens): Tokens {
      const counts: Counts = {}
      // A counter that goes down has begun again. One that is not told has not moved.
      const again = kinds.some((kind) => (total[kind] ?? before[kind] ?? 0) < (before[kind] ?? 0))
      for (const kind of kinds)
        put(counts, kind, again ? total[kind] : plus(total[kind], -(before[kind] ?? 0)))
      before = again ? total : { ...before, ...total }
      return add(counts)
    },
    /** Of the whole run: a count is in it if it was told each time. */
    sum(): Tokens | undefined {
      return sum && kinds.some((kind) => sum?.[kind] !== undefined) ? { ...sum } : undefined
    },
  }
}

function put(counts: Counts, kind: keyof Tokens, count: number | undefined): void {
  if (count === undefined) delete counts[kind]
  else counts[kind] = count
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}

/**
 * Counts out of an engine's own record: only what is a count. Undefined if none of them is.
 *
 * @example
 * const usage = { input_tokens: 3, output_tokens: '?' }
 * tokensOf({ input: usage.input_tokens, output: usage.output_tokens }) // { input: 3 }
 */
export function tokensOf(told: { readonly [K in keyof Tokens]?: unknown }): Tokens | undefined {
  const counts: Counts = {}
  for (const kind of kinds) {
    const count = told[kind]
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) counts[kind] = count
  }
  return Object.keys(counts).length === 0 ? undefined : counts
}
