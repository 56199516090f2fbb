import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { Comparison } from '../../src/views/comparison.ts'
import { ends, makeRun } from './make-run.ts'

type Steps = Parameters<typeof makeRun>[0]

function compared(one: readonly AgentEvent[], other: readonly AgentEvent[]) {
  const comparison = new Comparison()
  for (const event of one) comparison.take(0, event)
  for (const event of other) comparison.take(1, event)
  // In the other order it must be the same.
  const again = new Comparison()
  for (const event of other) again.take(1, event)
  for (const event of one) again.take(0, event)
  expect(again.result()).toEqual(comparison.result())
  return comparison.result()
}

const says = (text: string): Steps[number] => ['agent.message.final', { message_id: text, text }]
const thinks = (text: string): Steps[number] => ['agent.reasoning.summary', { message_id: text, text }]
const calls = (command: string, exit_code = 0, output = 'out'): Steps => {
  const call = { call_id: command, name: 'Bash', kind: 'execute', input: { command } } as const
  const type = exit_code === 0 ? 'tool.call.completed' : 'tool.call.failed'
  return [
    ['tool.call.started', call],
    [type, { ...call, exit_code, output }],
  ]
}

test('two runs that said and did the same are the same, whatever they thought, printed and took', () => {
  const end = (output: number): Steps[number] => [
    ends.well[0],
    { ...ends.well[1], tokens: { input: 1, output } },
  ]
  const one = makeRun([thinks('hm'), ...calls('ls', 0, 'a'), says('Done.'), end(1)])
  const other = makeRun([...calls('ls', 0, 'b'), says('Done.'), end(9)])
  const { same, differs, first, runs } = compared(one, other)
  expect({ same, differs, first }).toEqual({ same: true, differs: [], first: undefined })
  expect(runs.map(({ tokens, milliseconds }) => [tokens?.output, milliseconds])).toEqual([
    [1, 4],
    [9, 3],
  ])
})

test('the first difference is the first step that is another one', () => {
  const one = makeRun([says('I look.'), ...calls('npm test', 1), says('It fails.'), ends.badly])
  const other = makeRun([says('I look.'), ...calls('npm test'), says('It passes.'), ends.well])
  const { same, differs, first, runs } = compared(one, other)
  expect([same, differs]).toEqual([false, ['outcome', 'answer', 'calls', 'conversation']])
  expect(first).toEqual([
    { event: '1.2', kind: 'call', text: 'Bash npm test · exit 1' },
    { event: '1.2', kind: 'call', text: 'Bash npm test' },
  ])
  expect(runs.map(({ outcome, calls: { failed } }) => [outcome, failed])).toEqual([
    ['failed', 1],
    ['succeeded', 0],
  ])
})

test('one that says more differs there', () => {
  const { first, differs } = compared(makeRun([says('a')]), makeRun([says('a'), says('b')]))
  expect(first).toEqual([undefined, { event: '1.2', kind: 'message', text: 'b' }])
  expect(differs).toEqual(['answer', 'conversation'])
})

test('files are compared by how they changed, wherever each run worked', () => {
  const edit = (file_path: string, new_string: string): Steps => {
    const call = {
      call_id: file_path,
      name: 'Edit',
      kind: 'edit',
      input: { file_path, old_string: 'a', new_string },
    } as const
    return [['tool.call.completed', call]]
  }
  const change = (path: string): Steps[number] => ['artifact.modified', { path }]
  const one = makeRun([...edit('/one/a.ts', 'b'), ...edit('/one/b.ts', 'b'), change('a.ts'), change('b.ts')])
  const other = makeRun([
    ...edit('/two/a.ts', 'b'),
    ...edit('/two/b.ts', 'c'),
    change('a.ts'),
    change('b.ts'),
  ])
  expect(compared(one, other).files.map(({ path, same }) => [path, same])).toEqual([
    ['a.ts', true],
    ['b.ts', false],
  ])
})

test('results are compared, and a run that is over differs from one that goes on', () => {
  const result = (value: unknown): Steps[number] => [
    'lifecycle.run.result',
    { status: 'success', value, repair_level: 'none', warnings: [], cacheable: true },
  ]
  expect(compared(makeRun([result({ n: 1 })]), makeRun([result({ n: 2 })])).differs).toEqual(['result'])
  expect(compared(makeRun([says('a'), ends.well]), makeRun([says('a')])).differs).toEqual(['outcome'])
})

test('remembers only what one run is ahead of the other', () => {
  const comparison = new Comparison()
  const [event] = makeRun([says('a')])
  comparison.take(0, event!)
  expect(comparison.next).toBe(1)
  comparison.take(1, event!)
  expect(comparison.next).toBe(0)
})
