import { spawn } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJournal } from '../../src/disk/journal.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import type { BlockEnd } from '../../src/nats/broker.ts'
import { ship, shipTo } from '../../src/nats/ship.ts'
import { built } from '../built.ts'
import { type MemoryBroker, memoryBroker } from './memory-broker.ts'
import { until } from './nats-server.ts'
import { eventAt, lineAt, writeRun } from './runs.ts'

let dir = ''
let broker: MemoryBroker
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-ship-')))
  broker = memoryBroker()
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** What a reader would have of a run: the parts of a line are put together. */
function text(run: string, tenant = 'default'): string {
  let whole = ''
  let line = ''
  for (const { name, end, bytes } of broker.blocks) {
    if (name.run !== run || name.tenant !== tenant) continue
    line = (end.from ? line : '') + Buffer.from(bytes)
    if (end.part) continue
    whole += line
    line = ''
  }
  return whole
}

const lines = (run: string, from: number, to: number, pad = 0) =>
  Array.from({ length: to - from + 1 }, (_, n) => lineAt(run, 1, from + n, pad)).join('')

test('sends whole blocks, and the last one says that the run is over', async () => {
  writeRun(join(dir, 'x', 'r1'), 'r1', 500, { pad: 300 })
  const done = await shipTo(broker, dir, {})
  expect(done).toMatchObject({ runs: 1, over: 1, events: 500 })
  expect(text('r1')).toBe(lines('r1', 1, 500, 300))
  expect(broker.blocks.length).toBeLessThan(8)
  expect(broker.blocks.map(({ end }) => end.over ?? false)).toEqual([
    ...broker.blocks.slice(1).map(() => false),
    true,
  ])
})

test('sends nothing twice when it is started again, and goes on where it was', async () => {
  writeRun(join(dir, 'r1'), 'r1', 10)
  await shipTo(broker, dir, {})
  const before = broker.blocks.length
  expect(await shipTo(broker, dir, {})).toMatchObject({ runs: 1, over: 1, events: 0 })
  expect(broker.blocks).toHaveLength(before)
  writeRun(join(dir, 'r1'), 'r1', 5, { attempt: 2 })
  await shipTo(broker, dir, {})
  expect(broker.blocks.at(-1)!.end).toMatchObject({ attempt: 2, seq: 5, over: true })
})

test.each(['lost', 'unanswered'] as const)(
  'an append whose answer is %s is neither missing nor there twice',
  async (what) => {
    writeRun(join(dir, 'r1'), 'r1', 1000, { pad: 300 })
    broker.trouble.push('lost', ...([undefined, what, undefined, what, what, undefined, what] as never[]))
    await shipTo(broker, dir, {})
    expect(text('r1')).toBe(lines('r1', 1, 1000, 300))
  },
)

test('a line that is too long for a block goes in parts, through lost answers', async () => {
  mkdirSync(join(dir, 'r1'))
  const all =
    lines('r1', 1, 3) + lineAt('r1', 1, 4, 1_000_000) + lineAt('r1', 1, 5) + lineAt('r1', 1, 6, 200_000)
  writeFileSync(join(dir, 'r1', 'events.jsonl'), all)
  broker.trouble.push(
    ...([undefined, undefined, undefined, 'lost', undefined, undefined, 'unanswered'] as never[]),
  )
  await shipTo(broker, dir, {})
  expect(text('r1')).toBe(all)
  expect(broker.blocks.every(({ bytes }) => bytes.length <= broker.maxBlock)).toBe(true)
  const parts = broker.blocks.filter(({ end }) => end.part).length
  expect(parts).toBeGreaterThanOrEqual(18)
  expect(parts).toBeLessThanOrEqual(20)
})

test('a line of which another process left a part that does not fit is begun again', async () => {
  mkdirSync(join(dir, 'r1'))
  const all = lineAt('r1', 1, 1, 200_000)
  writeFileSync(join(dir, 'r1', 'events.jsonl'), all)
  const end: BlockEnd = { attempt: 0, seq: 0, hash: '', part: { bytes: 3, hash: 'other' } }
  await broker.append({ tenant: 'default', run: 'r1' }, end, Buffer.from('{"a'), 0)
  await shipTo(broker, dir, {})
  expect(text('r1')).toBe(all)
})

