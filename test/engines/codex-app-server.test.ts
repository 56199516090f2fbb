import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'

const thread = (id: string, more: object = {}) => ({ id, modelProvider: 'mock', ...more })
const note = (method: string, params: object = {}) => ({ method, params: { threadId: 't', ...params } })
const started = [
  { id: 0, result: { userAgent: 'x/0.166.0' } },
  { id: 1, result: { thread: thread('t'), model: 'gpt-5.5' } },
  note('turn/started', { turn: { id: 'u', status: 'inProgress' } }),
]
const item = (more: object, method = 'item/completed') => note(method, { item: { id: 'i', ...more } })
const completed = (turn: object) => note('turn/completed', { turn: { id: 'u', items: [], ...turn } })
const read = (...records: object[]) => run(codex, { stdout: lines(...started, ...records), exit: 0 })

test('an error that was retried is no failure', () => {
  const events = read(
    note('error', { error: { message: 'Reconnecting... 1/5' }, willRetry: true }),
    item({ type: 'agentMessage', text: 'Done.' }),
    completed({ status: 'completed' }),
  )
  expect(texts(events)).toEqual(['Done.'])
  expect(endOf(events)).toMatchObject({ state: 'awaiting_user_input', evidence: { failure: null } })
  const [error] = only(events, 'diagnostic.engine.error')
  expect(error!.data).toMatchObject({ severity: 'warning', retryable: true })
})

test('a request for approval waits for a person, until it is answered', () => {
  const question = { id: 0, ...note('item/commandExecution/requestApproval', { itemId: 'i' }) }
  expect(endOf(read(question)).state).toBe('awaiting_user_input')
  const events = read(question, item({ type: 'commandExecution', status: 'declined', command: 'rm x' }))
  expect(only(events, 'tool.call.failed').map(({ data }) => data.name)).toEqual(['command_execution'])
  expect(endOf(events).state).toBe('unknown')
})

test('calls fail by exit code, status, success or error', () => {
  const events = read(
    item({ type: 'commandExecution', id: 'a', command: 'x', status: 'completed', exitCode: 3 }),
    item({
      type: 'mcpToolCall',
      id: 'b',
      server: 's',
      tool: 'x',
      status: 'failed',
      error: { message: 'no' },
    }),
    item({ type: 'dynamicToolCall', id: 'c', tool: 'x', status: 'completed', success: false }),
    item({ type: 'fileChange', id: 'd', changes: [{ path: 'a', kind: { type: 'add' } }], status: 'failed' }),
    item({ type: 'commandExecution', id: 'e', command: 'x', status: 'completed', exitCode: 0 }),
  )
  expect(only(events, 'tool.call.failed').map(({ data }) => data.call_id)).toEqual(['a', 'b', 'c', 'd'])
  expect(only(events, 'tool.call.completed').map(({ data }) => data.call_id)).toEqual(['e'])
  expect(only(events, 'artifact.created')).toEqual([])
})

test('files are created, changed, deleted and moved', () => {
  const changes = [
    { path: 'a', kind: { type: 'add' } },
    { path: 'b', kind: { type: 'update', move_path: null } },
    { path: 'c', kind: { type: 'delete' } },
    { path: 'd', kind: { type: 'update', move_path: 'e' } },
  ]
  const events = read(item({ type: 'fileChange', changes, status: 'completed' }))
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  expect(files.map(({ type, data }) => `${type} ${data.path}`)).toEqual([
    'artifact.created a',
    'artifact.modified b',
    'artifact.deleted c',
    'artifact.deleted d',
    'artifact.created e',
  ])
})

