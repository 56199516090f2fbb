import { describe, expect, test } from 'vitest'
import { tokenCounter, tokensOf } from '../../src/events/tokens.ts'

describe('tokenCounter', () => {
  test('adds up steps, and keeps a count only if each step told it', () => {
    const counter = tokenCounter()
    counter.add({ input: 10, output: 2, cached: 4 })
    counter.add({ input: 5, output: 1 })
    expect(counter.sum()).toEqual({ input: 15, output: 3 })
  })

  test('takes a sum so far apart, and a counter that begins again as it is', () => {
    const counter = tokenCounter()
    expect(counter.soFar({ input: 10, output: 2 })).toEqual({ input: 10, output: 2 })
    expect(counter.soFar({ input: 30, output: 7 })).toEqual({ input: 20, output: 5 })
    expect(counter.soFar({ input: 30, output: 7 })).toEqual({ input: 0, output: 0 })
    expect(counter.soFar({ input: 4, output: 9 })).toEqual({ input: 4, output: 9 })
    expect(counter.sum()).toEqual({ input: 34, output: 16 })
  })

  test('does not take a count that is missing once for a counter that begins again', () => {
    const counter = tokenCounter()
    counter.soFar({ input: 10, output: 2, cached: 4 })
    expect(counter.soFar({ input: 25, output: 8 })).toEqual({ input: 15, output: 6 })
    expect(counter.soFar({ input: 30, output: 9, cached: 9 })).toEqual({ input: 5, output: 1, cached: 5 })
    expect(counter.sum()).toEqual({ input: 30, output: 9 })
  })

  test('knows nothing of a run that told nothing', () => {
    const counter = tokenCounter()
    expect(counter.sum()).toBeUndefined()
    counter.add({ input: 1 })
    counter.add({ output: 1 })
    expect(counter.sum()).toBeUndefined()
  })
})

test('tokensOf takes counts only', () => {
  expect(tokensOf({ input: 3, output: '4', cached: -1, reasoning: 1.5 })).toEqual({ input: 3 })
  expect(tokensOf({ input: 0, cached: 2 ** 53 })).toEqual({ input: 0 })
  expect(tokensOf({ input: null, output: Number.NaN })).toBeUndefined()
})
