import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import type { EngineFrame } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { chat, codesOf, endOf, lines, only, run, texts } from './run.ts'

const rpc = (more: object) => ({ jsonrpc: '2.0', ...more })
const update = (sessionUpdate: string, more: object = {}) =>
  rpc({ method: 'session/update', params: { sessionId: 's-1', update: { sessionUpdate, ...more } } })
const content = (text: string) => ({ content: { type: 'text', text } })
const says = (text: string, more: object = {}) => update('agent_message_chunk', { ...content(text), ...more })
const thinks = (text: string, more: object = {}) =>
  update('agent_thought_chunk', { ...content(text), ...more })
const begins = (toolCallId: string, more: object = {}) => update('tool_call', { toolCallId, ...more })
const goesOn = (toolCallId: string, more: object) => update('tool_call_update', { toolCallId, ...more })
const asks = (toolCallId: string, more: object = {}) =>
  rpc({
    id: toolCallId,
    method: 'session/request_permission',
    params: { sessionId: 's-1', toolCall: { toolCallId, ...more }, options: [] },
  })
const stops = (stopReason: string, more: object = {}) => rpc({ id: 2, result: { stopReason, ...more } })
const hello = (name: string) =>
  rpc({ id: 0, result: { protocolVersion: 1, agentCapabilities: {}, agentInfo: { name, version: '1' } } })
const opened = rpc({ id: 1, result: { sessionId: 's-1' } })
const read = (...records: object[]) => run(acp, { stdout: lines(...records), exit: 0 })

const statuses = (events: readonly AgentEvent[]) =>
  only(events, 'lifecycle.run.status').map(({ data }) => data.status)
const calls = (events: readonly AgentEvent[]) =>
  only(events, 'tool.call.started', 'tool.call.completed', 'tool.call.failed').map(({ type, data }) => [
    type.slice('tool.call.'.length),
    data,
  ])
const thoughts = (events: readonly AgentEvent[]) =>
  only(events, 'agent.reasoning.summary').map(({ data }) => data.text)

describe('where a message ends', () => {
  test('at another kind of update, and at the answer to the prompt', () => {
    const events = read(
      ...[says('one '), says('message'), begins('a'), says('two'), thinks('hm'), says('three')],
      ...[update('plan', { entries: [] }), says('four'), update('usage_update', { used: 1, size: 2 })],
      ...[says('five'), asks('b'), says('six'), stops('end_turn')],
    )
    expect(texts(events)).toEqual(['one message', 'two', 'three', 'four', 'five', 'six'])
    expect(codesOf(events)).toEqual([])
  })

  test('not at news about the session', () => {
    const events = read(
      ...[says('one '), update('session_info_update', { title: 't' }), says('mess')],
      ...[update('available_commands_update', { availableCommands: [] }), says('age'), stops('end_turn')],
    )
    expect(texts(events)).toEqual(['one message'])
  })

  test('where the messageId changes; text that goes on behind a tool is another message', () => {
    const events = read(
      ...[says('a', { messageId: 'm1' }), says('b', { messageId: 'm2' }), begins('x')],
      ...[says('c', { messageId: 'm2' }), stops('end_turn')],
    )
    const finals = only(events, 'agent.message.final').map(({ data }) => [data.message_id, data.text])
    expect(finals).toEqual([
      ['m1', 'a'],
      ['m2', 'b'],
      ['message-1', 'c'],
    ])
  })

  test('what is no text is kept as raw and ends nothing', () => {
    const image = update('agent_message_chunk', { content: { type: 'image', data: '' } })
    const events = read(says('a'), image, says('b'), stops('end_turn'))
    expect(texts(events)).toEqual(['ab'])
    expect(only(events, 'raw.stdout')).toHaveLength(1)
    expect(codesOf(events)).toEqual([])
  })

  test('a run that is cut off leaves it incomplete, and its end unknown', () => {
    const events = read(says('half'))
    expect(only(events, 'agent.message.final')[0]!.data).toMatchObject({ text: 'half', incomplete: true })
    expect(endOf(events).state).toBe('unknown')
  })
})

