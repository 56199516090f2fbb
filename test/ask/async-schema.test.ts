import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask } from '../../src/ask/ask.ts'
import type { AskOptions } from '../../src/ask/options.ts'
import type { CacheEntry } from '../../src/disk/cache.ts'
import { values } from '../../src/streams/values.ts'
import { jsonSchema } from '../../src/values/schema/json-schema.ts'
import { slow } from '../pace.ts'
import { model, streamingModel } from './model.ts'

const prompt = 'Name a user.'
const users = ['ann', 'bob']
/** Asks a directory that takes a while. */
const User = z.object({ name: z.string().refine(async (name) => users.includes(name), 'no such user') })

/** A schema that answers with a promise, and counts how often it is asked. */
function counting(passes: (value: { n?: number }) => boolean) {
  const asked: unknown[] = []
  const schema: StandardSchemaV1<unknown, { n?: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate(value) {
        asked.push(value)
        // The cast: the tests hold objects only.
        const given = value as { n?: number }
        return passes(given) ? { value: given } : { issues: [{ message: 'not this one' }] }
      },
    },
  }
  return { schema, asked }
}

describe('a schema that answers with a promise is awaited', () => {
  test.each([1, 7, 1000])('in the first answer, in pieces of %i', async (size) => {
    const { call, asked } = streamingModel(size, 'Sure: {"name":"ann"}')
    expect(await ask(call, { prompt, schema: User })).toEqual({ name: 'ann' })
    expect(asked).toHaveLength(1)
  })

  test('also if it is a JSON Schema that says $async', async () => {
    const schema = { $async: true, type: 'object', properties: { n: { type: 'number' } } }
    for (const given of [schema, jsonSchema(schema)]) {
      const { call, asked } = model('{"n":"x"}', '{"n":1}')
      expect(await ask(call, { prompt, schema: given, rounds: 1 })).toEqual({ n: 1 })
      expect(asked[1]?.prompt).toContain('"/n" (type): "must be number"')
    }
  })

  test('in the retry, which is told what it said', async () => {
    const { call, asked } = model('{"name":"eve"}', '{"name":"bob",}')
    expect(await ask(call, { prompt, schema: User })).toEqual({ name: 'bob' })
    expect(asked[1]?.prompt).toContain('"/name" (custom): "no such user"')
  })

  test('until no answer passes', async () => {
    const { call } = model('{"name":"eve"}', '{"name":"mal"}')
    await expect(ask(call, { prompt, schema: User })).rejects.toMatchObject({
      code: 'SCHEMA_FAILED',
      errors: [{ path: '/name' }],
      attempts: [{ fault: { code: 'SCHEMA_FAILED' } }, { fault: { code: 'SCHEMA_FAILED' } }],
    })
  })

  test('for each candidate, and the first that passes is taken', async () => {
    const { call } = model('Not {"name":"eve"}, nor {"name":"mal"}, but {"name":"bob"} or {"name":"ann"}.')
    expect(await ask(call, { prompt, schema: User })).toEqual({ name: 'bob' })
  })

  test('or the last one, if that is wanted', async () => {
    const text = 'First {"name":"ann"}, then {"name":"bob"}.'
    expect(await ask(() => text, { prompt, schema: User, pick: 'last' })).toEqual({ name: 'bob' })
    const bad = 'First <json>{"name":"ann"}</json>, then <json>{"name":"eve"}</json>.'
    await expect(ask(() => bad, { prompt, schema: User, pick: 'last', rounds: 0 })).rejects.toMatchObject({
      code: 'SCHEMA_FAILED',
    })
  })

  test('in an envelope, whose text it passes', async () => {
    const answer = JSON.stringify({ response: '{"name":"bob"}' })
    expect(await ask(() => answer, { prompt, schema: User })).toEqual({ name: 'bob' })
  })

  test('for a value that the answer did not finish', async () => {
    const { call } = model('{"name":"ann","more":[1')
    const Loose = User.loose()
    expect(await ask(call, { prompt, schema: Loose, partial: true })).toMatchObject({ name: 'ann' })
  })

  test('behind normalizers', async () => {
    const normalize = [({ user }: { user: string }) => ({ name: user, at: new Date(0) })]
    const { call } = model('{"user":"ann"}')
    expect(await ask(call, { prompt, schema: User, normalize })).toEqual({ name: 'ann' })
  })

  test('in ask.stream, whose last snapshot is the value', async () => {
    const { call } = streamingModel(3, '{"name":"eve"}', '{"name":"ann"}')
    let last: unknown
    for await (const snapshot of ask.stream(call, { prompt, schema: User })) last = snapshot
    expect(last).toMatchObject({ done: true, value: { name: 'ann' }, attempt: 2 })
  })

  test('before a stream is left because a value passed', async () => {
    const rest = ' and so on'.repeat(500)
    const good = streamingModel(10, `{"name":"ann"}${rest}`)
    expect(await ask(good.call, { prompt, schema: User, stopWhenValid: true })).toEqual({ name: 'ann' })
    expect(good.seen.deltas).toBeLessThan(5)
    const late = streamingModel(10, `{"name":"eve"}${rest} {"name":"ann"}`)
    expect(await ask(late.call, { prompt, schema: User, stopWhenValid: true })).toEqual({ name: 'ann' })
  })

  test('once for the cache, which answers the second time', async () => {
    const cache = new Map<string, CacheEntry>()
    const { schema, asked } = counting(() => true)
    const options = { prompt, schema, cache, cacheKey: 'n/1' }
    expect(await ask(() => '{"n":1}', options)).toEqual({ n: 1 })
    expect(await ask(() => 'no', options)).toEqual({ n: 1 })
    expect(asked).toEqual([{ n: 1 }])
  })

  test('and is asked about each value once', async () => {
    const { schema, asked } = counting(({ n }) => n === 3)
    const text = '```json\n{"n":1}\n```\n{"n":2} {"n":1} {"n":3} {"n":3}'
    expect(await ask(() => text, { prompt, schema })).toEqual({ n: 3 })
    expect(asked).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })
})

