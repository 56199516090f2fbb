import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { droid } from '../../src/engines/droid.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const line = (type: string, more: object) => ({ type, sessionId: 's', ...more })
const init = line('system', { subtype: 'init', tools: [], model: 'm' })
const read = (...records: object[]) => run(droid, { stdout: lines(init, ...records), exit: 0 })

test('an error that a completion follows is no failure', () => {
  const events = read({ type: 'error', message: 'slow' }, line('completion', { finalText: 'Done.' }))
  expect(texts(events)).toEqual(['Done.'])
  expect(endOf(events)).toMatchObject({ state: 'awaiting_user_input', evidence: { failure: null } })
})

test('an error without a completion is no success', () => {
  expect(endOf(read({ type: 'error' })).state).toBe('unknown')
})

test('calls have an id of their own in older versions; a result without an error has not failed', () => {
  const events = read(
    line('tool_call', { id: 't1', toolCallId: 'c1', toolName: 'Shell', parameters: {} }),
    line('tool_result', { id: 't2', toolCallId: 'c1' }),
    line('tool_result', { isError: true, messageId: 'm', toolId: 'Read', error: 'no' }),
  )
  expect(only(events, 'tool.call.completed').map(({ data }) => [data.call_id, data.name])).toEqual([
    ['c1', 'Shell'],
  ])
  expect(only(events, 'tool.call.failed').map(({ data }) => [data.call_id, data.name, data.error])).toEqual([
    ['call-1', 'Read', 'no'],
  ])
})

test('what is not known is kept as raw', () => {
  const events = read(
    line('reasoning', { text: 'Hm' }),
    line('message', { role: 'assistant', text: 'x', y: 1 }),
  )
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(codesOf(events)).toContain('DRIFT_REPORT')
  expect(endOf(events).state).toBe('unknown')
})

test('records of others are not read', () => {
  const events = run(droid, {
    stdout: lines(
      line('system', { subtype: 'init', uuid: 'u', tools: [], mcp_servers: [] }),
      { type: 'message', timestamp: 't', role: 'assistant', content: 'Hi', delta: true },
      { type: 'result', timestamp: 't', status: 'success', stats: {} },
    ),
    exit: 0,
  })
  expect(texts(events)).toEqual([])
  expect(endOf(events).state).toBe('unknown')
})

test('auto takes a first line like its own for what the next one is', () => {
  const claude = { type: 'assistant', session_id: 's', message: { id: 'm', content: 'Hi' } }
  const first = { type: 'system', subtype: 'init', session_id: 's', tools: [], model: 'm' }
  expect(run(auto, { stdout: lines(first, claude), exit: 0 }).at(-1)!.source.engine).toBe('claude')
  const completion = line('completion', { finalText: 'Done.' })
  expect(run(auto, { stdout: lines(init, completion), exit: 0 }).at(-1)!.source.engine).toBe('droid')
  expect(run(auto, { stdout: lines(init), exit: 0 }).at(-1)!.source.engine).toBe('droid')
})
