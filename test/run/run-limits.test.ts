import { afterEach, expect, test, vi } from 'vitest'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { LimitCounter, type Limits, turnGuard } from '../../src/run/run-limits.ts'
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

function passed(limits: Limits, engine: typeof codex, ...records: object[]) {
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

test('what the messages of a turn have used counts until the turn tells its sum', () => {
  const usage = { input_tokens: 100, output_tokens: 10 }
  const line = (type: string, more: object) => ({ type, uuid: 'u', session_id: 's', ...more })
  const message = (id: string) => line('assistant', { message: { id, content: [], usage } })
  const ended = line('result', {
    subtype: 'success',
    num_turns: 1,
    usage: { input_tokens: 200, output_tokens: 20 },
  })
  const turns = [line('system', { subtype: 'init' }), message('a'), message('a'), message('b')]
  expect(passed({ tokens: 219 }, claude, ...turns)).toContain('(220)')
  expect(passed({ tokens: 220 }, claude, ...turns, ended)).toBeUndefined()
  expect(passed({ tokens: 329 }, claude, ...turns, ended, message('c'))).toContain('(330)')
})

test('costs of steps add up', () => {
  expect(passed({ cost: 0.3 }, opencode, step(0.1), step(0.2))).toBeUndefined()
  expect(passed({ cost: 0.25 }, opencode, step(0.1), step(0.2))).toContain('limit of 0.25 for its cost (0.3)')
})

test.each([
  [{ tokens: 0 }, 'tokens must be a whole number above 0'],
  [{ cost: -1 }, 'cost must be an amount above 0'],
  [{ toolCalls: 1.5 }, 'toolCalls must be a whole number above 0'],
  [{ output: -1 }, 'output must be a whole number above 0'],
  [{ toolcalls: 1 }, 'did you mean toolCalls?'],
  [7, 'needs an object of options'],
])('refuses %j', (limits, words) => {
  expect(() => new LimitCounter(limits as Limits)).toThrow(words)
})

const answered = { type: 'item.completed', item: { id: 'a', type: 'agent_message', text: 'Hi' } }

// A count that is none must not look like a run that used nothing.
test.each<[string, object, RegExp | undefined]>([
  ['numbers', { input_tokens: 5, output_tokens: 5 }, undefined],
  ['texts', { input_tokens: '1000', output_tokens: '50' }, /reported no tokens/],
  ['numbers that nobody can use', { input_tokens: 1e308, output_tokens: 1e308 }, /reported no tokens/],
  ['one text', { input_tokens: 10, output_tokens: 'lots' }, /no number, and is not counted/],
  ['less than nothing', { input_tokens: -5, output_tokens: 5 }, /no number, and is not counted/],
])('of counts that are %s, a limit tells what it cannot see', (_, usage, words) => {
  const counter = new LimitCounter({ tokens: 100 })
  const records = [thread, answered, { type: 'turn.completed', usage }]
  for (const event of run(codex, { stdout: lines(...records) })) counter.add(event)
  expect(counter.unseen().map(({ message }) => message)).toEqual(words ? [expect.stringMatching(words)] : [])
})

test('what an agent never reports is told once', () => {
  const counter = new LimitCounter({ tokens: 100, cost: 1 })
  expect(counter.blind('codex')).toMatchObject([
    { code: 'LIMIT_BLIND', message: expect.stringContaining('codex never reports cost') },
  ])
  for (const event of run(codex, { stdout: lines(thread, answered, turn(1)) })) counter.add(event)
  expect(counter.unseen()).toEqual([])
})

afterEach(() => {
  vi.useRealTimers()
})

test('what is printed is looked at also if nothing is read, and a log that cannot be looked at ends no program', () => {
  vi.useFakeTimers()
  let printed = () => 10
  const stop = vi.fn()
  const limits = new LimitCounter({ output: 10 }, () => printed())
  const guard = turnGuard({ limits, endAfter: undefined, stop })
  guard.begin()
  vi.advanceTimersByTime(1000)
  printed = () => {
    throw new Error('EACCES')
  }
  vi.advanceTimersByTime(1000)
  expect(stop).not.toHaveBeenCalled()
  printed = () => 11
  vi.advanceTimersByTime(1000)
  expect(stop).toHaveBeenCalledWith('limit', expect.objectContaining({ code: 'RUN_LIMIT' }))
  expect(limits.hit).toBe('output')
  guard.end()
  expect(vi.getTimerCount()).toBe(0)
})
