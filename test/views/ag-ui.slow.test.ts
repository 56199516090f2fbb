import { afterEach, describe, expect, test, vi } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { agUi } from '../../src/streams/views.ts'
import { type AgUiEvent, agUiStage } from '../../src/views/ag-ui.ts'
import { sentToAgUi } from './ag-ui-client.ts'
import { chosenRuns } from './chosen-runs.ts'
import { keptByAgUi } from './kept.ts'
import { ends, makeRun } from './make-run.ts'

afterEach(() => vi.restoreAllMocks())

test.each(chosenRuns())('$name is taken by the client of AG-UI, and nothing is lost', async ({ events }) => {
  // The client warns where it drops or mends something.
  const warn = vi.spyOn(console, 'warn')
  const kept = await keptByAgUi(events)
  expect(warn).not.toHaveBeenCalled()
  expect(events.filter((_, index) => kept[index] === 'lost')).toEqual([])
  const own = events.filter(({ type }) => /^(?:agent|tool|user)\./.test(type))
  expect(own.filter((event) => kept[events.indexOf(event)] !== 'shown')).toEqual([])
})

describe('an attempt', () => {
  test('is a run of AG-UI, with the tokens and the result of ours', () => {
    const events = makeRun(
      [
        ['lifecycle.run.status', { status: 'started', model: 'gpt-5' }],
        ['lifecycle.run.result', { status: 'success', value: { a: 1 } }],
        [ends.well[0], { ...ends.well[1], tokens: { input: 3, cached: 1, output: 2 } }],
      ],
      { session: 's1' },
    )
    const made = drive(agUiStage({ raw: false }), events)
    expect(made[0]).toMatchObject({
      type: 'RUN_STARTED',
      threadId: 's1',
      runId: 'r1',
      timestamp: Date.parse(events[0]!.ts),
    })
    expect(made.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      threadId: 's1',
      runId: 'r1',
      result: { a: 1 },
      outcome: { type: 'success' },
      usage: [{ model: 'gpt-5', inputTokens: 3, cachedInputTokens: 1, outputTokens: 2 }],
    })
  })

  test.each([
    ['badly', 'RUN_ERROR', { code: 'EXIT_CODE' }],
    ['unknown', 'RUN_ERROR', { code: 'NO_END_SIGNAL' }],
    ['stopped', 'RUN_FINISHED', { outcome: { type: 'cancelled' } }],
  ] as const)('that ends %s is %s', (how, type, more) => {
    expect(drive(agUiStage(), makeRun([ends[how]])).at(-1)).toMatchObject({ type, ...more })
  })

  test('that waits for an answer is interrupted by what it asks', () => {
    const ask = (id: string) => ({
      status: 'awaiting_user_input',
      request: {
        id,
        kind: 'permission' as const,
        tool: 'Bash',
        title: `do ${id}`,
        call_id: `call ${id}`,
        options: [],
      },
    })
    const settled = (request_id: string, by: 'user' | 'end') => ({
      status: 'request_settled',
      request_id,
      by,
    })
    const evidence = { ...ends.well[1].evidence, end_signal: null, request: 'can_use_tool Bash' }
    const waits = {
      ...ends.well[1],
      reason_code: 'REQUEST_OPEN',
      evidence,
      outcome: 'needs_input',
      ok: false,
    } as const
    const end = (...steps: Parameters<typeof makeRun>[0]) =>
      drive(agUiStage({ raw: false }), makeRun([...steps, [ends.well[0], waits]])).at(-1)
    const asked = end(
      ['tool.call.started', { call_id: 'call b', name: 'Bash' }],
      ['lifecycle.run.status', ask('a')],
      ['lifecycle.run.status', ask('b')],
      ['lifecycle.run.status', settled('a', 'user')],
      ['lifecycle.run.status', settled('b', 'end')],
    )
    const interrupt = { id: 'b', reason: 'permission', message: 'do b', toolCallId: 'call b' }
    expect(asked).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'interrupt', interrupts: [interrupt] },
    })
    expect(end()).toMatchObject({ outcome: { type: 'interrupt', interrupts: [{ reason: 'question' }] } })
  })

  test('that has no end is an error, not a success', () => {
    const made = drive(agUiStage(), makeRun([['agent.message.delta', { message_id: 'm', text: 'a' }]]))
    expect(typesOf(made)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_ERROR',
    ])
  })

  test('after another is a run of its own, and its ids are its own', async () => {
    const steps = [
      ['agent.message.final', { message_id: 'item_0', text: 'one' }],
      ['tool.call.started', { call_id: 'item_1', name: 'sh' }],
      ['tool.call.completed', { call_id: 'item_1', name: 'sh', output: 'ok' }],
      ends.badly,
    ] as const
    const { messages, error } = await sentToAgUi([...makeRun(steps), ...makeRun(steps, { attempt: 2 })])
    expect(error).toBeUndefined()
    expect(messages.map(({ id }) => id)).toEqual([
      'item_0',
      'item_1',
      'item_1-result',
      'item_0#2',
      'item_1#2',
      'item_1#2-result',
    ])
  })
})

