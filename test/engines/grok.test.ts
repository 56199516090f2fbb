import { expect, test } from 'vitest'
import { grok } from '../../src/engines/grok.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

test('a chat that begins with something else is not read', () => {
  const events = run(grok, {
    stdout: lines(
      { role: 'system', content: 'You are a helper.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
    ),
    exit: 0,
  })
  expect(texts(events)).toEqual([])
  expect(endOf(events).state).toBe('unknown')
})

test('a log record before the chat, or a chat whose beginning is lost, is read', () => {
  const chat = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ]
  const log = { level: 'info', msg: 'starting' }
  expect(texts(run(grok, { stdout: lines(log, ...chat), exit: 0 }))).toEqual(['Hello'])
  expect(texts(run(grok, { stdout: lines(chat[1]!), exit: 0 }))).toEqual(['Hello'])
})

test('arguments that are no JSON are told as they are, and other roles are kept as raw', () => {
  const events = run(grok, {
    stdout: lines(
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', function: { name: 'x', arguments: '{' } }],
      },
      { role: 'tool', tool_call_id: 'b', content: 'Error reading x' },
      { role: 'developer', content: 'x' },
      { role: 'assistant', content: 'x', more: 1 },
    ),
    exit: 0,
  })
  expect(only(events, 'tool.call.started')[0]!.data).toMatchObject({ name: 'x', input: '{' })
  expect(only(events, 'tool.call.failed')).toHaveLength(1)
  expect(codesOf(events)).toEqual(expect.arrayContaining(['UNKNOWN_TYPE', 'UNKNOWN_FIELD']))
  expect(texts(events)).toEqual(['x'])
})
