import { expect, test } from 'vitest'
import { costCounter, costOf, costWords, readCost } from '../../src/events/cost.ts'

const usd = (amount: number) => ({ amount, currency: 'USD' })

test('a cost is an amount that is not negative, and the code of a currency', () => {
  expect(costOf(0.5)).toEqual(usd(0.5))
  expect(costOf(0, 'eur')).toEqual({ amount: 0, currency: 'EUR' })
  for (const [amount, currency] of [['1'], [-1], [Number.NaN], [Infinity], [1, ''], [1, 'credits'], [1, 7]])
    expect(costOf(amount, currency)).toBeUndefined()
  expect(readCost({ amount: 1, currency: 'USD', cumulative: true })).toEqual({ ...usd(1), cumulative: true })
  for (const odd of [undefined, null, 3, 'USD', { amount: 1 }]) expect(readCost(odd)).toBeUndefined()
})

test('steps add up without the noise of fractions, and a running total counts its increase', () => {
  const steps = costCounter()
  steps.add(usd(0.1))
  steps.add(usd(0.2))
  expect(steps.sum()).toEqual(usd(0.3))
  const total = costCounter()
  total.startAt(usd(1))
  expect([1.1, 1.3, 1.3].map((amount) => total.soFar(usd(amount)).amount)).toEqual([0.1, 0.2, 0])
  // It has started over.
  expect(total.soFar(usd(0.5)).amount).toBe(0.5)
  expect(total.sum()).toEqual(usd(0.8))
})

test('two currencies have no sum, and a sum stays cumulative', () => {
  const counter = costCounter()
  expect(counter.sum()).toBeUndefined()
  counter.add({ ...usd(1), cumulative: true })
  counter.add(usd(1))
  expect(counter.sum()).toEqual({ ...usd(2), cumulative: true })
  counter.add({ amount: 1, currency: 'EUR' })
  expect(counter.sum()).toBeUndefined()
})

test('people read three digits of a small cost, and cents of a large one', () => {
  const shown = [0.0123, 0.5, 0.01, 0.00004567, 1.5, 12.345, 1234].map((amount) => costWords(usd(amount)))
  expect(shown).toEqual(['$0.0123', '$0.50', '$0.01', '$0.0000457', '$1.50', '$12.35', '$1234.00'])
  expect(costWords({ amount: 0.3, currency: 'EUR' })).toBe('0.30 EUR')
  expect([costWords(undefined), costWords(usd(0))]).toEqual(['', ''])
})
