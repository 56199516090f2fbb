import { expect, test } from 'vitest'
import { tokenParts } from '../../src/engines/token-parts.ts'

test('the total shows which parts are counted apart', () => {
  const parts = { input: 200, output: 22, cached: 1000, reasoning: 12 }
  const whole = { input: 1200, output: 34, cached: 1000, reasoning: 12 }
  expect(tokenParts({ ...parts, total: 1234 })).toEqual(whole)
  expect(tokenParts({ ...parts, output: 34, total: 1234 })).toEqual(whole)
  expect(tokenParts({ ...parts, input: 1200, output: 34, total: 1234 })).toEqual(whole)
  expect(tokenParts({ ...parts, input: 1200, total: 1234 })).toEqual(whole)
})

test('what is written to a cache is input, too', () => {
  const parts = { input: 200, output: 34, cached: 900, cache_write: 100, total: 1234 }
  expect(tokenParts(parts)).toEqual({ input: 1200, output: 34, cached: 900, cache_write: 100 })
})

test('a count that can be read in two ways is left out', () => {
  expect(tokenParts({ input: 1200, output: 34, cached: 1000 })).toEqual({ output: 34, cached: 1000 })
  // Either part may be the one that is apart.
  expect(tokenParts({ input: 500, output: 400, cached: 100, reasoning: 100, total: 1000 })).toEqual({
    cached: 100,
    reasoning: 100,
  })
  expect(tokenParts({ input: 500, output: 40, reasoning: 9, total: 7 }, { cache: 'apart' })).toEqual({
    input: 500,
    reasoning: 9,
  })
})

test('a part that is more than the whole is not within it', () => {
  expect(
    tokenParts({ input: 7752, output: 11, reasoning: 46 }, { cache: 'apart', reasoning: 'within' }),
  ).toEqual({ input: 7752, output: 57, reasoning: 46 })
  expect(tokenParts({ input: 200, output: 34, cached: 1000 })).toEqual({
    input: 1200,
    output: 34,
    cached: 1000,
  })
  expect(tokenParts({ input: 200, output: 34, cached: 1000 }, { cache: 'within' })).toEqual({
    output: 34,
    cached: 1000,
  })
})

test('zeros, and what is no count, tell nothing', () => {
  expect(tokenParts({ input: 0, output: 0, cached: 0, total: 0 })).toBeUndefined()
  expect(tokenParts({ input: 0, output: 0, total: 50 })).toBeUndefined()
  expect(tokenParts({ input: '5', output: -1 })).toBeUndefined()
  expect(tokenParts({ input: 5, output: null })).toEqual({ input: 5 })
})

test('a part without its whole is counted; zeros alone are nothing', () => {
  const apart = { cache: 'apart', reasoning: 'apart' } as const
  expect(tokenParts({ input: 0, output: 0, reasoning: 58 }, apart)).toMatchObject({
    output: 58,
    reasoning: 58,
  })
  expect(tokenParts({ input: 0, output: 0, cached: 900 }, apart)).toMatchObject({ input: 900, cached: 900 })
  expect(tokenParts({ input: 0, output: 0, cached: 0, reasoning: 0 }, apart)).toBeUndefined()
})
