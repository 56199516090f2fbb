import { once } from 'node:events'
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { otel } from '../../src/streams/views.ts'
import { chosenRuns } from './chosen-runs.ts'
import { spansOf } from './kept.ts'
import { ends, makeRun } from './make-run.ts'

const known = new Set<unknown>(Object.values(conventions))

test.each(chosenRuns())('$name is one trace, whole and in order', ({ events }) => {
  const spans = spansOf(events)
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const roots = spans.filter((span) => span.parentSpanContext === undefined)
  expect(roots).toHaveLength(1)
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
  for (const { parentSpanContext, startTime, endTime, attributes } of spans) {
    if (parentSpanContext) expect(ids).toContain(parentSpanContext.spanId)
    expect(endTime[0] - startTime[0] + (endTime[1] - startTime[1]) / 1e9).toBeGreaterThanOrEqual(0)
    const named = Object.keys(attributes).filter((key) => key.startsWith('gen_ai.'))
    expect(named.filter((key) => !known.has(key))).toEqual([])
  }
  const calls = events.filter(({ type }) => type === 'tool.call.completed' || type === 'tool.call.failed')
  expect(spans.length).toBeGreaterThanOrEqual(1 + calls.length)
  const text = JSON.stringify(spans.map(({ name, attributes, events }) => ({ name, attributes, events })))
  expect(text).not.toMatch(/gen_ai\.(?:input|output)\.messages|call\.(?:arguments|result)/)
})

const steps = [
  ['lifecycle.run.status', { status: 'started', model: 'gpt-5' }],
  ['user.message', { text: 'my secret' }],
  ['tool.call.started', { call_id: 'a', name: 'sh', input: { cmd: 'secret' } }],
  ['tool.call.started', { call_id: 'b', name: 'grep', parent_call_id: 'a' }],
  ['tool.call.failed', { call_id: 'b', name: 'grep', output: 'secret', exit_code: 3 }],
  ['agent.message.final', { message_id: 'm', text: 'the secret' }],
  ['diagnostic.engine.error', { code: 'ENGINE_ERROR', message: 'secret', severity: 'error' }],
  ['artifact.created', { path: 'a.txt' }],
] as const
const tokens = { input: 5, output: 4, cached: 3, reasoning: 2 }

test('a run is a span, its calls are below it, and the calls of a subagent below the one that started it', () => {
  const events = makeRun([...steps, [ends.badly[0], { ...ends.badly[1], tokens }]], { session: 's1' })
  const spans = new Map(spansOf(events).map((span) => [span.name, span]))
  const [run, sh, grep] = ['invoke_agent codex', 'execute_tool sh', 'execute_tool grep'].map(
    (name) => spans.get(name)!,
  )
  expect(run!.attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'codex',
    'gen_ai.provider.name': 'openai',
    'gen_ai.conversation.id': 's1',
    'gen_ai.request.model': 'gpt-5',
    'gen_ai.usage.input_tokens': 5,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.usage.reasoning.output_tokens': 2,
    'error.type': 'EXIT_CODE',
    'sluice.run_id': 'r1',
    'sluice.attempt': 1,
    'sluice.outcome': 'failed',
    'sluice.state': 'interrupted',
    'sluice.reason_code': 'EXIT_CODE',
  })
  expect(run!.status.code).toBe(SpanStatusCode.ERROR)
  expect(run!.events.map(({ name }) => name)).toEqual(['diagnostic.engine.error', 'artifact.created'])
  expect(run!.endTime).toEqual([(Date.parse(events.at(-1)!.ts) / 1000) | 0, 8_000_000])
  expect(sh!.parentSpanContext?.spanId).toBe(run!.spanContext().spanId)
  expect(sh!.attributes['sluice.unfinished']).toBe(true)
  expect(grep!.parentSpanContext?.spanId).toBe(sh!.spanContext().spanId)
  expect(grep!.attributes['error.type']).toBe('exit_3')
})

test('content is there only if it is asked for, and so much of it as is wanted', () => {
  const events = makeRun([...steps, ends.well])
  const text = (options?: object) =>
    JSON.stringify(
      spansOf(events, options).map(({ attributes, events, status }) => [attributes, events, status]),
    )
  expect(text()).not.toContain('secret')
  expect(text({ content: true }).match(/secret/g)).toHaveLength(5)
  expect(text({ content: true, maxContent: 3 })).not.toContain('secret')
})

test('a run has the parent that is given', () => {
  const exporter = new InMemorySpanExporter()
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer(
    't',
  )
  const mine = tracer.startSpan('mine')
  const [span] = spansOf(makeRun([ends.well]), { parent: trace.setSpan(ROOT_CONTEXT, mine) })
  expect(span!.parentSpanContext?.spanId).toBe(mine.spanContext().spanId)
})

test('an attempt without an end is not a failure, and does not hold the next', () => {
  const step = [['agent.message.final', { message_id: 'm', text: 'x' }]] as const
  const spans = spansOf([...makeRun(step), ...makeRun([...step, ends.well], { attempt: 2 })])
  expect(spans.map(({ attributes }) => attributes['sluice.outcome'])).toEqual(['unknown', 'succeeded'])
  expect(spans[0]!.status.code).toBe(SpanStatusCode.UNSET)
})

test('the times are those of the events, also of logs that tell none and are read as of 1970', () => {
  const [span] = spansOf(makeRun([ends.well]).map((event) => ({ ...event, ts: '1970-01-01T00:00:01.250Z' })))
  expect([span!.startTime, span!.endTime]).toEqual([
    [1, 250_000_000],
    [1, 250_000_000],
  ])
})

test('events whose time cannot be read still make spans', () => {
  const [span] = spansOf(makeRun([ends.well]).map((event) => ({ ...event, ts: 'yesterday' })))
  expect(span!.startTime[0]).toBeGreaterThan(1_700_000_000)
})

test('the flow lets every event pass, and one that is destroyed ends its spans', async () => {
  const exporter = new InMemorySpanExporter()
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer(
    't',
  )
  const events = makeRun([...steps, ends.well])
  const whole = otel(tracer)
  for (const event of events) whole.write(event)
  whole.end()
  expect(await whole.toArray()).toEqual(events)
  exporter.reset()
  const left = otel(tracer)
  left.write(events[2])
  const closed = once(left, 'close')
  for await (const _ of left) break
  await closed
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
    'execute_tool sh',
    'invoke_agent codex',
  ])
})

test('what is no tracer is refused', () => {
  expect(() => otel(undefined as never)).toThrow(/otel needs a tracer/)
  expect(() => otel({ startSpan() {} } as never, 7 as never)).toThrow(/otel needs an object of options/)
})
