import type { Tokens } from '../../src/events/tokens.ts'
import { recordsOf } from './plain-records.ts'

/** What a run told beside its messages, read from its log by plain sums that know nothing of the engines. */
export interface Told {
  readonly tokens: Tokens | undefined
  readonly prompts: readonly string[]
}

export const toldReadings: Readonly<Record<string, (log: string) => Told>> = {
  opencode: (log) => ({ tokens: openCodeSteps(of(log, 'step_finish').map(({ part }) => part)), prompts: [] }),
  kilo: (log) => ({ tokens: openCodeSteps(of(log, 'step_finish').map(({ part }) => part)), prompts: [] }),
  'opencode-session': (log) => {
    const messages = recordsOf(log).filter(({ opencode }) => opencode === 'message')
    const steps = messages.flatMap(({ parts }) => parts.filter(({ type }: Json) => type === 'step-finish'))
    const asked = messages.filter(({ data }) => data.role === 'user')
    return { tokens: openCodeSteps(steps), prompts: asked.map(({ parts }) => parts[0].text) }
  },
  copilot: (log) => ({ tokens: undefined, prompts: of(log, 'user.message').map(({ data }) => data.content) }),
  'copilot-session': (log) => {
    // What the session has used so far is told when a process ends; one that was killed does not tell it.
    const ends = of(log, 'session.shutdown')
    const metrics = ends.at(-1)?.data.accountingSnapshot?.modelMetrics ?? {}
    const usages =
      ends.length > of(log, 'session.resume').length
        ? Object.values<Json>(metrics).map(({ usage }) => usage)
        : of(log, 'session.usage_record').map(({ data }) => data.usage)
    return {
      tokens: camelSum(usages),
      prompts: of(log, 'user.message').map(({ data }) => data.content),
    }
  },
  pi: (log) => ({
    tokens: piSum(of(log, 'message_end').map(({ message }) => message)),
    prompts: of(log, 'message_end').flatMap(({ message }) => piPrompt(message)),
  }),
  'pi-session': (log) => ({
    tokens: piSum(of(log, 'message').map(({ message }) => message)),
    prompts: of(log, 'message').flatMap(({ message }) => piPrompt(message)),
  }),
  // Cline itself keeps the sum so far.
  cline: (log) => {
    const last = of(log, 'agent_event').findLast(({ event }) => event.type === 'usage')?.event
    const tokens = last && {
      input: last.totalInputTokens,
      output: last.totalOutputTokens,
      cached: last.totalCacheReadTokens,
    }
    return { tokens, prompts: [] }
  },
  'cline-session': (log) => {
    const { messages } = JSON.parse(log)
    const asked = messages.filter(({ role, content }: Json) => role === 'user' && content[0].type === 'text')
    return {
      tokens: camelSum(messages.flatMap(({ metrics }: Json) => metrics ?? [])),
      prompts: asked.map(({ content }: Json) => content[0].text.split('>')[1].split('</user_input')[0]),
    }
  },
  cursor: (log) => ({
    tokens: undefined,
    prompts: of(log, 'user').map(({ message }) => message.content[0].text),
  }),
  droid: (log) => ({
    tokens: undefined,
    prompts: of(log, 'message').flatMap(({ role, text }) => (role === 'user' ? text : [])),
  }),
  grok: (log) => ({
    tokens: undefined,
    prompts: recordsOf(log).flatMap(({ role, content }) => (role === 'user' ? content : [])),
  }),
  nanocoder: (log) => {
    const at = log.indexOf('"usage": {')
    const to = log.indexOf('}', at)
    const usage = at < 0 || to < 0 ? undefined : JSON.parse(log.slice(at + 9, to + 1))
    return { tokens: usage && { input: usage.inputTokens, output: usage.outputTokens }, prompts: [] }
  },
  acp: (log) => {
    const answers = recordsOf(log).flatMap(({ result, params }) =>
      [result ?? [], params?.update ?? []].flat(),
    )
    const steps = answers.flatMap(({ _meta }) => _meta?.usage ?? [])
    const turn = answers.find(({ stopReason }) => stopReason !== undefined)
    const tools = answers.some(({ sessionUpdate }) => sessionUpdate === 'tool_call')
    const name = answers.find(({ agentInfo }) => agentInfo)?.agentInfo.name
    // These two tell the last request only.
    const part = tools && (name === 'OpenCode' || name === 'Kilo')
    const input = turn?._meta?.quota?.token_count?.input_tokens
    if (input !== undefined) return { tokens: input === 0 ? undefined : { input }, prompts: [] }
    const usages = steps.length > 0 ? steps : turn?.usage && !part ? [turn.usage] : []
    const kinds = ['cachedReadTokens', 'thoughtTokens'] as const
    const [cached, reasoning] = kinds.map((kind) =>
      usages.every((usage: Json) => kind in usage) ? add(usages, kind) : undefined,
    )
    // None of the recorded runs has thoughts that were counted, so all but the output is input.
    const tokens = {
      input: add(usages, 'totalTokens') - add(usages, 'outputTokens'),
      output: add(usages, 'outputTokens'),
      ...(cached !== undefined && { cached }),
      ...(reasoning !== undefined && { reasoning }),
    }
    return { tokens: usages.length > 0 ? tokens : undefined, prompts: [] }
  },
}

// biome-ignore lint/suspicious/noExplicitAny: records of many shapes, read by hand
type Json = any

function of(log: string, type: string): Json[] {
  return recordsOf(log).filter((record) => record.type === type)
}

function add(list: Json[], key: string): number {
  return list.reduce((sum, one) => sum + one[key], 0)
}

function openCodeSteps(steps: Json[]): Tokens | undefined {
  if (steps.length === 0) return undefined
  const counts = steps.map(({ tokens: { total, input, output, reasoning, cache } }) => {
    const prompt = input + cache.read + cache.write
    return {
      input: prompt,
      output: total === undefined ? output : total - prompt,
      cached: cache.read,
      reasoning,
    }
  })
  return Object.fromEntries(['input', 'output', 'cached', 'reasoning'].map((key) => [key, add(counts, key)]))
}

function camelSum(usages: Json[]): Tokens | undefined {
  if (usages.length === 0) return undefined
  return {
    input: add(usages, 'inputTokens'),
    output: add(usages, 'outputTokens'),
    cached: add(usages, 'cacheReadTokens'),
  }
}

function piSum(messages: Json[]): Tokens | undefined {
  const usages = messages.flatMap(({ usage }) => (usage?.totalTokens > 0 ? usage : []))
  if (usages.length === 0) return undefined
  const input = add(usages, 'input') + add(usages, 'cacheRead') + add(usages, 'cacheWrite')
  return {
    input,
    output: add(usages, 'totalTokens') - input,
    cached: add(usages, 'cacheRead'),
    ...('reasoning' in usages[0] && { reasoning: add(usages, 'reasoning') }),
  }
}

function piPrompt({ role, content }: Json): string[] {
  return role === 'user' ? [typeof content === 'string' ? content : content[0].text] : []
}