test('a subagent has a thread of its own: its words and its end are not the run’s', () => {
  const of = (method: string, params: object) => ({ method, params: { threadId: 'sub', ...params } })
  const events = read(
    { method: 'thread/started', params: { thread: thread('sub', { parentThreadId: 't' }) } },
    of('item/agentMessage/delta', { itemId: 'm', delta: '{"__SKILL_DONE__": true}' }),
    of('item/completed', { item: { type: 'agentMessage', id: 'm', text: '{"__SKILL_DONE__": true}' } }),
    of('turn/completed', { turn: { status: 'completed' } }),
  )
  expect(only(events, 'agent.message.final')[0]!.data.parent_call_id).toBe('sub')
  expect(events.at(-1)!.correlation.session_id).toBe('t')
  expect(endOf(events).state).toBe('unknown')
})

/** Records of the thread `id`, and the call of the main thread that starts it. */
const subagent = (id: string, call: string, by = 't') => {
  const of = (method: string, params: object) => ({ method, params: { threadId: id, ...params } })
  const agent = { type: 'collabAgentToolCall', tool: 'spawnAgent', id: call, prompt: `do ${id}` }
  return {
    starts: [
      { ...item({ ...agent, receiverThreadIds: [] }, 'item/started'), threadId: by },
      { method: 'item/completed', params: { threadId: by, item: { ...agent, receiverThreadIds: [id] } } },
    ],
    begins: [
      of('thread/status/changed', { status: { type: 'active' } }),
      of('turn/started', { turn: { id: `turn-${id}`, status: 'inProgress' } }),
      of('item/completed', { item: { type: 'userMessage', id: 'u', content: [{ text: `do ${id}` }] } }),
    ],
    says: (text: string) => [
      of('item/agentMessage/delta', { itemId: `m-${id}`, delta: text.slice(0, 2) }),
      of('item/completed', { item: { type: 'reasoning', id: `r-${id}`, summary: [`think ${id}`] } }),
      of('item/completed', { item: { type: 'agentMessage', id: `m-${id}`, text } }),
      of('thread/tokenUsage/updated', {
        tokenUsage: { total: { inputTokens: 7 }, last: { inputTokens: 7 } },
      }),
    ],
    ends: (turn: object = { status: 'completed' }) => [of('turn/completed', { turn })],
    fails: of('error', { error: { message: '401 Unauthorized' }, willRetry: false }),
  }
}

const spoken = (events: ReturnType<typeof read>) =>
  only(events, 'agent.message.final').map(({ data }) => [data.text, data.parent_call_id])

test('a thread that nobody announced ended the run, took its session and gave its answer', () => {
  const one = subagent('s1', 'c1')
  const records = [...one.starts, ...one.begins, ...one.says('inner'), ...one.ends()]
  const cut = read(...records)
  expect(endOf(cut).state).toBe('unknown')
  const prompt = item({ type: 'userMessage', id: 'p', content: [{ text: 'delegate' }] })
  const events = read(
    prompt,
    ...records,
    item({ type: 'agentMessage', text: 'outer' }),
    completed({ status: 'completed' }),
  )
  expect(spoken(events)).toEqual([
    ['inner', 'c1'],
    ['outer', undefined],
  ])
  expect(only(events, 'user.message').map(({ data }) => data.text)).toEqual(['delegate'])
  expect(only(events, 'agent.reasoning.summary')[0]!.data.parent_call_id).toBe('c1')
  const counted = only(events, 'lifecycle.run.status').filter(({ data }) => data.status === 'token_count')
  expect(counted.map(({ data }) => data.parent_call_id)).toEqual(['c1'])
  expect(new Set(events.map(({ correlation }) => correlation.session_id))).toEqual(new Set([undefined, 't']))
  expect(endOf(events)).toMatchObject({ outcome: 'finished', evidence: { end_signal: 'turn/completed' } })
})

