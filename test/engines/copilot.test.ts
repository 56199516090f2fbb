import { expect, test } from 'vitest'
import { copilot } from '../../src/engines/copilot.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const line = (type: string, data: object = {}, more: object = {}) => ({
  type,
  data,
  id: 'e',
  timestamp: '2026-01-01T00:00:00.000Z',
  parentId: null,
  ...more,
})
const result = (exitCode: number) => ({ type: 'result', timestamp: 't', sessionId: 's-1', exitCode })
const says = (messageId: string, content: string, more: object = {}) =>
  line('assistant.message', { messageId, content, ...more })
const delta = (messageId: string, deltaContent: string) =>
  line('assistant.message_delta', { messageId, deltaContent })
const read = (...records: object[]) => run(copilot, { stdout: lines(...records), exit: 0 })

test('a request that was retried is a warning, and the pieces of the first try are incomplete', () => {
  const events = read(
    line('assistant.turn_start'),
    delta('a', 'Half an ans'),
    line('model.call_failure', { errorMessage: 'cut' }),
    line('assistant.turn_retry', { reason: 'network' }),
    delta('b', 'The answer.'),
    says('b', 'The answer.'),
    line('assistant.turn_end'),
    result(0),
  )
  expect(only(events, 'agent.message.final').map(({ data }) => [data.text, data.incomplete])).toEqual([
    ['Half an ans', true],
    ['The answer.', undefined],
  ])
  expect(only(events, 'diagnostic.engine.error')[0]!.data).toMatchObject({
    severity: 'warning',
    message: 'cut',
  })
  expect(endOf(events)).toMatchObject({ state: 'awaiting_user_input', evidence: { failure: null } })
})

test('an error after which the engine goes on is no failure; one that ends the run is', () => {
  const error = line('session.error', { message: 'boom' })
  expect(endOf(read(error, line('assistant.turn_start'), says('a', 'x'), result(0))).state).toBe(
    'awaiting_user_input',
  )
  for (const code of [0, 1])
    expect(endOf(read(line('assistant.turn_start'), error, result(code)))).toMatchObject({
      state: 'interrupted',
      evidence: { failure: 'boom' },
    })
  expect(endOf(read(says('a', 'x'), line('abort', { reason: 'user' }), result(0))).state).toBe('interrupted')
})

test('an exit code in the result is a failure also where no error was told', () => {
  expect(endOf(read(says('a', 'x'), result(2)))).toMatchObject({
    state: 'interrupted',
    evidence: { failure: 'the engine ended with exit code 2' },
  })
})

test('a subagent speaks for its call: neither its answer nor its failure is the run’s', () => {
  const by = { agentId: 'call-1' }
  const done = '<json>{"__SKILL_DONE__": true}</json>'
  const events = read(
    line('assistant.turn_start', {}, by),
    line('assistant.message_delta', { messageId: 'm', deltaContent: done }, by),
    delta('own', 'Mine'),
    line('assistant.message', { messageId: 'm', content: done }, by),
    line('session.error', { message: 'boom' }, by),
    line('assistant.turn_end', {}, by),
    says('own', 'Mine.', { parentToolCallId: undefined }),
    says('n', 'Of a call', { parentToolCallId: 'call-2' }),
    result(0),
  )
  expect(only(events, 'agent.message.final').map(({ data }) => [data.text, data.parent_call_id])).toEqual([
    [done, 'call-1'],
    ['Mine.', undefined],
    ['Of a call', 'call-2'],
  ])
  expect(endOf(events)).toMatchObject({
    state: 'awaiting_user_input',
    evidence: { done_marker: false, failure: null },
  })
})

test('a thought is told once, by whichever record has it', () => {
  const reasoning = line('assistant.reasoning', { reasoningId: 'r', content: 'Hm' })
  const thoughts = (...records: object[]) =>
    only(read(...records), 'agent.reasoning.summary').map(({ data }) => data.text)
  expect(thoughts(says('a', 'x', { reasoningText: 'Hm' }), reasoning)).toEqual(['Hm'])
  expect(thoughts(reasoning, says('a', 'x', { reasoningText: 'Hm' }))).toEqual(['Hm'])
  expect(thoughts(reasoning, line('assistant.turn_start'), reasoning)).toEqual(['Hm', 'Hm'])
  // A subagent that begins meanwhile thinks for itself.
  const inner = line('assistant.turn_start', { parentToolCallId: 'c' })
  expect(thoughts(reasoning, inner, says('a', 'x', { reasoningText: 'Hm' }))).toEqual(['Hm'])
})

test('files are created, deleted and modified', () => {
  const fileEdits = ['create', 'delete', 'edit', 'move'].map((kind) => ({ kind, path: `${kind}.txt` }))
  const events = read(
    line('tool.execution_complete', { toolCallId: 'a', success: true, fileEdits: [...fileEdits, 1] }),
  )
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  expect(files.map(({ event, data }) => [event.type, data.path])).toEqual([
    ['artifact.created', 'create.txt'],
    ['artifact.deleted', 'delete.txt'],
    ['artifact.modified', 'edit.txt'],
    ['artifact.modified', 'move.txt'],
  ])
})

test('an unknown event is kept as raw and told; a record of another engine is not read', () => {
  expect(codesOf(read(line('session.brand_new'), result(0)))).toContain('UNKNOWN_TYPE')
  const events = read(
    { type: 'result', subtype: 'success', session_id: 's', result: 'x' },
    { type: 'result', timestamp: 't', status: 'success' },
    { type: 'assistant', data: { messageId: 'a', content: 'x' } },
    line('message.part', { content: 'x' }),
  )
  expect(texts(events)).toEqual([])
  expect(only(events, 'raw.stdout')).toHaveLength(4)
  expect(endOf(events).state).toBe('unknown')
})

test('in a run that has begun, a record is believed though it tells less', () => {
  const events = read(line('assistant.turn_start'), { ...says('a', 'Hi'), parentId: undefined }, result(0))
  expect(texts(events)).toEqual(['Hi'])
})

test('a warning about the session is one', () => {
  const events = read(
    line('session.warning', { warningType: 'x', message: 'Nearly at the limit' }),
    result(0),
  )
  expect(only(events, 'diagnostic.engine.error').map(({ data }) => [data.severity, data.message])).toEqual([
    ['warning', 'Nearly at the limit'],
  ])
  expect(endOf(events).outcome).toBe('finished')
})