test.each([
  ['before', false],
  ['after', true],
])(
  'killed at any question to the broker, %s it was done: the next one sends the rest, once',
  async (_, done) => {
    writeRun(join(dir, 'r1'), 'r1', 150, { pad: 1000 })
    writeRun(join(dir, 'long'), 'long', 2, { pad: 150_000 })
    for (let calls = 0, all = false; !all; calls++) {
      broker = memoryBroker()
      const stop = new AbortController()
      let left = calls
      const dying = async <T>(act: () => Promise<T>): Promise<T> => {
        if (left-- > 0) return act()
        if (done) await act()
        stop.abort()
        return new Promise(() => {})
      }
      const { append, last } = broker
      const killed: MemoryBroker = {
        ...broker,
        append: (...given) => dying(() => append(...given)),
        last: (name) => dying(() => last(name)),
      }
      all = await shipTo(killed, dir, { signal: stop.signal, maxInFlight: 1 }).then(
        () => true,
        () => false,
      )
      await shipTo(broker, dir, {})
      expect(text('r1')).toBe(lines('r1', 1, 150, 1000))
      expect(text('long')).toBe(lines('long', 1, 2, 150_000))
    }
  },
)

test('a journal that is written anew under the same name, with as many bytes, is another writer', async () => {
  writeRun(join(dir, 'r1'), 'r1', 10)
  const stop = new AbortController()
  let refused: unknown
  const { signal } = stop
  const shipped = shipTo(broker, dir, { follow: true, signal, onRefused: (_, fault) => (refused = fault) })
  await until(() => text('r1') === lines('r1', 1, 10))
  writeFileSync(join(dir, 'r1', 'events.jsonl'), lines('r1', 1, 12).replaceAll('line', 'lime'))
  await until(() => refused !== undefined)
  stop.abort()
  await expect(shipped).rejects.toMatchObject({ code: 'RUN_REFUSED' })
  expect(text('r1')).toBe(lines('r1', 1, 10))
})

test('a broker that is there and takes nothing is told: at the end of maxStall, or with follow once', async () => {
  writeRun(join(dir, 'r1'), 'r1', 10)
  writeRun(join(dir, 'r2'), 'r2', 10)
  let full = true
  const { append } = broker
  const filled: MemoryBroker = {
    ...broker,
    append: (...given) => (full ? Promise.reject(new Error('maximum bytes exceeded')) : append(...given)),
  }
  await expect(shipTo(filled, dir, { maxStall: 200 })).rejects.toMatchObject({
    code: 'BROKER_FAILED',
    message: expect.stringContaining('maximum bytes exceeded'),
  })
  const stop = new AbortController()
  let told = 0
  const onStall = () => void told++
  const shipped = shipTo(filled, dir, { follow: true, maxStall: 200, signal: stop.signal, onStall })
  await until(() => told > 0)
  full = false
  await until(() => text('r1') + text('r2') === lines('r1', 1, 10) + lines('r2', 1, 10))
  stop.abort()
  await shipped
  expect(told).toBe(1)
})

test('a process that is late does not take its own delay for the silence of the broker', async () => {
  writeRun(join(dir, 'r1'), 'r1', 10)
  let failures = 0
  const { append } = broker
  const slow: MemoryBroker = {
    ...broker,
    append(...given) {
      if (failures++ === 3) return append(...given)
      for (const until = performance.now() + 1200; performance.now() < until; );
      return Promise.reject(new Error('no answer'))
    },
  }
  expect(await shipTo(slow, dir, { maxStall: 2000 })).toMatchObject({ over: 1, events: 10 })
})

test('an event whose answer was lost has arrived, and is counted once', async () => {
  writeRun(join(dir, 'r1'), 'r1', 10)
  writeRun(join(dir, 'long'), 'long', 2, { pad: 300_000 })
  let sent = 0
  const { append } = broker
  const deaf: MemoryBroker = {
    ...broker,
    async append(...given) {
      const at = await append(...given)
      if (sent++ % 2 === 0) throw new Error('no answer')
      return at
    },
  }
  const found = await shipTo(deaf, dir, {})
  expect(found).toMatchObject({ runs: 2, over: 2, events: 12 })
  expect(found.bytes).toBe(Buffer.byteLength(text('r1')) + Buffer.byteLength(text('long')))
})

test('waits for a run that is being written, and ends when it is over', async () => {
  const book = openJournal(join(dir, 'r1'))
  book.append(eventAt('r1', 1, 1))
  const shipped = shipTo(broker, dir, {})
  await until(() => broker.blocks.length === 1)
  book.append(eventAt('r1', 1, 2))
  await until(() => broker.blocks.length === 2)
  expect(broker.blocks[1]!.end).toEqual({ attempt: 1, seq: 2, hash: expect.any(String) })
  book.close()
  expect(await shipped).toMatchObject({ over: 1, events: 2 })
  expect(broker.blocks.at(-1)).toMatchObject({ end: { seq: 2, over: true }, bytes: Buffer.alloc(0) })
})

