import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask } from '../../src/ask/ask.ts'
import { drive } from '../../src/base/stage.ts'
import { type CacheEntry, fileCache } from '../../src/disk/cache.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import type { Run, RunCommand } from '../../src/run/run-options.ts'
import { chatStage } from '../../src/views/chat.ts'
import { validChat, validEvents } from '../engines/valid.ts'
import { findRuns } from '../serve/find-runs.ts'
import { agent, ran, types, workspace } from './agent.ts'

const schema = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }

/** An agent that counts its starts, says this, and leaves so. */
function saying(text: string, exit = 0, more = '') {
  const { cwd, audit } = workspace()
  const message = JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } })
  const started = join(cwd, 'started')
  writeFileSync(started, '')
  const options = agent(
    cwd,
    `fs.appendFileSync(${JSON.stringify(started)}, 'x')
    say(lines[0]); say(lines[1]); say(${JSON.stringify(message)}); ${more}; say(lines[3]); process.exitCode = ${exit}`,
  )
  return { options: { ...options, cwd, audit }, starts: () => readFileSync(started, 'utf8').length }
}

describe('run({ cache })', () => {
  test('keeps a result that passed, and gives it again without starting anything', async () => {
    const cache = new Map<string, CacheEntry>()
    const { options, starts } = saying('{"a":1}')
    const first = await ran({ ...options, schema, cache })
    expect(first.end).toMatchObject({
      cached: null,
      result: { status: 'success', value: { a: 1 } },
      notes: [],
    })
    const journal = readFileSync(join(options.audit, 'events.jsonl'), 'utf8')

    const second = await ran({ ...options, schema, cache })
    expect(starts()).toBe(1)
    expect(types(second.events)).toEqual([
      'diagnostic.parser.warning',
      'lifecycle.run.result',
      'lifecycle.completion.state',
    ])
    expect(second.events[0]?.data).toMatchObject({
      code: 'RESULT_CACHED',
      message: expect.stringContaining(
        `nothing was run: the result is that of run ${first.end.runId}, attempt 1`,
      ),
    })
    expect(second.end).toMatchObject({
      cached: { run_id: first.end.runId, attempt_number: 1 },
      completion: first.end.completion,
      exitCode: null,
      signal: null,
      reason: null,
      result: { ...first.end.result, warnings: ['RESULT_CACHED'] },
    })
    validEvents(second.events)
    const chats = validChat(drive(chatStage(), second.events))
    expect(chats.map(({ type }) => type)).toEqual([
      'diagnostic.warning',
      'user.input.required',
      'conversation.ended',
    ])
    expect(chats[0]?.data).toMatchObject({ code: 'RESULT_CACHED' })
    // The audit is that of the real run alone, and its replay is the same.
    expect(readFileSync(join(options.audit, 'events.jsonl'), 'utf8')).toBe(journal)
    expect(types(await replay(options.audit, { schema }).toArray())).toEqual(types(first.events))
    expect(existsSync(join(options.audit, 'stdout.2.log'))).toBe(false)
  })

  test('leaves the directory as it is when the result is in the cache', async () => {
    const cache = new Map<string, CacheEntry>()
    const { options } = saying('{"a":1}')
    await ran({ ...options, schema, cache })
    for (const what of ['not there', 'empty', 'something else']) {
      const place = join(options.cwd, what)
      const audit = what === 'not there' ? join(place, 'a', 'b') : join(place, 'a')
      mkdirSync(what === 'not there' ? place : audit, { recursive: true })
      if (what === 'something else') writeFileSync(join(audit, 'events.jsonl'), '')
      const before = readdirSync(place, { recursive: true })
      expect((await ran({ ...options, audit, schema, cache })).end.cached).not.toBe(null)
      expect(readdirSync(place, { recursive: true }), what).toEqual(before)
      if (what !== 'something else') expect(findRuns(place)).toEqual([])
    }
  })

  test('frees the directory before the reader of a cached result hears of the end', async () => {
    const cache = new Map<string, CacheEntry>()
    const { options } = saying('{"a":1}')
    await ran({ ...options, schema, cache })
    const again = { ...options, audit: join(options.cwd, 'fresh'), engine: codex, schema, cache }
    for await (const _ of run(again));
    const { end } = run({ ...again, cache: undefined, fsDiff: false }).resume() as Run
    expect(await end).toMatchObject({ attempt: 1, cached: null })
  })

  test('keeps a repaired result, as it has passed the schema, and what was repaired', async () => {
    const cache = new Map<string, CacheEntry>()
    const { options, starts } = saying('Done: {"a":1,}')
    await ran({ ...options, schema, cache })
    const { end } = await ran({ ...options, schema, cache })
    expect(starts()).toBe(1)
    expect(end.result).toMatchObject({
      value: { a: 1 },
      repair_level: 'deterministic_generic',
      warnings: ['OUTPUT_REPAIRED_GENERIC', 'RESULT_CACHED'],
    })
  })

  test.each<[string, ReturnType<typeof saying>]>([
    ['breaks the schema', saying('{"a":"x"}')],
    ['has no payload', saying('done')],
    ['left with exit code 1, though its payload passed', saying('{"a":1}', 1)],
    ['left with exit code 1, though it gave the done marker', saying('{"a":1,"__SKILL_DONE__":true}', 1)],
    [
      'said that its turn failed',
      saying('{"a":1}', 0, `say('{"type":"turn.failed","error":{"message":"x"}}')`),
    ],
  ])('never keeps the result of a run that %s', async (_, { options, starts }) => {
    const cache = new Map<string, CacheEntry>()
    const { end } = await ran({ ...options, schema, cache })
    expect([starts(), cache.size, end.cached]).toEqual([1, 0, null])
  })

  test('never keeps the result of a run that was ended on request, though it left with 0', async () => {
    const cache = new Map<string, CacheEntry>()
    const { options } = saying(
      '{"a":1,"__SKILL_DONE__":true}',
      0,
      `await new Promise((done) => {
      const hold = setInterval(() => {}, 1000)
      process.once('SIGTERM', () => done(clearInterval(hold)))
      say('{"type":"item.completed","item":{"id":"r","type":"reasoning","text":"ready"}}')
    })`,
    )
    const live = run({ ...options, engine: codex, fsDiff: false, schema, cache })
    for await (const event of live) if (event.type === 'agent.reasoning.summary') live.kill('SIGTERM')
    expect(await live.end).toMatchObject({
      exitCode: 0,
      reason: 'interrupted',
      result: { status: 'failed' },
    })
    expect(cache.size).toBe(0)
  })

  test('tells runs apart by command, arguments, input, directory, schema, marker and key', async () => {
    const cache = new Map<string, CacheEntry>()
    const { options, starts } = saying('{"a":1,"done":true}')
    const other = workspace()
    const all: Partial<RunCommand>[] = [
      {},
      { args: [...options.args!, 'x'] },
      { input: { text: 'x' } },
      { cwd: other.cwd },
      { schema: { type: 'object' } },
      { doneMarker: 'done' },
      { cacheKey: 'commit 1' },
    ]
    for (const more of all) await ran({ ...options, schema, cache, ...more })
    expect([starts(), cache.size]).toEqual([all.length, all.length])
    for (const more of all) {
      expect((await ran({ ...options, schema, cache, ...more, timeout: 60_000 })).end.cached).not.toBeNull()
    }
    expect(starts()).toBe(all.length)
  })

  test('shares a file cache with ask, and outlives the audit', async () => {
    const { options, starts } = saying('{"a":1}')
    const cache = fileCache(join(options.cwd, 'cache'))
    await ran({ ...options, schema, cache })
    expect(await ask(() => '{"a":2}', { prompt: 'p', schema, cache })).toEqual({ a: 2 })
    const fresh = join(options.cwd, 'another-audit')
    expect((await ran({ ...options, audit: fresh, schema, cache })).end.result?.value).toEqual({ a: 1 })
    expect(starts()).toBe(1)
  })

  test('runs, and says CACHE_FAILED, when the cache fails', async () => {
    const { options, starts } = saying('{"a":1}')
    const down = () => {
      throw new Error('disk on fire')
    }
    const { end } = await ran({ ...options, schema, cache: { get: down, set: down } })
    expect(starts()).toBe(1)
    expect(end.notes).toMatchObject([{ code: 'CACHE_FAILED' }, { code: 'CACHE_FAILED' }])
    expect(end.result?.status).toBe('success')
  })

  test('does not believe an entry that breaks the schema, or that is no result of a run', async () => {
    const { options, starts } = saying('{"a":1}')
    const cache = new Map<string, CacheEntry>()
    await ran({ ...options, schema, cache })
    const [[key, entry]] = [...cache] as [[string, CacheEntry]]
    const bad: CacheEntry[] = [
      { ...entry, value: { a: 'x' } },
      { value: entry.value, repair_level: 'none', notes: [] },
      { ...entry, run: { ...entry.run!, completion: { ...entry.run!.completion, state: 'interrupted' } } },
    ]
    for (const one of bad) {
      cache.set(key, one)
      expect((await ran({ ...options, schema, cache })).end.cached).toBeNull()
    }
    expect(starts()).toBe(1 + bad.length)
  })

  const cache = new Map<string, CacheEntry>()
  test.each<[string, Partial<RunCommand>]>([
    ['no schema', {}],
    ['a schema that is code, and no key', { schema: z.object({ a: z.number() }) }],
    ['an engine that is code, and no key', { schema, engine: { ...codex, name: 'mine' } }],
    ['an input that is not known', { schema, input: 'inherit' }],
    ['a wait that is none', { schema, maxCacheWait: -1 }],
  ])('refuses %s before anything is made', async (_, more) => {
    const { audit } = workspace()
    await expect(run({ command: 'true', engine: codex, audit, cache, ...more }).end).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    expect(existsSync(audit)).toBe(false)
  })
})