test('a thread that speaks before the answer to thread/start was the run’s', () => {
  const stray = {
    method: 'item/completed',
    params: { threadId: 'stray', item: { type: 'agentMessage', id: 'm', text: 'inner' } },
  }
  const sent = { id: 1, method: 'thread/start', params: {} }
  const [hello, opened, begun] = started
  const own = item({ type: 'agentMessage', text: 'outer' })
  const end = completed({ status: 'completed' })
  const whole = { stdin: lines(sent), stdout: lines(hello!, stray, opened!, begun!, own, end), exit: 0 }
  const told = [
    ['inner', 'stray'],
    ['outer', undefined],
  ]
  expect(spoken(run(codex, whole))).toEqual(told)
  // The answer is lost: the client prompts its own thread.
  const prompt = { id: 2, method: 'turn/start', params: { threadId: 't', input: [] } }
  const lost = { stdin: lines(sent, prompt), stdout: lines(hello!, stray, begun!, own, end), exit: 0 }
  const events = run(codex, lost)
  expect(spoken(events)).toEqual(told)
  expect(new Set(events.map(({ correlation }) => correlation.session_id))).toEqual(new Set([undefined, 't']))
  expect(endOf(events).outcome).toBe('finished')
})

test('two subagents at once, and one inside another, each belong to their own call', () => {
  const one = subagent('s1', 'c1')
  const two = subagent('s2', 'c2')
  const inner = subagent('s3', 'c3', 's1')
  const events = read(
    ...[...one.starts, ...two.starts, ...one.begins, ...two.begins, ...inner.starts, ...inner.begins],
    ...[...two.says('two'), ...inner.says('three'), ...one.says('one')],
    ...[...inner.ends(), ...one.ends(), ...two.ends()],
    item({ type: 'agentMessage', text: 'outer' }),
    completed({ status: 'completed' }),
  )
  expect(spoken(events)).toEqual([
    ['two', 'c2'],
    ['three', 'c3'],
    ['one', 'c1'],
    ['outer', undefined],
  ])
  expect(endOf(events)).toMatchObject({ outcome: 'finished', tokens: { input: 21 } })
})

test('a subagent that fails does not fail the run, nor give it a class of failure', () => {
  const one = subagent('s1', 'c1')
  const failed = [...one.starts, ...one.begins, one.fails, ...one.ends({ status: 'failed', error: {} })]
  const good = read(
    ...failed,
    item({ type: 'agentMessage', text: 'outer' }),
    completed({ status: 'completed' }),
  )
  expect(endOf(good)).toMatchObject({ outcome: 'finished', evidence: { failure: null } })
  const bad = read(...failed, completed({ status: 'failed', error: { message: 'broken' } }))
  expect(endOf(bad)).toMatchObject({ outcome: 'failed', failure_class: 'other' })
})

test('what the turns before a resume have used was counted again', () => {
  const usage = (turnId: string, total: number, last: number) =>
    note('thread/tokenUsage/updated', {
      turnId,
      tokenUsage: { total: { inputTokens: total }, last: { inputTokens: last } },
    })
  const [hello, opened, begun] = started
  const end = completed({ status: 'completed' })
  const events = run(codex, {
    stdout: lines(
      hello!,
      opened!,
      usage('before', 100, 40),
      begun!,
      usage('u', 110, 10),
      usage('u', 130, 20),
      end,
    ),
    exit: 0,
  })
  expect(endOf(events).tokens).toEqual({ input: 30 })
  // A log that begins in the middle of a turn does not say which turn is the last.
  const rest = run(codex, { stdout: lines(usage('u', 130, 20), end), exit: 0 })
  expect(endOf(rest).tokens).toEqual({ input: 20 })
})

test('a thread that the client itself opens later is its own', () => {
  const events = read(
    { id: 7, result: { thread: thread('later'), model: 'gpt-5.5' } },
    {
      method: 'item/completed',
      params: { threadId: 'later', item: { type: 'agentMessage', id: 'm', text: 'x' } },
    },
    { method: 'turn/completed', params: { threadId: 'later', turn: { status: 'completed' } } },
  )
  expect(spoken(events)).toEqual([['x', undefined]])
  expect(endOf(events).outcome).toBe('finished')
})