describe('thoughts', () => {
  test('are joined like messages, and are about all of their chunks', () => {
    const stdout = lines(thinks('a '), thinks('thought'), says('x'), thinks('last'))
    const events = run(acp, { stdout, exit: 0 })
    expect(thoughts(events)).toEqual(['a thought', 'last'])
    const first = only(events, 'agent.reasoning.summary')[0]!.raw_ref!
    expect([first.byte_from, first.byte_to]).toEqual([0, stdout.indexOf('\n', stdout.indexOf('\n') + 1) + 1])
  })

  test('and tool output carry no payloads and no marker', () => {
    const marker = '{"__SKILL_DONE__": true}'
    const events = read(
      thinks(marker),
      goesOn('a', { status: 'completed', rawOutput: marker }),
      stops('end_turn'),
    )
    expect(endOf(events).state).toBe('awaiting_user_input')
    expect(endOf(read(says(marker), stops('end_turn'))).state).toBe('completed')
  })

  test('that outgrow maxFrame are cut, as messages are, but for their pieces', () => {
    const records = Array.from({ length: 40 }, () => thinks('x'.repeat(100)))
    const events = run(acp, { stdout: lines(...records) }, { maxFrame: 1000 })
    const pieces = only(events, 'agent.reasoning.delta').map(({ data }) => data.text)
    expect(pieces.join('')).toBe('x'.repeat(4000))
    expect(Math.max(...thoughts(events).map((text) => text.length))).toBeLessThanOrEqual(1000)
    expect(codesOf(events)).toContain('FRAME_TOO_LONG')
  })

  test('an unknown field beside them is told once, and its record kept once', () => {
    const events = read(thinks('a'), says('b', { brand_new: 1 }), stops('end_turn'))
    expect(only(events, 'raw.stdout')).toHaveLength(1)
    expect(codesOf(events)).toEqual(['UNKNOWN_FIELD', 'DRIFT_REPORT'])
  })
})

describe('tool calls', () => {
  test('are patched by their updates: the input may come late, the output at the end', () => {
    const events = read(
      begins('a', { title: 'Shell', kind: 'execute', status: 'pending', rawInput: {} }),
      goesOn('a', { status: 'in_progress', rawInput: { command: 'ls' } }),
      goesOn('a', { status: 'completed', content: [{ type: 'content', ...content('one file') }] }),
    )
    expect(calls(events)).toEqual([
      ['started', { call_id: 'a', name: 'execute', kind: 'execute', input: { title: 'Shell' } }],
      [
        'completed',
        { call_id: 'a', name: 'execute', kind: 'execute', input: { command: 'ls' }, output: 'one file' },
      ],
    ])
  })

  test('have the name the agent tells, else their kind, else their title', () => {
    const named = [
      { name: 'exec', kind: 'execute', title: 't' },
      { _meta: { toolName: 'run_shell' }, kind: 'execute' },
      { kind: 'edit', title: 't' },
      { kind: 'other', title: 'my_server.tool' },
      {},
    ]
    const events = read(...named.map((one, index) => begins(`${index}`, one)))
    expect(only(events, 'tool.call.started').map(({ data }) => data.name)).toEqual([
      ...['exec', 'run_shell', 'edit', 'my_server.tool', 'tool'],
    ])
  })

  test.each([
    ['codex-acp', { _meta: { terminal_exit: { exit_code: 3 } } }],
    ['OpenCode', { rawOutput: { output: '', metadata: { exit: 3 } } }],
    ['qwen-code', { rawOutput: { exitCode: 3 } }],
    ['nanocoder', { rawOutput: 'EXIT_CODE: 3\nno' }],
  ])('of %s that were completed with an exit code have failed', (agent, more) => {
    const events = read(hello(agent), begins('a'), goesOn('a', { status: 'completed', ...more }))
    expect(only(events, 'tool.call.failed')[0]!.data.exit_code).toBe(3)
  })

  test('of another agent may print what looks like an exit code', () => {
    const events = read(
      hello('x'),
      begins('a'),
      goesOn('a', { status: 'completed', rawOutput: 'EXIT_CODE: 3\n' }),
    )
    expect(only(events, 'tool.call.completed')).toHaveLength(1)
  })

  test('that fail without an exit code have an error', () => {
    const words = [{ type: 'content', ...content('not allowed') }]
    const events = read(begins('a'), goesOn('a', { status: 'failed', content: words }))
    expect(only(events, 'tool.call.failed')[0]!.data).toMatchObject({ error: 'not allowed' })
  })

  test('end once; an id that begins again is another call', () => {
    const done = goesOn('a', { status: 'completed' })
    const phases = calls(read(begins('a'), done, done, begins('a', { status: 'completed' }))).map(
      ([phase]) => phase,
    )
    expect(phases).toEqual(['started', 'completed', 'started', 'completed'])
  })

  test('of which only the end was seen are started first; one that only goes on is not', () => {
    const events = read(goesOn('a', { status: 'in_progress' }), goesOn('b', { status: 'completed' }))
    expect(calls(events).map(([phase, data]) => [phase, (data as { call_id: string }).call_id])).toEqual([
      ['started', 'b'],
      ['completed', 'b'],
    ])
  })

  test('with an unknown status, or without an id, are kept as raw', () => {
    const events = read(begins('a'), goesOn('a', { status: 'paused' }), update('tool_call', {}))
    expect(only(events, 'raw.stdout')).toHaveLength(2)
    expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  })

  test('show what their terminal showed', () => {
    const shows = (data: string) => goesOn('a', { _meta: { terminal_output_delta: { data } } })
    const events = read(begins('a'), shows('one\n'), shows('two\n'), goesOn('a', { status: 'completed' }))
    expect(only(events, 'tool.call.completed')[0]!.data.output).toBe('one\ntwo\n')
  })

  test('change the files of their diffs, if they do not fail', () => {
    const diff = (path: string, more: object = {}) => ({ type: 'diff', path, newText: 'x', ...more })
    const events = read(
      begins('a', {
        content: [
          ...[diff('new.txt', { oldText: null }), diff('empty.txt', { oldText: '' }), diff('absent.txt')],
          diff('old.txt', { oldText: 'o' }),
          diff('gone.txt', { oldText: 'o', _meta: { kind: 'delete' } }),
        ],
      }),
      goesOn('a', { status: 'completed' }),
      begins('b', { content: [diff('failed.txt')] }),
      goesOn('b', { status: 'failed' }),
      goesOn('c', { status: 'completed', rawOutput: { metadata: { filepath: 'was.txt', exists: true } } }),
    )
    const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
    expect(files.map(({ type, data }) => `${type.slice('artifact.'.length)} ${data.path}`)).toEqual([
      ...['created new.txt', 'created empty.txt', 'created absent.txt', 'modified old.txt'],
      ...['deleted gone.txt', 'modified was.txt'],
    ])
  })
})

