import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codex } from '../../src/engines.ts'
import { auto, chat, events, type Flow, frames, jsonl, sse, tap, values } from '../../src/index.ts'
import { journal } from '../../src/serve.ts'
import { outcomeStage } from '../../src/values/values.ts'
import { flow } from '../../src/values.ts'
import { agUi, agUiSse, aiSdk, aiSdkSse, markdown, redact } from '../../src/views.ts'

/** Every kind of flow: those that take bytes, and those that take the items of another one. */
const flows: Record<string, () => Flow<unknown>> = {
  frames: () => frames({ lines: true }),
  values: () => values({ lines: true }),
  'values with pick: last': () => values({ pick: 'last' }),
  'values with items': () => values({ items: 'a.*' }),
  'events of one engine': () => events(codex),
  'events of any engine': () => events(auto),
  'outcomes of frames': () => flow(outcomeStage()),
  chat: () => chat(),
  jsonl: () => jsonl(),
  sse: () => sse(),
  journal: () => journal(mkdtempSync(join(tmpdir(), 'pipe-errors-'))),
  'a flow of your own': () => flow((next) => next),
}

/** Paths of items that fit each other, two and three flows long. */
const chains: Record<string, () => Flow<unknown>[]> = {
  ...Object.fromEntries(Object.entries(flows).map(([name, made]) => [name, () => [made()]])),
  'events, chat': () => [events(codex), chat()],
  'values, jsonl': () => [values({ lines: true }), jsonl()],
  'events, chat, sse': () => [events(codex), chat(), sse()],
  'events, journal, chat': () => [events(codex), flows['journal']!(), chat()],
}

const missing = 'no-such-command'
const line = '{"type":"turn.started"}\n'

