import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJournal } from '../../src/disk/journal.ts'
import { isLocked } from '../../src/disk/lock.ts'
import { type MirrorOptions, mirror, openMirror } from '../../src/nats/mirror.ts'
import { shipTo } from '../../src/nats/ship.ts'
import { type SmallDisk, smallDisk } from '../faults/small-disk.ts'
import { type MemoryBroker, memoryBroker } from './memory-broker.ts'
import { until } from './nats-server.ts'
import { eventAt, journalsIn, lineAt, writeRun } from './runs.ts'

let dir = ''
let broker: MemoryBroker
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-mirror-')))
  mkdirSync(join(dir, 'host'))
  broker = memoryBroker()
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const host = (...names: string[]) => join(dir, 'host', ...names)
const copy = (...names: string[]) => join(dir, 'copy', ...names)

/** Mirrors until nothing comes any more. */
async function mirrored(options: MirrorOptions = {}) {
  const open = openMirror(copy(), { untilIdle: 50, ...options })
  try {
    return await open.follow(broker)
  } finally {
    open.close()
  }
}

/** The journals of the host as the mirror must have them. */
const expected = (tenant = 'default') =>
  Object.fromEntries(Object.entries(journalsIn(host())).map(([path, text]) => [join(tenant, path), text]))

test('every journal is the same, byte for byte, also one that is spelled in another way', async () => {
  writeRun(host('r1'), 'r1', 300, { pad: 500 })
  writeRun(host('long'), 'long', 3, { pad: 300_000 })
  mkdirSync(host('odd'))
  writeFileSync(
    host('odd', 'events.jsonl'),
    lineAt('odd', 1, 1).replace('{', '{ ').replace('0.5', '5e-1') +
      lineAt('odd', 1, 2).replace('é', '\\u00e9'),
  )
  await shipTo(broker, host(), {})
  expect(await mirrored()).toEqual({ runs: 3, over: 3, events: 305 })
  expect(journalsIn(copy())).toEqual(expected())
  // Once more: nothing new.
  expect(await mirrored()).toMatchObject({ events: 0 })
  expect(journalsIn(copy())).toEqual(expected())
})

test('goes on without its cursor, and with one that is no use', async () => {
  writeRun(host('r1'), 'r1', 100)
  writeRun(host('long'), 'long', 2, { pad: 300_000 })
  await shipTo(broker, host(), {})
  await mirrored()
  for (const spoil of [
    () => rmSync(copy('mirror.json')),
    () => writeFileSync(copy('mirror.json'), '{'),
    () =>
      writeFileSync(
        copy('mirror.json'),
        JSON.stringify({ stream: 'sluice', id: 'memory', at: 999, open: ['../x', 'a'] }),
      ),
    () =>
      writeFileSync(copy('mirror.json'), JSON.stringify({ stream: 'sluice', id: 'other', at: 1, open: 7 })),
  ]) {
    spoil()
    writeRun(host('r1'), 'r1', 1, { attempt: 2 + broker.blocks.length })
    await shipTo(broker, host(), {})
    expect(await mirrored()).toMatchObject({ events: 1 })
    expect(journalsIn(copy())).toEqual(expected())
  }
})

test('a file that lost its end is completed from the start of the stream', async () => {
  writeRun(host('r1'), 'r1', 10)
  await shipTo(broker, host(), {})
  await mirrored()
  const path = copy('default', 'r1', 'events.jsonl')
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, 4).join('\n'))
  writeRun(host('r1'), 'r1', 5, { from: 11 })
  await shipTo(broker, host(), {})
  await mirrored()
  expect(journalsIn(copy())).toEqual(expected())
})

test('a broker that lost its last blocks gets them again, and the mirror has all of it once', async () => {
  writeRun(host('r1'), 'r1', 1000, { pad: 300 })
  await shipTo(broker, host(), {})
  await mirrored()
  broker.lose(2)
  writeRun(host('r2'), 'r2', 3)
  await shipTo(broker, host(), {})
  await mirrored()
  writeRun(host('r2'), 'r2', 1, { from: 4 })
  await shipTo(broker, host(), {})
  await mirrored()
  expect(journalsIn(copy())).toEqual(expected())
})

