/**
 * What a run spent and was asked, read from its log by a few plain loops that know nothing of the engines.
 */
export interface Facts {
  readonly tokens: { input?: number; output?: number; cached?: number; reasoning?: number } | undefined
  readonly prompts: readonly string[]
}

/** The log of stdout (or of the PTY, or a session file), by the name of its engine. */
export const plainFacts: Readonly<Record<string, (log: string) => Facts>> = {
  codex: (log) => {
    const records = recordsOf(log)
    // Each of these counts a thread from its beginning: the last one of a thread is its sum.
    const sums = new Map<string, Json>()
    for (const { type, usage, msg, method, params } of records) {
      if (type === 'turn.completed') sums.set('exec', usage)
      if (msg?.type === 'token_count' && msg.info) sums.set('0.42', msg.info.total_token_usage)
      if (method === 'thread/tokenUsage/updated') sums.set(params.threadId, params.tokenUsage.total)
    }
    const asked = records.flatMap(({ method, params }) =>
      method === 'item/completed' && params.item.type === 'userMessage' ? params.item.content[0].text : [],
    )
    return {
      tokens: sum([...sums.values()].map(codexUsage)),
      prompts: [...records.flatMap(({ prompt }) => prompt ?? []), ...asked],
    }
  },
  'codex-session': (log) => {
    const payloads = recordsOf(log).flatMap(({ type, payload }) => ({ ...payload, line: type }))
    // 0.166 tells each response; before, the thread's sum.
    const each = payloads.filter(({ line }) => line === 'token_usage_record').map(({ usage }) => usage)
    const total = payloads.findLast(({ type, info }) => type === 'token_count' && info)
    const old = total ? [total.info.total_token_usage] : []
    return {
      tokens: sum((each.length > 0 ? each : old).map(codexUsage)),
      prompts: payloads.flatMap(({ type, message, item }) => {
        if (type === 'user_message') return [message]
        return item?.type === 'UserMessage' ? [item.content[0].text] : []
      }),
    }
  },
  claude: claudeDialect,
  amp: claudeDialect,
  qwen: (log) => {
    const result = recordsOf(log).findLast(({ type }) => type === 'result')
    if (!result) return { tokens: undefined, prompts: [] }
    const { input_tokens: input, output_tokens: output, cache_read_input_tokens: cached } = result.usage
    const models: Json[] = Object.values(result.stats?.models ?? {})
    const thoughts = models.reduce((all, { tokens }) => all + tokens.thoughts, 0)
    if (input + output === 0) return { tokens: undefined, prompts: [] }
    return { tokens: { input, output, cached, ...(models[0] && { reasoning: thoughts }) }, prompts: [] }
  },
  'qwen-session': (log) => {
    const records = recordsOf(log)
    const events = records.flatMap(({ systemPayload }) => systemPayload?.uiEvent ?? [])
    const responses = events.filter((event) => event['event.name'] === 'qwen-code.api_response')
    return {
      tokens: sum(
        responses.map((event) => ({
          input: event.input_token_count,
          output: event.total_token_count - event.input_token_count,
          cached: event.cached_content_token_count,
          reasoning: event.thoughts_token_count,
        })),
      ),
      prompts: records.flatMap(({ type, message }) => (type === 'user' ? [message.parts[0].text] : [])),
    }
  },
  gemini: (log) => {
    const records = recordsOf(log)
    const prompts = records.flatMap(({ type, role, content }) =>
      type === 'message' && role === 'user' ? [content] : [],
    )
    const stats = records.findLast(({ type }) => type === 'result')?.stats
    if (stats?.input_tokens !== undefined) {
      const { total_tokens, input_tokens: input, cached } = stats
      return {
        // No answer, no count.
        tokens:
          total_tokens === 0
            ? undefined
            : { input, output: total_tokens - input, ...(cached !== undefined && { cached }) },
        prompts,
      }
    }
    const models: Json[] = Object.values(documentOf(log)?.stats?.models ?? {})
    return {
      tokens: sum(
        models.map(({ tokens: { prompt, total, cached, thoughts } }) => ({
          input: prompt,
          output: total - prompt,
          cached,
          reasoning: thoughts,
        })),
      ),
      prompts,
    }
  },
  'gemini-session': (log) => {
    const records = recordsOf(log)
    const messages: Json[] = (documentOf(log)?.messages ?? records).filter(({ id }: Json) => id !== undefined)
    const latest = new Map(messages.map((message) => [message.id, message]))
    const spent = [...latest.values()].flatMap(({ tokens }) => tokens ?? [])
    return {
      tokens: sum(
        spent.map(({ input, total, cached, thoughts }) => ({
          input,
          output: total - input,
          cached,
          reasoning: thoughts,
        })),
      ),
      prompts: [...latest.values()].flatMap(({ type, content }) => {
        if (type !== 'user') return []
        return typeof content === 'string' ? [content] : (content[0].text ?? [])
      }),
    }
  },
  'claude-session': (log) => {
    const records = recordsOf(log).filter((record) => record?.message?.role)
    const usages = new Map<string, Json>()
    for (const { message } of records)
      if (message.usage && message.model !== '<synthetic>') usages.set(message.id, message.usage)
    const asked = records.filter(
      ({ type, isSidechain, isMeta, isCompactSummary }) =>
        type === 'user' && !isSidechain && !isMeta && !isCompactSummary,
    )
    return { tokens: sum([...usages.values()].map(anthropicUsage)), prompts: asked.flatMap(spokenBy) }
  },
}