describe('a schema that answers with a promise and', () => {
  const never = (answer: () => Promise<never>): StandardSchemaV1 => ({
    '~standard': { version: 1, vendor: 'test', validate: answer },
  })

  test('rejects is told as one that throws', async () => {
    const schema = never(() => Promise.reject(new Error('directory is down')))
    const options: AskOptions = { prompt, schema, rounds: 0 }
    await expect(ask(() => '{"n":1}', options)).rejects.toMatchObject({
      code: 'SCHEMA_FAILED',
      errors: [{ rule: 'threw', message: 'the schema threw: directory is down' }],
    })
  })

  test('never answers is left when the signal is aborted', async () => {
    const stop = new AbortController()
    const schema = never(() => {
      stop.abort(new Error('enough'))
      return new Promise(() => {})
    })
    await expect(ask(() => '{"n":1}', { prompt, schema, signal: stop.signal })).rejects.toThrow('enough')
  })

  test('has to wait for an answer longer than maxFrame is told so', async () => {
    const { schema } = counting(() => true)
    const text = `${'words '.repeat(50)}{"n":1}`
    await expect(ask(() => text, { prompt, schema, maxFrame: 100, rounds: 0 })).rejects.toMatchObject({
      code: 'FRAME_TOO_LONG',
    })
  })

  test.runIf(slow)('meets thousands of candidates is asked about each once, in bounded time', async () => {
    const { schema, asked } = counting(() => false)
    const text = Array.from({ length: 2000 }, (_, n) => `{"n":${n},}`).join('')
    await expect(ask(() => `So: ${text}`, { prompt, schema, rounds: 0 })).rejects.toMatchObject({
      code: 'SCHEMA_FAILED',
    })
    expect(new Set(asked.map((value) => JSON.stringify(value))).size).toBe(asked.length)
  })

  test('is in a stream stays a fault: nothing there can wait', async () => {
    const flow = values({ schema: User })
    flow.end('{"name":"ann"}')
    await expect(flow.toArray()).rejects.toMatchObject({ code: 'BAD_SCHEMA' })
  })
})
