import { expect, test } from 'vitest'
import { duration } from '../../src/cli/input/option-values.ts'
import { inside } from './inside.ts'

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
  expect(() => duration(text)).toThrow('Give a time such as 500ms, 90s, 5m or 1h')
})

test.each(['ask', 'run', 'work'])(
  'every time option of %s shows units, and refuses others by naming them',
  async (name) => {
    const { out } = await inside([name, '--help-all'])
    const options = out.split('\n  -').filter((option) => option.includes('<time>'))
    expect(options).not.toEqual([])
    for (const option of options) {
      expect(option).toMatch(/:\s+\d+m?s,\s+\d+[sm],\s+\d+[mh]\s+\(default: /)
      const flag = `-${option.split(' ')[0]}`
      const { code, err } = await inside([name, flag, '5 minutes', '--', 'x'])
      expect([code, err]).toEqual([2, expect.stringContaining('500ms, 90s, 5m or 1h')])
    }
  },
)