describe('a permission that is asked for', () => {
  test('is a need for a human, for as long as the agent does not work on', () => {
    const events = read(opened, says('I must ask.'), begins('a'), asks('a', { title: 'rm -r' }))
    expect(statuses(events).slice(-2)).toEqual(['awaiting_user_input', 'request_settled'])
    expect(endOf(events)).toMatchObject({
      state: 'awaiting_user_input',
      reason_code: 'REQUEST_OPEN',
      evidence: { end_signal: null, request: 'session/request_permission' },
      outcome: 'needs_input',
    })
    expect(chat(events).some(({ type }) => type === 'user.input.required')).toBe(true)
  })

  test('is none any more when the call goes on', () => {
    const events = read(begins('a'), asks('a'), goesOn('a', { status: 'in_progress' }))
    expect(endOf(events).state).toBe('unknown')
  })

  test('is still one while another call goes on', () => {
    const events = read(
      begins('a'),
      begins('b'),
      asks('a'),
      asks('b'),
      goesOn('a', { status: 'in_progress' }),
    )
    expect(endOf(events).state).toBe('awaiting_user_input')
    expect(endOf(read(begins('a'), asks('a'), asks('b'), says('both refused'))).state).toBe('unknown')
  })

  test('begins a call that was not told before', () => {
    const events = read(asks('a', { title: 'rm', kind: 'execute', rawInput: { command: 'rm' } }))
    expect(calls(events)).toEqual([
      ['started', { call_id: 'a', name: 'execute', kind: 'execute', input: { command: 'rm' } }],
    ])
  })
})

