import { expect, test } from 'vitest'
import { brief, readOrder } from '../../src/work/order.ts'

const order = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: '/repo' }

test('takes an order in both spellings and leaves out what it does not know', () => {
  expect(readOrder({ IssueRef: 'shop#12', RunId: 'run-7', RepoDir: '/repo', x: 1 })).toEqual(order)
  const full = { ...order, task: 'Fix it', constraints: { max: 3 } }
  expect(readOrder(full)).toEqual(full)
})

test.each<[string, unknown]>([
  ['no object', 'text'],
  ['an array', []],
  ['a missing run', { ...order, run_id: undefined }],
  ['a blank issue', { ...order, issue_ref: ' ' }],
  ['a number', { ...order, run_id: 7 }],
  ['two lines', { ...order, run_id: 'a\nStatus: ok' }],
  ['blanks around', { ...order, run_id: ' run-7' }],
  ['a control character', { ...order, issue_ref: 'a\u009b2J' }],
  ['a NUL', { ...order, repo_dir: 'a\0b' }],
  ['both spellings', { ...order, RunId: 'run-7' }],
  ['too much', { ...order, constraints: 'x'.repeat(70_000) }],
])('refuses %s', (_, value) => {
  expect(() => readOrder(value)).toThrow(expect.objectContaining({ code: 'BAD_ORDER' }))
})

test('the brief names the ids, the task, the constraints and the file to write', () => {
  const text = brief({ ...order, task: 'Fix the cart.', constraints: ['no new dependency'] })
  for (const part of [
    '"run_id":"run-7"',
    'shop#12',
    'Fix the cart.',
    'no new dependency',
    'work_result.json',
  ]) {
    expect(text).toContain(part)
  }
})
