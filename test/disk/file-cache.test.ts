import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { ask } from '../../src/ask/ask.ts'
import { type CacheEntry, fileCache } from '../../src/disk/cache.ts'
import { model } from '../ask/model.ts'
import { slow } from '../pace.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ask-cache-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const entry = (value: unknown): CacheEntry => ({ value, repair_level: 'none', notes: [] })

test('keeps an entry for other processes', async () => {
  await fileCache(dir).set('k', entry({ a: 1 }))
  expect(await fileCache(dir).get('k')).toEqual(entry({ a: 1 }))
  expect(await fileCache(dir).get('other')).toBeUndefined()
  expect(await fileCache(join(dir, 'none')).get('k')).toBeUndefined()
})

test('takes any key without leaving its directory', async () => {
  await fileCache(dir).set('../../etc/passwd\0', entry(1))
  expect(readdirSync(dir)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json$/)])
})

test('a pipe in the place of an entry is as good as absent, and nothing waits for it', async () => {
  await fileCache(dir).set('k', entry(1))
  const [name] = readdirSync(dir)
  rmSync(join(dir, name!))
  execFileSync('mkfifo', [join(dir, name!)])
  expect(await fileCache(dir).get('k')).toBeUndefined()
})

test.runIf(slow)('stays bounded: the oldest go', async () => {
  const cache = fileCache(dir, { maxEntries: 20 })
  for (let i = 0; i < 100; i++) await cache.set(`k${i}`, entry(i))
  expect(readdirSync(dir).length).toBeLessThanOrEqual(20)
  expect(await cache.get('k99')).toEqual(entry(99))
  expect(await cache.get('k0')).toBeUndefined()
})

test('does not keep, and does not read, what is too large', async () => {
  const cache = fileCache(dir, { maxBytes: 1000 })
  await cache.set('k', entry('x'.repeat(2000)))
  expect(readdirSync(dir)).toEqual([])
  await cache.set('k', entry('x'))
  truncateSync(join(dir, readdirSync(dir)[0]!), 2 ** 31)
  expect(await cache.get('k')).toBeUndefined()
})

test.each([
  '',
  '{',
  '[]',
  'null',
  '{"key":"other","value":1,"repair_level":"none","notes":[]}',
  '{"key":"k","value":1}',
])('takes a file that holds %j for absent', async (text) => {
  const cache = fileCache(dir)
  await cache.set('k', entry(1))
  writeFileSync(join(dir, readdirSync(dir)[0]!), text)
  expect(await cache.get('k')).toBeUndefined()
})

test('never shows half an entry to a reader while it is written again and again', async () => {
  const cache = fileCache(dir)
  const big = entry('x'.repeat(100_000))
  const times = slow ? 50 : 10
  await cache.set('k', big)
  const writing = (async () => {
    for (let i = 0; i < times; i++) await cache.set('k', big)
  })()
  for (let i = 0; i < times; i++) expect(await cache.get('k')).toEqual(big)
  await writing
})

test('serves ask: the second question costs no call', async () => {
  let calls = 0
  const call = async () => {
    calls++
    return 'Here: {"a": 1,}'
  }
  const options = { prompt: 'p', schema: { type: 'object', required: ['a'] }, cache: fileCache(dir) }
  expect(await ask(call, options)).toEqual({ a: 1 })
  expect(await ask(call, options)).toEqual({ a: 1 })
  expect(calls).toBe(1)
  const kept = JSON.parse(readFileSync(join(dir, readdirSync(dir)[0]!), 'utf8'))
  expect(kept).toMatchObject({ value: { a: 1 }, repair_level: 'deterministic_generic' })
})

test('a directory that is a file is a cache that fails: the answer comes all the same, with a note', async () => {
  writeFileSync(join(dir, 'file'), '')
  const notes: string[] = []
  const { call } = model('{"a":1}')
  const value = await ask(call, {
    prompt: 'x',
    cache: fileCache(join(dir, 'file')),
    onAttempt: (outcome) => notes.push(...outcome.notes.map(({ code }) => code)),
  })
  expect(value).toEqual({ a: 1 })
  expect(notes).toEqual(['CACHE_FAILED', 'CACHE_FAILED'])
})

test('a cache may throw anything', async () => {
  const notes: string[] = []
  const cache = {
    get() {
      throw 'words'
    },
    set: () => undefined,
  }
  const { call } = model('{"a":1}')
  await ask(call, {
    prompt: 'x',
    cache,
    onAttempt: (outcome) => notes.push(...outcome.notes.map(({ message }) => message)),
  })
  expect(notes).toEqual(['the cache could not be read: words'])
})

test('what JSON cannot keep is not kept', async () => {
  const kept = new Map<string, CacheEntry>()
  const schema = z.object({ a: z.number().transform((n) => BigInt(n)) })
  for (const _ of [1, 2]) {
    const { call, asked } = model('{"a":1}')
    expect(await ask(call, { prompt: 'x', schema, cacheKey: 'k', cache: kept })).toEqual({ a: 1n })
    expect(asked).toHaveLength(1)
  }
  expect(kept.size).toBe(0)
})
