import { expect, test } from 'vitest'
import { pi } from '../../src/engines/pi.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const session = { type: 'session', version: 3, id: 's-1', timestamp: 't', cwd: '/' }
const start = { type: 'agent_start' }
const says = (stopReason: string, ...content: object[]) => ({
  type: 'message_end',
  message: { role: 'assistant', content, stopReason },
})
const word = (text: string) => ({ type: 'text', text })
const delta = (contentIndex: number, piece: string) => ({
  type: 'message_update',
  assistantMessageEvent: { type: 'text_delta', contentIndex, delta: piece },
})
const end = (willRetry?: boolean) => ({ type: 'agent_end', messages: [], willRetry })
const retry = { type: 'auto_retry_start', attempt: 1, maxAttempts: 3, delayMs: 1, errorMessage: 'x' }
const read = (...records: object[]) => run(pi, { stdout: lines(session, ...records), exit: 0 })
const tool = (toolName: string, isError: boolean, output: string, args: object = {}) => [
  { type: 'tool_execution_start', toolCallId: 'c', toolName, args },
  { type: 'tool_execution_end', toolCallId: 'c', toolName, isError, result: { content: [word(output)] } },
]

test.each([true, undefined])('a failure that is tried again is a warning (willRetry: %s)', (willRetry) => {
  const events = read(
    start,
    says('error', word('Half')),
    end(willRetry),
    retry,
    start,
    says('stop', word('Whole')),
    end(false),
  )
  expect(only(events, 'diagnostic.engine.error').map(({ data }) => data.severity)).toEqual(['warning'])
  expect(endOf(events)).toMatchObject({ state: 'awaiting_user_input', evidence: { failure: null } })
})

test.each([
  ['told by the last agent_end', [end(false)]],
  [
    'after the last try',
    [end(), retry, start, says('error'), end(), { type: 'auto_retry_end', success: false }],
  ],
  ['of 0.73, which does not tell whether it tries again', [end()]],
  ['of a log that breaks off', []],
])('a failure is a failure, though pi exits with 0: %s', (_, rest) => {
  const events = read(start, says('error'), ...rest)
  expect(endOf(events)).toMatchObject({ state: 'interrupted', evidence: { end_signal: null } })
  expect(only(events, 'diagnostic.engine.error').at(-1)!.data.severity).toBe('fatal')
})

test('the end of a turn needs a reason why the model stopped', () => {
  expect(endOf(read(start, end(false))).state).toBe('unknown')
  expect(endOf(read(start, says('aborted', word('x')), end(false))).state).toBe('interrupted')
  const cut = endOf(read(start, says('length', word('x')), end(false)))
  expect(cut).toMatchObject({ state: 'interrupted', reason_code: 'MAX_TOKENS' })
})

test('each text of a message is one message, also where pieces interleave, and thoughts are none', () => {
  const events = read(
    start,
    delta(0, 'On'),
    delta(2, 'Tw'),
    delta(0, 'e'),
    says('stop', word('One'), { type: 'thinking', thinking: 'Hm' }, word('Two'), word('')),
    { type: 'turn_end', message: { role: 'assistant', content: [word('One')] }, toolResults: [] },
    end(false),
  )
  expect(texts(events)).toEqual(['One', 'Two'])
  expect(only(events, 'agent.message.final').map(({ data }) => data.message_id)).toEqual([
    'message-1',
    'message-2',
  ])
  expect(only(events, 'agent.reasoning.summary').map(({ data }) => data.text)).toEqual(['Hm'])
})

test('only the shell of pi tells an exit code, and only behind the output of a command that failed', () => {
  const codes = (...call: Parameters<typeof tool>) =>
    only(read(...tool(...call)), 'tool.call.failed', 'tool.call.completed').map(({ data }) => data.exit_code)
  expect(codes('bash', true, 'x\n\nCommand exited with code 3')).toEqual([3])
  expect(codes('bash', true, 'Command exited with code 3\nCommand timed out')).toEqual([undefined])
  expect(codes('bash', false, 'Command exited with code 3')).toEqual([undefined])
  expect(codes('other', true, 'Command exited with code 3')).toEqual([undefined])
})

test('a written and an edited file are told, a failed edit is not', () => {
  const events = read(
    ...tool('write', false, 'ok', { path: 'a.txt' }),
    ...tool('edit', false, 'ok', { path: 'b.txt' }),
    ...tool('edit', true, 'no', { path: 'c.txt' }),
  )
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  expect(files.map(({ event, data }) => [event.type, data.path])).toEqual([
    ['artifact.created', 'a.txt'],
    ['artifact.modified', 'b.txt'],
  ])
})

test('what only users, tools and the system prompt say is no message', () => {
  const roles = ['user', 'system', 'toolResult', 'custom']
  const events = read(
    start,
    ...roles.map((role) => ({
      type: 'message_end',
      message: { role, content: [word('{"__SKILL_DONE__": true}')] },
    })),
  )
  expect(texts(events)).toEqual([])
  expect(endOf(events)).toMatchObject({ state: 'unknown', evidence: { done_marker: false } })
})

test('an unknown record is kept as raw and told', () => {
  const events = read({ type: 'brand_new' }, { type: 'session', sessionId: 'other' })
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(only(events, 'raw.stdout')).toHaveLength(2)
})

test.each(['compaction', 'auto_compaction'])('a context that is shortened is told: %s', (name) => {
  const events = read(start, { type: `${name}_start`, reason: 'threshold' }, { type: `${name}_end` })
  expect(codesOf(events)).not.toContain('UNKNOWN_TYPE')
  expect(only(events, 'lifecycle.run.status').map(({ data }) => data.status)).toContain(`${name}_start`)
})
