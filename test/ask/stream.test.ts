import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask } from '../../src/ask/ask.ts'
import type { AskCall, AskOptions } from '../../src/ask/options.ts'
import { expectLinear } from '../growth.ts'
import { slow } from '../pace.ts'
import { streamingModel } from './model.ts'

const prompt = 'List the issues.'
const issues = {
  issues: [
    { file: 'a.ts', line: 3 },
    { file: 'b.ts', line: 12 },
  ],
  summary: 'two',
}

async function watch(call: AskCall, options: Partial<AskOptions> = {}) {
  const steps = []
  for await (const { done, value, complete, errors, attempt } of ask.stream(call, { prompt, ...options })) {
    steps.push({ done, json: JSON.stringify(value), complete: [...complete], errors, attempt })
  }
  return steps
}

test.each([1, 7, 64])('shows the value growing in deltas of %i, then the value', async (size) => {
  const { call } = streamingModel(size, `Sure!\n\`\`\`json\n${JSON.stringify(issues, null, 2)}\n\`\`\`\n`)
  const steps = await watch(call)
  expect(steps.at(-1)).toMatchObject({ done: true, json: JSON.stringify(issues), complete: [''] })
  expect(steps.slice(0, -1).every(({ done }) => !done)).toBe(true)
  expect(steps.slice(0, -1).flatMap(({ complete }) => complete)).toEqual([
    '/issues/0/file',
    '/issues/0/line',
    '/issues/0',
    '/issues/1/file',
    '/issues/1/line',
    '/issues/1',
    '/issues',
    '/summary',
    '',
  ])
})

test('starts a new value with a new attempt', async () => {
  const { call } = streamingModel(5, '{"line": 0}', '{"line": 4}')
  const schema = { type: 'object', properties: { line: { minimum: 1 } } }
  const steps = await watch(call, { schema })
  expect([...new Set(steps.map(({ attempt }) => attempt))]).toEqual([1, 2])
  expect(steps.at(-1)).toMatchObject({ done: true, attempt: 2, json: '{"line":4}' })
})

test('ends in the same fault as ask', async () => {
  const { call } = streamingModel(5, '{"line": 0}', 'no')
  const schema = { type: 'object', properties: { line: { minimum: 1 } } }
  await expect(watch(call, { schema })).rejects.toMatchObject({ code: 'NO_MATCH', attempts: [{}, {}] })
})

test('gives the repaired value at the end, although no snapshot could show it', async () => {
  const { call } = streamingModel(3, '{"a": [1, 2,], "b": "x"}')
  const steps = await watch(call)
  expect(steps.at(-1)).toMatchObject({ done: true, json: '{"a":[1,2],"b":"x"}' })
})

test('shows what a whole answer holds, too', async () => {
  const steps = await watch(() => '{"a": 1}')
  expect(steps.map(({ done, json }) => [done, json])).toEqual([
    [false, '{"a":1}'],
    [true, '{"a":1}'],
  ])
})

test('hands out one value that grows, and another one in the end', async () => {
  const { call } = streamingModel(4, '{"a": {"b": 1}, "c": [2]}')
  const values: unknown[] = []
  for await (const { value, done } of ask.stream(call, { prompt })) {
    values.push(value)
    // A reader that spoils its snapshot spoils nothing else.
    if (!done) (value as Record<string, unknown>)['d'] = 'mine'
  }
  expect(new Set(values.slice(0, -1)).size).toBe(1)
  expect(values.at(-1)).toEqual({ a: { b: 1 }, c: [2] })
})

test('closes the source when its reader leaves', async () => {
  const { call, seen } = streamingModel(2, JSON.stringify(issues))
  for await (const { value } of ask.stream(call, { prompt })) if (value) break
  await new Promise((resolve) => setImmediate(resolve))
  expect(seen.closed).toBe(true)
})

test('infers the value from the schema', async () => {
  const schema = z.object({ a: z.object({ b: z.number() }) })
  for await (const snapshot of ask.stream(() => '{"a":{"b":1}}', { prompt, schema })) {
    if (snapshot.done) {
      const sure: number = snapshot.value.a.b
      expect(sure).toBe(1)
    } else {
      const perhaps: number | undefined = snapshot.value.a?.b
      expect(perhaps).toBe(1)
    }
  }
})

describe('constraints', () => {
  const schema = {
    type: 'object',
    required: ['name', 'items'],
    properties: {
      name: { type: 'string', minLength: 5 },
      items: { type: 'array', minItems: 2, items: { $ref: '#/$defs/item' } },
      pair: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    },
    additionalProperties: { type: 'boolean' },
    $defs: { item: { type: 'object', required: ['id', 'note'], properties: { id: { type: 'integer' } } } },
  }
  const errorsOf = async (text: string, options: Partial<AskOptions> = {}) => {
    const steps = []
    const { call } = streamingModel(1, text)
    const stream = ask.stream(call, { prompt, schema, rounds: 0, ...options })
    try {
      for await (const { errors } of stream) steps.push(...errors.map(({ path, rule }) => `${path} ${rule}`))
    } catch {
      // The whole value fails, too; here only the way there counts.
    }
    return steps
  }

  test('are not held against what is still growing', async () => {
    expect(
      await errorsOf('{"name": "Alexa", "items": [{"id": 1, "note": ""}, {"id": 2, "note": "x"}]}'),
    ).toEqual([])
  })

  test.runIf(slow)('are told as soon as a part is finished', async () => {
    const text = '{"name": "Al", "items": [{"id": 1.5, "note": ""}, {"id": 2}], "pair": [1, "x"], "other": 3}'
    expect(await errorsOf(text)).toEqual([
      '/name minLength',
      '/items/0/id type',
      '/items/1 required',
      '/pair/0 type',
      '/pair/1 type',
      '/other type',
    ])
  })

  test('wait for the end where normalizers change the value first', async () => {
    const normalize = [(value: { name: string }) => ({ ...value, name: `${value.name}......` })]
    const text = '{"name": "Al", "items": [{"id": 1, "note": ""}, {"id": 2, "note": ""}]}'
    expect(await errorsOf(text, { normalize })).toEqual([])
  })
})

test('takes time linear in the answer for a delta of any size', async () => {
  const text = (n: number) =>
    JSON.stringify({ list: Array.from({ length: n / 20 }, (_, i) => ({ id: i, t: 'x' })) })
  await expectLinear('an answer', (size) => {
    const answer = text(size)
    return async () => {
      let count = 0
      for await (const _ of ask.stream(streamingModel(64, answer).call, { prompt })) count++
      expect(count).toBeGreaterThan(size / 100)
    }
  })
})