test('follow finds new runs and runs that go on, until the signal', async () => {
  writeRun(join(dir, 'r1'), 'r1', 3)
  const stop = new AbortController()
  const shipped = shipTo(broker, dir, { follow: true, signal: stop.signal })
  await until(() => text('r1') === lines('r1', 1, 3))
  writeRun(join(dir, 'deep', 'er', 'r2'), 'r2', 4)
  await until(() => text('r2') === lines('r2', 1, 4))
  writeRun(join(dir, 'r1'), 'r1', 1, { attempt: 2 })
  await until(() => text('r1') === lines('r1', 1, 3) + lineAt('r1', 2, 1))
  stop.abort()
  expect(await shipped).toMatchObject({ runs: 2, events: 8 })
})

test('an empty journal, half a line, and lines at the end that are no events are what a crash left: not sent', async () => {
  mkdirSync(join(dir, 'empty'))
  writeFileSync(join(dir, 'empty', 'events.jsonl'), '')
  writeRun(join(dir, 'half'), 'half', 3)
  appendFileSync(join(dir, 'half', 'events.jsonl'), lineAt('half', 1, 4).slice(0, 50))
  writeRun(join(dir, 'torn'), 'torn', 3)
  appendFileSync(join(dir, 'torn', 'events.jsonl'), '\u0000\u0000\n{"a":\n')
  await shipTo(broker, dir, {})
  expect(text('half')).toBe(lines('half', 1, 3))
  expect(text('torn')).toBe(lines('torn', 1, 3))
  for (const run of ['half', 'torn'])
    expect(broker.blocks.findLast(({ name }) => name.run === run)?.end.over).toBe(true)
  writeRun(join(dir, 'empty'), 'empty', 2)
  // The recorder cut it off and wrote another one.
  truncateSync(join(dir, 'half', 'events.jsonl'), Buffer.byteLength(lines('half', 1, 3)))
  writeRun(join(dir, 'half'), 'half', 1, { from: 4, pad: 9 })
  await shipTo(broker, dir, {})
  expect(text('half')).toBe(lines('half', 1, 3) + lineAt('half', 1, 4, 9))
  expect(text('empty')).toBe(lines('empty', 1, 2))
})

test.each<[string, string, (path: string) => void]>([
  [
    'another content of the same attempt',
    'that event is not in',
    () => writeRun(join(dir, 'r1'), 'r1', 10, { pad: 1 }),
  ],
  ['fewer events than the broker has', 'that event is not in', () => writeRun(join(dir, 'r1'), 'r1', 4)],
  [
    'an attempt that another one followed',
    'up to event 2.1',
    (path) => {
      writeRun(join(dir, 'r1'), 'r1', 1, { attempt: 2 })
      void path
    },
  ],
  ['a gap', 'damaged at byte', (path) => appendFileSync(path, lineAt('r1', 1, 12))],
  [
    'a line that is no event before others',
    'damaged at byte',
    (path) => appendFileSync(path, `{}\n${lineAt('r1', 1, 11)}`),
  ],
])('%s is refused for good, and the others are sent', async (what, message, change) => {
  writeRun(join(dir, 'r1'), 'r1', 10)
  const path = join(dir, 'r1', 'events.jsonl')
  if (what.startsWith('an attempt')) {
    change(path)
    await shipTo(broker, dir, {})
    writeRun(join(dir, 'r1'), 'r1', 11)
  } else {
    await shipTo(broker, dir, {})
    change(path)
  }
  writeRun(join(dir, 'r2'), 'r2', 3)
  const told: string[] = []
  const before = text('r1')
  await expect(shipTo(broker, dir, { onRefused: (at) => told.push(at) })).rejects.toMatchObject({
    message: expect.stringContaining(message),
  })
  expect(told).toEqual([join(dir, 'r1')])
  expect(text('r1')).toBe(before)
  expect(text('r2')).toBe(lines('r2', 1, 3))
})

test('two writers of one run at once: all events are of one of them, and the other is refused', async () => {
  const [one, two] = ['one', 'two'].map((name) => join(dir, name))
  writeRun(join(one!, 'r'), 'r', 2000, { pad: 200 })
  writeRun(join(two!, 'r'), 'r', 2000, { pad: 201 })
  const ends = await Promise.allSettled([shipTo(broker, one!, {}), shipTo(broker, two!, {})])
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const won = ends[0]!.status === 'fulfilled' ? 200 : 201
  expect(text('r')).toBe(lines('r', 1, 2000, won))
  expect(ends.find((end) => end.status === 'rejected')).toMatchObject({ reason: { code: 'RUN_REFUSED' } })
})

