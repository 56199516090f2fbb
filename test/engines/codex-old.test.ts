import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const config = { workdir: '/w', model: 'm', provider: 'p' }
const msg = (type: string, more: object = {}, id = '0') => ({ id, msg: { type, ...more } })
const read = (...records: object[]) => run(codex, { stdout: lines(config, ...records), exit: 0 })

test('knows the session, the turn and its end', () => {
  const events = read(
    msg('session_configured', { session_id: 's-1' }),
    msg('task_started'),
    msg('agent_message', { message: 'Hello.' }),
    msg('task_complete', { last_agent_message: 'Hello.' }),
  )
  expect(endOf(events)).toMatchObject({
    state: 'awaiting_user_input',
    evidence: { end_signal: 'task_complete' },
  })
  expect(events.at(-1)!.correlation.session_id).toBe('s-1')
  expect(texts(events)).toEqual(['Hello.'])
})

test('gives the pieces of a message, and what they are together if no whole one comes', () => {
  const events = read(
    msg('agent_message_delta', { delta: 'Hel' }, '7'),
    msg('agent_message_delta', { delta: 'lo' }, '7'),
    msg('agent_message_delta', {}, '7'),
  )
  expect(only(events, 'agent.message.delta').map(({ data }) => [data.message_id, data.text])).toEqual([
    ['turn-7', 'Hel'],
    ['turn-7', 'lo'],
  ])
  expect(texts(events)).toEqual(['Hello'])
})

test('a whole message is the end of its pieces, not another one', () => {
  const events = read(
    msg('agent_message_delta', { delta: 'Hel' }, '7'),
    msg('agent_message_delta', { delta: 'lo' }, '7'),
    msg('agent_message', { message: 'Hello' }, '7'),
    msg('agent_message_delta', { delta: 'By' }, '7'),
    msg('agent_message', { message: 'Bye' }, '7'),
    msg('agent_message', { message: 'Whole.' }, '7'),
    msg('agent_message_delta', { delta: 'Next' }, '8'),
    msg('agent_message', { message: 'Next.' }, '8'),
    msg('task_complete'),
  )
  expect(only(events, 'agent.message.final').map(({ data }) => data)).toEqual([
    { message_id: 'turn-7', text: 'Hello' },
    { message_id: 'turn-7.1', text: 'Bye' },
    { message_id: 'message-1', text: 'Whole.' },
    { message_id: 'turn-8', text: 'Next.' },
  ])
})

test('a command ends well or badly by its exit code', () => {
  const events = read(
    msg('exec_command_begin', { call_id: 'a', command: ['ls'] }),
    msg('exec_command_end', { call_id: 'a', stdout: 'one', exit_code: 0 }),
    msg('exec_command_end', { call_id: 'b', aggregated_output: 'two', stdout: 'no', exit_code: 3 }),
    msg('exec_command_end', { call_id: 'c', exit_code: 'none' }),
  )
  expect(
    only(events, 'tool.call.completed', 'tool.call.failed').map(({ event, data }) => [event.type, data]),
  ).toEqual([
    [
      'tool.call.completed',
      { call_id: 'a', name: 'command_execution', kind: 'execute', output: 'one', exit_code: 0 },
    ],
    [
      'tool.call.failed',
      { call_id: 'b', name: 'command_execution', kind: 'execute', output: 'two', exit_code: 3 },
    ],
    ['tool.call.completed', { call_id: 'c', name: 'command_execution', kind: 'execute' }],
  ])
  expect(only(events, 'tool.call.started')).toHaveLength(3)
})

test('a patch changes files only if it was applied', () => {
  const changes = (path: string, kind: unknown) => ({ changes: { [path]: kind } })
  const events = read(
    msg('patch_apply_begin', { call_id: 'a', ...changes('made.txt', { add: { content: '' } }) }),
    msg('patch_apply_end', { call_id: 'a', stdout: 'ok', success: true }),
    msg('patch_apply_begin', { call_id: 'b', ...changes('not.txt', { add: { content: '' } }) }),
    msg('patch_apply_end', { call_id: 'b', stderr: 'no such context', success: false }),
    msg('patch_apply_begin', { call_id: 'c', ...changes('odd.txt', 'somehow') }),
    msg('patch_apply_end', { call_id: 'c', success: true }),
    msg('patch_apply_begin', { call_id: 'd', changes: 'none' }),
    msg('patch_apply_end', { call_id: 'd', success: true }),
    msg('patch_apply_begin', { call_id: 'e', ...changes('empty.txt', {}) }),
    msg('patch_apply_end', { call_id: 'e', success: true }),
    msg('patch_apply_end', { call_id: 'never begun', success: true }),
  )
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  expect(files.map(({ event, data }) => [event.type, data.path])).toEqual([
    ['artifact.created', 'made.txt'],
    ['artifact.modified', 'odd.txt'],
    ['artifact.modified', 'empty.txt'],
  ])
  expect(only(events, 'tool.call.failed')[0]!.data).toMatchObject({ call_id: 'b', error: 'no such context' })
})

test.each(['interrupted', undefined])('a turn that was stopped did not go well: %s', (reason) => {
  const events = read(msg('task_started'), msg('turn_aborted', { reason }))
  expect(endOf(events)).toMatchObject({ outcome: 'failed', problem: `the turn was ${reason ?? 'aborted'}` })
  expect(codesOf(events)).not.toContain('UNKNOWN_TYPE')
})

test('an error is fatal, a stream that breaks is not', () => {
  const events = read(msg('stream_error', { message: 'retrying' }), msg('error', { message: 'gave up' }))
  expect(only(events, 'diagnostic.engine.error').map(({ data }) => [data.message, data.severity])).toEqual([
    ['retrying', 'warning'],
    ['gave up', 'fatal'],
  ])
  expect(endOf(events).evidence.failure).toBe('gave up')
})

test.each(['aggregated_output', 'stdout', 'output'])('the output of a command is its %s', (field) => {
  const events = read(msg('exec_command_end', { call_id: 'c', [field]: 'total 42' }))
  expect(only(events, 'tool.call.completed')[0]!.data).toMatchObject({ call_id: 'c', output: 'total 42' })
})

test('an unknown message is kept as raw and told', () => {
  const events = read(msg('brand_new'), msg('turn_diff'), { id: '1', msg: {} })
  expect(only(events, 'raw.stdout').map(({ data }) => data.line)).toContain(
    '{"id":"0","msg":{"type":"brand_new"}}',
  )
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
})

test('whatever is missing is left out', () => {
  const events = run(codex, {
    stdout: lines(
      { workdir: '/w', provider: 'p' },
      { id: '', msg: { type: 'agent_message' } },
      msg('agent_reasoning'),
      msg('token_count', { info: null }),
    ),
  })
  expect(texts(events)).toEqual([])
  expect(only(events, 'agent.reasoning.summary')).toEqual([])
  expect(only(events, 'lifecycle.run.status').map(({ data }) => data)).toEqual([
    { status: 'configured', cwd: '/w' },
    { status: 'token_count' },
  ])
})

test('a prompt without the line before it may be anyone’s', () => {
  const events = run(codex, { stdout: lines({ prompt: 'Hi' }, { prompt: 'Ho' }), exit: 0 })
  expect(only(events, 'user.message')).toEqual([])
  expect(codesOf(events)).toContain('ENGINE_UNKNOWN')
})
