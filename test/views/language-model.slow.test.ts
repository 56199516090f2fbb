import { generateObject, generateText, Output, streamText } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { outcomeOf } from '../../src/events/run-outcome.ts'
import { languageModel } from '../../src/streams/views.ts'
import { languageModelResult, languageModelStage } from '../../src/views/language-model.ts'
import { chosenRuns } from './chosen-runs.ts'
import { keptByStreamText } from './kept.ts'
import { modelOf, sentToStreamText } from './language-model-client.ts'
import { ends, makeRun } from './make-run.ts'

test.each(chosenRuns())('$name is an answer for streamText, and nothing is lost', async ({ events }) => {
  const answered = await sentToStreamText(events)
  const kept = await keptByStreamText(events, answered)
  expect(events.filter((_, index) => kept[index] === 'lost')).toEqual([])
  const end = events.findLast((event) => event.type === 'lifecycle.completion.state')!.data as EndData
  const cut = end.reason_code === 'MAX_TOKENS'
  const failed = outcomeOf(end) === 'failed' && !cut
  expect(answered.errors).toHaveLength(failed ? 1 : 0)
  const finish = answered.parts.find((part) => part.type === 'finish')
  const { input, output, cached, cache_write } = end.tokens ?? {}
  expect(finish).toMatchObject({
    ...(failed && { finishReason: 'error' }),
    ...(cut && { finishReason: 'length' }),
    totalUsage: {
      inputTokens: input,
      outputTokens: output,
      inputTokenDetails: { cacheReadTokens: cached, cacheWriteTokens: cache_write },
    },
  })
  // The same without a stream.
  const whole = generateText({ model: modelOf(events), prompt: 'x' })
  if (failed) await expect(whole).rejects.toMatchObject({ code: 'COMMAND_FAILED' })
  else expect((await whole).content).toEqual(answered.content)
})

type EndData = Extract<AgentEvent, { type: 'lifecycle.completion.state' }>['data']

const prompt = 'x'

describe('the text of the model', () => {
  const events = makeRun([
    ['agent.message.final', { message_id: 'm', text: 'I look.' }],
    ['agent.message.final', { message_id: 's', text: 'Found it.', parent_call_id: 'c' }],
    ['agent.message.final', { message_id: 'n', text: 'Done: {"n":1}' }],
    ['lifecycle.run.result', { status: 'success', value: { n: 1 } }],
    ends.well,
  ])

  test('is what the agent says, and what its subagent says is reasoning', async () => {
    const { text, reasoningText } = await generateText({ model: modelOf(events), prompt })
    expect({ text, reasoningText }).toEqual({ text: 'I look.Done: {"n":1}', reasoningText: 'Found it.' })
  })

  test('is the result alone, if that was asked for', async () => {
    const model = modelOf(events, { text: 'result' })
    const { object, reasoning } = await generateObject({ model, prompt, schema: z.object({ n: z.number() }) })
    expect({ object, reasoning }).toEqual({
      object: { n: 1 },
      reasoning: 'I look.\nFound it.\nDone: {"n":1}',
    })
  })

  test('is the result for generateText with an output, too', async () => {
    const schema = z.object({ n: z.number() })
    const { output } = await generateText({
      ...{ model: modelOf(events, { text: 'result' }), prompt },
      output: Output.object({ schema }),
    })
    expect(output).toEqual({ n: 1 })
  })

  test('is empty if the result failed its schema', async () => {
    const failed = makeRun([['lifecycle.run.result', { status: 'failed' }], ends.well])
    const { text } = await generateText({ model: modelOf(failed, { text: 'result' }), prompt })
    expect(text).toBe('')
  })

  test('comes in its pieces', async () => {
    const pieces = makeRun([
      ['agent.message.delta', { message_id: 'm', text: 'Hel' }],
      ['agent.message.final', { message_id: 'm', text: 'Hello' }],
      ends.well,
    ])
    const texts: string[] = []
    for await (const text of streamText({ model: modelOf(pieces), prompt }).textStream) texts.push(text)
    expect(texts).toEqual(['Hel', 'lo'])
  })
})

test('tokens of all attempts are added up; a count that one lacks is not known', async () => {
  const attempt = (number: number, tokens: object, more: object = {}) =>
    makeRun([['lifecycle.completion.state', { ...ends.well[1], tokens, ...more }]], { attempt: number })
  const usageOf = async (...runs: AgentEvent[][]) =>
    (await generateText({ model: modelOf(runs.flat()), prompt })).usage
  const first = { input: 100, output: 10, cached: 60, cache_write: 30, reasoning: 4 }
  expect(await usageOf(attempt(1, first))).toMatchObject({
    ...{ inputTokens: 100, outputTokens: 10, totalTokens: 110 },
    inputTokenDetails: { noCacheTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 30 },
    outputTokenDetails: { textTokens: 6, reasoningTokens: 4 },
  })
  expect(await usageOf(attempt(1, first), attempt(2, { input: 5, output: 5 }))).toMatchObject({
    ...{ inputTokens: 105, outputTokens: 15 },
    inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: undefined },
  })
  const cumulative = { cumulative: true }
  expect(
    await usageOf(attempt(1, { input: 100 }, cumulative), attempt(2, { input: 130 }, cumulative)),
  ).toMatchObject({ inputTokens: 130 })
})

test('the end says session, outcome and cost, and the model that was used', async () => {
  const cost = { amount: 0.5, currency: 'USD' }
  const events = makeRun([
    ['lifecycle.run.status', { status: 'engine_picked' }],
    ...[['lifecycle.completion.state', { ...ends.well[1], cost }] as const],
  ])
  const started = makeRun([['lifecycle.run.status', { status: 'started', model: 'gpt' }]], { session: 's1' })
  const [picked, end] = events as [AgentEvent, AgentEvent]
  const { response, providerMetadata, finishReason } = await generateText({
    ...{ prompt, model: modelOf([picked, started[0]!, end]) },
  })
  expect({ response, providerMetadata, finishReason }).toMatchObject({
    response: { id: 'r1', modelId: 'gpt' },
    providerMetadata: { sluice: { run_id: 'r1', session_id: 's1', outcome: 'succeeded', cost } },
    finishReason: 'stop',
  })
})

test.each([
  ['well', 'stop', 0],
  ['badly', 'error', 1],
  ['stopped', 'other', 0],
  ['unknown', 'other', 0],
] as const)('a run that ends %s finishes with %s', (how, unified, errors) => {
  const parts = drive(languageModelStage(), makeRun([ends[how]]))
  expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified } })
  expect(parts.filter(({ type }) => type === 'error')).toHaveLength(errors)
})

test('the flow makes what the stage makes, and takes only its options', async () => {
  const events = makeRun([['agent.message.final', { message_id: 'm', text: 'x' }], ends.well])
  const flow = languageModel({ raw: true })
  for (const event of events) flow.write(event)
  flow.end()
  expect(await flow.toArray()).toEqual(drive(languageModelStage({ raw: true }), events))
  expect(() => languageModel({ text: 'all' as never })).toThrow(/text must be one of messages, result/)
  await expect(languageModelResult([])).rejects.toThrow(Fault)
})