test('a broker that lost blocks and got as many others in their place is read from its start', async () => {
  writeRun(host('r1'), 'r1', 10)
  await shipTo(broker, host(), {})
  await mirrored()
  broker.lose(1)
  for (const run of ['r2', 'r3']) writeRun(host(run), run, 3)
  // r1 is not sent again, so that no gap of it is met.
  await shipTo(broker, host('r2'), {})
  await shipTo(broker, host('r3'), {})
  await mirrored()
  expect(journalsIn(copy())).toEqual(expected())
})

test('holds the lock of a run until it is over, also after a restart', async () => {
  const book = openJournal(host('r1'))
  book.append(eventAt('r1', 1, 1))
  const stop = new AbortController()
  const shipped = shipTo(broker, host(), { follow: true, signal: stop.signal })
  await until(() => broker.blocks.length === 1)
  await mirrored()
  const lock = copy('default', 'r1', 'journal.lock')
  expect(isLocked(lock)).toBe(false)
  // Stopped in good order: the cursor knows the run. Killed: the lock file is left.
  for (const kill of [() => {}, () => writeFileSync(copy('mirror.json'), '')]) {
    kill()
    const again = openMirror(copy())
    expect(isLocked(lock)).toBe(true)
    again.close()
    writeFileSync(
      lock,
      JSON.stringify({
        token: 'x',
        pid: 2 ** 22 + 1,
        host: (await import('node:os')).hostname(),
        started: '1',
      }),
    )
  }
  const open = openMirror(copy(), { untilIdle: 50 })
  book.close()
  await until(() => broker.blocks.at(-1)!.end.over === true)
  await open.follow(broker)
  expect(isLocked(lock)).toBe(false)
  open.close()
  stop.abort()
  await shipped
})

test('only the runs of one tenant, and then those of all', async () => {
  writeRun(host('r'), 'r', 3)
  await shipTo(broker, host(), { tenant: 'a' })
  await shipTo(broker, host(), { tenant: 'b' })
  await mirrored({ tenant: 'b' })
  expect(journalsIn(copy())).toEqual(expected('b'))
  await mirrored()
  expect(journalsIn(copy())).toEqual({ ...expected('a'), ...expected('b') })
})

test('a run of which the broker has not all is told and left out; the others are there', async () => {
  writeRun(host('r1'), 'r1', 1000, { pad: 300 })
  writeRun(host('r2'), 'r2', 3)
  await shipTo(broker, host(), {})
  ;(broker.blocks as unknown[]).shift()
  const told: string[] = []
  await expect(mirrored({ onRefused: (path) => told.push(path) })).rejects.toMatchObject({
    code: 'BROKER_GAP',
  })
  expect(told).toEqual([copy('default', 'r1')])
  expect(journalsIn(copy())['default/r2/events.jsonl']).toBe(expected()['default/r2/events.jsonl'])
})

test.each([
  ['lines that are no events', 'hello\n'],
  ['a line without an end', lineAt('x', 1, 1).trimEnd()],
  ['events of two runs', lineAt('x', 1, 1) + lineAt('y', 1, 2)],
])('%s of others are not written', async (_, text) => {
  await broker.append({ tenant: 't', run: 'x' }, { attempt: 1, seq: 1, hash: '' }, Buffer.from(text), 0)
  await expect(mirrored()).rejects.toMatchObject({ code: 'BROKER_FAILED' })
  expect(existsSync(copy('t'))).toBe(false)
})

test('a subject that would lead to another folder is told and left out; the others are there', async () => {
  writeRun(host('r1'), 'r1', 3)
  await shipTo(broker, host(), {})
  const end = { attempt: 1, seq: 1, hash: '' }
  for (const [tenant, run] of [
    ['a/b', 'c'],
    ['t', '\\..\\x'],
    ['t', 'x'.repeat(300)],
  ] as const)
    await broker.append({ tenant, run }, end, Buffer.from(lineAt('x', 1, 1)), 0)
  writeRun(host('r2'), 'r2', 3)
  await shipTo(broker, host(), {})
  let told = 0
  await expect(mirrored({ onRefused: () => void told++ })).rejects.toMatchObject({ code: 'BROKER_FAILED' })
  expect(told).toBe(3)
  expect(journalsIn(copy())).toEqual(expected())
})