function claudeDialect(log: string): Facts {
  const records = recordsOf(log)
  const results = records.filter(({ type }) => type === 'result')
  const spoken = records.filter(({ type, message }) => type === 'assistant' && message.usage)
  const untold = results.length > 0 && results.every(({ usage }) => !usage)
  const usages = untold ? spoken.map(({ message }) => message.usage) : results.map(({ usage }) => usage)
  const asked = records.filter(
    ({ type, parent_tool_use_id, isSynthetic }) => type === 'user' && !parent_tool_use_id && !isSynthetic,
  )
  return { tokens: sum(usages.map(anthropicUsage)), prompts: asked.flatMap(spokenBy) }
}

/** The words of a user line that no tool and no command of the CLI has written. */
function spokenBy({ message: { content } }: Json): string[] {
  const texts: string[] =
    typeof content === 'string' ? [content] : content.flatMap(({ text }: Json) => text ?? [])
  const said = texts.join('\n')
  return /^$|^<[a-z-]+>|^Caveat: |^\[Request interrupted/.test(said) ? [] : [said]
}

// biome-ignore lint/suspicious/noExplicitAny: any record of any engine
type Json = any

function codexUsage(usage: Json): Json {
  return {
    input: usage.input_tokens ?? usage.inputTokens,
    output: usage.output_tokens ?? usage.outputTokens,
    cached: usage.cached_input_tokens ?? usage.cachedInputTokens,
    reasoning: usage.reasoning_output_tokens ?? usage.reasoningOutputTokens,
  }
}

function anthropicUsage(usage: Json): Json {
  const { cache_read_input_tokens: cached, cache_creation_input_tokens: written = 0 } = usage
  return { input: usage.input_tokens + (cached ?? 0) + written, output: usage.output_tokens, cached }
}

/** Adds counts up; one that is missing once is missing in the sum. */
function sum(counts: readonly Json[]): Facts['tokens'] {
  if (counts.length === 0) return undefined
  const total: Json = {}
  for (const kind of ['input', 'output', 'cached', 'reasoning'])
    if (counts.every((count) => count[kind] !== undefined))
      total[kind] = counts.reduce((all, count) => all + count[kind], 0)
  return total
}

function recordsOf(log: string): Json[] {
  return log.split('\n').flatMap((line) => {
    const value = parsed(line.trim())
    return Array.isArray(value) ? value : (value ?? [])
  })
}

/**
 * A document on several lines: from a brace at the beginning of a line, or behind other text, to the last
 * one.
 */
function documentOf(log: string): Json {
  for (let at = log.indexOf('{'); at >= 0; at = log.indexOf('{', at + 1)) {
    const value = parsed(log.slice(at, log.lastIndexOf('\n}') + 2).replaceAll('\r', ''))
    if (value) return value
  }
  return undefined
}

function parsed(text: string): Json {
  if (!/^[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