describe('a message', () => {
  test('is sent in its pieces, and its final text adds only what is new', async () => {
    const events = makeRun([
      ['agent.message.delta', { message_id: 'm', text: 'Hel' }],
      ['agent.message.delta', { message_id: 'm', text: '' }],
      ['agent.message.delta', { message_id: 'm', text: 'lo' }],
      ['agent.message.final', { message_id: 'm', text: 'Hello!', structured_payload: { a: 1 } }],
      ends.well,
    ])
    const deltas = drive(agUiStage(), events).filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
    expect(deltas).toMatchObject([{ delta: 'Hel' }, { delta: 'lo' }, { delta: '!' }])
    const { messages } = await sentToAgUi(events)
    expect(messages).toMatchObject([
      { content: 'Hello!', metadata: { 'agent-sluice': { structured_payload: { a: 1 } } } },
    ])
    expect(await keptByAgUi(events)).not.toContain('lost')
  })

  test('whose final text contradicts its pieces is sent again, and the pieces say so', async () => {
    const { messages, error } = await sentToAgUi(
      makeRun([
        ['agent.message.delta', { message_id: 'm', text: 'draft' }],
        ['agent.message.final', { message_id: 'm', text: 'answer' }],
        ends.well,
      ]),
    )
    expect(error).toBeUndefined()
    expect(messages).toMatchObject([
      { id: 'm', content: 'draft', metadata: { 'agent-sluice': { superseded: true } } },
      { id: 'm#2', content: 'answer' },
    ])
  })

  test('and the reasoning with its id are two', async () => {
    const { messages } = await sentToAgUi(
      makeRun([
        ['agent.reasoning.summary', { message_id: 'm', text: 'hm' }],
        ['agent.message.final', { message_id: 'm', text: 'yes' }],
        ends.well,
      ]),
    )
    expect(messages).toMatchObject([
      { id: 'm', role: 'reasoning', content: 'hm' },
      { id: 'm#2', role: 'assistant', content: 'yes' },
    ])
  })

  test('that is long goes in parts, and no character is cut', () => {
    const text = `a${'😀'.repeat(1 << 20)}`
    const made = drive(agUiStage(), makeRun([['agent.message.final', { message_id: 'm', text }]]))
    const deltas = made.flatMap((event) => (event.type === 'TEXT_MESSAGE_CONTENT' ? [event.delta] : []))
    expect(deltas.length).toBe(3)
    expect(deltas.join('')).toBe(text)
    expect(deltas.filter((delta) => /[\ud800-\udbff]$/.test(delta))).toEqual([])
  })
})

describe('a call', () => {
  test('of which only the end is told has a beginning, too', async () => {
    const { messages, error } = await sentToAgUi(
      makeRun([
        ['tool.call.failed', { call_id: 'c', name: 'sh', input: { a: 1 }, output: { b: 2 }, exit_code: 3 }],
        ends.well,
      ]),
    )
    expect(error).toBeUndefined()
    expect(messages).toMatchObject([
      { role: 'assistant', toolCalls: [{ id: 'c', function: { name: 'sh', arguments: '{"a":1}' } }] },
      {
        role: 'tool',
        toolCallId: 'c',
        content: '{"b":2}',
        metadata: { 'agent-sluice': { failed: true, exit_code: 3 } },
      },
    ])
  })

  test('of a subagent names it, and the subagent ends with its call', async () => {
    const events = makeRun([
      ['tool.call.started', { call_id: 'task', name: 'Task' }],
      ['tool.call.started', { call_id: 'c', name: 'sh', parent_call_id: 'task' }],
      ['agent.message.delta', { message_id: 'm', text: 'a', parent_call_id: 'task' }],
      ['tool.call.completed', { call_id: 'task', name: 'Task', output: 'done' }],
      ['agent.message.final', { message_id: 'm', text: 'ab', parent_call_id: 'task' }],
      ends.well,
    ])
    const made = drive(agUiStage({ raw: false }), events)
    expect(made.filter(({ type }) => type.startsWith('SUBAGENT'))).toMatchObject([
      { type: 'SUBAGENT_STARTED', subagentRunId: 'task', name: 'Task', parentToolCallId: 'task' },
      { type: 'SUBAGENT_FINISHED', subagentRunId: 'task' },
    ])
    const { messages, error } = await sentToAgUi(events)
    expect(error).toBeUndefined()
    expect(messages.find(({ id }) => id === 'm')).toMatchObject({ subagentRunId: 'task', content: 'ab' })
  })

  test('that never ends does not keep the run open, nor do ten thousand', async () => {
    const calls = Array.from({ length: 10_000 }, (_, index) => ({ call_id: `c${index}`, name: 'sh' }))
    const events = makeRun([...calls.map((data) => ['tool.call.started', data] as const), ends.well])
    expect(drive(agUiStage(), events).at(-1)?.type).toBe('RUN_FINISHED')
  })
})

test('each record is there once, whole, or not at all if it is not wanted', async () => {
  const events = makeRun([
    ['user.message', { text: 'hi' }],
    ['agent.message.final', { message_id: 'm', text: 'x' }],
    ['artifact.created', { path: 'a.txt' }],
    ['raw.stderr', { line: 'what' }],
    ends.well,
  ])
  const records = (made: readonly AgUiEvent[]) =>
    made.flatMap((event) => event.rawEvent ?? (event.type === 'RAW' ? event.event : []))
  expect(records(drive(agUiStage(), events))).toEqual(events)
  expect(records(drive(agUiStage({ raw: false }), events))).toEqual([events[3]])
})

test('the flow makes what the stage makes', async () => {
  const events = makeRun([['agent.message.final', { message_id: 'm', text: 'x' }], ends.well])
  const flow = agUi()
  for (const event of events) flow.write(event)
  flow.end()
  expect(await flow.toArray()).toEqual(drive(agUiStage(), events))
})

test('options that are none are refused', () => {
  expect(() => agUi(7 as never)).toThrow(/agUi needs an object of options/)
  expect(() => agUiStage('raw' as never)).toThrow(/agUiStage needs/)
})

function typesOf(made: readonly AgUiEvent[]): string[] {
  return made.map(({ type }) => type)
}
