import { PassThrough, pipeline as pipelineBack, type Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { codex } from '../../src/engines.ts'
import { isEvent } from '../../src/events/event.ts'
import type { Tokens } from '../../src/events/tokens.ts'
import {
  type Chat,
  type Chunk,
  chat,
  type AgentEvent as Event,
  type EventOf,
  events,
  type Frame,
  frames,
  jsonl,
  type Outcome,
  run,
  sse,
  tap,
  values,
} from '../../src/index.ts'

const stdout = new PassThrough()
const Report = z.object({ issues: z.array(z.string()) })

test('for await has typed items, through pipe too', async () => {
  for await (const frame of stdout.pipe(frames())) expectTypeOf(frame).toEqualTypeOf<Frame>()
  for await (const event of stdout.pipe(events(codex))) expectTypeOf(event).toEqualTypeOf<Event>()
  for await (const record of stdout.pipe(events(codex)).pipe(chat()))
    expectTypeOf(record).toEqualTypeOf<Chat>()
  for await (const chunk of tap({ stdout })) expectTypeOf(chunk).toEqualTypeOf<Chunk>()
  for await (const outcome of stdout.pipe(values({ schema: Report }))) {
    expectTypeOf(outcome).toEqualTypeOf<Outcome<{ issues: string[] }>>()
    if (outcome.ok) expectTypeOf(outcome.value.issues).toEqualTypeOf<string[]>()
  }
})

test('run is typed: its events, and its result by the schema', async () => {
  const agent = run('codex', ['exec', '--json', 'hi'], { schema: Report })
  for await (const event of agent) {
    expectTypeOf(event).toEqualTypeOf<Event>()
    switch (event.type) {
      case 'agent.message.final':
        expectTypeOf(event.data.text).toEqualTypeOf<string>()
        break
      case 'tool.call.completed':
        expectTypeOf(event.data.call_id).toEqualTypeOf<string>()
        break
    }
  }
  const { result, tokens: usage, outcome } = await agent.end
  expectTypeOf(result!.value!.issues).toEqualTypeOf<string[]>()
  if (result?.status === 'success') expectTypeOf(result.value.issues).toEqualTypeOf<string[]>()
  else expectTypeOf(result?.value).toEqualTypeOf<undefined>()
  expectTypeOf(outcome).toEqualTypeOf<
    'succeeded' | 'finished' | 'needs_input' | 'failed' | 'cancelled' | 'unknown'
  >()
  expectTypeOf(usage).toEqualTypeOf<Tokens | null>()
  expectTypeOf((await run('codex').end).result?.value).toEqualTypeOf<unknown>()
})

test("on('data') has a typed item, and other events stay as they are", () => {
  const flow = stdout.pipe(events(codex))
  flow.on('data', (event) => expectTypeOf(event).toEqualTypeOf<Event>())
  flow.once('data', (event) => expectTypeOf(event).toEqualTypeOf<Event>())
  flow.on('error', (error) => expectTypeOf(error).toEqualTypeOf<Error>())
  flow.on('close', () => {})
})

test('toArray, map, filter, find, take and forEach are typed', async () => {
  const flow = () => stdout.pipe(events(codex))
  expectTypeOf(await flow().toArray()).toEqualTypeOf<Event[]>()
  expectTypeOf(
    await flow()
      .map((event) => event.seq)
      .toArray(),
  ).toEqualTypeOf<number[]>()
  expectTypeOf(
    await flow()
      .map(async (event) => event.ts)
      .take(2)
      .toArray(),
  ).toEqualTypeOf<string[]>()
  const finals = flow().filter((event) => event.type === 'agent.message.final')
  for await (const event of finals) expectTypeOf(event).toEqualTypeOf<EventOf<'agent.message.final'>>()
  const ended = await flow().find((event) => isEvent(event, 'lifecycle.completion.state'))
  expectTypeOf(ended).toEqualTypeOf<EventOf<'lifecycle.completion.state'> | undefined>()
  await flow().forEach((event) => void expectTypeOf(event).toEqualTypeOf<Event>())
  expectTypeOf(await flow().some((event) => event.seq > 1)).toEqualTypeOf<boolean>()
})

test('a function in a pipeline gets typed items', async () => {
  await pipeline(stdout, events(codex), async (source) => {
    for await (const event of source) expectTypeOf(event).toEqualTypeOf<Event>()
  })
  await pipeline(
    stdout,
    values({ schema: Report }),
    async function* (source) {
      for await (const outcome of source) {
        expectTypeOf(outcome).toEqualTypeOf<Outcome<{ issues: string[] }>>()
        yield JSON.stringify(outcome)
      }
    },
    new PassThrough(),
  )
  await pipeline(run('codex'), chat(), sse(), stdout)
  await pipeline(tap({ stdout }), events(codex), chat(), jsonl(), stdout)
  pipelineBack(tap({ stdout }), events(codex), chat(), sse(), stdout, () => {})
})

test('a flow is a Node stream', () => {
  expectTypeOf(events(codex)).toExtend<Transform>()
  expectTypeOf(run('codex')).toExtend<Readable>()
  expectTypeOf(tap({ stdout })).toExtend<Readable>()
})
