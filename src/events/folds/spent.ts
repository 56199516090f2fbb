import { type Cost, costCounter } from '../cost.ts'
import type { RunFacts, StatusFacts } from '../engine.ts'
import type { CompletionData, EventData } from '../event.ts'
import type { Report, Writable } from '../report.ts'
import { type Tokens, type TokensAndCost, tokenCounter } from '../tokens.ts'

/** What one status of the engine adds. */
interface StepSpent {
  readonly tokens: Tokens | undefined
  /** The tokens may include what the session had used before this run. */
  readonly cumulative: boolean
  readonly cost: Cost | undefined
}

/** What a run has used and what it cost: engines report steps, or running totals of the session. */
export class Spent {
  readonly #report: Report
  readonly #sessions: Readonly<Record<string, TokensAndCost>>
  readonly #tokens = tokenCounter()
  /** The tokens include what the session may have used before this run; undefined before the first count. */
  #cumulative: boolean | undefined
  readonly #cost = costCounter()
  /** A running total of the cost was reported. */
  #costKnown = false

  /** `sessions`: what sessions had used before this run. */
  constructor(report: Report, sessions: Readonly<Record<string, TokensAndCost>>) {
    this.#report = report
    this.#sessions = sessions
  }

  /** A step of the run, and what it used. */
  status(name: string, facts: StatusFacts): void {
    this.#report.write('lifecycle.run.status', statusData(name, facts, this.#add(facts)))
  }

  #add(facts: StatusFacts): StepSpent {
    const { tokens, tokens_so_far } = facts
    const cost = this.#costOf(facts)
    // Only the first sum can hold more than this run.
    const first = tokens_so_far !== undefined && this.#cumulative === undefined
    if (first) this.#cumulative = !this.#knowsBefore()
    return {
      tokens: tokens ? this.#tokens.add(tokens) : tokens_so_far && this.#tokens.soFar(tokens_so_far),
      cumulative: first && this.#cumulative === true,
      cost,
    }
  }

  sum(): Pick<CompletionData, 'tokens' | 'cumulative' | 'cost'> {
    const tokens = this.#tokens.sum()
    const cost = this.#cost.sum()
    return {
      ...(tokens && { tokens }),
      ...(tokens && this.#cumulative && { cumulative: true }),
      ...(cost && { cost }),
    }
  }

  #before(): TokensAndCost | undefined {
    const { session = '' } = this.#report
    return Object.hasOwn(this.#sessions, session) ? this.#sessions[session] : undefined
  }

  #costOf({ cost, cost_so_far, fresh }: StatusFacts): Cost | undefined {
    if (cost) return this.#cost.add(cost)
    if (!cost_so_far) return undefined
    const first = !this.#costKnown && !fresh
    this.#costKnown = true
    const before = first ? this.#before()?.cost : undefined
    if (before) this.#cost.startAt(before)
    // Only the first total can hold more than this run.
    return this.#cost.soFar(first && !before ? { ...cost_so_far, cumulative: true } : cost_so_far)
  }

  /** Whether it is known what the session had used before this run: then that is not counted again. */
  #knowsBefore(): boolean {
    const before = this.#before()
    if (before) this.#tokens.startAt(before)
    return before !== undefined
  }
}

/** The facts that are counted first, or have another name. */
const counted: ReadonlySet<string> = new Set([
  'tokens',
  'tokens_so_far',
  'cost',
  'cost_so_far',
  'fresh',
  'parent',
])

/** In the order in which the engine reports the facts. */
function statusData(status: string, facts: StatusFacts, { tokens, cumulative, cost }: StepSpent) {
  const data: Writable<EventData['lifecycle.run.status']> = { status }
  for (const key in facts) {
    const name = key as keyof RunFacts | 'reason' // cast: one of the facts, and its value is of its own type
    const fact = facts[name]
    if (fact !== undefined && !counted.has(key)) data[name] = fact
  }
  // Without any counts, the sum of the run is unknown: there is nothing to report.
  if (tokens !== undefined && Object.keys(tokens).length > 0) {
    data.tokens = tokens
    if (cumulative) data.cumulative = true
  }
  if (facts.parent !== undefined) data.parent_call_id = facts.parent
  if (cost) data.cost = cost
  return data
}
