import { describe, expect, test } from 'vitest'
import { claude } from '../../src/engines/claude/claude.ts'
import { qwen } from '../../src/engines/qwen.ts'
import { slow } from '../pace.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'
import { uncovered } from './uncovered.ts'

const line = (type: string, more: object = {}) => ({ type, uuid: 'u', session_id: 's-1', ...more })
const says = (content: unknown, more: object = {}, message: object = {}) =>
  line('assistant', { message: { id: 'm', content, ...message }, ...more })
const piece = (event: object, parent?: string) =>
  line('stream_event', { event, parent_tool_use_id: parent ?? null })
const delta = (text: string, parent?: string) =>
  piece({ type: 'content_block_delta', delta: { type: 'text_delta', text } }, parent)
const read = (...records: object[]) => run(claude, { stdout: lines(...records), exit: 0 })
const ids = (events: ReturnType<typeof read>) =>
  only(events, 'agent.message.final').map(({ data }) => data.message_id)

describe('a message', () => {
  test('is read from a plain string too, and has a name though it says none; without a text there is none', () => {
    const events = read(
      says('Hello'),
      line('assistant', { message: { content: [{ type: 'text' }, { type: 'text', text: 'Ho' }] } }),
    )
    expect(texts(events)).toEqual(['Hello', 'Ho'])
    expect(ids(events)).toEqual(['m', 'u'])
    const nameless = {
      type: 'assistant',
      session_id: 's-1',
      parent_tool_use_id: null,
      message: { content: 'x' },
    }
    expect(ids(read(says('Hello'), nameless))).toEqual(['m', 'message'])
  })

  test('without a body is kept as raw', () => {
    const events = read(line('assistant', { message: 'Hello' }))
    expect(texts(events)).toEqual([])
    expect(only(events, 'raw.stdout')).toHaveLength(1)
  })

  test('passes over hidden thoughts, and reports unknown blocks', () => {
    const events = read(
      says([{ type: 'redacted_thinking', data: 'x' }, 7, { type: 'thinking' }, { type: 'hologram' }]),
    )
    expect(only(events, 'agent.reasoning.summary')).toEqual([])
    expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  })

  test('with an unknown block is kept as raw, once, beside what is known of it', () => {
    const search = { type: 'future_block', id: 'x', input: { query: 'q' } }
    const alone = says([search])
    expect(only(read(alone), 'raw.stdout').map(({ data }) => data.line)).toEqual([JSON.stringify(alone)])
    const mixed = read(says([search, { type: 'text', text: 'Hello' }, search], { colour: 'red' }))
    expect(texts(mixed)).toEqual(['Hello'])
    expect(only(mixed, 'raw.stdout')).toHaveLength(1)
  })

  test('that was cut by a limit says so', () => {
    const events = read(
      says('x', { supersedes: ['a', 'b'] }),
      says('Hel', { aborted: true }, { stop_reason: 'max_tokens' }),
    )
    expect(only(events, 'agent.message.final')[1]!.data).toMatchObject({ text: 'Hel', incomplete: true })
    expect(endOf(events).evidence.truncated).toBe(true)
    expect(only(events, 'lifecycle.run.status').map(({ data }) => data)).toContainEqual({
      status: 'superseded',
      reason: 'a b',
    })
  })

  test('in pieces is whole when it stops, though no line repeats it', () => {
    const events = read(
      piece({ type: 'message_start', message: { id: 'm-1' } }),
      delta('Hel'),
      piece({ type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{' } }),
      delta('lo'),
      piece({ type: 'message_stop' }),
      piece({ type: 'message_stop' }),
      piece({ type: 'message_start', message: {} }),
      delta('again'),
      line('stream_event'),
    )
    expect(texts(events)).toEqual(['Hello', 'again'])
    expect(ids(events)).toEqual(['m-1', 'message'])
  })

  test.each([claude, qwen])('message_stop after a delta belongs to an event, for $name', (profile) => {
    for (const stop of [
      piece({ type: 'message_stop' }),
      piece({ type: 'message_start', message: { id: 'm-2' } }),
    ]) {
      const stdout = lines(line('system', { subtype: 'init' }), delta('Hel'), stop)
      const events = run(profile, { stdout, exit: 0 })
      expect(texts(events)).toEqual(['Hel'])
      expect(uncovered(events, 'stdout', stdout)).toBe(-1)
      expect(only(events, 'raw.stdout').map(({ data }) => data.line)).toEqual([JSON.stringify(stop)])
    }
  })

  describe('that broke off', () => {
    const start = (id: string) => piece({ type: 'message_start', message: { id } })
    const draft = delta('<json>{"a":"draft","__SKILL_DONE__":true}</json> an')
    const again = line('system', { subtype: 'api_retry' })
    const success = line('result', { subtype: 'success' })
    const judged = (...records: object[]) => {
      const events = run(claude, { stdout: lines(...records), exit: 0 }, { schema: { type: 'object' } })
      const { data } = only(events, 'lifecycle.run.result')[0]!
      return { events, result: data, done: endOf(events).evidence.done_marker }
    }

    test('is told before the one that takes its place, and is neither the result nor the end', () => {
      const real = '<json>{"a":"real"}</json>'
      const { events, result, done } = judged(
        start('m-1'),
        draft,
        again,
        start('m-2'),
        delta(real),
        says(real, {}, { id: 'm-2' }),
        piece({ type: 'message_stop' }),
        success,
      )
      expect(only(events, 'agent.message.final').map(({ data }) => data)).toMatchObject([
        { message_id: 'm-1', incomplete: true, structured_payload: { a: 'draft' } },
        { message_id: 'm-2', text: real },
      ])
      expect([result, done]).toMatchObject([{ status: 'success', value: { a: 'real' } }, false])
    })

    test('is no result either where the one after it has none', () => {
      const { result, done } = judged(start('m-1'), draft, start('m-2'), says('Which file?'), success)
      expect([result, done]).toMatchObject([{ status: 'failed', warnings: ['NO_MATCH'] }, false])
    })

    test('does not come before an earlier message that was whole', () => {
      const { result } = judged(says('{"a":"first"}'), start('m-1'), draft, start('m-2'), says('Done.'))
      expect(result).toMatchObject({ value: { a: 'first' } })
    })

    test('is what there is, if nothing whole came after it', () => {
      const { result, done } = judged(says('{"a":"first"}'), start('m-1'), draft, start('m-2'), delta('An'))
      expect([result, done]).toMatchObject([{ status: 'success', value: { a: 'draft' } }, true])
      expect(judged(start('m-1'), draft).done).toBe(true)
    })
  })

  test('of one of a thousand speakers keeps its own name', () => {
    const starts = Array.from({ length: 1001 }, (_, n) =>
      piece({ type: 'message_start', message: { id: `m-${n}` } }, `agent-${n}`),
    )
    const events = read(...starts, delta('last', 'agent-1000'), piece({ type: 'message_stop' }, 'agent-1000'))
    expect(ids(events)).toEqual(['m-1000'])
  })

  test('has a name of its own among thousands', () => {
    const stdout = lines(
      ...Array.from({ length: 1100 }, (_, n) => says('x', {}, { id: `m-${n}` })),
      says('y', {}, { id: 'm-1099' }),
    )
    expect(ids(run(claude, { stdout, exit: 0 })).slice(-2)).toEqual(['m-1099', 'm-1099.1'])
  })
})

describe('a call', () => {
  const use = (more: object) => says([{ type: 'tool_use', ...more }])
  const result = (more: object) => line('user', { message: { content: [{ type: 'tool_result', ...more }] } })

  test('has its name at the end too, and its files', () => {
    const call = (id: string, name: string) => [
      use({ id, name, input: { file_path: `${id}.txt` } }),
      result({ tool_use_id: id, content: 'ok' }),
    ]
    const events = read(
      ...call('a', 'Write'),
      ...call('b', 'Edit'),
      ...call('c', 'MultiEdit'),
      ...call('d', 'Read'),
      use({ id: 'e', name: 'Write', input: 'e.txt' }),
      result({ tool_use_id: 'e' }),
      result({ tool_use_id: 'never begun', content: 'x' }),
      result({}),
    )
    const files = only(events, 'artifact.created', 'artifact.modified')
    expect(files.map(({ event, data }) => [event.type, data.path])).toEqual([
      ['artifact.created', 'a.txt'],
      ['artifact.modified', 'b.txt'],
      ['artifact.modified', 'c.txt'],
    ])
    expect(only(events, 'tool.call.completed').map(({ data }) => data.name)).toEqual([
      'Write',
      'Edit',
      'MultiEdit',
      'Read',
      'Write',
      'tool',
      'tool',
    ])
  })

  test('that failed changed nothing', () => {
    const events = read(
      use({ id: 'a', name: 'Write', input: { file_path: 'a.txt' } }),
      result({ tool_use_id: 'a', is_error: true, content: 'denied' }),
      use({}),
    )
    expect(only(events, 'tool.call.failed')[0]!.data).toMatchObject({
      call_id: 'a',
      name: 'Write',
      error: 'denied',
    })
    expect(only(events, 'artifact.created')).toEqual([])
    expect(only(events, 'tool.call.started').at(-1)!.data).toEqual({
      call_id: 'call-1',
      name: 'tool',
      kind: 'other',
    })
  })

  test('a user line without results and words says nothing', () => {
    const events = read(
      line('system', { subtype: 'init' }),
      line('user'),
      line('user', { message: { content: 'hi' } }),
      line('user', { message: { content: [1, { type: 'text' }] } }),
    )
    expect(only(events, 'raw.stdout')).toHaveLength(2)
    expect(only(events, 'user.message').map(({ data }) => data)).toEqual([{ text: 'hi' }])
    expect(codesOf(events)).toEqual([])
  })

  test.runIf(slow)('is remembered by name up to a bound', () => {
    const uses = Array.from({ length: 4097 }, (_, n) => use({ id: `c${n}`, name: 'ls' }))
    const ends = [0, 4095, 4096].map((n) => result({ tool_use_id: `c${n}` }))
    const events = run(claude, { stdout: lines(...uses, ...ends), exit: 0 })
    expect(only(events, 'tool.call.completed').map(({ data }) => data.name)).toEqual(['tool', 'ls', 'ls'])
  })
})

describe('what comes before the first record', () => {
  const control = { type: 'control_response', response: { subtype: 'success', request_id: '1' } }
  const answer = lines(line('system', { subtype: 'init' }), says('Hello'))

  test.each([
    ['a control_response', lines(control)],
    ['a line of the start', 'Loaded cached credentials.\n'],
    ['a record of another program', '{"ready":true}\n'],
    ['all of them', `Loaded cached credentials.\n${lines(control)}{"ready":true}\n`],
  ])('comes out first, not at the end of the run: %s', (_, start) => {
    for (const profile of [claude, qwen]) {
      const events = run(profile, { stdout: start + answer, exit: 0 })
      const order = events.map(({ type }) => type)
      expect(order).toContain('raw.stdout')
      expect(order.lastIndexOf('raw.stdout')).toBeLessThan(order.indexOf('lifecycle.run.status'))
      expect(texts(events)).toEqual(['Hello'])
      expect(new Set(events.map(({ correlation }) => correlation.event_id)).size).toBe(events.length)
    }
  })

  test('is no answer, if nothing else comes', () => {
    const events = run(claude, { stdout: lines(control), exit: 'SIGTERM' })
    expect(texts(events)).toEqual([])
    expect(only(events, 'raw.stdout')).toHaveLength(1)
  })
})

describe('the rest of a turn', () => {
  test('begins without a model, retries, and knows no other system line', () => {
    const events = read(
      line('system', { subtype: 'init' }),
      line('system', { subtype: 'api_retry' }),
      line('system', { subtype: 'mystery' }),
      line('mystery'),
    )
    expect(only(events, 'lifecycle.run.status').map(({ data }) => data)).toContainEqual({
      status: 'turn_started',
    })
    expect(only(events, 'diagnostic.engine.error')[0]!.data.severity).toBe('warning')
    expect(only(events, 'raw.stdout')).toHaveLength(2)
  })

  test.each([
    ['boom', { error: { message: 'boom' } }],
    ['in words', { error: 'in words' }],
    ['a; b', { errors: ['a', 'b'] }],
    ['the answer', { is_error: true, errors: [], result: 'the answer' }],
    ['error_max_turns', { subtype: 'error_max_turns' }],
  ])('fails with what it says: %s', (failure, more) => {
    expect(endOf(read(line('result', more))).evidence.failure).toBe(failure)
  })
})

describe('what the engine tells about itself', () => {
  const system = (subtype: string, more: object = {}) => line('system', { subtype, ...more })
  const done = line('result', { subtype: 'success', is_error: false, result: 'Hello' })

  test('is quiet where it is known', () => {
    const events = read(
      system('hook_started', { hook_id: 'h' }),
      system('hook_response', { hook_id: 'h' }),
      system('init', { tools: [], mcp_servers: [] }),
      line('rate_limit_event', { rate_limit_info: { status: 'allowed' } }),
      system('status', { status: 'requesting' }),
      system('thinking_tokens', { tokens: 1 }),
      system('notification', { text: 'x' }),
      says('Hello', { request_id: 'r', timestamp: 't', wire_tool_inputs: {}, tool_use_meta: {} }),
      { type: 'control_response', response: { subtype: 'success' } },
      done,
    )
    expect(codesOf(events)).toEqual([])
    expect(texts(events)).toEqual(['Hello'])
    expect(endOf(events).state).toBe('awaiting_user_input')
  })

  test('is a step of the run: a compaction, a retry, a task', () => {
    const events = read(
      system('status', { status: 'compacting' }),
      system('compact_boundary', { compact_metadata: { trigger: 'auto' } }),
      system('api_retry', { attempt: 2, max_retries: 10, error_status: 529, error: 'overloaded' }),
      system('task_started', { task_id: 't', description: 'Look around' }),
      system('task_notification', { task_id: 't', status: 'completed' }),
      says('Hello'),
      done,
    )
    const words = 'the engine asks the model again: attempt 2 of 10 (529 overloaded)'
    expect(only(events, 'lifecycle.run.status').map(({ data }) => [data.status, data.reason])).toEqual([
      ['started', undefined],
      ['compacting', undefined],
      ['compacted', 'auto'],
      ['retrying', words],
      ['task_started', 'Look around'],
      ['task_notification', 'completed'],
      ['result', 'success'],
      ['awaiting_user_input', 'result success'],
    ])
    expect(only(events, 'diagnostic.engine.error').map(({ data }) => data)).toMatchObject([
      { message: words, severity: 'warning', retryable: true },
    ])
    expect(endOf(events).evidence.failure).toBe(null)
  })

  test('is an error, never an answer, where it speaks in place of the model', () => {
    const excuse = 'API Error: 529 {"ok":true}'
    const synthetic = says([{ type: 'text', text: excuse }], {}, { model: '<synthetic>' })
    for (const is_error of [true, false]) {
      const events = run(
        claude,
        {
          stdout: lines(synthetic, line('result', { subtype: 'success', is_error, result: excuse })),
          exit: 0,
        },
        { schema: { type: 'object' } },
      )
      expect(texts(events)).toEqual([])
      expect(only(events, 'diagnostic.engine.error')[0]!.data.message).toBe(excuse)
      expect(only(events, 'lifecycle.run.result')[0]!.data.status).toBe('failed')
      expect(endOf(events).state).toBe('interrupted')
    }
    const recovered = read(synthetic, says('Hello'), done)
    expect(texts(recovered)).toEqual(['Hello'])
    expect(endOf(recovered).evidence.failure).toBe(null)
  })

  test('a permission it asks for needs a human, until it goes on', () => {
    const ask = {
      type: 'control_request',
      request_id: 'r',
      request: { subtype: 'can_use_tool', tool_name: 'Bash', input: {} },
    }
    const waits = read(says('Hello'), ask)
    expect(endOf(waits)).toMatchObject({
      state: 'awaiting_user_input',
      evidence: { end_signal: null, request: 'can_use_tool Bash' },
    })
    const cancel = { type: 'control_cancel_request', request_id: 'r' }
    expect(endOf(read(says('Hello'), ask, cancel, says('Going on'))).state).toBe('unknown')
    expect(endOf(read(says('Hello'), ask, done)).evidence.end_signal).toBe('result success')
    const hook = { ...ask, request: { subtype: 'hook_callback' } }
    expect(endOf(read(says('Hello'), hook)).state).toBe('unknown')
  })

  test('a rate limit that is reached is a warning', () => {
    const events = read(line('rate_limit_event', { rate_limit_info: { status: 'rejected' } }), says('x'))
    expect(only(events, 'diagnostic.engine.error')[0]!.data.severity).toBe('warning')
  })
})

test('a file that was there before is modified', () => {
  const call = (id: string, file_path: string) => ({
    type: 'tool_use',
    id,
    name: 'Write',
    input: { file_path },
  })
  const over = (id: string, type: string) =>
    line('user', {
      message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
      tool_use_result: { type },
    })
  const events = read(
    says([call('a', 'old.txt'), call('b', 'new.txt')]),
    over('a', 'update'),
    over('b', 'create'),
  )
  expect(
    only(events, 'artifact.created', 'artifact.modified').map(({ type, data }) => [type, data.path]),
  ).toEqual([
    ['artifact.modified', 'old.txt'],
    ['artifact.created', 'new.txt'],
  ])
})

test('a message whose end comes before its line is said once', () => {
  const start = piece({ type: 'message_start', message: { id: 'm' } })
  const stop = piece({ type: 'message_stop' })
  const events = read(start, delta('Hel'), delta('lo'), stop, says([{ type: 'text', text: 'Hello' }]))
  expect(texts(events)).toEqual(['Hello'])
  expect(uncovered(events, 'stdout', 'x'.repeat(events.at(-2)!.raw_ref!.byte_to))).toBe(-1)
})

test('the answer in the result is told where only a subagent has spoken', () => {
  const done = line('result', { subtype: 'success', is_error: false, num_turns: 1, result: 'Done.' })
  const events = read(says('Looking.', { parent_tool_use_id: 'toolu_1' }), done)
  expect(texts(events)).toEqual(['Looking.', 'Done.'])
})

describe('whose turn ended, whose words these are', () => {
  const init = (more: object = {}) => line('system', { subtype: 'init', ...more })
  const answer = says([{ type: 'text', text: 'Done.' }])
  const result = (more: object = {}) =>
    line('result', {
      subtype: 'success',
      is_error: false,
      num_turns: 1,
      duration_ms: 5,
      result: 'Done.',
      ...more,
    })

  test('an error of a subagent was the error of the run', () => {
    const failed = says('API Error: 401 no key', { parent_tool_use_id: 'c' }, { model: '<synthetic>' })
    const events = read(init(), failed, answer, result())
    expect(only(events, 'diagnostic.engine.error').map(({ data }) => data.severity)).toEqual(['warning'])
    expect(endOf(events).outcome).toBe('finished')
  })

  test('a result of another session ends nothing, and does not take the session', () => {
    const events = read(init(), answer, line('result', { ...result(), session_id: 's-2' }))
    expect(endOf(events)).toMatchObject({ outcome: 'unknown', evidence: { end_signal: null, failure: null } })
    expect(events.at(-1)!.correlation.session_id).toBe('s-1')
    expect(endOf(read(init(), answer, result())).outcome).toBe('finished')
  })

  test('the result that Qwen Code prints for a subagent that failed ended the run', () => {
    const qwens = (...records: object[]) => run(qwen, { stdout: lines(...records), exit: 0 })
    const begins = init({ qwen_code_version: '0.24.4' })
    const error = { subtype: 'error_during_execution', is_error: true, error: { message: 'cancelled' } }
    const sub = line('result', { ...error, num_turns: 0, duration_ms: 0, usage: { input_tokens: 0 } })
    const events = qwens(
      begins,
      says([{ type: 'tool_use', id: 'c', name: 'agent', input: {} }]),
      sub,
      answer,
      result(),
    )
    expect(endOf(events)).toMatchObject({ outcome: 'finished', evidence: { failure: null } })
    expect(endOf(qwens(begins, answer, sub)).outcome).toBe('unknown')
    // Before the model has said anything, it is a failure of the start.
    expect(endOf(qwens(begins, sub)).outcome).toBe('failed')
  })

  test('a notice of Qwen Code was a message of the user', () => {
    const notice = line('user', {
      parent_tool_use_id: null,
      message: { role: 'user', content: [{ type: 'text', text: 'Background agent "x" completed.' }] },
    })
    const stdout = lines(init({ qwen_code_version: '0.24.4' }), answer, notice, answer, result())
    expect(only(run(qwen, { stdout, exit: 0 }), 'user.message')).toEqual([])
  })

  test('the words of another session were the run’s', () => {
    const other = line('assistant', {
      session_id: 'other',
      message: { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'inner' }] },
    })
    const events = run(claude, { stdout: lines(init(), answer, other, result()), exit: 0 })
    expect(only(events, 'agent.message.final').map(({ data }) => data.parent_call_id)).toEqual([
      undefined,
      'other',
    ])
  })

  test('an answer without text was told as a message of Qwen Code', () => {
    const text = '[API Error: Model stream ended with empty response text.]'
    const empty = says([{ type: 'text', text }], {}, { usage: { input_tokens: 100, output_tokens: 25 } })
    const error = {
      subtype: 'error_during_execution',
      is_error: true,
      result: undefined,
      error: { message: text },
    }
    const stdout = lines(init({ qwen_code_version: '0.24.4' }), empty, result(error))
    const events = run(qwen, { stdout, exit: 1 })
    expect(texts(events)).toEqual([])
    expect(endOf(events)).toMatchObject({ outcome: 'failed', evidence: { failure: text } })
  })

  test('the exit code of a command of Qwen Code is the one after its output', () => {
    const init = line('system', { subtype: 'init', qwen_code_version: '0.24.4' })
    const calls = says([{ type: 'tool_use', id: 'c', name: 'run_shell_command', input: { command: 'x' } }])
    const content =
      'Command: x\nDirectory: (root)\nOutput: \nExit Code: 9\nSignal: (none)\nError: (none)\nExit Code: 3\nSignal: (none)\nProcess Group PGID: (none)'
    const fails = line('user', {
      message: { content: [{ type: 'tool_result', tool_use_id: 'c', is_error: true, content }] },
    })
    const events = run(qwen, { stdout: lines(init, calls, fails), exit: 0 })
    expect(only(events, 'tool.call.failed')[0]!.data.exit_code).toBe(3)
  })
})

test('pieces of another session are its own, as their whole is', () => {
  const part = (event: object) => line('stream_event', { session_id: 'other', event })
  const events = read(
    line('system', { subtype: 'init' }),
    part({ type: 'message_start', message: { id: 'm' } }),
    part({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'inner' } }),
    part({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'Hm' } }),
    part({ type: 'message_stop' }),
  )
  const pieces = only(
    events,
    'agent.message.delta',
    'agent.message.final',
    'agent.reasoning.delta',
    'agent.reasoning.summary',
  )
  expect(pieces.map(({ data }) => data.parent_call_id)).toEqual(Array(4).fill('other'))
})

