import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask } from '../../src/ask/ask.ts'
import type { AskAnswer, AskAttempt } from '../../src/ask/options.ts'
import type { CacheEntry } from '../../src/disk/cache.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { jsonSchema } from '../../src/values/schema/json-schema.ts'
import { slow } from '../pace.ts'
import { model, streamingModel } from './model.ts'

const schema = {
  type: 'object',
  required: ['a'],
  properties: { a: { type: 'integer', minimum: 1 } },
} as const
const prompt = 'Give me an a.'

describe('a call', () => {
  test('that rejects passes its error through, unchanged and without a retry', async () => {
    const error = new Error('429')
    let calls = 0
    const call = async () => {
      calls++
      throw error
    }
    await expect(ask(call, { prompt, rounds: 5 })).rejects.toBe(error)
    expect(calls).toBe(1)
  })

  test('that throws at once does the same', async () => {
    const error = new TypeError('no key')
    const call = () => {
      throw error
    }
    await expect(ask(call, { prompt })).rejects.toBe(error)
  })

  test('whose stream breaks does the same', async () => {
    const error = new Error('connection reset')
    async function* broken() {
      yield '{"a":'
      throw error
    }
    await expect(ask(() => broken(), { prompt, schema })).rejects.toBe(error)
  })

  test.each([[1], [3], [1000]])('may stream its answer, in pieces of %i', async (size) => {
    const { call } = streamingModel(size, 'Sure: <json>{"a": 2, "b": "😀ü"}</json> Bye.')
    expect(await ask(call, { prompt, schema })).toEqual({ a: 2, b: '😀ü' })
  })

  test('may stream bytes, cut anywhere', async () => {
    const bytes = Buffer.from('{"a": 2, "b": "😀ü"}')
    const call = () => Readable.from([...bytes].map((byte) => Uint8Array.of(byte)))
    expect(await ask(call, { prompt, schema })).toEqual({ a: 2, b: '😀ü' })
  })

  test('that answers with something else is told so', async () => {
    await expect(ask((() => 42) as never, { prompt })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(ask((() => undefined) as never, { prompt })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  test.each<[string, unknown, string]>([
    ['objects of a vendor', { choices: [{ delta: { content: '{"a":1}' } }] }, 'an object with choices'],
    ['Chunks', { channel: 'stdout', bytes: Buffer.from('{"a":1}') }, 'an object with channel, bytes'],
    ['numbers', 123, 'a number'],
    ['null', null, 'null'],
    ['nothing', undefined, 'undefined'],
  ])('that streams %s is told that a chunk is no text', async (_, piece, found) => {
    let left = false
    async function* pieces() {
      try {
        yield '{"a":'
        yield piece as string
      } finally {
        left = true
      }
    }
    const asked = ask(() => pieces(), { prompt, schema })
    await expect(asked).rejects.toMatchObject({
      code: 'BAD_CHUNK',
      message: expect.stringContaining(`${found}; ask needs strings or bytes`),
    })
    expect(left).toBe(true)
    const stream = ask.stream(() => pieces(), { prompt, schema })
    await expect(Readable.from(stream).toArray()).rejects.toMatchObject({ code: 'BAD_CHUNK' })
  })

  test('is left as soon as a value passed, if that is wanted', async () => {
    const answer = `{"a": 1} ${'and so on '.repeat(1000)}`
    const short = streamingModel(10, answer)
    expect(await ask(short.call, { prompt, schema, stopWhenValid: true })).toEqual({ a: 1 })
    expect(short.seen).toEqual({ deltas: expect.any(Number), closed: true })
    expect(short.seen.deltas).toBeLessThan(5)
    const whole = streamingModel(10, answer)
    await ask(whole.call, { prompt, schema })
    expect(whole.seen.deltas).toBeGreaterThan(900)
  })

  test('that never answers is left when the signal is aborted', async () => {
    const stop = new AbortController()
    const waiting = ask(() => new Promise<string>(() => {}), { prompt, signal: stop.signal })
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(ask(() => '{}', { prompt, signal: stop.signal })).rejects.toBe(reason)
  })

  test('whose stream hangs is left and closed when the signal is aborted', async () => {
    const stop = new AbortController()
    const stream = new Readable({ objectMode: true, read() {} })
    stream.push('{"a":')
    const waiting = ask(() => stream, { prompt, signal: stop.signal })
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    expect(stream.destroyed).toBe(true)
  })
})

describe('an abort', () => {
  const source = fileURLToPath(new URL('../../src/ask/ask.ts', import.meta.url))
  /** Runs this in a process of its own, which ends with 1 if a promise was left without a handler. */
  const alone = async (code: string) => {
    const whole = `import { ask } from ${JSON.stringify(source)}\n${code}`
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', whole])
    const [out, err] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
    return { out: out.trim(), err, code: child.exitCode ?? (await once(child, 'exit'))[0] }
  }

  test.runIf(slow)(
    'before the question keeps the model from being called, and ends in the reason alone',
    async () => {
      const ended = await alone(`
      let calls = 0
      const call = async ({ signal }) => { calls++; signal.throwIfAborted(); return '{}' }
      const signal = AbortSignal.abort(new Error('enough'))
      const error = await ask(call, { prompt: 'x', signal }).catch((error) => error)
      console.log(calls, error.message)`)
      expect(ended).toEqual({ out: '0 enough', err: '', code: 0 })
    },
  )

  test.runIf(slow)('closes a stream that comes after it, whose failure then is of no account', async () => {
    const ended = await alone(`
      import { Readable } from 'node:stream'
      const stop = new AbortController()
      const stream = new Readable({ read() {}, destroy: (_, done) => setImmediate(done, new Error('broken pipe')) })
      let answer
      const call = () => new Promise((resolve) => { answer = resolve })
      const waiting = ask(call, { prompt: 'x', signal: stop.signal }).catch((error) => error)
      await new Promise(setImmediate)
      stop.abort(new Error('enough'))
      const error = await waiting
      answer(stream)
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
      console.log(error.message, stream.destroyed, stream.closed)`)
    expect(ended).toEqual({ out: 'enough true true', err: '', code: 0 })
  })

  test('closes any late stream, also one that does not want to, and leaves a late text alone', async () => {
    const stop = new AbortController()
    const answers: ((answer: AskAnswer) => void)[] = []
    const call = () => new Promise<AskAnswer>((resolve) => answers.push(resolve))
    const waiting = Array.from({ length: 4 }, () => ask(call, { prompt, signal: stop.signal }))
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    for (const asked of waiting) await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    const returned: string[] = []
    const late = (name: string, end: () => Promise<IteratorResult<string>>): AsyncIterable<string> => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return() {
          returned.push(name)
          return end()
        },
      }),
    })
    answers[0]!(late('good', async () => ({ done: true, value: undefined })))
    answers[1]!(late('rejects', () => Promise.reject(new Error('no'))))
    answers[2]!(
      late('throws', () => {
        throw new Error('no')
      }),
    )
    answers[3]!('{}')
    await new Promise((resolve) => setImmediate(resolve))
    expect(returned).toEqual(['good', 'rejects', 'throws'])
  })

  test.runIf(slow)(
    'between two snapshots asks the stream for nothing more, and ends in the reason alone',
    async () => {
      const ended = await alone(`
      const stop = new AbortController()
      let asked = 0
      let left = 0
      const stream = {
        [Symbol.asyncIterator]: () => ({
          async next() {
            asked++
            stop.signal.throwIfAborted()
            return { done: false, value: '{"a":1,' }
          },
          async return() { left++; return { done: true, value: undefined } },
        }),
      }
      try {
        for await (const _ of ask.stream(() => stream, { prompt: 'x', signal: stop.signal })) stop.abort(new Error('enough'))
      } catch (error) {
        console.log(asked, left, error.message)
      }`)
      expect(ended).toEqual({ out: '1 1 enough', err: '', code: 0 })
    },
  )

  test.runIf(slow)('while the model is asked leaves its late failure without consequence', async () => {
    const ended = await alone(`
      const stop = new AbortController()
      const call = ({ signal }) => { stop.abort(new Error('enough')); return Promise.reject(new Error('late')) }
      console.log(await ask(call, { prompt: 'x', signal: stop.signal }).catch((error) => error.message))`)
    expect(ended).toEqual({ out: 'enough', err: '', code: 0 })
  })

  test('calls neither the cache nor onAttempt', async () => {
    const asked: string[] = []
    const cache = { get: () => void asked.push('get'), set: () => asked.push('set') }
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(
      ask(() => '{}', { prompt, cache, signal, onAttempt: () => void asked.push('onAttempt') }),
    ).rejects.toThrow('enough')
    expect(asked).toEqual([])
  })
})

