import { join } from 'node:path'
import { EVENTS_FILE } from '../disk/journal.ts'
import { eachLine } from '../disk/read-journal.ts'
import { costCounter } from '../events/cost.ts'
import { type AgentEvent, isEvent } from '../events/event.ts'
import { type TokensAndCost, tokenCounter } from '../events/tokens.ts'

/** What each session has used, and what it cost, by its id. */
export type SessionTokens = Readonly<Record<string, TokensAndCost>>

/** Adds up what the attempts of a run have used, by session. */
export class SpentTokens {
  readonly #spent: Map<string, TokensAndCost>

  constructor(before: SessionTokens = {}) {
    this.#spent = new Map(Object.entries(before))
  }

  add(event: AgentEvent): void {
    const session = event.correlation.session_id
    if (!isEvent(event, 'lifecycle.completion.state') || session === undefined) return
    const { tokens, cumulative, cost } = event.data
    if (!tokens && !cost) return
    const { cost: costBefore, ...before } = this.#spent.get(session) ?? {}
    const sum = tokenCounter()
    if (!(tokens && cumulative) && Object.keys(before).length > 0) sum.add(before)
    if (tokens) sum.add(tokens)
    const costs = costCounter()
    if (!cost?.cumulative && costBefore) costs.add(costBefore)
    if (cost) costs.add(cost)
    const total = costs.sum()
    this.#spent.set(session, { ...(sum.sum() ?? tokens), ...(total && { cost: total }) })
  }

  bySession(): SessionTokens {
    return Object.fromEntries(this.#spent)
  }
}

/** What the sessions of the attempts in a directory have used, as its journal says. */
export function spentIn(dir: string): SessionTokens {
  const spent = new SpentTokens()
  try {
    eachLine(join(dir, EVENTS_FILE), (line) => {
      if (line.includes(COMPLETION)) spent.add(JSON.parse(line.toString('utf8')))
    })
  } catch {
    // Without a journal that can be read the sum is told as it is, with `cumulative`.
  }
  return spent.bySession()
}

const COMPLETION = '"type":"lifecycle.completion.state"'
