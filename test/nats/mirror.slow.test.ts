import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type MirrorOptions, mirror, openMirror } from '../../src/nats/mirror.ts'
import { shipTo } from '../../src/nats/ship.ts'
import { openJournal } from '../../src/sinks/journal.ts'
import { isLocked } from '../../src/sinks/lock.ts'
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
  expect(journalsIn(copy())['t/x/events.jsonl']).toBe('')
})

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
