import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ask } from '../../src/ask/ask.ts'
import { Fault } from '../../src/base/fault.ts'
import { codex } from '../../src/engines/codex.ts'
import { type EventOptions, events } from '../../src/events/events.ts'
import { frames } from '../../src/frames/frames.ts'
import { tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema.ts'
import { values } from '../../src/values/values.ts'

const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)
beforeEach(() => void process.on('unhandledRejection', note))
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled.splice(0)).toEqual([])
})

type Case = [name: string, does: () => unknown]

const never: Promise<string> = new Promise(() => {})
function fail(): never {
  throw new Error('boom')
}
function reject(): Promise<string> {
  return Promise.reject(new Error('boom'))
}
// The casts are the fault: code of the user that does not keep its promise.
const standard = (validate: unknown) =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as unknown as Schema

describe('a schema of the user', () => {
  const failing: Record<string, unknown> = {
    throws: fail,
    'throws null': () => {
      throw null
    },
    'answers with nothing': () => undefined,
    'answers with a number': () => 7,
    'has issues that are none': () => ({ issues: true }),
    'has an issue without words or place': () => ({ issues: [{ path: [null] }] }),
  }
  test.for(Object.entries(failing))('that %s is one failed outcome', ([, validate]) => {
    expect(tryParse('{"a":1}', { schema: standard(validate) })).toMatchObject({
      ok: false,
      fault: { code: 'SCHEMA_FAILED', errors: [{ rule: 'threw' }] },
    })
  })
  test.for([
    ['rejects', reject],
    ['never answers', () => never],
  ] as Case[])('that %s is BAD_SCHEMA, in text and in streams', async ([, validate]) => {
    const schema = standard(validate)
    expect(() => tryParse('{"a":1}', { schema })).toThrow(expect.objectContaining({ code: 'BAD_SCHEMA' }))
    await expect(Readable.from(['{"a":1}']).pipe(values({ schema })).toArray()).rejects.toMatchObject({
      code: 'BAD_SCHEMA',
    })
  })
})

test.for([
  ['throws', fail],
  ['rejects', reject],
  ['never answers', () => never],
] as Case[])('a normalizer that %s is NORMALIZE_FAILED', ([, normalizer]) => {
  expect(tryParse('{"a":1}', { normalize: [normalizer] })).toMatchObject({
    ok: false,
    fault: { code: 'NORMALIZE_FAILED' },
  })
})

const log = '{"type":"thread.started","thread_id":"t"}\n{"type":"turn.completed"}\n'
const read = (options: unknown) =>
  Readable.from([log])
    .pipe(events(codex, options as EventOptions))
    .toArray()

test.for([
  ['throws', fail],
  ['rejects', reject],
  ['never answers', () => never],
  ['says NaN', () => Number.NaN],
  ['says a time beyond all dates', () => 1e20],
  ['says a word', () => 'now'],
] as Case[])('a clock that %s is BAD_OPTION', async ([, clock]) => {
  const error: unknown = await read({ clock }).catch((why: unknown) => why)
  expect(Fault.is(error) && error.code).toBe('BAD_OPTION')
})

test.for([
  ['throws', fail],
  ['rejects', reject],
  ['never answers', () => never],
  ['answers with nonsense', () => ({ created: 7 })],
] as Case[])(
  'a comparison of the directory that %s is one diagnostic, and the run still ends',
  async ([, fsDiff]) => {
    const got = await read({ fsDiff })
    expect(got.filter((event) => event.data.code === 'ARTIFACT_REJECTED')).toHaveLength(1)
    expect(got.at(-1).data.state).toBe('awaiting_user_input')
  },
)

describe('a sink of the user', () => {
  const lines = () => Readable.from(Array.from({ length: 1000 }, (_, i) => `{"n":${i}}\n`))
  test('that fails ends the pipeline with its own error, once', async () => {
    const sink = new Writable({
      objectMode: true,
      write: (_item, _encoding, done) => done(new Error('full')),
    })
    await expect(pipeline(lines(), frames(), sink)).rejects.toThrow('full')
  })
  test('that throws ends the pipeline', async () => {
    await expect(
      pipeline(lines(), frames(), async (items) => {
        for await (const _ of items) fail()
      }),
    ).rejects.toThrow('boom')
  })
  test('that never answers holds the source, and an abort ends it', async () => {
    let taken = 0
    const source = Readable.from(
      (function* () {
        for (;;) {
          taken++
          yield `{"n":${taken}}\n`
        }
      })(),
    )
    const abort = new AbortController()
    const stuck = new Writable({
      objectMode: true,
      write() {
        setImmediate(() => abort.abort())
      },
    })
    await expect(pipeline(source, frames(), stuck, { signal: abort.signal })).rejects.toMatchObject({
      name: 'AbortError',
    })
    expect(taken).toBeLessThan(1000)
    expect(source.destroyed).toBe(true)
  })
})

describe('a model call of the user', () => {
  test('that throws or rejects rejects the ask with that error', async () => {
    await expect(ask(fail, { prompt: 'x' })).rejects.toThrow('boom')
    await expect(ask(reject, { prompt: 'x' })).rejects.toThrow('boom')
  })
  test('that never answers ends with the abort', async () => {
    const signal = AbortSignal.timeout(20)
    await expect(ask(() => never, { prompt: 'x', signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