describe('the tokens of a result', () => {
  const counts = (inputTokens: number, outputTokens: number, cacheReadInputTokens = 0) => ({
    ...{ inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens: 0 },
  })
  const result = (modelUsage: object | undefined, input_tokens: number, output_tokens: number) =>
    line('result', {
      ...{ subtype: 'success', is_error: false, num_turns: 1, result: 'Done.' },
      ...{ modelUsage, usage: { input_tokens, output_tokens } },
    })

  test('are those of all models, subagents too, as its cost is', () => {
    const modelUsage = { opus: counts(10, 20, 100), haiku: counts(900, 5) }
    expect(endOf(read(result(modelUsage, 110, 20))).tokens).toEqual({
      ...{ input: 1010, output: 25, cached: 100, cache_write: 0 },
    })
    // A run that was stopped for its budget counts nothing in `usage`.
    expect(endOf(read(result(modelUsage, 0, 0))).tokens?.output).toBe(25)
  })

  test('of a turn are what the process has used since the turn before', () => {
    const turns = [result({ opus: counts(10, 458) }, 10, 458), result({ opus: counts(20, 564) }, 10, 106)]
    const events = read(...turns)
    const told = only(events, 'lifecycle.run.status').flatMap(({ data }) => data.tokens?.output ?? [])
    expect(told).toEqual([458, 106])
    expect(endOf(events).tokens).toMatchObject({ input: 20, output: 564 })
  })

  test('are those of the main agent where no model is named', () => {
    for (const none of [undefined, {}, { opus: {} }, { opus: counts(0, 0) }])
      expect(endOf(read(result(none, 7, 3))).tokens).toEqual({ input: 7, output: 3 })
  })

  test('do not make an answer of an error that another model has paid for', () => {
    const answer = 'API Error: 401 {"type":"error"}'
    const failed = { ...result({ haiku: counts(900, 5) }, 0, 0), result: answer, usage: { output_tokens: 0 } }
    expect(endOf(read(failed)).outcome).toBe('failed')
  })
})

test('why a turn ended is read from its own word, whatever the engine says of it', () => {
  const ended = (result: string, terminal_reason: string) =>
    endOf(
      read(
        line('result', {
          ...{ subtype: 'success', is_error: true, num_turns: 1, api_error_status: 400 },
          ...{ result, terminal_reason },
        }),
      ),
    )
  expect(ended('This chat has gotten too big.', 'prompt_too_long')).toMatchObject({
    problem: 'This chat has gotten too big.',
    failure_class: 'context',
  })
  expect(ended('', 'prompt_too_long')).toMatchObject({
    problem: 'the API answered with status 400: prompt_too_long',
    failure_class: 'context',
  })
  expect(ended('API Error: 529 overloaded', 'api_error').failure_class).toBe('rate')
})
