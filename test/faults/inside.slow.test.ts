import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ask } from '../../src/ask/ask.ts'
import type { AskOptions } from '../../src/ask/options.ts'
import { Fault } from '../../src/base/fault.ts'
import type { Cache } from '../../src/disk/cache.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { Engine, EngineFrame, EngineReader, Picker } from '../../src/events/engine.ts'
import type { EventOptions } from '../../src/events/event-stage.ts'
import { events } from '../../src/streams/events.ts'
import { frames, values } from '../../src/streams/values.ts'
import { tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { activate, type Ledger } from '../../src/work/ledger.ts'
import type { Outbox } from '../../src/work/outbox.ts'
import { type WorkOptions, work } from '../../src/work/work.ts'
import { agent, ran, workspace } from '../run/agent.ts'

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

/** The fields of events that these tests look at, whatever their type. */
interface Plain {
  readonly event: { readonly type: string }
  readonly data: {
    readonly code?: string
    readonly state?: string
    readonly message?: string
    readonly line: string
  }
}

const log = '{"type":"thread.started","thread_id":"t"}\n{"type":"turn.completed"}\n'
const read = (options: unknown) =>
  Readable.from([log])
    .pipe(events(codex, options as EventOptions))
    .toArray() as unknown as Promise<Plain[]>

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
    expect(got.at(-1)?.data.state).toBe('awaiting_user_input')
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

const ways: Case[] = [
  ['throws', fail],
  ['rejects', reject],
  ['never answers', () => never],
]

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

describe('a cache of the user', () => {
  const empty = { get: () => undefined, set: () => {} }
  const asked = async (cache: unknown, more: Partial<AskOptions<undefined>> = {}) => {
    const notes: string[] = []
    const value = await ask(() => '{"a":1}', {
      prompt: 'x',
      cache: cache as Cache,
      maxCacheWait: 20,
      onAttempt: (outcome) => void notes.push(...outcome.notes.map((note) => note.code)),
      ...more,
    })
    return { value, notes }
  }
  for (const door of ['get', 'set'])
    test.for(ways)(`whose ${door} %s is CACHE_FAILED, and the answer comes`, async ([, does]) => {
      expect(await asked({ ...empty, [door]: does })).toEqual({ value: { a: 1 }, notes: ['CACHE_FAILED'] })
    })
  test.each([
    7,
    'x',
    null,
    [[]],
    {},
    { value: { a: 2 } },
    { value: { a: 2 }, repair_level: 'odd', notes: [] },
    { value: { a: 2 }, repair_level: 'none', notes: 'none' },
  ])('that answers with %j is CACHE_FAILED, and the answer comes', async (entry) => {
    expect(await asked({ ...empty, get: () => entry })).toEqual({ value: { a: 1 }, notes: ['CACHE_FAILED'] })
  })
  test('that never answers ends with the abort, if that comes first', async () => {
    const signal = AbortSignal.timeout(20)
    const stuck = { ...empty, get: () => never }
    await expect(asked(stuck, { signal, maxCacheWait: 60_000 })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
  })
})

test.for([
  ['throws', fail, { message: 'boom' }],
  ['rejects', reject, { code: 'BAD_OPTION' }],
  ['never answers', () => never, { code: 'BAD_OPTION' }],
  ['answers with nothing', () => undefined, { code: 'BAD_OPTION' }],
] as [string, () => unknown, object][])('a retry prompt that %s rejects the ask', async ([, does, error]) => {
  const retryPrompt = does as unknown as () => string
  await expect(ask(() => 'no JSON', { prompt: 'x', retryPrompt })).rejects.toMatchObject(error)
})

test.for(ways.slice(0, 2))('a listener to attempts that %s rejects the ask', async ([, does]) => {
  await expect(ask(() => '{"a":1}', { prompt: 'x', onAttempt: does })).rejects.toThrow('boom')
})

describe('an outbox or a ledger of the user', () => {
  let base = ''
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'sluice-inside-'))
  })
  afterEach(() => rmSync(base, { recursive: true }))
  const result = '{"issue_ref":"i#1","run_id":"r1","status":"ok","commit":"c","tests":"-"}'
  const worked = (options: Partial<WorkOptions>, script = `printf '%s' '${result}' > work_result.json`) =>
    work(
      { issue_ref: 'i#1', run_id: 'r1', repo_dir: base },
      {
        worker: 'script',
        command: ['sh', '-c', script],
        audit: join(base, 'audit'),
        maxOutboxWait: 50,
        ...options,
      },
    )
  const good = { find: async () => undefined, post: async () => undefined, archive: async () => {} }
  const outboxOf = (door: string, does: unknown) => ({ ...good, [door]: does }) as unknown as Outbox
  const audited = () => {
    const audit = join(base, 'audit')
    return JSON.parse(readFileSync(join(audit, readdirSync(audit)[0]!, 'work_audit.json'), 'utf8'))
  }

  for (const door of ['find', 'post', 'archive'])
    test.for(ways)(`an outbox whose ${door} %s is OUTBOX_FAILED, and the audit says so`, async ([, does]) => {
      const script =
        door === 'archive' ? `printf '%s' '${result.replace('r1', 'r2')}' > work_result.json` : undefined
      await expect(worked({ outbox: outboxOf(door, does) }, script)).rejects.toMatchObject({
        code: 'OUTBOX_FAILED',
      })
      const message = expect.stringMatching(/boom|did not answer/)
      expect(audited()).toMatchObject({ outbox: 'failed', failed: { code: 'OUTBOX_FAILED', message } })
    })

  const entry = { issue_ref: 'i#1', run_id: 'r1', state: 'active', version: 1 } as const
  const ledgerOf = (door: string, does: unknown) =>
    ({ read: async () => entry, swap: async () => entry, [door]: does }) as unknown as Ledger
  test.for(ways)('a ledger whose read %s is LEDGER_FAILED, before the worker starts', async ([, does]) => {
    await expect(worked({ ledger: ledgerOf('read', does), outbox: good })).rejects.toMatchObject({
      code: 'LEDGER_FAILED',
    })
    expect(readdirSync(base)).toEqual([])
  })
  test.for(ways)('a ledger whose swap %s is LEDGER_FAILED, and the audit says so', async ([, does]) => {
    await expect(worked({ ledger: ledgerOf('swap', does), outbox: good })).rejects.toMatchObject({
      code: 'LEDGER_FAILED',
    })
    // The comment was posted before.
    expect(audited()).toMatchObject({ outbox: 'posted', failed: { code: 'LEDGER_FAILED' } })
  })
  test('a ledger that never takes a change is LEDGER_FAILED, not a loop without end', async () => {
    const ledger = ledgerOf('swap', async () => undefined)
    await expect(worked({ ledger, outbox: good })).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
    await expect(activate(ledger, 'i#1', 'r9')).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
  })
  test.for(['args', 'env'])('an adapter whose %s throws is BAD_OPTION', async (door) => {
    const worker = { type: 'mine', command: ['true'], orderFile: true, [door]: fail }
    await expect(worked({ worker })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})

describe('an engine of the user', () => {
  const engine = (reader: Partial<Record<keyof EngineReader, unknown>>): Engine => ({
    name: 'mine',
    parser: 'mine',
    cut: { stdout: 'records' },
    open: () => ({ read: () => true, ...reader }) as EngineReader,
  })
  const lines = '{"n":1}\n{"n":2}\n{"n":3}\n'
  const read = (profile: Engine | Picker, options: EventOptions = {}) =>
    Readable.from([lines]).pipe(events(profile, options)).toArray() as unknown as Promise<Plain[]>
  const codesIn = (got: readonly { data: { code?: string } }[]) =>
    got.flatMap(({ data }) => (data.code === undefined ? [] : [data.code]))
  const rawIn = (got: readonly { event: { type: string }; data: { line: string } }[]) =>
    got.flatMap(({ event, data }) => (event.type === 'raw.stdout' ? [data.line] : []))
  const only2 = (frame: EngineFrame, say: { message(id: string, text: string): void }) => {
    const { n } = frame.value as { n: number }
    if (n === 2) fail()
    say.message('m', `${n}`)
    return true
  }

  test('that throws on a record: it is kept as raw with PROFILE_FAILED, and the others go on', async () => {
    const got = await read(engine({ read: only2 }))
    expect(codesIn(got)).toEqual(['PROFILE_FAILED', 'RAW_LINE'])
    expect(rawIn(got)).toEqual(['{"n":2}'])
    expect(got.filter(({ event }) => event.type === 'agent.message.final')).toHaveLength(2)
    expect(got.at(-1)?.event.type).toBe('lifecycle.completion.state')
  })
  test('that throws on every record is told once and counted at the end', async () => {
    const got = await read(engine({ read: fail }))
    const told = got.filter(({ data }) => data.code === 'PROFILE_FAILED').map(({ data }) => data.message)
    expect(told).toEqual([expect.stringContaining('boom'), expect.stringContaining('3 times')])
    expect(rawIn(got)).toHaveLength(3)
  })
  test.for([
    ['message', [7, 'x']],
    ['message', ['m', 7]],
    ['piece', ['message', 7, 'x']],
    ['piece', ['message', 'm', null]],
    ['piece', ['words', 'm', 'x']],
    ['user', [7]],
    ['reasoning', ['m', {}]],
    ['call', ['started', 'call-1', 'shell', {}]],
    ['call', ['completed', { name: 'shell' }]],
    ['call', ['failed', { id: 'call-1', name: 7 }]],
    ['call', ['ended', { id: 'call-1', name: 'shell' }]],
    ['turn', ['over']],
  ] as const)(
    'that says %s with %j: no record is made of it, and PROFILE_FAILED says why',
    async ([word, given]) => {
      const says = (_: unknown, say: Record<string, (...words: readonly unknown[]) => void>) => {
        say[word]!(...given)
        return true
      }
      const got = await read(engine({ read: says }))
      expect(got[0]?.data).toMatchObject({
        code: 'PROFILE_FAILED',
        message: expect.stringMatching(/must be a string, but is|say\.\w+ takes .* first$/),
      })
      expect(rawIn(got)).toHaveLength(3)
      expect(got.filter(({ event }) => /^(?:agent|tool|user)/.test(event.type))).toEqual([])
    },
  )
  test('that throws in a real run: the run is recorded to its end', async () => {
    const { cwd, audit } = workspace()
    const body = 'for (const line of lines) say(line)'
    const { events: got, end } = await ran({
      ...agent(cwd, body),
      engine: engine({ read: fail }),
      cwd,
      audit,
    })
    expect(got.map(({ data }) => (data as { code?: string }).code)).toContain('PROFILE_FAILED')
    expect(end).toMatchObject({ exitCode: 0, completion: { state: 'unknown' } })
  })
  test.for([
    ['rejects', reject],
    ['never answers', () => never],
    ['answers with nothing', () => undefined],
  ] as Case[])('whose read %s is BAD_OPTION', async ([, does]) => {
    await expect(read(engine({ read: does }))).rejects.toMatchObject({ name: 'Fault', code: 'BAD_OPTION' })
  })
  test('that cannot be opened is BAD_OPTION', () => {
    const open = (answer: unknown) => ({ ...engine({}), open: answer as () => EngineReader })
    for (const answer of [fail, reject, () => undefined, () => ({})])
      expect(() => events(open(answer))).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  })
  test.for(ways)('whose end %s: PROFILE_FAILED, and the run still ends', async ([, does]) => {
    const got = await read(engine({ end: does }))
    expect(codesIn(got).filter((code) => code === 'PROFILE_FAILED')).toHaveLength(1)
    expect(got.at(-1)?.event.type).toBe('lifecycle.completion.state')
  })
  test.for(ways)('that picks and %s is BAD_OPTION', async ([, does]) => {
    const { name, parser, cut } = engine({})
    const picker = { name, parser, cut, pick: does, fallback: engine({}) } as unknown as Picker
    await expect(read(picker)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
  test('does not hide a fault from below it', async () => {
    const say = engine({
      read: (_: unknown, { message }: { message(id: string, text: string): void }) => message('m', 'x'),
    })
    await expect(read(say, { clock: fail })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      cause: { message: 'boom' },
    })
  })
})