describe('the end of a turn', () => {
  test.each([
    ['end_turn', 'awaiting_user_input', 'END_SIGNAL'],
    ['max_tokens', 'interrupted', 'MAX_TOKENS'],
    ['max_turn_requests', 'interrupted', 'ENGINE_FAILED'],
    ['refusal', 'interrupted', 'ENGINE_FAILED'],
    ['cancelled', 'interrupted', 'ENGINE_FAILED'],
    ['brand_new', 'unknown', 'NO_END_SIGNAL'],
  ])('%s is %s', (reason, state, reason_code) => {
    const events = read(opened, says('words'), stops(reason))
    expect(endOf(events)).toMatchObject({ state, reason_code })
    const incomplete = reason === 'end_turn' ? undefined : true
    expect(only(events, 'agent.message.final')[0]!.data.incomplete).toBe(incomplete)
  })

  test('tells the tokens, wherever the agent puts them', () => {
    const usage = { inputTokens: 1 }
    const token_count = { input_tokens: 1 }
    const events = read(
      ...[
        says('a'),
        stops('end_turn', { usage }),
        says('b'),
        stops('end_turn', { _meta: { quota: { token_count } } }),
      ],
      ...[says('c'), says('', { _meta: { usage } }), says('d'), stops('end_turn')],
    )
    const told = only(events, 'lifecycle.run.status').flatMap(({ data }) => (data.usage ? [data] : []))
    expect(told).toMatchObject([
      { status: 'turn_completed', usage },
      { status: 'turn_completed', usage: token_count },
      { status: 'step_finish', usage },
    ])
    expect(texts(events)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('is told for every turn, and a later turn counts, not an earlier failure', () => {
    const events = read(opened, says('a'), stops('cancelled'), says('b'), stops('end_turn'))
    expect(endOf(events)).toMatchObject({ state: 'awaiting_user_input', evidence: { failure: null } })
    expect(endOf(read(opened, says('a'), stops('end_turn'), stops('refusal'))).state).toBe('interrupted')
  })

  test('of Copilot hides a failure when the last words are an error and no model has answered', () => {
    const error = says('Error: Failed to get response from the AI model')
    const state = (...records: object[]) => endOf(read(hello('Copilot'), opened, ...records)).state
    expect(state(says('Info: Retrying...'), update('usage_update'), error, stops('end_turn'))).toBe(
      'interrupted',
    )
    expect(state(error, stops('end_turn', { usage: { inputTokens: 1 } }))).toBe('awaiting_user_input')
    expect(state(error, stops('cancelled'), says('fine'), stops('end_turn'))).toBe('awaiting_user_input')
    expect(endOf(read(hello('x'), opened, error, stops('end_turn'))).state).toBe('awaiting_user_input')
  })

  test('of codex-acp hides a failure that the state of its thread tells', () => {
    const codex = (more: object) => update('session_info_update', { _meta: { codex: more } })
    const events = read(
      ...[opened, codex({ threadStatus: { type: 'active' } })],
      ...[codex({ error: { message: 'Reconnecting... 1/3', willRetry: true } })],
      ...[codex({ threadStatus: { type: 'systemError' } }), says('high demand\n\n'), stops('end_turn')],
    )
    expect(endOf(events)).toMatchObject({ state: 'interrupted', reason_code: 'ENGINE_FAILED' })
    expect(only(events, 'diagnostic.engine.error').map(({ data }) => data.severity)).toEqual([
      'warning',
      'fatal',
    ])
    const again = read(
      opened,
      codex({ error: { message: 'Reconnecting...', willRetry: true } }),
      says('a'),
      stops('end_turn'),
    )
    expect(endOf(again).state).toBe('awaiting_user_input')
  })
})

describe('an error', () => {
  const error = (more: object) => rpc({ id: 2, error: { code: -32603, message: 'Internal error', ...more } })

  test('ends the turn, with its details', () => {
    const events = read(opened, says('half'), error({ data: { details: 'quota' } }))
    expect(endOf(events)).toMatchObject({
      state: 'interrupted',
      evidence: { failure: 'Internal error: quota' },
    })
    expect(statuses(events).at(-1)).toBe('turn_failed')
  })

  test('before the session is a failure until a turn comes', () => {
    const auth = error({ code: -32000, message: 'Authentication required' })
    expect(endOf(read(hello('x'), auth)).state).toBe('interrupted')
    expect(statuses(read(hello('x'), auth))).toEqual(['initialized'])
    expect(endOf(read(hello('x'), auth, opened, says('a'), stops('end_turn'))).state).toBe(
      'awaiting_user_input',
    )
  })

  test('about a method that the agent does not have fails nothing', () => {
    const events = read(
      opened,
      says('a'),
      stops('end_turn'),
      error({ code: -32601, message: 'Method not found' }),
    )
    expect(endOf(events).state).toBe('awaiting_user_input')
    expect(only(events, 'diagnostic.engine.error')[0]!.data.severity).toBe('error')
  })
})

test('the history of a loaded session is raw: no answer, no call, no end', () => {
  const marker = '{"__SKILL_DONE__": true}'
  const history = [
    update('user_message_chunk', content('go')),
    thinks('hm'),
    says(marker),
    begins('a', { status: 'completed' }),
  ]
  const events = read(hello('x'), ...history, rpc({ id: 1, result: null }))
  // The first record names the session.
  expect(only(events, 'raw.stdout')).toHaveLength(4)
  expect([...texts(events), ...thoughts(events), ...calls(events)]).toEqual([])
  expect([endOf(events).state, codesOf(events)]).toEqual(['unknown', []])
  const then = read(
    hello('x'),
    ...history,
    rpc({ id: 1, result: { modes: {} } }),
    says('new'),
    stops('end_turn'),
  )
  expect([texts(then), endOf(then).state]).toEqual([['new'], 'awaiting_user_input'])
  const asked = update('user_message_chunk', content('more'))
  const repeated = read(
    hello('x'),
    ...history,
    rpc({ id: 1, result: {} }),
    asked,
    says('new'),
    stops('end_turn'),
  )
  expect(texts(repeated)).toEqual(['new'])
  const empty = [rpc({ id: 1, result: { modes: {} } }), asked, says('new'), stops('end_turn')]
  expect(texts(read(hello('x'), ...empty))).toEqual(['new'])
  const late = [rpc({ id: 1, result: { modes: {} } }), asked, says('old'), says('new'), stops('end_turn')]
  expect(texts(read(hello('gemini-cli'), ...late))).toEqual(['new'])
  const echo = update('user_message_chunk', content('go'))
  const echoed = read(hello('x'), opened, echo, says('new'), stops('end_turn'))
  expect(texts(echoed)).toEqual(['new'])
})

test('the prompt that an agent repeats begins no history, though the lines before the session are lost', () => {
  const events = read(opened, update('user_message_chunk', content('Go.')), says('Done.'), stops('end_turn'))
  expect(only(events, 'user.message').map(({ data }) => data.text)).toEqual(['Go.'])
  expect(texts(events)).toEqual(['Done.'])
})

test('tells who the agent is and which model a session has', () => {
  const events = read(
    hello('gemini-cli'),
    rpc({ id: 1, result: { sessionId: 's-1', models: { currentModelId: 'pro' } } }),
    rpc({
      id: 2,
      result: { sessionId: 's-2', configOptions: [{ id: 'mode' }, { id: 'model', currentValue: 'lite' }] },
    }),
  )
  expect(only(events, 'lifecycle.run.status').map(({ data }) => data)).toEqual([
    { status: 'initialized', reason: 'gemini-cli 1' },
    { status: 'started', model: 'pro', engine_version: '1' },
    { status: 'session_opened', model: 'pro' },
    { status: 'session_opened', model: 'lite' },
  ])
})

test('requests to the client and methods of one agent are kept, unknown ones are told', () => {
  const quiet = ['fs/write_text_file', 'terminal/create', '_auth/status_update', 'craft/drainMidTurnQueue']
  const events = read(
    hello('x'),
    ...quiet.map((method) => rpc({ id: 1, method, params: {} })),
    rpc({ id: 1, result: {} }),
  )
  expect([only(events, 'raw.stdout').length, codesOf(events)]).toEqual([5, []])
  const odd = read(
    hello('x'),
    rpc({ method: 'brand/new' }),
    update('brand_new'),
    rpc({ id: 1, result: { tools: [] } }),
  )
  expect(only(odd, 'raw.stdout')).toHaveLength(3)
  expect(codesOf(odd)).toEqual(['UNKNOWN_TYPE', 'UNKNOWN_TYPE', 'UNKNOWN_FIELD', 'DRIFT_REPORT'])
  expect(endOf(odd).state).toBe('unknown')
})

describe('other JSON is not taken for it', () => {
  const frameOf = (value: unknown): EngineFrame => ({
    kind: 'line',
    channel: 'stdout',
    from: 0,
    to: 1,
    text: '',
    value,
  })

  test.each([
    [{ jsonrpc: '2.0', id: 0, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {} } }],
    [{ jsonrpc: '2.0', id: 0, result: { stopReason: 'endTurn', role: 'assistant' } }],
    [{ jsonrpc: '2.0', id: 0, error: { code: 1, message: 'no' } }],
    [{ jsonrpc: '2.0', method: 'session/update', params: {} }],
    [{ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: 'plan' } } }],
    [{ method: 'turn/started', params: { threadId: 't' } }],
  ])('%j', (value) => {
    expect(acp.shape!(frameOf(value))).toBe(false)
  })
})

