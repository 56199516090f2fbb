import { isRecord } from '../../events/engine.ts'
import { type Tokens, tokenCounter, tokensOf } from '../../events/tokens.ts'

/** Counts of Gemini's API, with the names of its session files. */
interface Counted {
  /** The prompt, including cached tokens. */
  readonly input?: unknown
  /** The text of the model. */
  readonly output?: unknown
  readonly cached?: unknown
  /**
   * Thinking: not included in `output`, unless `total` shows that it is (other models used with Qwen Code).
   */
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

/**
 * The tokens of a run, from the `stats` of the document (per model) or of a stream (the sum of all models).
 */
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
