import { isRecord } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { type Tokens, tokenCounter, tokensOf } from '../events/tokens.ts'

/**
 * Counts as an engine reports them: some with cached tokens in the input, reasoning in the output. The
 * engine's own `total` shows which parts are counted separately.
 */
type TokenParts = { readonly [K in keyof Tokens | 'total']?: unknown }

/** Whether the input of an engine includes cached tokens, its output reasoning (`within`, `apart`). */
interface Counting {
  readonly cache?: 'within' | 'apart' | undefined
  readonly reasoning?: 'within' | 'apart' | undefined
}

/**
 * Tokens with the whole prompt in `input` and everything the model wrote in `output`. A count that can be
 * read in two ways is left out. Zeros alone are what engines print when they know nothing.
 */
export function tokenParts(parts: TokenParts, known: Counting = {}): Tokens | undefined {
  const reported = tokensOf(parts)
  if (!reported || Object.values(reported).every((count) => count === 0)) return undefined
  const { cached: read = 0, cache_write: written = 0, reasoning: thought = 0 } = reported
  const inputs = ways(known.cache, reported.input, read, read + written)
  // Reasoning that is more than the output is separate from it, whatever is usual.
  const within = thought <= (reported.output ?? 0) ? known.reasoning : 'apart'
  const outputs = ways(within, reported.output, thought, thought)
  if (inputs.length === 1 && outputs.length === 1)
    return tokensOf({ ...reported, input: inputs[0], output: outputs[0] })
  const total = tokensOf({ input: parts.total })?.input
  const pairs = inputs.flatMap((one) => outputs.map((other) => [one, other] as const))
  const fitting = pairs.filter(([one, other]) => (one ?? 0) + (other ?? 0) === total)
  const left = fitting.length > 0 ? fitting : pairs
  const [input, output] = [only(left.map(([one]) => one)), only(left.map(([, one]) => one))]
  return tokensOf({ ...reported, input, output })
}

/** The possible values of a count: with the part included in it, and with the rest separate from it. */
function ways(
  known: 'within' | 'apart' | undefined,
  reported: number | undefined,
  part: number,
  rest: number,
): (number | undefined)[] {
  if (reported === undefined) return [undefined]
  // A part is never more than the whole.
  const within = known !== 'apart' && part <= reported
  const apart = known !== 'within' && !(within && rest === 0)
  if (within) return apart ? [reported, reported + rest] : [reported]
  return [apart ? reported + rest : undefined]
}

function only(counts: readonly (number | undefined)[]): number | undefined {
  return counts.every((one) => one === counts[0]) ? counts[0] : undefined
}

/**
 * A reader of the counts in a record, which are at these paths.
 *
 * @example
 * const tokensIn = tokensAt({ input: 'inputTokens', output: 'outputTokens' }, { cache: 'within' })
 */
export function tokensAt(
  paths: { readonly [K in keyof TokenParts]: string },
  known: Counting = {},
): (counts: unknown) => Tokens | undefined {
  const named = Object.entries(paths)
  return (counts) => {
    const record = Rec.of(counts)
    const parts: { [name: string]: unknown } = {}
    for (const [name, path] of named) parts[name] = record?.at(path)
    return record && tokenParts(parts, known)
  }
}

/** Counts of Gemini's API, with the names of its session files. */
interface Counted {
  /** The prompt, including cached tokens. */
  readonly input?: unknown
  /** The text of the model. */
  readonly output?: unknown
  readonly cached?: unknown
  /** Thinking: not in `output`, unless `total` shows that it is (other models in Qwen Code). */
  readonly thoughts?: unknown
  /** What the model's own tools added to the prompt, not included in `input`. */
  readonly tool?: unknown
  readonly total?: unknown
}

export function geminiTokens({ thoughts, tool, total, ...counted }: Counted): Tokens | undefined {
  const reported = tokensOf({ ...counted, reasoning: thoughts })
  if (!reported || total === (reported.input ?? 0) + (reported.output ?? 0)) return reported
  const fetched = tokensOf({ input: tool })?.input ?? 0
  return tokensOf({
    ...reported,
    input: reported.input === undefined ? undefined : reported.input + fetched,
    output: reported.output === undefined ? undefined : reported.output + (reported.reasoning ?? 0),
  })
}

/** The tokens of a run, from the `stats` of the document (per model) or of a stream (their sum). */
export function statsTokens(stats: unknown): Tokens | undefined {
  if (!isRecord(stats)) return undefined
  const { total_tokens, input_tokens, output_tokens, cached, models } = stats
  if (typeof input_tokens === 'number') {
    // Printed when no answer came.
    if (input_tokens === 0 && !output_tokens) return undefined
    const reported = tokensOf({ input: input_tokens, output: output_tokens, cached })
    // The stream does not report the thoughts, but its total includes them.
    const output = typeof total_tokens === 'number' ? total_tokens - input_tokens : 0
    return reported?.output !== undefined && output > reported.output ? { ...reported, output } : reported
  }
  const sum = tokenCounter()
  for (const model of isRecord(models) ? Object.values(models) : []) {
    const counts = isRecord(model) && isRecord(model['tokens']) ? model['tokens'] : {}
    const { prompt, candidates } = counts
    sum.add(geminiTokens({ ...counts, input: prompt, output: candidates }) ?? {})
  }
  return sum.sum()
}