/** Pipes the source through all of them, as a user would write it. */
function piped(source: Readable, chain: readonly Flow<unknown>[]): Flow<unknown> {
  return chain.reduce<Readable>((above, below) => above.pipe(below), source) as Flow<unknown>
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** Only flows that take bytes are given some; the others get their error before the first item. */
const takesBytes = (name: string) => /^(frames|values|events)/.test(name)

const unhandled: unknown[] = []
const keep = (error: unknown) => void unhandled.push(error)
beforeAll(() => {
  process.on('unhandledRejection', keep)
  process.on('uncaughtException', keep)
  process.on('warning', keep)
})
afterAll(async () => {
  await nextTurn()
  process.off('unhandledRejection', keep)
  process.off('uncaughtException', keep)
  process.off('warning', keep)
  expect(unhandled).toEqual([])
})

const failures: Record<string, readonly [(source: PassThrough) => unknown, object]> = {
  'a source that fails': [(source) => source.destroy(new Error('wire cut')), { message: 'wire cut' }],
  'an error that is emitted by hand': [
    (source) => source.emit('error', new Error('wire cut')),
    { message: 'wire cut' },
  ],
  'a source that closes early': [(source) => source.destroy(), { code: 'ERR_STREAM_PREMATURE_CLOSE' }],
}

describe.each(Object.entries(failures))('%s', (_, [fail, wanted]) => {
  test('before the first byte rejects every flow', async () => {
    for (const [name, chain] of Object.entries(chains)) {
      const source = new PassThrough()
      const reading = drain(piped(source, chain()))
      setImmediate(() => fail(source))
      await expect(reading, name).rejects.toMatchObject(wanted)
    }
  })

  test('after some bytes rejects every flow that takes bytes', async () => {
    for (const [name, chain] of Object.entries(chains).filter(([name]) => takesBytes(name))) {
      const source = new PassThrough()
      const reading = drain(piped(source, chain()))
      source.write(line)
      await nextTurn()
      fail(source)
      await expect(reading, name).rejects.toMatchObject(wanted)
    }
  })

  test('gives one error in a pipeline, and everything is closed', async () => {
    for (const [name, chain] of Object.entries(chains)) {
      const source = new PassThrough()
      const parts = chain()
      const errors: unknown[] = []
      for (const part of parts) part.on('error', (error) => errors.push(error))
      const sink = new Writable({ objectMode: true, write: (_item, _encoding, done) => done() })
      const done = pipeline([source, ...parts, sink])
      setImmediate(() => fail(source))
      await expect(done, name).rejects.toMatchObject(wanted)
      expect(errors.length, name).toBeLessThanOrEqual(parts.length)
      expect(
        [...parts, sink].filter((stream) => !stream.destroyed),
        name,
      ).toEqual([])
    }
  })
})

test('a source that had closed before it was piped rejects', async () => {
  for (const [name, chain] of Object.entries(chains)) {
    const source = new PassThrough()
    source.destroy()
    await once(source, 'close')
    await expect(drain(piped(source, chain())), name).rejects.toMatchObject({
      code: 'ERR_STREAM_PREMATURE_CLOSE',
    })
  }
})

test('an end is an end, and leaves no listener behind', async () => {
  for (const [name, chain] of Object.entries(chains)) {
    const source = new PassThrough()
    const before = source.eventNames()
    const reading = drain(piped(source, chain()))
    source.end()
    await reading
    await nextTurn()
    expect(source.eventNames(), name).toEqual(before)
  }
})

describe('a command that cannot be started', () => {
  test('fails every flow with SPAWN_FAILED', async () => {
    for (const [name, chain] of Object.entries(chains))
      await expect(drain(piped(tap(spawn(missing)), chain())), name).rejects.toMatchObject({
        code: 'SPAWN_FAILED',
        message: expect.stringContaining(missing),
        cause: { code: 'ENOENT' },
      })
  })

  test('fails a pipeline with SPAWN_FAILED', async () => {
    const sink = new Writable({ objectMode: true, write: (_item, _encoding, done) => done() })
    const done = pipeline(tap(spawn(missing)), events(codex), chat(), sink)
    await expect(done).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
  })

  test('says that the working directory may be missing', async () => {
    const child = spawn(process.execPath, [], { cwd: '/no/such/directory' })
    await expect(drain(tap(child))).rejects.toThrow(/working directory/)
  })
})

describe('what is piped', () => {
  test('is let go by unpipe: its error is no longer an error of the flow', async () => {
    const source = new PassThrough()
    const lines = frames({ lines: true })
    source.pipe(lines)
    source.unpipe(lines)
    expect([source.listenerCount('error'), source.listenerCount('close')]).toEqual([0, 0])
    source.on('error', () => {})
    source.destroy(new Error('wire cut'))
    await nextTurn()
    expect(lines.destroyed).toBe(false)
    lines.end(line)
    await drain(lines)
  })

  test('may be piped again after unpipe', async () => {
    const source = new PassThrough()
    const lines = frames({ lines: true })
    for (let n = 0; n < 20; n++) {
      source.pipe(lines)
      source.unpipe(lines)
    }
    const reading = drain(source.pipe(lines))
    expect(source.listenerCount('error')).toBe(1)
    source.destroy(new Error('wire cut'))
    await expect(reading).rejects.toThrow('wire cut')
  })

  test('may have ten readers without a warning', async () => {
    const source = new PassThrough()
    const readers = Array.from({ length: 10 }, () => drain(source.pipe(frames({ lines: true }))))
    source.end(line)
    await Promise.all(readers)
  })

  test('fails all of its readers', async () => {
    const source = new PassThrough()
    const readers = Array.from({ length: 3 }, () => drain(source.pipe(frames({ lines: true }))))
    setImmediate(() => source.destroy(new Error('wire cut')))
    const results = await Promise.allSettled(readers)
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected'])
  })

  test('takes the other sources with it when it fails', async () => {
    const [one, two] = [new PassThrough(), new PassThrough()]
    const lines = frames({ lines: true })
    one.pipe(lines)
    two.pipe(lines)
    const reading = drain(lines)
    setImmediate(() => one.destroy(new Error('wire cut')))
    await expect(reading).rejects.toThrow('wire cut')
    expect(two.destroyed).toBe(true)
  })
})

test.each([
  ['chat', () => chat()],
  ['agUi', () => agUi()],
  ['aiSdk', () => aiSdk()],
  ['markdown', () => markdown()],
  ['redact', () => redact()],
  ['sse', () => sse()],
  ['agUiSse', () => agUiSse()],
  ['aiSdkSse', () => aiSdkSse()],
  ['journal', () => journal(mkdtempSync(join(tmpdir(), 'sluice-no-events-')))],
])('%s after tap() says that events() is missing between them', async (name, made) => {
  const child = spawn('echo', ['{"type":"thread.started","thread_id":"t"}'])
  await expect(
    tap(child)
      .pipe(made() as Flow<unknown>)
      .toArray(),
  ).rejects.toMatchObject({
    code: 'BAD_CHUNK',
    message: `${name} takes events, not the output of a process; put events() between them`,
  })
})
