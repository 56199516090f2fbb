import { isRecord } from '../../events/engine.ts'
import { type Tokens, tokensOf } from '../../events/tokens.ts'

/**
 * The tokens of a usage, with the names of `codex exec` or of the app-server. Cached and reasoning tokens are
 * included in the others.
 */
export function codexTokens(usage: unknown): Tokens | undefined {
  if (!isRecord(usage)) return undefined
  return tokensOf({
    input: usage['input_tokens'] ?? usage['inputTokens'],
    output: usage['output_tokens'] ?? usage['outputTokens'],
    cached: usage['cached_input_tokens'] ?? usage['cachedInputTokens'],
    reasoning: usage['reasoning_output_tokens'] ?? usage['reasoningOutputTokens'],
  })
}