describe('an answer that was not asked for', () => {
  const asks = [
    rpc({ id: 0, method: 'initialize', params: {} }),
    rpc({ id: 1, method: 'session/new', params: {} }),
    rpc({ id: 2, method: 'session/prompt', params: { prompt: [{ type: 'text', text: 'Go.' }] } }),
  ]
  const talk = (...records: object[]) =>
    run(acp, { stdin: lines(...asks), stdout: lines(hello('x'), opened, ...records), exit: 0 })
  const done = { stopReason: 'end_turn' }

  test.each([
    ['under another id', rpc({ id: 9, result: done })],
    ['under its id as a text', rpc({ id: '2', result: done })],
    ['without an id', rpc({ result: done })],
    ['of a request that has its answer', rpc({ id: 1, result: done })],
    ['as an error', rpc({ id: 9, error: { code: -32603, message: 'no' } })],
  ])('ended the turn: %s', (_, record) => {
    const events = talk(says('Hi.'), record)
    expect(endOf(events)).toMatchObject({ outcome: 'unknown', evidence: { end_signal: null, failure: null } })
    expect(endOf(talk(says('Hi.'), record, stops('end_turn'))).outcome).toBe('finished')
  })

  test('does not end it a second time', () => {
    const events = talk(says('Hi.'), stops('end_turn'), rpc({ id: 2, error: { code: 1, message: 'no' } }))
    expect(endOf(events).outcome).toBe('finished')
  })

  test('an answer to the prompt without a reason ends the turn as failed', () => {
    const events = talk(says('Hi.'), rpc({ id: 2, result: {} }))
    expect(endOf(events)).toMatchObject({
      outcome: 'failed',
      evidence: { failure: 'the prompt was answered without a stopReason' },
    })
  })

  test('what fails beside the turn does not fail it', () => {
    const mode = rpc({ id: 3, method: 'session/set_mode', params: {} })
    const failed = rpc({ id: 3, error: { code: -32602, message: 'no such mode' } })
    const stdout = lines(hello('x'), opened, failed, says('Hi.'), stops('end_turn'))
    const events = run(acp, { stdin: lines(...asks, mode), stdout, exit: 0 })
    expect(endOf(events).outcome).toBe('finished')
  })
})

