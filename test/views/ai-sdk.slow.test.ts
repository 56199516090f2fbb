import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { outcomeOf } from '../../src/events/run-outcome.ts'
import { aiSdk } from '../../src/streams/views.ts'
import { aiSdkStage } from '../../src/views/ai-sdk.ts'
import { sentToAiSdk } from './ai-sdk-client.ts'
import { chosenRuns } from './chosen-runs.ts'
import { keptByAiSdk } from './kept.ts'
import { ends, makeRun } from './make-run.ts'

test.each(chosenRuns())('$name is taken by the AI SDK, and nothing is lost', async ({ events }) => {
  const received = await sentToAiSdk(events)
  const kept = await keptByAiSdk(events, received)
  expect(events.filter((_, index) => kept[index] === 'lost')).toEqual([])
  const { message, errors } = received
  const end = events.findLast((event) => event.type === 'lifecycle.completion.state')
  const outcome = end?.type === 'lifecycle.completion.state' ? outcomeOf(end.data) : undefined
  expect(message).toMatchObject({ id: events[0]!.run_id, metadata: { outcome } })
  expect(errors).toHaveLength(outcome === 'failed' ? 1 : 0)
})

describe('a run', () => {
  test.each([
    ['well', ['finish stop']],
    ['badly', ['finish error', 'error']],
    ['stopped', ['message-metadata', 'abort']],
    ['unknown', ['finish other']],
  ] as const)('that ends %s says so last: %j', (how, told) => {
    const chunks = drive(aiSdkStage(), makeRun([ends[how]]))
    const last = chunks.slice(-told.length)
    expect(
      last.map((chunk) => (chunk.type === 'finish' ? `finish ${chunk.finishReason}` : chunk.type)),
    ).toEqual(told)
  })

  test('that has no end is no success, and its message is closed', () => {
    const chunks = drive(aiSdkStage(), makeRun([['agent.message.delta', { message_id: 'm', text: 'a' }]]))
    expect(chunks.slice(-3)).toMatchObject([
      { type: 'text-end', providerMetadata: { sluice: { incomplete: true } } },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'other' },
    ])
  })

  test('without events has no message', () => {
    expect(drive(aiSdkStage(), [])).toEqual([])
  })

  test('of two attempts is one message with two steps, and fails only if the last one does', async () => {
    const steps = (end: typeof ends.well | typeof ends.badly) =>
      [
        ['agent.message.final', { message_id: 'item_0', text: 'one' }],
        ['tool.call.completed', { call_id: 'item_1', name: 'sh', output: [1] }],
        end,
      ] as const
    const { message, errors } = await sentToAiSdk([
      ...makeRun(steps(ends.badly)),
      ...makeRun(steps(ends.well), { attempt: 2, session: 's1' }),
    ])
    expect(errors).toEqual([])
    expect(message).toMatchObject({ id: 'r1', metadata: { outcome: 'succeeded', session_id: 's1' } })
    expect(message?.parts.map(({ type }) => type)).toEqual([
      ...['step-start', 'text', 'dynamic-tool', 'data-end'],
      ...['step-start', 'text', 'dynamic-tool', 'data-end'],
    ])
    expect(message?.parts.filter((part) => part.type === 'dynamic-tool')).toMatchObject([
      { toolCallId: 'item_1', output: [1], input: null },
      { toolCallId: 'item_1#2', output: [1] },
    ])
  })
})

describe('a message', () => {
  test('is sent in its pieces, and its final text adds only what is new', async () => {
    const events = makeRun([
      ['agent.message.delta', { message_id: 'm', text: 'Hel' }],
      ['agent.message.delta', { message_id: 'm', text: '' }],
      [
        'agent.message.final',
        { message_id: 'm', text: 'Hello', repair_level: 'none', structured_payload: [1] },
      ],
      ends.well,
    ])
    const { message, chunks } = await sentToAiSdk(events)
    expect(chunks.filter(({ type }) => type === 'text-delta')).toMatchObject([
      { delta: 'Hel' },
      { delta: 'lo' },
    ])
    expect(message?.parts.slice(1, 3)).toMatchObject([
      { type: 'text', text: 'Hello', state: 'done', providerMetadata: { sluice: { repair_level: 'none' } } },
      { type: 'data-payload', data: { message_id: 'm', structured_payload: [1] } },
    ])
  })

  test('whose final text contradicts its pieces is sent again, and the pieces say so', async () => {
    const { message } = await sentToAiSdk(
      makeRun([
        ['agent.message.delta', { message_id: 'm', text: 'draft' }],
        ['agent.message.final', { message_id: 'm', text: 'answer' }],
        ends.well,
      ]),
    )
    expect(message?.parts.filter(({ type }) => type === 'text')).toMatchObject([
      { text: 'draft', providerMetadata: { sluice: { superseded: true } } },
      { text: 'answer' },
    ])
  })
})

test('a failed call is an error, and keeps its output', async () => {
  const output = { stderr: 'no' }
  const { message } = await sentToAiSdk(
    makeRun([
      ['tool.call.started', { call_id: 'a', name: 'sh', input: { cmd: 'x' }, parent_call_id: 'p' }],
      ['tool.call.failed', { call_id: 'a', name: 'sh', output, exit_code: 3 }],
      ['tool.call.failed', { call_id: 'b', name: 'sh', exit_code: 4 }],
      ends.well,
    ]),
  )
  expect(message?.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
    {
      state: 'output-error',
      input: { cmd: 'x' },
      errorText: '{"stderr":"no"}',
      callProviderMetadata: { sluice: { parent_call_id: 'p' } },
      resultProviderMetadata: { sluice: { output, exit_code: 3 } },
    },
    { state: 'output-error', errorText: 'exit 4' },
  ])
})

test('raw lines and mere status are told and not kept', async () => {
  const events = makeRun([
    ['lifecycle.run.status', { status: 'turn_started' }],
    ['lifecycle.run.status', { status: 'turn_completed', tokens: { input: 1 } }],
    ['raw.stdout', { line: 'x' }],
    ends.well,
  ])
  const { message, chunks } = await sentToAiSdk(events)
  expect(message?.parts.map(({ type }) => type)).toEqual(['step-start', 'data-status', 'data-end'])
  expect(chunks.filter((chunk) => 'transient' in chunk && chunk.transient)).toMatchObject([
    { type: 'data-status', data: events[0] },
    { type: 'data-raw', data: events[2] },
  ])
})

test('the flow makes what the stage makes', async () => {
  const events = makeRun([['agent.message.final', { message_id: 'm', text: 'x' }], ends.well])
  const flow = aiSdk()
  for (const event of events) flow.write(event)
  flow.end()
  expect(await flow.toArray()).toEqual(drive(aiSdkStage(), events))
  expect(() => aiSdk(7 as never)).toThrow(/aiSdk needs an object of options/)
})