describe('onAttempt', () => {
  test('gets each outcome', async () => {
    const seen: [Outcome<unknown>, AskAttempt][] = []
    const { call } = model('no', '{"a": 1,}')
    await ask(call, { prompt, schema, onAttempt: (...got) => seen.push(got) })
    expect(seen).toMatchObject([
      [
        { ok: false, fault: { code: 'NO_MATCH' } },
        { attempt: 1, cached: false },
      ],
      [
        { ok: true, value: { a: 1 }, repair_level: 'deterministic_generic' },
        { attempt: 2, cached: false },
      ],
    ])
  })
})

describe('the cache', () => {
  test('answers the second time, and tells the repair level it kept', async () => {
    const cache = new Map<string, CacheEntry>()
    const { call, asked } = model('```json\n{"a": 1}\n```')
    const seen: unknown[] = []
    const options = {
      prompt,
      schema,
      cache,
      onAttempt: (outcome: Outcome<unknown>, info: AskAttempt) => seen.push([outcome, info]),
    }
    expect(await ask(call, options)).toEqual({ a: 1 })
    expect(await ask(call, options)).toEqual({ a: 1 })
    expect(asked).toHaveLength(1)
    expect([...cache.values()]).toMatchObject([
      {
        value: { a: 1 },
        repair_level: 'deterministic_generic',
        notes: [{ code: 'OUTPUT_REPAIRED_GENERIC' }],
      },
    ])
    expect(seen[1]).toMatchObject([
      { ok: true, repair_level: 'deterministic_generic' },
      { attempt: 0, cached: true },
    ])
  })

  test('never keeps a failure', async () => {
    const cache = new Map<string, CacheEntry>()
    const { call } = model('{"a": 0}', 'no')
    await expect(ask(call, { prompt, schema, cache })).rejects.toMatchObject({ code: 'NO_MATCH' })
    expect(cache.size).toBe(0)
  })

  test('tells questions apart by prompt, system, temperature, schema and options', async () => {
    const cache = new Map<string, CacheEntry>()
    const base = { prompt, schema, cache }
    const others = [
      {},
      { prompt: 'x' },
      { system: 's' },
      { temperature: 0 },
      { schema: {} },
      { root: 'any' as const },
      { cacheKey: 'gpt' },
    ]
    for (const other of others) await ask(() => '{"a": 1}', { ...base, ...other })
    expect(cache.size).toBe(others.length)
  })

  test('wants a key for a schema or normalizer that is code', async () => {
    const cache = new Map<string, CacheEntry>()
    const code = z.object({ a: z.number() })
    await expect(ask(() => '{"a":1}', { prompt, schema: code, cache })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    await expect(ask(() => '{"a":1}', { prompt, normalize: [(v) => v], cache })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    expect(await ask(() => '{"a":1}', { prompt, schema: code, cache, cacheKey: 'a/1' })).toEqual({ a: 1 })
    expect(await ask(() => 'no', { prompt, schema: code, cache, cacheKey: 'a/1' })).toEqual({ a: 1 })
  })

  test('does not keep what would come back as something else', async () => {
    const cache = new Map<string, CacheEntry>()
    const dated = z.object({ a: z.string().transform((text) => new Date(text)) })
    const value = await ask(() => '{"a":"2024-01-01"}', { prompt, schema: dated, cache, cacheKey: 'd' })
    expect(value.a).toBeInstanceOf(Date)
    expect(cache.size).toBe(0)
  })

  test('is not believed when what it holds breaks the schema', async () => {
    const cache = new Map<string, CacheEntry>()
    await ask(() => '{"a":1}', { prompt, schema, cache })
    for (const key of cache.keys()) cache.set(key, { value: { a: -1 }, repair_level: 'none', notes: [] })
    expect(await ask(() => '{"a":2}', { prompt, schema, cache })).toEqual({ a: 2 })
  })

  test('that fails is noted and not used', async () => {
    const down = () => {
      throw new Error('disk on fire')
    }
    const notes: string[] = []
    const options = {
      prompt,
      schema,
      onAttempt: (outcome: Outcome<unknown>) => notes.push(...outcome.notes.map(({ code }) => code)),
    }
    expect(await ask(() => '{"a":1}', { ...options, cache: { get: down, set: async () => down() } })).toEqual(
      { a: 1 },
    )
    expect(notes).toEqual(['CACHE_FAILED', 'CACHE_FAILED'])
  })
})

test.each([{ prompt: '' }, { rounds: -1 }, { rounds: 1.5 }, { temperature: Number.NaN }])(
  'refuses %j before anything is asked',
  async (options) => {
    const { call, asked } = model('{}')
    await expect(ask(call, { prompt, ...options })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect(asked).toEqual([])
  },
)

test('a cached answer belongs to who got it: what one caller does to it, no other sees', async () => {
  const cache = new Map<string, CacheEntry>()
  const { call, asked } = model('{"a": 1, "list": [1]}')
  const question = () => ask<undefined>(call, { prompt, cache }) as Promise<{ list: number[] }>
  const first = await question()
  first.list.push(2)
  const second = await question()
  expect(second.list).toEqual([1])
  second.list.push(3)
  expect((await question()).list).toEqual([1])
  expect(asked).toHaveLength(1)
})

test('an entry that cannot be copied is no entry', async () => {
  const cache = new Map<string, CacheEntry>()
  const entry: CacheEntry = { value: { a: () => 1 }, repair_level: 'none', notes: [] }
  const { call, asked } = model('{"a": 1}')
  const outcomes: Outcome<unknown>[] = []
  const onAttempt = (outcome: Outcome<unknown>) => void outcomes.push(outcome)
  expect(
    await ask(call, { prompt, cache: { get: () => entry, set: cache.set.bind(cache) }, onAttempt }),
  ).toEqual({
    a: 1,
  })
  expect(asked).toHaveLength(1)
  expect(outcomes[0]?.notes).toMatchObject([{ code: 'CACHE_FAILED' }])
})

describe('pick', () => {
  test('takes the last value that passes, if that is wanted', async () => {
    const { call } = model('First {"a":1}, then {"a":2}.')
    expect(await ask(call, { prompt: 'p', pick: 'last' })).toEqual({ a: 2 })
  })

  test('is a word that is known, and not each', async () => {
    const { call } = model('{}')
    const options = { prompt: 'p', pick: 'each' } as unknown as { prompt: string }
    await expect(ask(call, options)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  test('of the last one does not go with leaving at the first', async () => {
    const { call } = model('{}')
    const options = { prompt: 'p', pick: 'last', stopWhenValid: true } as const
    await expect(ask(call, options)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  test('a schema that jsonSchema() made is data: it is cached by what it says', async () => {
    const cache = new Map<string, CacheEntry>()
    const { call } = model('{"a":1}', '{"a":1}')
    const typed = () => jsonSchema<{ a: number }>({ type: 'object', required: ['a'] })
    expect((await ask(call, { prompt: 'p', cache, schema: typed() })).a).toBe(1)
    expect(await ask(call, { prompt: 'p', cache, schema: typed() })).toEqual({ a: 1 })
    await ask(call, { prompt: 'p', cache, schema: { type: 'object', required: ['a'] } })
    expect(cache.size).toBe(1)
    await ask(call, { prompt: 'p', cache, schema: jsonSchema({ type: 'object' }) })
    expect(cache.size).toBe(2)
  })

  test('is part of the key of the cache, as every option is that decides what a good answer is', async () => {
    const cache = new Map<string, CacheEntry>()
    const { call } = model('{"a":1}', '{"a":1}', '{"a":1}', '{"a":1}')
    await ask(call, { prompt: 'p', cache })
    await ask(call, { prompt: 'p', cache, pick: 'last' })
    await ask(call, { prompt: 'p', cache, partial: true })
    await ask(call, { prompt: 'p', cache, partial: true, rounds: 3, label: 'x' })
    expect(cache.size).toBe(3)
  })
})