describe('whose words a chunk has', () => {
  const spoken = (events: readonly AgentEvent[]) =>
    only(events, 'agent.message.final').map(({ data }) => [data.text, data.parent_call_id])

  test('a notice of Qwen Code was glued to the answer', () => {
    const notice = says('Background agent "x" completed.', {
      _meta: { source: 'background_task_completed', qwenDiscreteMessage: true },
    })
    const old = update('user_message_chunk', {
      ...content('Background agent "x" completed.'),
      _meta: { source: 'background_notification', qwenDiscreteMessage: true },
    })
    const events = read(hello('qwen-code'), opened, notice, says('Hi '), says('you.'), old, stops('end_turn'))
    expect(spoken(events)).toEqual([['Hi you.', undefined]])
    expect(only(events, 'user.message')).toEqual([])
  })

  test('a warning of codex-acp was a message of the model', () => {
    const agent = '@agentclientprotocol/codex-acp'
    const records = [says('Warning: no such model\n\n'), says('Warning: hot', { messageId: 'm' })]
    const events = read(hello(agent), opened, ...records, stops('end_turn'))
    expect(spoken(events)).toEqual([['Warning: hot', undefined]])
    expect(only(events, 'diagnostic.engine.error')[0]!.data).toMatchObject({
      message: 'Warning: no such model',
      severity: 'warning',
    })
    expect(spoken(read(hello('x'), opened, ...records, stops('end_turn')))).toHaveLength(2)
  })

  test('the words of a subagent of Copilot were the answer of the run', () => {
    const rawInput = { prompt: 'part', agent_type: 'explore', description: 'look' }
    const events = read(
      ...[
        hello('Copilot'),
        opened,
        begins('c', { title: 'look', kind: 'other', status: 'pending', rawInput }),
      ],
      ...[
        thinks('hm'),
        says('inner'),
        goesOn('c', { status: 'completed' }),
        says('outer'),
        stops('end_turn'),
      ],
    )
    expect(spoken(events)).toEqual([
      ['inner', 'c'],
      ['outer', undefined],
    ])
    expect(only(events, 'agent.reasoning.summary')[0]!.data.parent_call_id).toBe('c')
    expect(calls(events)[0]).toMatchObject(['started', { kind: 'think' }])
  })
})

