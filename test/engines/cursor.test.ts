import { expect, test } from 'vitest'
import { cursor } from '../../src/engines/cursor.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const line = (type: string, more: object) => ({ type, session_id: 's', ...more })
const init = line('system', { subtype: 'init', apiKeySource: 'login', permissionMode: 'default' })
const says = (text: string, more: object = {}) =>
  line('assistant', { message: { role: 'assistant', content: [{ type: 'text', text }] }, ...more })
const piece = (text: string) => says(text, { timestamp_ms: 1 })
const read = (...records: object[]) => run(cursor, { stdout: lines(init, ...records), exit: 0 })

test('a whole text that holds the turn is not said again', () => {
  const events = read(
    piece('A'),
    says('A', { timestamp_ms: 2, model_call_id: 'm' }),
    piece('B'),
    says('AB'),
    says('AB'),
  )
  expect(texts(events)).toEqual(['A', 'B'])
})

test('pieces without their whole text end where something else begins', () => {
  const call = line('tool_call', {
    subtype: 'started',
    call_id: 'c',
    tool_call: { lsToolCall: { args: {} } },
  })
  const events = read(
    piece('I '),
    piece('look.'),
    call,
    piece('Done.'),
    line('result', { subtype: 'success' }),
  )
  expect(only(events, 'agent.message.final').map(({ data }) => [data.text, data.incomplete])).toEqual([
    ['I look.', undefined],
    ['Done.', undefined],
  ])
})

test('a whole text that differs from its pieces is the message', () => {
  expect(texts(read(piece('Hel'), says('Hello.')))).toEqual(['Hello.'])
})

test('thoughts that were broken off are told', () => {
  const events = read(line('thinking', { subtype: 'delta', text: 'Hm' }))
  expect(only(events, 'agent.reasoning.summary').map(({ data }) => data.text)).toEqual(['Hm'])
  expect(endOf(events).state).toBe('unknown')
})

test('a tool may be a function, say nothing, or be of no known form', () => {
  const call = (subtype: string, call_id: string, tool_call: unknown) =>
    line('tool_call', { subtype, call_id, tool_call })
  const events = read(
    call('completed', 'a', { function: { name: 'grep', arguments: '{}' } }),
    call('completed', 'b', { readToolCall: { args: {}, result: { error: 'no' } } }),
    call('completed', 'c', {}),
    call('progress', 'd', { readToolCall: {} }),
    call('started', 'e', 'x'),
  )
  expect(only(events, 'tool.call.completed').map(({ data }) => data.name)).toEqual(['grep'])
  expect(only(events, 'tool.call.failed').map(({ data }) => data.error)).toEqual(['no'])
  expect(only(events, 'raw.stdout')).toHaveLength(3)
})

test('what is not known is kept as raw, and no success comes of it', () => {
  const events = read(line('system', { subtype: 'new' }), line('brand_new', {}), says('x', { extra: 1 }))
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(codesOf(events)).toContain('DRIFT_REPORT')
  expect(endOf(events).state).toBe('unknown')
})

test('records of Claude Code are not read', () => {
  const events = run(cursor, {
    stdout: lines(
      line('system', { subtype: 'init', uuid: 'u', mcp_servers: [], apiKeySource: 'x', permissionMode: 'd' }),
      line('assistant', { uuid: 'u', message: { id: 'm', content: [{ type: 'text', text: 'Hi' }] } }),
      line('result', { uuid: 'u', subtype: 'success', num_turns: 1, result: 'Hi' }),
    ),
    exit: 0,
  })
  expect(texts(events)).toEqual([])
  expect(endOf(events).state).toBe('unknown')
})

test('a thought is a piece of one, or its end: another subtype was thought, too', () => {
  const thought = (subtype: string | undefined, text: string) => line('thinking', { subtype, text })
  for (const engine of [cursor, engines.cursor]) {
    const stdout = lines(
      init,
      thought('delta', 'Hm'),
      thought('progress', 'no thought'),
      thought(undefined, '.'),
    )
    const events = run(engine, { stdout, exit: 0 })
    expect(only(events, 'agent.reasoning.summary').map(({ data }) => data.text)).toEqual(['Hm.'])
    expect(only(events, 'raw.stdout')).toHaveLength(1)
  }
})

test.each([
  { usage: { inputTokens: 3, outputTokens: 5 } },
  { usage: { input_tokens: 3, output_tokens: 5 } },
  { subtype: 'success', inputTokens: 3, outputTokens: 5 },
])('the tokens of a result are read as each version writes them: %j', (more) => {
  const events = run(cursor, { stdout: lines({ type: 'result', ...more }), exit: 0 })
  expect(endOf(events).tokens).toEqual({ input: 3, output: 5 })
  expect(codesOf(events)).not.toContain('UNKNOWN_FIELD')
})

test('a call may have its id beside its tool', () => {
  const call = (subtype: string, body: object) =>
    line('tool_call', { subtype, tool_call: { shellToolCall: body, toolCallId: 'c' } })
  const events = read(call('started', { args: {} }), call('completed', { result: { success: {} } }))
  expect(only(events, 'tool.call.started', 'tool.call.completed').map(({ data }) => data.call_id)).toEqual([
    'c',
    'c',
  ])
})
