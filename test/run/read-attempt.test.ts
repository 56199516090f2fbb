import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeWholeSync } from '../../src/disk/durable.ts'
import { Tail } from '../../src/disk/tail.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { listAttempts, pinned } from '../../src/run/attempt-logs.ts'
import { ChunkedLogs, parseChunkLine } from '../../src/run/chunk-log.ts'
import { readJson, readMeta } from '../../src/run/meta.ts'
import { type ReplayOptions, replay } from '../../src/run/replay.ts'
import { codexLines, types } from './agent.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-recorded-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const put = (name: string, content: unknown) =>
  writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content))

async function all(path: string, options?: ReplayOptions): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of replay(path, options)) events.push(event)
  return events
}

describe('the id of a run without one', () => {
  const id = async (path = dir) => (await all(path))[0]!.run_id

  test('is that of its events, else the name of its directory', async () => {
    put('stdout.log', codexLines.join('\n'))
    expect(await id()).toBe(dir.split('/').at(-1))
    put('events.jsonl', '{"run_id":"r-7"}\n{"run_id":"r-8"}\n')
    expect(await id()).toBe('r-7')
    put('events.jsonl', '{"run_id":7}\n')
    expect(await id()).toBe(dir.split('/').at(-1))
    put('events.jsonl', 'nonsense\n')
    expect(await id()).toBe(dir.split('/').at(-1))
  })

  test('is that of its other attempts, if one of them says it', async () => {
    for (const attempt of [1, 2]) put(`stdout.${attempt}.log`, codexLines.join('\n'))
    put('meta.2.json', '{"run_id":"r-2"}')
    expect(new Set((await all(dir)).map((event) => event.run_id))).toEqual(new Set(['r-2']))
  })

  test('is that of its events, also behind a first event that is longer than a block', async () => {
    put('stdout.log', codexLines.join('\n'))
    put('events.jsonl', `{"text":"${'x'.repeat(100_000)}","run_id":"r-7"}\n`)
    expect(await id()).toBe('r-7')
  })

  test('in .audit it is the name of the directory above', async () => {
    mkdirSync(join(dir, '.audit'))
    put('.audit/stdout.log', codexLines.join('\n'))
    expect(await id(join(dir, '.audit'))).toBe(dir.split('/').at(-1))
  })
})

test('without a start it began when its log was written last', async () => {
  put('pty-output.log', codexLines.join('\n'))
  utimesSync(join(dir, 'pty-output.log'), 1_000_000, 1_000_000)
  expect((await all(dir))[0]!.ts).toBe(new Date(1_000_000_000).toISOString())
})

test('an attempt that is not there is said', async () => {
  put('stdout.log', '')
  await expect(all(dir, { attempt: 3 })).rejects.toMatchObject({
    code: 'NOT_AN_AUDIT',
    message: expect.stringContaining('no attempt 3'),
  })
})

test.each([
  ['stderr.txt', 'raw.stderr'],
  ['pty.txt', 'raw.pty'],
  ['other.txt', 'raw.stdout'],
])('a single log is taken for the stream that its name says: %s', async (name, type) => {
  put(name, 'some words of no engine\n')
  const { codex } = await import('../../src/engines/codex/codex.ts')
  expect(types(await all(join(dir, name), { engine: codex }))).toContain(type)
})

test('a diff that was recorded is used as far as it is one', async () => {
  put('stdout.log', codexLines.join('\n'))
  put('meta.json', { engine: 'codex', exit_code: 0, cwd: dir })
  put('fs-diff.json', { created: ['a.txt', 7], modified: 'none', deleted: ['b.txt'], outside: [] })
  const files = (await all(dir)).filter(({ event }) => event.category === 'artifact')
  expect(files.map(({ event, data }) => [event.type, data])).toEqual([
    ['artifact.created', { path: 'a.txt' }],
    ['artifact.deleted', { path: 'b.txt' }],
  ])
})

test('a log that became shorter than its chunks say ends where it ends', async () => {
  put('stdout.1.log', `${codexLines[0]}\n`)
  put('chunks.1.jsonl', `["stdout",0,${codexLines[0]!.length + 100},5]\n["stdout",500,10,6]\n`)
  put('meta.1.json', { engine: 'codex' })
  expect(types(await all(dir))).toContain('lifecycle.run.status')
})

