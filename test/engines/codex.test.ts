import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const item = (type: string, more: object, phase = 'completed') => ({
  type: `item.${phase}`,
  item: { id: 'i', type, ...more },
})

test('a plan is a call like any other', () => {
  const items = [{ text: 'look', completed: false }]
  const stdout = lines(
    item('todo_list', { items }, 'started'),
    item('todo_list', { items }, 'updated'),
    item('todo_list', { items }),
  )
  const events = run(codex, { stdout })
  expect(
    only(events, 'tool.call.started', 'tool.call.completed').map(({ event, data }) => [event.type, data]),
  ).toEqual([
    ['tool.call.started', { call_id: 'i', name: 'todo_list', kind: 'think', input: { items } }],
    ['tool.call.completed', { call_id: 'i', name: 'todo_list', kind: 'think', input: { items } }],
  ])
})

test('a message or a thought counts when it is complete, not before', () => {
  const stdout = lines(
    item('agent_message', { text: 'Hel' }, 'updated'),
    item('reasoning', { text: 'Hm' }, 'started'),
    item('agent_message', { text: 'Hello' }),
  )
  const events = run(codex, { stdout })
  expect(texts(events)).toEqual(['Hello'])
  expect(only(events, 'agent.reasoning.summary')).toEqual([])
})

test('an item tells no text that it does not have; without a type it is kept as raw', () => {
  const stdout = lines(
    { type: 'item.completed', item: { item_type: 'assistant_message' } },
    { type: 'item.completed', item: { type: 'reasoning' } },
    { type: 'item.completed', item: { type: 'command_execution' } },
    { type: 'item.completed', item: {} },
    { type: 'item.completed' },
    { type: 'item.completed', item: { id: 'f', type: 'file_change', changes: { path: 'x' } } },
    {
      type: 'item.completed',
      item: {
        id: 'g',
        type: 'file_change',
        changes: ['x', { path: 1 }, { path: 'a' }, { path: 'b', kind: 'move' }],
      },
    },
    { type: 'turn.failed', error: 'in words' },
  )
  const events = run(codex, { stdout })
  expect(texts(events)).toEqual([])
  expect(only(events, 'agent.reasoning.summary')).toEqual([])
  expect(only(events, 'tool.call.completed')[0]!.data).toEqual({
    call_id: 'call-1',
    kind: 'execute',
    name: 'command_execution',
    input: {},
  })
  expect(only(events, 'raw.stdout').map(({ data }) => data.line)).toEqual(
    expect.arrayContaining(['{"type":"item.completed","item":{}}', '{"type":"item.completed"}']),
  )
  expect(only(events, 'artifact.modified').map(({ data }) => data.path)).toEqual(['a', 'b'])
  expect(only(events, 'diagnostic.engine.error').map(({ data }) => data.message)).toEqual(['in words'])
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
})

test('the dialect of session.created is recognised by itself', () => {
  const stdout = lines(
    { type: 'session.created', session_id: 's-1' },
    { type: 'item.completed', item: { id: 'i', item_type: 'assistant_message', text: 'Hi' } },
  )
  const events = run(auto, { stdout })
  expect(events.at(-1)!.source.engine).toBe('codex')
  expect(texts(events)).toEqual(['Hi'])
  expect(run(auto, { stdout: lines({ type: 'session.created' }) }).at(-1)!.source.engine).not.toBe('codex')
})

test('calls of other agents, phases and search results are no drift', () => {
  const item = (type: string, more: object) => ({ type: 'item.completed', item: { id: type, type, ...more } })
  const spawn = {
    tool: 'spawn_agent',
    sender_thread_id: 'a',
    receiver_thread_ids: ['b'],
    prompt: 'Look around',
    agents_states: { b: { status: 'completed' } },
    status: 'completed',
  }
  const events = run(codex, {
    stdout: lines(
      { type: 'thread.started', thread_id: 't' },
      item('agent_message', { text: 'Hello', phase: 'final_answer' }),
      item('collab_tool_call', spawn),
      item('web_search', { query: 'q', results: [{ url: 'u' }] }),
    ),
    exit: 0,
  })
  expect(codesOf(events)).toEqual([])
  expect(texts(events)).toEqual(['Hello'])
  expect(only(events, 'tool.call.completed').map(({ data }) => [data.name, data.output])).toEqual([
    ['spawn_agent', spawn.agents_states],
    ['web_search', [{ url: 'u' }]],
  ])
})

test('a connection that is made again is no failure', () => {
  const events = run(codex, {
    stdout: lines(
      { type: 'thread.started', thread_id: 't' },
      { type: 'error', message: 'Reconnecting... 1/5' },
      { type: 'turn.completed', usage: {} },
    ),
    exit: 0,
  })
  expect(only(events, 'diagnostic.engine.error')[0]!.data).toMatchObject({
    severity: 'warning',
    retryable: true,
  })
  expect(endOf(events).state).toBe('awaiting_user_input')
})