describe('a session that the client did not open is a subagent’s', () => {
  const inner = (one: object) => ({ ...one, params: { ...Object(one).params, sessionId: 's-2' } })
  const spoken = (events: readonly AgentEvent[]) =>
    only(events, 'agent.message.final').map(({ data }) => [data.text, data.parent_call_id])
  const prompt = rpc({ id: 2, method: 'session/prompt', params: { sessionId: 's-1', prompt: [] } })
  const talk = (...records: object[]) =>
    run(acp, {
      stdin: lines(rpc({ id: 0, method: 'initialize' }), rpc({ id: 1, method: 'session/new' }), prompt),
      stdout: lines(hello('x'), opened, ...records),
      exit: 0,
    })

  test('took the session and gave the answer', () => {
    const child = [
      inner(update('user_message_chunk', content('the part'))),
      inner(thinks('hm')),
      inner(begins('c', { title: 'ls', kind: 'execute', status: 'completed' })),
      inner(says('in')),
      says('out'),
      inner(says('ner')),
      says('er'),
      inner(update('usage_update', { used: 1, size: 2, cost: { amount: 9, currency: 'USD' } })),
    ]
    const events = talk(...child, stops('end_turn'), inner(says('later')))
    expect(spoken(events)).toEqual([
      ['inner', 's-2'],
      ['outer', undefined],
      ['later', 's-2'],
    ])
    expect(only(events, 'user.message')).toEqual([])
    expect(only(events, 'agent.reasoning.summary')[0]!.data.parent_call_id).toBe('s-2')
    expect(calls(events).map(([, data]) => (data as { parent_call_id?: string }).parent_call_id)).toEqual([
      's-2',
      's-2',
    ])
    expect(new Set(events.map(({ correlation }) => correlation.session_id))).toEqual(
      new Set([undefined, 's-1']),
    )
    expect(endOf(events)).toMatchObject({ outcome: 'finished' })
    expect(endOf(events)).not.toHaveProperty('cost')
    // The first session of a log without the client's half is its own.
    expect(
      spoken(read(hello('x'), says('out'), inner(says('inner')), says('er'), stops('end_turn'))),
    ).toEqual([
      ['inner', 's-2'],
      ['outer', undefined],
    ])
  })

  test('asks all the same', () => {
    const request = asks('c', { kind: 'execute', rawInput: { command: 'rm x' } })
    const events = talk(inner(request))
    expect(endOf(events)).toMatchObject({ outcome: 'needs_input' })
    expect(events.at(-1)!.correlation.session_id).toBe('s-1')
    expect(calls(events)[0]).toMatchObject(['started', { parent_call_id: 's-2' }])
  })
})

test('what Copilot counts since its process began, and codex-acp for each turn, is that of the turn', () => {
  const tokens = (name: string, version: string, ...counts: number[]) => {
    const agentInfo = { name, version }
    const turns = counts.flatMap((inputTokens) => [
      begins(`c${inputTokens}`),
      says('Hi.'),
      stops('end_turn', { usage: { inputTokens, outputTokens: 1 } }),
    ])
    const first = rpc({ id: 0, result: { protocolVersion: 1, agentCapabilities: {}, agentInfo } })
    return only(read(first, opened, ...turns), 'lifecycle.run.status').flatMap(
      ({ data }) => data.tokens?.input ?? [],
    )
  }
  expect(tokens('Copilot', '1.0.102', 100, 300, 310)).toEqual([100, 200, 10])
  expect(tokens('@agentclientprotocol/codex-acp', '2.6.0', 100, 300, 310)).toEqual([100, 300, 310])
})
