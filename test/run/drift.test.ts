import fs, { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Engine } from '../../src/events/engine.ts'
import { drift } from '../../src/run/drift.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-drift-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(home, { recursive: true })
})

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
  return join(home, path)
}
const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('')

const thread = { type: 'thread.started', thread_id: 't-1' }
const turn = { type: 'turn.started' }
const odd = { type: 'turn.rewound', by: 1 }
const done = { type: 'turn.completed', usage: {} }
const message = {
  type: 'item.completed',
  item: { id: 'i1', type: 'agent_message', text: 'hi', mood: 'glad' },
}

describe('drift', () => {
  test('counts unknown types and fields by engine and version, and tells the first place', async () => {
    write('runs/a/stdout.1.log', lines(thread, turn, odd, odd, message, done))
    write('runs/a/meta.1.json', '{"engine":"codex","cli_version":"codex-cli 0.200.1","exit_code":0}')
    write('runs/b/stdout.log', lines(thread, turn, message, odd, done))
    write('runs/b/meta.json', '{"engine":"codex","version":"0.200.1","exit_code":0}')
    write('runs/c/stdout.log', lines(thread, turn, done))
    const report = await drift([join(home, 'runs')])
    const first = join(home, 'runs/a/stdout.1.log')
    const [changed, plain] = report.engines
    expect(changed).toEqual({
      engine: 'codex',
      parser: 'codex_ndjson',
      version: '0.200.1',
      runs: 2,
      drifted: 2,
      records: 11,
      types: [
        { name: 'turn.rewound', count: 3, runs: 2, first: { path: first, byte: lines(thread, turn).length } },
      ],
      fields: [
        {
          name: 'mood',
          count: 2,
          runs: 2,
          first: { path: first, byte: lines(thread, turn, odd, odd).length },
        },
      ],
    })
    expect(plain).toMatchObject({
      version: 'unknown',
      runs: 1,
      drifted: 0,
      records: 3,
      types: [],
      fields: [],
    })
    expect(report).toMatchObject({ runs: 3, records: 14, no_engine: { count: 0 }, unreadable: { count: 0 } })
  })

  test('each attempt is a run, and the place is in the log of its channel', async () => {
    write('stdout.1.log', lines(thread, done))
    write('pty-output.2.log', lines(thread, odd, done))
    const { engines } = await drift([home])
    expect(engines).toMatchObject([{ runs: 2, drifted: 1 }])
    expect(engines[0]!.types[0]!.first).toEqual({
      path: join(home, 'pty-output.2.log'),
      byte: lines(thread).length,
    })
  })

  test('reads single logs and session files where a folder has no run, and takes no other text for one', async () => {
    write('logs/one.log', lines(thread, odd, done))
    write('logs/two.ndjson', lines({ a: 1 }, { a: 2 }))
    write('logs/notes.log', 'nothing of an agent\n')
    write('logs/data.json', lines(thread))
    fs.cpSync('fixtures/codex-session/0.166.0-reasoning/session.jsonl', join(home, 'logs/rollout-1.jsonl'))
    write('run/stdout.log', 'plain words\n')
    write('run/chunks.jsonl', lines({ a: 1 }, { a: 2 }))
    write('audit/events.jsonl', lines({ protocol_version: 'rasp/1.0', type: 'user.message' }))
    const { engines, runs, no_engine } = await drift([home])
    expect(runs).toBe(4)
    expect(engines.map(({ parser, runs }) => [parser, runs])).toEqual([
      ['codex_ndjson', 1],
      ['codex_session', 1],
      ['text', 1],
    ])
    expect(no_engine).toMatchObject({ count: 1, first: [{ path: join(home, 'logs/two.ndjson'), byte: 0 }] })
    expect(no_engine.first[0]!.message).toContain('{a}')
  })

  test('the session files of Copilot were taken for our own events', async () => {
    const start = { type: 'session.start', id: 'i', data: { sessionId: 's', copilotVersion: '1.0.102' } }
    write('session-state/s/events.jsonl', lines(start, { type: 'brand.new', id: 'j', data: {} }))
    const { engines, runs } = await drift([join(home, 'session-state')])
    expect(runs).toBe(1)
    expect(engines).toMatchObject([
      { parser: 'copilot_session', version: '1.0.102', types: [{ name: 'brand.new', count: 1 }] },
    ])
  })

  test('a log that is named is a run, whatever is in it', async () => {
    const report = await drift([write('notes.log', 'words\n'), write('x.txt', lines(thread, done))])
    expect(report.engines.map(({ engine, runs }) => [engine, runs])).toEqual([
      ['codex', 1],
      ['text', 1],
    ])
  })

  test('finds the engine by shape if the one in the meta knows no record', async () => {
    write('stdout.log', lines(thread, turn, done))
    write('meta.json', '{"engine":"gemini","exit_code":0}')
    expect((await drift([home])).engines).toMatchObject([{ engine: 'codex', runs: 1 }])
  })

  test('tells what cannot be read, and reads the rest', async () => {
    write('a/stdout.log', lines(thread, done))
    write('b/stdout.log', lines(thread, done))
    write('b/meta.json', '{"engine":')
    write('c/stdout.log', lines(thread, done))
    write('d/stdout.log', lines(thread, done))
    const { readdirSync } = fs
    vi.spyOn(fs, 'readdirSync').mockImplementation(((path: string, ...more: []) => {
      if (path === join(home, 'c')) throw Object.assign(new Error('no'), { code: 'EACCES' })
      return readdirSync(path, ...more)
    }) as typeof readdirSync)
    const { runs, unreadable } = await drift([join(home, 'missing'), home])
    expect(runs).toBe(2)
    expect(unreadable).toEqual({
      count: 3,
      first: [
        { path: join(home, 'missing'), reason: 'ENOENT' },
        { path: join(home, 'b'), reason: expect.stringContaining('is damaged') },
        { path: join(home, 'c'), reason: 'EACCES' },
      ],
    })
  })

  test('names a log that may not be read once', async () => {
    write('one.log', lines(thread, done))
    const log = join(home, 'one.log')
    vi.spyOn(fs, 'accessSync').mockImplementation(() => {
      throw Object.assign(new Error('no'), { code: 'EACCES' })
    })
    expect((await drift([log])).unreadable.first).toEqual([{ path: log, reason: 'EACCES' }])
  })

  test('a link in a folder is not followed', async () => {
    write('outside/stdout.log', lines(thread, done))
    mkdirSync(join(home, 'runs'))
    fs.symlinkSync(join(home, 'outside'), join(home, 'runs/latest'))
    expect((await drift([join(home, 'runs')])).runs).toBe(0)
    expect((await drift([join(home, 'runs/latest')])).runs).toBe(1)
  })

  test('what it holds is bounded, however many names there are', async () => {
    const named = (from: number) => Array.from({ length: 300 }, (_, i) => ({ type: `t${from + i}` }))
    for (let run = 0; run < 5; run++) write(`${run}/stdout.log`, lines(thread, ...named(run * 300), done))
    const { engines } = await drift([home])
    const { types } = engines[0]!
    expect(types.length).toBeLessThanOrEqual(1000 + 1)
    expect(types.reduce((sum, { count }) => sum + count, 0)).toBe(1500)
    expect(types[0]).toMatchObject({ name: '…', runs: 5, first: null })
  })

  test('reads with an engine of your own, and an engine that is misused ends it', async () => {
    write('stdout.log', lines({ toy: 1, color: 'red' }))
    const toy: Engine = {
      name: 'toy',
      parser: 'toy_ndjson',
      cut: { stdout: 'records' },
      open: () => ({
        read({ value }, say) {
          say.fields(value as object, 'toy')
          say.status('turn_started', { engine_version: 'v2' } as object)
          return true
        },
      }),
    }
    const { engines } = await drift([home], { engine: toy })
    expect(engines).toMatchObject([{ engine: 'toy', version: 'v2', records: 1, fields: [{ name: 'color' }] }])
    const broken = { ...toy, open: () => ({}) as ReturnType<Engine['open']> }
    await expect(drift([home], { engine: broken })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})
