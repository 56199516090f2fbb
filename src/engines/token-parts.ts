import { isRecord } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { type Tokens, tokenCounter, tokensOf } from '../events/tokens.ts'

/** Counts as an engine reports them: some with cached tokens in the input, reasoning in the output. */
interface TokenParts {
  readonly input?: unknown
  readonly output?: unknown
  readonly cacheRead?: unknown
  readonly cacheWrite?: unknown
  readonly reasoning?: unknown
  /** The engine's own sum: it shows which parts are counted separately. */
  readonly total?: unknown
}

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
  const reported = tokensOf({
    input: parts.input,
    output: parts.output,
    cached: parts.cacheRead,
    cache_write: parts.cacheWrite,
    reasoning: parts.reasoning,
  })
  if (!reported || (!reported.input && !reported.output)) return undefined
  const { input, output, cached, cache_write, reasoning } = reported
  const read = cached ?? 0
  const thought = reasoning ?? 0
  const inputs = ways(known.cache, input, read, read + (cache_write ?? 0))
  const outputs = ways(known.reasoning, output, thought, thought)
  if (inputs.length === 1 && outputs.length === 1)
    return tokensOf({ input: inputs[0], output: outputs[0], cached, cache_write, reasoning })
  const total = tokensOf({ input: parts.total })?.input
  const pairs = inputs.flatMap((one) => outputs.map((other) => [one, other] as const))
  const fitting = pairs.filter(([one, other]) => (one ?? 0) + (other ?? 0) === total)
  const left = fitting.length > 0 ? fitting : pairs
  return tokensOf({
    input: only(left.map(([one]) => one)),
    output: only(left.map(([, one]) => one)),
    cached,
    cache_write,
    reasoning,
  })
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
  return (counts) => {
    const record = Rec.of(counts)
    const at = (path: string | undefined) => (path === undefined ? undefined : record?.at(path))
    return (
      record &&
      tokenParts(
        {
          input: at(paths.input),
          output: at(paths.output),
          cacheRead: at(paths.cacheRead),
          cacheWrite: at(paths.cacheWrite),
          reasoning: at(paths.reasoning),
          total: at(paths.total),
        },
        known,
      )
    )
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
