import { type Cost, costCounter } from './cost.ts'
import type { StatusFacts } from './engine.ts'
import type { CompletionData } from './event.ts'
import { type Tokens, type TokensAndCost, tokenCounter } from './tokens.ts'

/** What one status of the engine adds. */
export interface StepSpent {
  readonly tokens: Tokens | undefined
  /** The tokens may include what the session had used before this run. */
  readonly cumulative: boolean
  readonly cost: Cost | undefined
}

/** What a run has used and what it cost: engines report steps, or running totals of the session. */
export class RunSpent {
  readonly #before: () => TokensAndCost | undefined
  readonly #tokens = tokenCounter()
  /** The tokens include what the session may have used before this run; undefined before the first count. */
  #cumulative: boolean | undefined
  readonly #cost = costCounter()
  /** A running total of the cost was reported. */
  #costKnown = false

  /** `before`: what the session had used before this run, if that is known. */
  constructor(before: () => TokensAndCost | undefined) {
    this.#before = before
  }

  add(facts: StatusFacts): StepSpent {
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
