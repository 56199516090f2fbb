import { expect, test } from 'vitest'
import { cline } from '../../src/engines/cline.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const ts = '2026-01-01T00:00:00.000Z'
const hook = (hookEventName: string, more: object = {}) => ({
  ts,
  type: 'hook_event',
  hookEventName,
  agentId: 'a-1',
  taskId: 'conv_1',
  parentAgentId: null,
  ...more,
})
const event = (type: string, more: object = {}) => ({ ts, type: 'agent_event', event: { type, ...more } })
const piece = (text: string) => event('content_start', { contentType: 'text', text, accumulated: text })
const says = (text: string) => event('content_end', { contentType: 'text', text })
const result = (finishReason: string, text = '') => ({
  ts,
  type: 'run_result',
  finishReason,
  iterations: 1,
  text,
})
const read = (...records: object[]) => run(cline, { stdout: lines(hook('agent_start'), ...records), exit: 0 })

test.each(['error', 'aborted', 'max_iterations', 'mistake_limit', 'brand_new'])(
  'a run that ends with %s failed, and its text is no answer',
  (reason) => {
    const events = read(piece('Half'), result(reason, 'The server is gone'))
    expect(only(events, 'agent.message.final').map(({ data }) => [data.text, data.incomplete])).toEqual([
      ['Half', true],
    ])
    expect(endOf(events)).toMatchObject({ state: 'interrupted', evidence: { end_signal: null } })
  },
)

test('an error that is recovered from is a warning, any other one fails the run, and is told once', () => {
  const error = (recoverable: boolean) => event('error', { error: { message: 'boom' }, recoverable })
  const good = read(error(true), says('x'), result('completed', 'x'))
  expect(endOf(good).state).toBe('awaiting_user_input')
  expect(only(good, 'diagnostic.engine.error').map(({ data }) => data.severity)).toEqual(['warning'])
  const bad = read(error(false), result('error', 'boom'), { ts, type: 'error', message: 'boom' })
  expect(endOf(bad)).toMatchObject({ state: 'interrupted', evidence: { failure: 'boom' } })
  expect(only(bad, 'diagnostic.engine.error')).toHaveLength(1)
})

test('a run that was told to stop failed, whatever it ends with', () => {
  const events = read(
    says('x'),
    { ts, type: 'run_abort_requested', reason: 'sigint' },
    result('completed', 'x'),
  )
  expect(endOf(events).state).toBe('interrupted')
})

test('an answer is told once; the result has it only where nothing else was said', () => {
  expect(texts(read(piece('An'), piece('swer'), says('Answer'), result('completed', 'Answer')))).toEqual([
    'Answer',
  ])
  expect(texts(read(result('completed', 'Answer')))).toEqual(['Answer'])
})

test('thoughts are told whole, and are no message', () => {
  const thought = { contentType: 'reasoning', reasoning: 'Hm {"__SKILL_DONE__": true}' }
  const events = read(event('content_start', thought), event('content_end', thought))
  expect(only(events, 'agent.reasoning.summary')).toHaveLength(1)
  expect(endOf(events)).toMatchObject({ state: 'unknown', evidence: { done_marker: false } })
})

test.each([
  ['failed', { output: [{ success: true }, { success: false, result: 'no' }] }, 'no'],
  ['failed', { output: [{ success: false }] }, 'it failed'],
  ['failed', { output: { error: 'boom' } }, 'boom'],
  ['failed', { error: 'denied' }, 'denied'],
  ['completed', { output: [{ result: 'x', success: true }] }, undefined],
  ['completed', { output: 'x' }, undefined],
])('a call is %s by what it or a part of it says: %o', (phase, ended, error) => {
  const call = { contentType: 'tool', toolCallId: 'c', toolName: 't' }
  const [done] = only(
    read(event('content_start', { ...call, input: {} }), event('content_end', { ...call, ...ended })),
    'tool.call.completed',
    'tool.call.failed',
  )
  expect(done!.type).toBe(`tool.call.${phase}`)
  expect(done!.data.error).toBe(error)
})

test('a subagent neither names the session nor begins a turn', () => {
  const sub = hook('agent_start', { parentAgentId: 'a-1', taskId: 'conv_2' })
  const events = read(says('x'), result('completed', 'x'), sub)
  expect(events.at(-1)!.correlation.session_id).toBe('conv_1')
  expect(endOf(events).state).toBe('awaiting_user_input')
})

test('what is unknown is kept as raw and told; a record of another engine is not read', () => {
  const events = read(
    event('brand_new'),
    event('content_end', { contentType: 'image' }),
    { ts, type: 'brand_new' },
    { type: 'result', finishReason: 'completed', iterations: 1, text: 'x' },
    { ts, type: 'error', message: 'x', level: 'info' },
  )
  expect(only(events, 'raw.stdout')).toHaveLength(5)
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(endOf(events).state).toBe('unknown')
})

test('in a run that has begun, a result is believed though it tells less', () => {
  const events = read(hook('agent_start'), { ts, type: 'run_result', finishReason: 'completed', text: 'Hi' })
  expect(texts(events)).toEqual(['Hi'])
  expect(endOf(events).state).toBe('awaiting_user_input')
})