test('thoughts, a plan and a compaction are told; a message that was begun anew is incomplete', () => {
  const events = read(
    item({ type: 'reasoning', summary: ['One.', 'Two.'], content: [] }),
    item({ type: 'reasoning', summary: [], content: [] }),
    item({ type: 'plan', text: '1. look' }),
    item({ type: 'contextCompaction' }),
    note('item/agentMessage/delta', { itemId: 'm1', delta: 'Half' }),
    note('item/agentMessage/delta', { itemId: 'm2', delta: 'Whole' }),
    item({ type: 'agentMessage', id: 'm2', text: 'Whole' }),
    completed({ status: 'paused' }),
  )
  expect(only(events, 'agent.reasoning.summary').map(({ data }) => data.text)).toEqual(['One.\n\nTwo.'])
  expect(only(events, 'agent.message.final').map(({ data }) => [data.text, data.incomplete])).toEqual([
    ['Half', true],
    ['Whole', undefined],
  ])
  expect(only(events, 'lifecycle.run.status').map(({ data }) => data.status)).toContain('compacted')
  // An end of a kind we do not know is no success.
  expect(endOf(events).state).toBe('unknown')
})

test('what is not known is kept as raw, and a refused request is an error, not an end', () => {
  const events = read(
    note('brand/new'),
    item({ type: 'brandNew' }),
    { id: 3, error: { code: -32600, message: 'thread not found' } },
    { id: 4, result: { data: [] } },
    { jsonrpc: '2.0', id: 1, result: { stopReason: 'end_turn' } },
  )
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(only(events, 'raw.stdout').length).toBeGreaterThanOrEqual(4)
  expect(only(events, 'diagnostic.engine.error').map(({ data }) => data.severity)).toEqual(['error'])
  expect(endOf(events).state).toBe('unknown')
})

test('no other engine takes its lines', () => {
  for (const record of [...started, completed({ status: 'completed' })]) {
    const frame = { channel: 'stdout', value: record, text: JSON.stringify(record) } as never
    const takers = Object.values(engines).filter((engine) => engine.shape?.(frame))
    expect(takers.map(({ name }) => name)).toEqual(['codex'])
  }
})

test('the names that its own types list are known, and a warning of a guardian is one', () => {
  const events = read(
    ...['thread/section/changed', 'turn/moderationMetadata', 'item/autoApprovalReview/started'].map((name) =>
      note(name),
    ),
    ...['thread/goal/updated', 'thread/queue/changed', 'currentTime/read'].map((name) => note(name)),
    ...['functionCallOutput', 'subAgentActivity', 'sleep'].map((type) => item({ type })),
    item({ type: 'imageGeneration', id: 'g', status: 'completed', revisedPrompt: 'a cat' }),
    item({ type: 'agentMessage', text: 'Hi.', moderation: null }),
    note('guardianWarning', { message: 'careful' }),
  )
  expect(codesOf(events)).toEqual(['ENGINE_ERROR'])
  expect(only(events, 'tool.call.completed').map(({ data }) => data.name)).toEqual(['image_generation'])
})

test('what is asked for beside a command, or without one, is in the request', () => {
  const asked = (method: string, params: object) =>
    only(read({ id: 0, ...note(method, { itemId: 'i', ...params }) }), 'lifecycle.run.status').flatMap(
      ({ data }) => data.request ?? [],
    )[0]!
  const approval = 'item/commandExecution/requestApproval'
  const network = { host: 'example.org', protocol: 'https' }
  expect(asked(approval, { kind: 'command', networkApprovalContext: network, reason: 'look' })).toMatchObject(
    {
      title: 'command_execution {"network":{"host":"example.org","protocol":"https"}}',
      reason: 'look',
      input: { network },
    },
  )
  const more = { kind: 'writeStdin', command: 'y', additionalPermissions: { network: true } }
  expect(asked(approval, more).input).toEqual({
    command: 'y',
    kind: 'writeStdin',
    additionalPermissions: { network: true },
  })
})
