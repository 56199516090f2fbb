import { isRecord } from '../../events/engine.ts'
import type { Tokens } from '../../events/tokens.ts'
import { tokenParts } from '../token-parts.ts'

/**
 * What the usage in the answer to `session/prompt` counts: all model requests of the turn, or the last one.
 */
const counted: Readonly<Record<string, 'turn' | 'first turn' | 'request'>> = {
  'gemini-cli 0': 'turn',
  'nanocoder 1': 'turn',
  // Version 1 reported the last request. Whether later turns begin at 0 was not observed.
  '@agentclientprotocol/codex-acp 2': 'first turn',
  'OpenCode 1': 'request',
  'Kilo 7': 'request',
}

interface Turn {
  /** Name and major version of the agent. */
  readonly agent: string
  /** The first one of a session that was created in this run. */
  readonly first: boolean
  /** The model was asked once: it called no tool. */
  readonly single: boolean
}

/**
 * The tokens of a turn. The protocol leaves open what an agent counts, so only recorded behaviour is trusted:
 * for other agents, a first turn without tools, in which all ways of counting agree. Empty if the count is of
 * something else.
 */
export function turnTokens(usage: unknown, turn: Turn): Tokens | undefined {
  if (!isRecord(usage)) return undefined
  const way = counted[turn.agent]
  const all = way === 'request' ? turn.single : way === 'first turn' ? turn.first : turn.first && turn.single
  return way === 'turn' || all ? usageTokens(usage) : {}
}

/**
 * Counts with the protocol's names, or Gemini's, whose output excludes the thoughts, which it does not
 * report.
 */
export function usageTokens(usage: unknown): Tokens | undefined {
  if (!isRecord(usage)) return undefined
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens, thoughtTokens, totalTokens } = usage
  return tokenParts({
    input: inputTokens ?? usage['input_tokens'],
    output: outputTokens,
    cacheRead: cachedReadTokens,
    cacheWrite: cachedWriteTokens,
    reasoning: thoughtTokens,
    total: totalTokens,
  })
}
