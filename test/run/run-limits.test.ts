import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { opencode } from '../../src/engines/opencode/opencode.ts'
import { LimitCounter, type RunLimits } from '../../src/run/run-limits.ts'
import { lines, run } from '../engines/run.ts'

const call = (id: string) => ({
  type: 'item.started',
  item: { id, type: 'command_execution', command: 'ls', status: 'in_progress' },
})
const turn = (input_tokens: number) => ({
  type: 'turn.completed',
  usage: { input_tokens, output_tokens: 10 },
})
const thread = { type: 'thread.started', thread_id: 't' }
const step = (cost: number) => ({
  ...{ type: 'step_finish', timestamp: 1, sessionID: 's' },
  part: { id: 'p', type: 'step-finish', reason: 'tool-calls', cost, tokens: { input: 1, output: 1 } },
})

function passed(limits: RunLimits, engine: typeof codex, ...records: object[]) {
  const counter = new LimitCounter(limits)
  for (const event of run(engine, { stdout: lines(...records) })) counter.add(event)
  return counter.passed()?.message
}

test('a limit is passed by more, not by as much', () => {
  const calls = [thread, call('a'), call('b'), call('c')]
  expect(passed({ toolCalls: 3 }, codex, ...calls)).toBeUndefined()
  expect(passed({ toolCalls: 2 }, codex, ...calls)).toContain('limit of 2 tool calls (3)')
  expect(passed({}, codex, ...calls)).toBeUndefined()
})

test('a running total of tokens is not counted twice', () => {
  const turns = [thread, turn(100), { type: 'turn.started' }, turn(250)]
  expect(passed({ tokens: 260 }, codex, ...turns)).toBeUndefined()
  expect(passed({ tokens: 259 }, codex, ...turns)).toContain('limit of 259 tokens (260)')
})

test('costs of steps add up', () => {
  expect(passed({ cost: 0.3 }, opencode, step(0.1), step(0.2))).toBeUndefined()
  expect(passed({ cost: 0.25 }, opencode, step(0.1), step(0.2))).toContain('limit of 0.25 for its cost (0.3)')
})

test.each([
  [{ tokens: 0 }, 'tokens must be a whole number above 0'],
  [{ cost: -1 }, 'cost must be an amount above 0'],
  [{ toolCalls: 1.5 }, 'toolCalls must be a whole number above 0'],
  [{ toolcalls: 1 }, 'did you mean toolCalls?'],
  [7, 'needs an object of options'],
])('refuses %j', (limits, words) => {
  expect(() => new LimitCounter(limits as RunLimits)).toThrow(words)
})