test('a run that was refused is read again by the next mirror, which has it when the directory is mended', async () => {
  writeRun(host('r1'), 'r1', 3)
  writeRun(host('r2'), 'r2', 3)
  await shipTo(broker, host(), {})
  writeRun(copy('default', 'r1'), 'other', 2)
  await expect(mirrored()).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  await expect(mirrored()).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  rmSync(copy('default', 'r1'), { recursive: true })
  await mirrored()
  expect(journalsIn(copy())).toEqual(expected())
})

test('after a new start of the machine all is read again: its files may have less than the cursor says', async () => {
  writeRun(host('r1'), 'r1', 10)
  await shipTo(broker, host(), {})
  await mirrored()
  const path = copy('default', 'r1', 'events.jsonl')
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, 4).join('\n'))
  const cursor = JSON.parse(readFileSync(copy('mirror.json'), 'utf8'))
  writeFileSync(copy('mirror.json'), JSON.stringify({ ...cursor, boot: 'before' }))
  await mirrored()
  expect(journalsIn(copy())).toEqual(expected())
})

test('a journal of a run that goes on is damaged: the others are mirrored, and it is told when it goes on', async () => {
  const book = openJournal(host('r1'))
  book.append(eventAt('r1', 1, 1))
  const stop = new AbortController()
  const shipped = shipTo(broker, host(), { follow: true, signal: stop.signal })
  await until(() => broker.blocks.length === 1)
  await mirrored()
  writeFileSync(copy('default', 'r1', 'events.jsonl'), `{}\n${lineAt('r1', 1, 1)}`)
  writeRun(host('r2'), 'r2', 3)
  await until(() => broker.blocks.length === 2)
  expect(await mirrored()).toMatchObject({ events: 3 })
  book.append(eventAt('r1', 1, 2))
  await until(() => broker.blocks.length === 3)
  await expect(mirrored()).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  stop.abort()
  await shipped
  book.close()
})

test('is not idle while the broker has no answer', async () => {
  writeRun(host('r1'), 'r1', 3)
  await shipTo(broker, host(), {})
  let asked = 0
  let answer = () => {}
  const leader = new Promise<void>((resolve) => {
    answer = resolve
  })
  const { pending, read } = broker
  const headless: MemoryBroker = {
    ...broker,
    async pending(...given) {
      if (++asked > 4) return pending(...given)
      if (asked === 4) answer()
      throw new Error('no answer')
    },
    async *read(...given) {
      await leader
      yield* read(...given)
    },
  }
  const open = openMirror(copy(), { untilIdle: 50 })
  expect(await open.follow(headless)).toMatchObject({ events: 3 })
  open.close()
})

test('counts the runs of its directory, also those of before, and holds none that is over', async () => {
  writeRun(host('r1'), 'r1', 2)
  writeRun(host('r2'), 'r2', 2)
  await shipTo(broker, host(), {})
  expect(await mirrored()).toEqual({ runs: 2, over: 2, events: 4 })
  expect(JSON.parse(readFileSync(copy('mirror.json'), 'utf8'))).toMatchObject({ open: [] })
  // One goes on, one is new, one is being written.
  writeRun(host('r1'), 'r1', 1, { attempt: 2 })
  writeRun(host('r3'), 'r3', 1)
  await shipTo(broker, host(), {})
  const book = openJournal(host('r4'))
  book.append(eventAt('r4', 1, 1))
  const stop = new AbortController()
  const shipped = shipTo(broker, host(), { follow: true, signal: stop.signal })
  await until(() => broker.blocks.some(({ name }) => name.run === 'r4'))
  expect(await mirrored()).toEqual({ runs: 4, over: 3, events: 3 })
  expect(await mirrored()).toEqual({ runs: 4, over: 3, events: 0 })
  book.close()
  await until(() => broker.blocks.at(-1)?.end.over === true)
  expect(await mirrored()).toEqual({ runs: 4, over: 4, events: 0 })
  stop.abort()
  await shipped
})

