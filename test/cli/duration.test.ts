import { expect, test } from 'vitest'
import { duration } from '../../src/cli/duration.ts'

test.each([
  ['90', 90_000],
  ['90s', 90_000],
  ['500ms', 500],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
])('%s is %i ms', (text, ms) => {
  expect(duration(text)).toBe(ms)
})

test.each(['', '0', '-1', 'soon', '1d', '5 m', '1e9', '999999999h', '1.2.3'])('%j is refused', (text) => {
  expect(() => duration(text)).toThrow('Give a time')
})
