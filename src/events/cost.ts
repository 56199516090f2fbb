/**
 * What something cost, as the engine reports it: never computed from tokens and prices. 0 is what engines
 * report for a model without a price, too.
 *
 * @example
 * const { cost } = await run('claude', ['-p', task]).end
 * console.log(cost?.amount, cost?.currency) // 0.0123 USD
 */
export interface Cost {
  readonly amount: number
  /** The code of the currency: `USD`. */
  readonly currency: string
  /** The engine counts its session, not this run: it may include what the session had cost before. */
  readonly cumulative?: true
}

/** Reads a cost from an engine's own record; undefined if it is not one. */
export function costOf(amount: unknown, currency: unknown = 'USD'): Cost | undefined {
  const isAmount = typeof amount === 'number' && Number.isFinite(amount) && amount >= 0
  if (!isAmount || typeof currency !== 'string' || !/^[A-Z]{3}$/i.test(currency)) return undefined
  return { amount, currency: currency.toUpperCase() }
}

/** Reads a cost from untrusted JSON; undefined if it is not one. */
export function readCost(value: unknown): Cost | undefined {
  // cast: each field is checked
  const { amount, currency, cumulative } = (value ?? {}) as Record<string, unknown>
  const cost = costOf(amount, currency ?? '')
  return cost && cumulative === true ? { ...cost, cumulative } : cost
}

/** Adds up what a run has cost. If an engine reports a running total, only the increase is added. */
export function costCounter() {
  let sum: Cost | undefined
  let before = 0
  /** Amounts of two currencies have no sum. */
  let mixed = false

  const add = (cost: Cost): Cost => {
    mixed ||= sum !== undefined && sum.currency !== cost.currency
    const amount = exact((sum?.amount ?? 0) + cost.amount)
    sum = { ...cost, amount, ...((sum ?? cost).cumulative && { cumulative: true }) }
    return cost
  }

  return {
    /** The cost of one step or turn. */
    add,
    /** The running total begins here: what it was before is not this run's. */
    startAt(total: Cost): void {
      before = total.amount
    },
    /** The running total, which some engines report. One that decreases has started over. */
    soFar(total: Cost): Cost {
      const amount = exact(total.amount < before ? total.amount : total.amount - before)
      before = total.amount
      return add({ ...total, amount })
    },
    /** For the whole run; undefined if nothing was reported. */
    sum: (): Cost | undefined => (mixed ? undefined : sum),
  }
}

/** Without the noise of binary fractions: 0.1 + 0.2 is 0.3. */
function exact(amount: number): number {
  return Number(amount.toFixed(12))
}

/**
 * A cost for people: `$0.0123`, `$1.50`, `0.30 EUR`; empty if none is known. 0 is not shown: most engines
 * report it for a model without a price.
 *
 * @example
 * costWords({ amount: 0.0123, currency: 'USD' }) // '$0.0123'
 */
export function costWords(cost: Cost | undefined): string {
  const { amount, currency } = cost ?? { amount: 0, currency: '' }
  if (!(amount > 0)) return ''
  const digits = amount < 1 ? Math.min(8, 2 - Math.floor(Math.log10(amount))) : 2
  let words = amount.toFixed(digits)
  while (words.endsWith('0') && words.length - words.indexOf('.') > 3) words = words.slice(0, -1)
  return currency === 'USD' ? `$${words}` : `${words} ${currency}`
}