test('two who ship the same directory do not hinder each other', async () => {
  writeRun(join(dir, 'r'), 'r', 2000, { pad: 200 })
  writeRun(join(dir, 'long'), 'long', 2, { pad: 700_000 })
  await Promise.all([shipTo(broker, dir, {}), shipTo(broker, dir, {})])
  expect(text('r')).toBe(lines('r', 1, 2000, 200))
  expect(text('long')).toBe(lines('long', 1, 2, 700_000))
})

test('the same run id of two tenants is two runs', async () => {
  writeRun(join(dir, 'a', 'r'), 'r', 3)
  writeRun(join(dir, 'b', 'r'), 'r', 5)
  await shipTo(broker, join(dir, 'a'), { tenant: 'host-a' })
  await shipTo(broker, join(dir, 'b'), { tenant: 'host.b' })
  expect(text('r', 'host-a')).toBe(lines('r', 1, 3))
  expect(text('r', 'host%2Eb')).toBe(lines('r', 1, 5))
})

test('redact changes what leaves, other patterns later are no other writer, and one that throws lets nothing out', async () => {
  writeRun(join(dir, 'r'), 'r', 3)
  const hide = (mark: string) => (event: AgentEvent) =>
    JSON.parse(JSON.stringify(event).replace(/line \d/, mark)) as AgentEvent
  await shipTo(broker, dir, { redact: hide('1') })
  writeRun(join(dir, 'r'), 'r', 2, { from: 4 })
  await shipTo(broker, dir, { redact: hide('a much longer mark '.repeat(10_000)) })
  expect(text('r').includes('line ')).toBe(false)
  expect(
    text('r')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).seq),
  ).toEqual([1, 2, 3, 4, 5])
  writeRun(join(dir, 'r'), 'r', 1, { from: 6 })
  const before = broker.blocks.length
  const redact = () => {
    throw new Error('a pattern failed')
  }
  await expect(shipTo(broker, dir, { redact })).rejects.toMatchObject({
    code: 'RUN_REFUSED',
    message: expect.stringContaining('event 1.6'),
  })
  expect(broker.blocks).toHaveLength(before)
})

test('ships many runs', async () => {
  for (let n = 0; n < 100; n++) writeRun(join(dir, `r${n}`), `r${n}`, 3)
  expect(await shipTo(broker, dir, {})).toMatchObject({ runs: 100, over: 100, events: 300 })
})

test('an abort ends it, without follow with its reason', async () => {
  const book = openJournal(join(dir, 'r1'))
  book.append(eventAt('r1', 1, 1))
  const stop = new AbortController()
  const shipped = shipTo(broker, dir, { signal: stop.signal })
  await until(() => broker.blocks.length === 1)
  stop.abort(new Error('enough'))
  await expect(shipped).rejects.toThrow('enough')
  book.close()
})

test.each<[string, () => Promise<unknown>]>([
  ['no directory', () => ship('')],
  ['a directory that is not there', () => ship('/nowhere/at/all')],
  ['a stream name with a dot', () => ship('.', { stream: 'a.b' })],
  ['an address that is none', () => ship('.', { servers: 'nats://' })],
  ['four replicas', () => ship('.', { replicas: 4 })],
  ['a number as redact', () => ship('.', { redact: 7 as never })],
  ['a creds file that is not there', () => ship('.', { creds: '/nowhere' })],
  ['a time to connect that is none', () => ship('.', { connectTimeout: Number.NaN })],
  ['no runs at once', () => ship('.', { maxInFlight: 0 })],
  ['a text as tls', () => ship('.', { tls: 'yes' as never })],
  ['a user that is badly encoded', () => ship('.', { servers: 'nats://a%zz:b@127.0.0.1' })],
  ['an address of another protocol', () => ship('.', { servers: 'http://127.0.0.1:4222' })],
])('%s is BAD_OPTION', async (_, call) => {
  await expect(call()).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('without the packages it says what to install', async () => {
  const code = `
    import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(\`export async function resolve(name, context, next) {
      if (name.startsWith('@nats-io/')) throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    }\`))
    const { ship } = await import(${JSON.stringify(built('src/nats.ts'))})
    await ship('.').catch(({ code, message }) => console.log(code, message))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code])
  let out = ''
  for await (const chunk of child.stdout) out += chunk
  expect(out).toContain('BROKER_MISSING')
  expect(out).toContain('npm install @nats-io/transport-node@3 @nats-io/jetstream@3')
})