describe('a line of the chunk log', () => {
  test.each([
    ['["stdout",0,77,659.8]', { channel: 'stdout', from: 0, length: 77, ms: 659.8 }],
    ['{"t_ms":1,"stream":"stderr","off":2,"len":3}', { channel: 'stderr', from: 2, length: 3, ms: 1 }],
    ['{"t_ms":1,"off":2,"len":3}', { channel: 'pty', from: 2, length: 3, ms: 1 }],
    ['["exit",0,1,1]', undefined],
    ['["stdout",-1,1,1]', undefined],
    ['["stdout",0,1.5,1]', undefined],
    ['["stdout",0,1,-1]', undefined],
    ['["stdout",0,1,"1"]', undefined],
    ['null', undefined],
    ['7', undefined],
    ['{', undefined],
  ])('%s', (line, read) => expect(parseChunkLine(line)).toEqual(read))

  test('what is no line of ours ends it, and so does one without end', () => {
    put('log', 'ab')
    const attempt = { number: 1, logs: { stdout: join(dir, 'log') } }
    const read = (path = join(dir, 'chunks')) => {
      const logs = new ChunkedLogs(() => attempt, path === '' ? undefined : new Tail(path))
      const found: string[] = []
      for (let portion = logs.next(true); portion; portion = logs.next(true))
        if (portion !== 'restarted') found.push(`${portion.covered} ${portion.bytes}`)
      logs.close()
      return found
    }
    put('chunks', '["stdout",0,1,1]\nnonsense\n["stdout",1,1,1]\n')
    expect(read()).toEqual(['true a', 'false b'])
    put('chunks', `["stdout",0,1,1]\n${'x'.repeat(100_000)}\n`)
    expect(read()).toEqual(['false ab'])
    put('chunks', '["stdout",0,1,1]\n["stdo')
    expect(read()).toEqual(['true a', 'false b'])
    expect(read('')).toEqual(['false ab'])
  })
})

describe('meta.json', () => {
  test.each([
    ['0.2', { outcome: 'needs_input' }, 'finished', true],
    [
      '0.2 with a done marker',
      { outcome: 'needs_input', reading: { done_marker: 'X' } },
      'needs_input',
      false,
    ],
    ['0.2, failed', { outcome: 'failed' }, 'failed', false],
    ['0.2, succeeded', { outcome: 'succeeded' }, 'succeeded', true],
    ['0.3', { outcome: 'needs_input', ok: false }, 'needs_input', false],
    ['0.3, finished', { outcome: 'finished', ok: true }, 'finished', true],
  ])('the outcome in a meta of %s is read in the words of today', (_what, meta, outcome, ok) => {
    put('meta.json', meta)
    expect(readMeta(join(dir, 'meta.json'))).toMatchObject({ outcome, ok })
  })

  test('is read as far as it is one', () => {
    put('meta.json', {
      run_id: 7,
      engine: 'codex',
      started_at: 'soon',
      argv: ['a', 1],
      recorders: [1, 'x'],
      exit_code: -77,
    })
    expect(readMeta(join(dir, 'meta.json'))).toEqual({
      engine: 'codex',
      argv: ['a'],
      recorders: [1],
      exit_code: null,
      signal: 'signal 77',
    })
    const notes = [
      { code: 'RUN_TIMEOUT', message: 'm' },
      { code: 'NOPE', message: 'm' },
      { code: 'RUN_IDLE' },
      7,
      null,
    ]
    put('meta.json', { notes, signal: 'SIGUSR1' })
    expect(readMeta(join(dir, 'meta.json'))).toMatchObject({ notes: notes.slice(0, 1), signal: 'SIGUSR1' })
  })

  test('has no time, length or number that cannot be reckoned with', () => {
    const bare = { exit_code: null, signal: null }
    for (const meta of [
      { duration_ms: 1e300 },
      { duration_ms: -1 },
      { duration_s: 1e300 },
      { started_at: '+275760-09-13T00:00:00Z' },
      { pid: 0 },
      { pid: -1 },
      { pid: 1.5 },
    ]) {
      put('meta.json', meta)
      expect(readMeta(join(dir, 'meta.json')), JSON.stringify(meta)).toEqual(bare)
    }
    put('meta.json', { duration_ms: 1e300, duration_s: 2 })
    expect(readMeta(join(dir, 'meta.json'))).toEqual({ ...bare, duration_ms: 2000 })
    put('meta.json', '{"duration_ms":0,"duration_s":2}')
    expect(readMeta(join(dir, 'meta.json'))).toEqual({ ...bare, duration_ms: 0 })
    expect(parseChunkLine('["stdout",0,1,1e300]')).toBe(undefined)
  })

  test.each([['[]'], ['7'], ['{'], [`"${'x'.repeat(5 << 20)}"`]])('is nothing if it is no object', (text) => {
    put('meta.json', text)
    expect(readJson(join(dir, 'meta.json'))).toBe(undefined)
  })

  test('leaves no draft where it cannot be written', () => {
    mkdirSync(join(dir, 'taken/x'), { recursive: true })
    expect(() => writeWholeSync(join(dir, 'taken'), 'text')).toThrow()
    expect(listAttempts(dir)).toEqual([])
  })
})

describe('an audit directory', () => {
  test('that is a file, or in one, is no audit; one that is not there has no attempts', () => {
    put('file', '')
    expect(() => listAttempts(join(dir, 'file'))).toThrow(expect.objectContaining({ code: 'NOT_AN_AUDIT' }))
    expect(listAttempts(join(dir, 'nowhere'))).toEqual([])
  })

  test('shows no links and no other names', () => {
    put('secret', 'x')
    symlinkSync(join(dir, 'secret'), join(dir, 'stdout.1.log'))
    put('stdin.1.log', '')
    put('meta.2.json', '{}')
    expect(listAttempts(dir)).toEqual([])
  })

  test('that is gone is not written to', () => {
    mkdirSync(join(dir, 'audit'))
    const check = pinned(join(dir, 'audit'))
    check()
    rmSync(join(dir, 'audit'), { recursive: true })
    expect(check).toThrow(expect.objectContaining({ code: 'AUDIT_FAILED' }))
  })
})
