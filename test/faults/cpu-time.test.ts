import { expect, test } from 'vitest'
import { growth } from './cpu-time.ts'

test('growth tells quadratic time from linear time', () => {
  const scan = (rounds: (size: number) => number) => (size: number) => () => {
    let sum = 0
    for (let round = 0; round < rounds(size); round++) for (let at = 0; at < size; at++) sum += at % 7
    return sum
  }
  expect(
    growth(
      4000,
      scan((size) => size / 4),
    ),
  ).toBeGreaterThan(8)
  expect(
    growth(
      4000,
      scan(() => 1000),
    ),
  ).toBeLessThan(8)
})
