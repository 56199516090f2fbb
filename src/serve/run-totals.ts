import type { Cost } from '../events/cost.ts'
import { countWords, grouped } from '../views/words.ts'
import { dayOf } from './run-filter.ts'
import type { RunInfo } from './run-info.ts'
import { stateOf, tookOf } from './run-words.ts'

interface CostSum {
  amount: number
  currency: string
  /** Of how many runs it is known, and how many of them may include what their session had cost before. */
  runs: number
  cumulative: number
}

/** Sums of some runs. Runs of which a number is not known add nothing to it. */
export interface RunSums {
  readonly runs: number
  /** Number of runs by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Tokens in and out, and of how many runs they are known. */
  readonly tokens: { readonly input: number; readonly output: number; readonly runs: number }
  /** One for each currency. */
  readonly costs: readonly Readonly<CostSum>[]
  /** Milliseconds that they took, and of how many runs that is known. */
  readonly time: { readonly ms: number; readonly runs: number }
}

/** Sums of a list of runs, of each day, and of each engine. */
export interface RunTotals extends RunSums {
  /** The newest first; runs without a time are in no day. */
  readonly days: readonly ({ readonly day: string } & RunSums)[]
  /** Those with the most runs first. */
  readonly engines: readonly ({ readonly engine: string } & RunSums)[]
}

export function totalsOf(runs: readonly RunInfo[]): RunTotals {
  const days = groups(runs, dayOf).map(([day, some]) => ({ day, ...sumsOf(some) }))
  const engines = groups(runs, ({ engine }) => engine ?? 'unknown')
  return {
    ...sumsOf(runs),
    days: days.filter(({ day }) => day !== '').sort((a, b) => (a.day < b.day ? 1 : -1)),
    engines: engines
      .map(([engine, some]) => ({ engine, ...sumsOf(some) }))
      .sort((a, b) => b.runs - a.runs || (a.engine < b.engine ? -1 : 1)),
  }
}

function groups(runs: readonly RunInfo[], key: (run: RunInfo) => string): [string, RunInfo[]][] {
  const found = new Map<string, RunInfo[]>()
  for (const run of runs) {
    const name = key(run)
    const some = found.get(name)
    if (some) some.push(run)
    else found.set(name, [run])
  }
  return [...found]
}

function sumsOf(runs: readonly RunInfo[]): RunSums {
  const outcomes: Record<string, number> = {}
  const tokens = { input: 0, output: 0, runs: 0 }
  const costs = new Map<string, CostSum>()
  const time = { ms: 0, runs: 0 }
  for (const run of runs) {
    const state = stateOf(run)
    outcomes[state] = (outcomes[state] ?? 0) + 1
    if (run.tokens) {
      tokens.input += run.tokens.input ?? 0
      tokens.output += run.tokens.output ?? 0
      tokens.runs++
    }
    if (run.cost) addCost(costs, run.cost)
    const took = tookOf(run)
    if (took === undefined) continue
    time.ms += took
    time.runs++
  }
  return { runs: runs.length, outcomes, tokens, costs: [...costs.values()], time }
}

function addCost(costs: Map<string, CostSum>, { amount, currency, cumulative }: Cost): void {
  const sum = costs.get(currency) ?? { amount: 0, currency, runs: 0, cumulative: 0 }
  costs.set(currency, sum)
  // Sums of binary fractions have digits that no engine reported.
  sum.amount = Number((sum.amount + amount).toFixed(9))
  sum.runs++
  if (cumulative) sum.cumulative++
}

/** Says what the sums leave out, so that nobody takes them for the whole. */
export function knownWords({ runs, tokens, costs, time }: RunSums): string {
  const priced = costs.reduce((sum, cost) => sum + cost.runs, 0)
  const session = costs.reduce((sum, cost) => sum + cost.cumulative, 0)
  const of = (count: number) => `${grouped(count)} of ${countWords(runs, 'run')}`
  const more = session > 0 ? ` (${grouped(session)} perhaps with what their session had cost before)` : ''
  return `Tokens are known of ${of(tokens.runs)}, cost of ${of(priced)}${more}, time of ${of(time.runs)}.`
}
