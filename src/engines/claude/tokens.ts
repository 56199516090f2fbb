import { isRecord } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { type Tokens, tokensOf } from '../../events/tokens.ts'

/**
 * The tokens of a `usage`. The API counts cache reads and cache writes separately from `input_tokens`. Qwen
 * Code uses the same names, but its `input_tokens` is the whole prompt, as its `total_tokens` shows. Zeros
 * alone are printed when the model's answer was cut off.
 */
export function claudeTokens(usage: unknown): Tokens | undefined {
  if (!isRecord(usage)) return undefined
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
  const reported = tokensOf({ input: input_tokens, output: output_tokens, cached: cache_read_input_tokens })
  if (reported?.input === undefined) return reported
  const { input, output = 0, cached = 0 } = reported
  const written = tokensOf({ input: cache_creation_input_tokens })?.input ?? 0
  if (input + output + cached + written === 0) return undefined
  if (usage['total_tokens'] === input + output) return reported
  return { ...reported, input: input + cached + written }
}

/**
 * Counts each message once. Its lines repeat its usage, and the first of them can have less than the last.
 */
export function messageTokens() {
  const reported = memory<Tokens>(() => 0)
  /** What a line of the message `id` adds to the lines before it; undefined if it adds nothing. */
  return (id: string, tokens: Tokens | undefined): Tokens | undefined => {
    if (!tokens) return undefined
    const before = reported.get(id)
    reported.set(id, tokens)
    if (!before) return tokens
    const more = (kind: keyof Tokens) =>
      tokens[kind] === undefined ? undefined : Math.max(0, tokens[kind] - (before[kind] ?? 0))
    const added = tokensOf({ input: more('input'), output: more('output'), cached: more('cached') })
    return added && (added.input || added.output || added.cached) ? added : undefined
  }
}
