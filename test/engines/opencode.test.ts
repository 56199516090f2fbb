import { expect, test } from 'vitest'
import { opencode } from '../../src/engines/opencode.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const line = (type: string, more: object) => ({ type, timestamp: 1, sessionID: 's-1', ...more })
const part = (type: string, more: object = {}) => line(type, { part: { type, ...more } })
const read = (...records: object[]) => run(opencode, { stdout: lines(...records), exit: 0 })

test('an unknown part is kept as raw and told', () => {
  const events = read(part('brand_new'), line('text', {}))
  expect(only(events, 'raw.stdout')).toHaveLength(2)
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
})

test('a part without its fields tells no text', () => {
  const events = read(part('text'), part('reasoning'), part('step_finish'))
  expect(texts(events)).toEqual([])
  expect(only(events, 'agent.reasoning.summary')).toEqual([])
  expect(only(events, 'lifecycle.run.status').at(-1)!.data).toMatchObject({
    status: 'step_finish',
    reason: 'unknown',
  })
  expect(endOf(events).evidence.end_signal).toBe(null)
})

test('a call that is not over is only started', () => {
  const events = read(
    part('tool_use', { callID: 'a', tool: 'bash', state: { status: 'running' } }),
    part('tool_use'),
  )
  expect(only(events, 'tool.call.started').map(({ data }) => data)).toEqual([
    { call_id: 'a', name: 'bash', kind: 'execute' },
    { call_id: 'call-1', name: 'tool', kind: 'other' },
  ])
  expect(only(events, 'tool.call.completed', 'tool.call.failed')).toEqual([])
})

test('files are created, modified when they were there, and edited', () => {
  const call = (tool: string, path: string, metadata: object) =>
    part('tool_use', {
      callID: path,
      tool,
      state: { status: 'completed', input: { filePath: path }, metadata },
    })
  const events = read(
    call('write', 'new.txt', { exists: false }),
    call('write', 'old.txt', { exists: true }),
    call('edit', 'a.txt', {}),
    call('multiedit', 'b.txt', { filepath: 'c.txt' }),
    call('read', 'd.txt', {}),
  )
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  expect(files.map(({ event, data }) => [event.type, data.path])).toEqual([
    ['artifact.created', 'new.txt'],
    ['artifact.modified', 'old.txt'],
    ['artifact.modified', 'a.txt'],
    ['artifact.modified', 'c.txt'],
  ])
})

test.each([
  ['APIError: boom', { name: 'APIError', data: { message: 'boom' } }],
  ['error: boom', { message: 'boom' }],
  ['UnknownError: x', { name: 'UnknownError', data: 'x' }],
  ['boom', 'boom'],
  ['an error without a message', null],
])('an error is told as far as it says something: %s', (message, error) => {
  const events = read(line('error', { error }))
  expect(endOf(events)).toMatchObject({ state: 'interrupted', evidence: { failure: message } })
})

test('an error that the engine recovered from is no failure', () => {
  const error = line('error', { error: { name: 'APIError', data: { message: 'busy', isRetryable: true } } })
  const [start, stop] = [part('step_start'), part('step_finish', { reason: 'stop' })]
  const recovered = read(start, error, start, part('text', { text: 'Hello' }), stop)
  expect(endOf(recovered)).toMatchObject({ state: 'awaiting_user_input', evidence: { failure: null } })
  expect(only(recovered, 'diagnostic.engine.error')[0]!.data).toMatchObject({ retryable: true })
  expect(endOf(read(start, stop, error)).state).toBe('interrupted')
  expect(endOf(read(start, error, start)).state).toBe('unknown')
})

test('lines of another session gave the answer, took the session and failed the run', () => {
  const inner = (one: object) => ({ ...one, sessionID: 's-2' })
  const tokens = { input: 1, output: 1, cache: { read: 0, write: 0 } }
  const events = read(
    part('step_start'),
    inner(part('step_start')),
    inner(part('text', { id: 'a', text: 'inner' })),
    inner(part('tool_use', { callID: 'b', tool: 'bash', state: { status: 'completed' } })),
    inner(line('error', { error: { name: 'X', data: { message: 'boom' } } })),
    part('text', { id: 'c', text: 'outer' }),
    part('step_finish', { reason: 'stop', tokens }),
    inner(part('step_finish', { reason: 'stop', tokens })),
  )
  expect(only(events, 'agent.message.final').map(({ data }) => [data.text, data.parent_call_id])).toEqual([
    ['inner', 's-2'],
    ['outer', undefined],
  ])
  expect(only(events, 'tool.call.completed')[0]!.data.parent_call_id).toBe('s-2')
  expect(new Set(events.map(({ correlation }) => correlation.session_id))).toEqual(new Set(['s-1']))
  expect(endOf(events)).toMatchObject({
    outcome: 'finished',
    tokens: { input: 2 },
    evidence: { failure: null },
  })
  expect(endOf(read(part('step_start'), inner(part('step_finish', { reason: 'stop' })))).outcome).toBe(
    'unknown',
  )
})

test('a step that calls tools is no end, also if the end of a step came before it', () => {
  const [stop, more] = ['stop', 'tool-calls'].map((reason) => part('step_finish', { reason }))
  expect(endOf(read(part('step_start'), stop!, more!)).outcome).toBe('unknown')
  expect(endOf(read(part('step_start'), more!, stop!)).outcome).toBe('finished')
})

test('the metrics and times of Kilo are no drift', () => {
  const events = read(part('step_finish', { reason: 'stop', metrics: {}, time: { start: 1, end: 2 } }))
  expect(codesOf(events)).toEqual([])
})