test('is not idle while it gets nothing of what the broker has, however long that takes', async () => {
  writeRun(host('r1'), 'r1', 3)
  await shipTo(broker, host(), {})
  let asked = 0
  let placed = () => {}
  const consumer = new Promise<void>((resolve) => {
    placed = resolve
  })
  const { pending, read } = broker
  const slow: MemoryBroker = {
    ...broker,
    pending(...given) {
      if (++asked === 5) placed()
      return pending(...given)
    },
    async *read(...given) {
      await consumer
      yield* read(...given)
    },
  }
  const open = openMirror(copy(), { untilIdle: 20 })
  expect(await open.follow(slow)).toMatchObject({ runs: 1, events: 3 })
  open.close()
})

test('killed after any block, with any cursor: the next one has all of it, once', async () => {
  writeRun(host('r1'), 'r1', 100, { pad: 2000 })
  writeRun(host('r2'), 'r2', 2, { pad: 150_000 })
  await shipTo(broker, host(), {})
  const { read } = broker
  const images: string[] = []
  const image = () => {
    const to = join(dir, `image-${images.length}`)
    if (existsSync(copy())) cpSync(copy(), to, { recursive: true })
    images.push(to)
  }
  const photographed: MemoryBroker = {
    ...broker,
    async *read(...given) {
      for await (const block of read(...given)) {
        image()
        yield block
      }
    },
  }
  const open = openMirror(copy(), { untilIdle: 50 })
  await open.follow(photographed)
  image()
  open.close()
  expect(images.length).toBeGreaterThan(8)
  const last = readFileSync(copy('mirror.json'), 'utf8')
  for (const [n, at] of images.entries()) {
    for (const path of readdirSync(at, { recursive: true, encoding: 'utf8' }))
      if (path.endsWith('.lock')) killHolder(join(at, path))
    // A cursor that was written before or at this block, and one that is not there.
    if (n % 2 === 0)
      writeFileSync(join(at, 'mirror.json'), JSON.stringify({ ...JSON.parse(last), at: n, open: [] }))
    const again = openMirror(at, { untilIdle: 50 })
    await again.follow(broker)
    again.close()
    expect(journalsIn(at)).toEqual(expected())
  }
})

/** Makes a lock that of a process that is gone. */
function killHolder(path: string): void {
  const holder = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...holder, pid: 2 ** 22 + 1 }))
}

const probe = smallDisk('64k')
const noDisk = typeof probe === 'string' ? ` (skipped: ${probe})` : ''
if (typeof probe !== 'string') probe.remove()
test.skipIf(noDisk !== '')(
  `a disk that is full ends it, and when there is room again, the next one has all of it${noDisk}`,
  async () => {
    const { dir: small, remount, remove } = smallDisk('64k') as SmallDisk
    try {
      writeRun(host('r1'), 'r1', 20, { pad: 1000 })
      writeRun(host('r2'), 'r2', 60, { pad: 1000 })
      writeRun(host('r3'), 'r3', 3)
      await shipTo(broker, host(), {})
      const mirroredTo = async () => {
        const open = openMirror(small, { untilIdle: 50 })
        await open.follow(broker).finally(() => open.close())
      }
      await expect(mirroredTo()).rejects.toMatchObject({
        code: 'JOURNAL_FAILED',
        message: expect.stringContaining('ENOSPC'),
      })
      remount('size=1m')
      await mirroredTo()
      expect(journalsIn(small)).toEqual(expected())
    } finally {
      remove()
    }
  },
)

test('a second mirror into the same directory is refused', () => {
  const first = openMirror(copy())
  expect(() => openMirror(copy())).toThrow(expect.objectContaining({ code: 'JOURNAL_LOCKED' }))
  first.close()
  openMirror(copy()).close()
})

test.each<[string, () => Promise<unknown>]>([
  ['no directory', () => mirror('')],
  ['a time that is none', () => mirror(copy(), { untilIdle: -1 })],
  ['an empty tenant', () => mirror(copy(), { tenant: '' })],
])('%s is BAD_OPTION', async (_, call) => {
  await expect(call()).rejects.toMatchObject({ code: 'BAD_OPTION' })
})
