import { isRecord, type Say } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { durationOf, Rec } from '../../events/record.ts'
import { type Tokens, tokenCounter, tokensOf } from '../../events/tokens.ts'
import { type Calls, hunksText, wholeFile } from '../calls.ts'
import { blocksOf, wordsOf } from '../content-blocks.ts'
import { tokensAt } from '../token-parts.ts'

/** Beginnings of user lines, and blocks of them, that the user did not type. */
const notTyped = [
  ...['<command-name>', '<command-message>', '<local-command-stdout>', '<local-command-stderr>'],
  ...['<bash-input>', '<bash-stdout>', '<bash-stderr>', '<task-notification>', '<system-reminder>'],
  ...['Caveat: ', 'Stop hook feedback:'],
  'This session is being continued from a previous conversation that ran out of context.',
]
const INTERRUPTED = '[Request interrupted by user'

/** The content of a user line: a prompt, the mark of an interrupt, or nothing that the user said. */
export function promptOf(content: unknown): { readonly prompt?: string; readonly interrupted?: true } {
  const blocks = blocksOf(content)
  // A reminder of the engine can be in a block before or after the user's own words.
  const prompt = blocks
    .flatMap((block) => block.text('text') || [])
    .filter((words) => !notTyped.some((start) => words.startsWith(start)))
    .join('\n')
  if (prompt.startsWith(INTERRUPTED)) return { interrupted: true }
  return prompt === '' || blocks.some(isResult) ? {} : { prompt }
}

export function isResult(block: Rec): boolean {
  return block.at('type') === 'tool_result'
}

/** Reports the result of a tool; `reported` is what the tool says about it in its own format. */
export function sayResult(
  block: Rec,
  reported: Rec = new Rec({}),
  { end }: Pick<Calls, 'end'>,
  say: Say,
  parent: string | undefined,
  denied?: true,
): void {
  const output = block.at('content')
  const error = typeof output === 'string' || Array.isArray(output) ? wordsOf(output) : undefined
  const seconds = reported.number('durationSeconds')
  const duration_ms =
    seconds === undefined
      ? reported.duration('durationMs totalDurationMs')
      : durationOf(Math.round(seconds * 1000))
  const call = { id: block.text('tool_use_id') ?? '', output, error, denied, duration_ms, parent }
  const type = reported.at('type')
  say.fields(block.values, '* is_error:flag')
  end(call, block.isSet('is_error'), say, {
    path: reported.text('filePath'),
    change: type === 'create' ? 'created' : type === 'update' ? 'modified' : undefined,
    // A new file comes as a whole.
    fileDiff:
      hunksText(reported.at('structuredPatch')) ??
      (type === 'create' ? wholeFile('+', reported.at('content')) : undefined),
  })
}

/**
 * The tokens of a `usage`. The API counts cache reads and cache writes separately from `input_tokens`. Qwen
 * Code uses the same names, but its `input_tokens` is the whole prompt, as its `total_tokens` shows. Zeros
 * alone are printed when the model's answer was cut off.
 */
export function claudeTokens(usage: unknown): Tokens | undefined {
  if (!isRecord(usage)) return undefined
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
  const reported = tokensOf({
    input: input_tokens,
    output: output_tokens,
    cached: cache_read_input_tokens,
    cache_write: cache_creation_input_tokens,
  })
  if (reported?.input === undefined) return reported
  const { input, output = 0, cached = 0, cache_write: written = 0 } = reported
  if (input + output + cached + written === 0) return undefined
  if (usage['total_tokens'] === input + output) return reported
  return { ...reported, input: input + cached + written }
}

const tokensOfModel = /* @__PURE__ */ tokensAt(
  {
    input: 'inputTokens',
    output: 'outputTokens',
    cached: 'cacheReadInputTokens',
    cache_write: 'cacheCreationInputTokens',
    reasoning: 'thinkingTokens',
  },
  { cache: 'apart', reasoning: 'within' },
)

/** The sum of `modelUsage`, which has the counts of each model. */
export function modelTokens(models: Rec | undefined): Tokens | undefined {
  const sum = tokenCounter()
  for (const counts of Object.values(models?.values ?? {})) {
    const tokens = tokensOfModel(counts)
    if (tokens) sum.add(tokens)
  }
  return sum.sum()
}

/** Counts each message once. Its lines repeat its usage, and the first can have less than the last. */
export function messageTokens() {
  const reported = memory<Tokens>(() => 0)
  /** What a line of the message `id` adds to the lines before it; undefined if it adds nothing. */
  return (id: string, tokens: Tokens | undefined): Tokens | undefined => {
    if (!tokens) return undefined
    const before = reported.get(id)
    reported.set(id, tokens)
    if (!before) return tokens
    const added: { -readonly [K in keyof Tokens]: number } = {}
    let grew = false
    for (const key in tokens) {
      const kind = key as keyof Tokens // cast: a key of the tokens
      added[kind] = Math.max(0, tokens[kind]! - (before[kind] ?? 0))
      grew ||= added[kind] > 0
    }
    return grew ? added : undefined
  }
}
