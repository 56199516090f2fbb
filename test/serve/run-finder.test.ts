import fs, {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { RunFinder } from '../../src/serve/run-finder.ts'
import { logOverviews } from '../../src/serve/run-overviews.ts'
import { lineAt, writeRun } from '../nats/runs.ts'
import { makeRun } from '../views/make-run.ts'
import { findRuns, runsOf } from './find-runs.ts'

let dir = ''
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-runs-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a run that is over is read once, and again when its journal, its folder or its lock changes', () => {
  writeRun(join(dir, 'r1'), 'r1', 2)
  writeRun(join(dir, 'r2'), 'r2', 2)
  const finder = new RunFinder(dir)
  const find = () => runsOf(finder)
  const stateOf = (id: string) => find().find(({ info }) => info.id === id)?.info
  const first = stateOf('r1')
  expect(first?.id).toBe('r1')
  expect(stateOf('r1')).toBe(first)
  expect(finder.find('r1')?.info).toEqual(first)
  const lock = takeLock(join(dir, 'r1', 'journal.lock'))
  expect(stateOf('r1')?.state).toBe('running')
  lock.release()
  expect(stateOf('r1')?.state).toBe('unknown')
  const end = JSON.parse(lineAt('r1', 1, 3))
  const completion = { type: 'lifecycle.completion.state', data: { state: 'completed', evidence: {} } }
  appendFileSync(join(dir, 'r1', 'events.jsonl'), `${JSON.stringify({ ...end, ...completion })}\n`)
  expect(stateOf('r1')?.state).toBe('completed')
  // A meta is written over in place by other programs.
  writeFileSync(join(dir, 'r2', 'stdout.1.log'), 'x')
  writeFileSync(join(dir, 'r2', 'meta.1.json'), '{"task":"one"}')
  expect(stateOf('r2')).toMatchObject({ task: 'one', streams: [{ stream: 'stdout' }] })
  expect(stateOf('r2')).toBe(stateOf('r2'))
  writeFileSync(join(dir, 'r2', 'meta.1.json'), '{"task":"another"}')
  expect(stateOf('r2')?.task).toBe('another')
  rmSync(join(dir, 'r2'), { recursive: true })
  rmSync(join(dir, 'r1'), { recursive: true })
  mkdirSync(join(dir, 'r1'))
  expect(find()).toHaveLength(0)
  expect([finder.find('r1'), finder.find('r2')]).toEqual([undefined, undefined])
})

/** A journal of an attempt with these events. */
function putEvents(id: string, steps: Parameters<typeof makeRun>[0]): void {
  mkdirSync(join(dir, id))
  const lines = makeRun(steps).map((event) => `${JSON.stringify(event)}\n`)
  writeFileSync(join(dir, id, 'events.jsonl'), lines.join(''))
}

test('a run in the list has its task, its tokens, its first problem, and what it waits for', () => {
  const call = { call_id: 'c', name: 'Bash', kind: 'execute' } as const
  const request = {
    ...{ id: '1:0', kind: 'permission', tool: 'Bash', title: 'rm', input: { command: 'rm -r build' } },
    options: [],
  } as const
  const failedTool = ['tool.call.failed', { ...call, exit_code: 1, output: 'no tests' }] as const
  const engineError = [
    'diagnostic.engine.error',
    { code: 'ENGINE_ERROR', message: 'quota exceeded', severity: 'error', confidence: 1 },
  ] as const
  const ended = (outcome: string, more: object = {}) =>
    [
      'lifecycle.completion.state',
      {
        ...{ state: 'interrupted', reason_code: 'X', outcome, ok: outcome === 'finished' },
        ...{ evidence: { exit_code: 1, signal: null }, tokens: { input: 5, output: 2 } },
        ...more,
      },
    ] as const
  const put = (id: string, ...steps: readonly unknown[]) =>
    putEvents(id, steps as Parameters<typeof makeRun>[0]) // cast: short forms of real events
  put('tool', ['user.message', { text: 'Mend it.' }], failedTool, ended('failed'))
  put('engine', failedTool, engineError, engineError, ended('failed'))
  put('good', failedTool, ended('finished'))
  put('long', ended('finished', { answer: 'x'.repeat(100_000) }))
  put('asks', failedTool, ended('needs_input', { evidence: { request: 'Bash: rm' } }))
  put('open', ['lifecycle.run.status', { status: 'request_opened', request }])
  const lock = takeLock(join(dir, 'open', 'journal.lock'))
  put('killed', ended('failed', { evidence: { exit_code: null, signal: 'SIGKILL' } }))
  // Many CLIs say only on stderr why they ended.
  const onStderr = ['raw.stderr', { line: 'Error: no such file: rules.toml' }] as const
  put('stderr', onStderr, ['raw.stderr', { line: '    at open (rules.js:1:2)' }], ended('failed'))
  put('turn', ['lifecycle.run.status', { status: 'turn_failed' }], onStderr, ended('failed'))
  writeFileSync(join(dir, 'tool', 'fs-diff.1.json'), '{"created":["a","b"],"modified":["c"],"deleted":["a"]}')
  writeFileSync(join(dir, 'tool', 'stdout.1.log'), '')
  const infos = Object.fromEntries(findRuns(dir).map(({ info }) => [info.id, info]))
  const facts = { task: null, problem: null, waits_for: null, tokens: { input: 5, output: 2 } }
  expect(infos).toMatchObject({
    tool: { ...facts, task: 'Mend it.', problem: 'Bash exit 1 failed: no tests', files: 3 },
    engine: { ...facts, problem: 'quota exceeded' },
    good: { ...facts, files: null },
    long: { ...facts, outcome: 'finished', ok: true },
    asks: { ...facts, problem: 'it waits for an answer: Bash: rm', waits_for: 'Bash: rm' },
    killed: { ...facts, problem: 'SIGKILL ended it' },
    stderr: { ...facts, problem: 'Error: no such file: rules.toml' },
    turn: { ...facts, problem: 'Error: no such file: rules.toml' },
    open: { ...facts, tokens: null, waits_for: 'Bash: rm -r build' },
  })
  lock.release()
})

test('the task of a run is in its meta, in its command line, or in the first lines of a long journal', () => {
  const fill = Array.from({ length: 900 }, () => ['raw.stdout', { line: 'x'.repeat(200) }] as const)
  putEvents('long', [['user.message', { text: 'From the journal.' }], ...fill])
  putEvents('command', fill.slice(0, 1))
  writeFileSync(join(dir, 'command', 'stdout.1.log'), '')
  const meta = { engine: 'codex', argv: ['codex', 'exec', '--json', 'From the command.'] }
  writeFileSync(join(dir, 'command', 'meta.1.json'), JSON.stringify(meta))
  const tasks = findRuns(dir).map(({ info }) => `${info.id}: ${info.task}`)
  expect(tasks.sort()).toEqual(['command: From the command.', 'long: From the journal.'])
})

test('the runs in the folders that changed last are found first, at any depth', () => {
  const names = ['a', 'deep/b', 'c', 'deep/d', 'e']
  for (const name of names) writeRun(join(dir, name), name, 1)
  names.forEach((name, at) => {
    utimesSync(join(dir, name), 1000 + at, 1000 + at)
  })
  utimesSync(join(dir, 'deep'), 1003, 1003)
  expect(findRuns(dir).map(({ info }) => info.id)).toEqual(['e', 'deep/d', 'c', 'deep/b', 'a'])
  const finder = new RunFinder(dir, undefined, 2)
  const [newest, second, ...others] = runsOf(finder)
  expect([newest?.info.id, second?.info.id, others]).toEqual(['e', 'deep/d', []])
})

test('a run is found by the names on its path, and by nothing else', () => {
  writeRun(join(dir, 'a/b'), 'b', 1)
  writeRun(join(dir, 'node_modules/c'), 'c', 1)
  symlinkSync(join(dir, 'a'), join(dir, 'link'))
  const finder = new RunFinder(dir)
  expect(finder.find('a/b')?.info.id).toBe('a/b')
  for (const id of [
    'a',
    'a/b/',
    'a//b',
    './a/b',
    'x/../a/b',
    'a/../a/b',
    'link/b',
    'node_modules/c',
    '',
    '/a/b',
  ])
    expect(finder.find(id), id).toBeUndefined()
  const own = basename(dir)
  expect(finder.find(own)).toBeUndefined()
  writeRun(dir, 'top', 1)
  expect(finder.find(own)?.info.run_id).toBe('top')
})

/** Many runs of long ago, made so that none of them seems to change now. */
function putRuns(count: number): void {
  for (let n = 0; n < count; n++) {
    writeRun(join(dir, `r${n}`), `r${n}`, 1)
    utimesSync(join(dir, `r${n}`), 1000 + n, 1000 + n)
  }
  utimesSync(dir, 9e5, 9e5)
}

/** How often the disk was asked for a file or a folder. */
function looksOf(act: () => void): number {
  const looked = vi.spyOn(fs, 'lstatSync')
  try {
    act()
    return looked.mock.calls.length
  } finally {
    looked.mockRestore()
  }
}

test('a look at a list that did not change costs the same for any number of runs', () => {
  putRuns(1200)
  const few = new RunFinder(dir)
  expect(runsOf(few)).toHaveLength(1200)
  const before = looksOf(() => runsOf(few))
  rmSync(dir, { recursive: true })
  putRuns(3000)
  const many = new RunFinder(dir)
  expect(runsOf(many)).toHaveLength(3000)
  expect(looksOf(() => runsOf(many))).toBeLessThan(before * 1.1)
})

test('a run of long ago that goes on is found within some looks, a new one and one that is gone at once', () => {
  putRuns(1200)
  const finder = new RunFinder(dir)
  runsOf(finder)
  const lock = takeLock(join(dir, 'r0', 'journal.lock'))
  const isFound = () => runsOf(finder).find(({ info }) => info.id === 'r0')?.info.state === 'running'
  let looks = 1
  while (!isFound() && looks < 10) looks++
  expect(looks).toBeLessThan(5)
  lock.release()
  expect(isFound()).toBe(false)
  writeRun(join(dir, 'new'), 'new', 1)
  rmSync(join(dir, 'r7'), { recursive: true })
  const ids = runsOf(finder).map(({ info }) => info.id)
  expect([ids.length, ids.includes('new'), ids.includes('r7')]).toEqual([1200, true, false])
})

test('older runs than those that are listed are counted, open by their id, and are listed when they go on', () => {
  putRuns(30)
  const finder = new RunFinder(dir, undefined, 10)
  const ids = () => runsOf(finder).map(({ info }) => info.id)
  expect(ids()).toEqual(['r29', 'r28', 'r27', 'r26', 'r25', 'r24', 'r23', 'r22', 'r21', 'r20'])
  expect(finder.older).toBe(20)
  expect(finder.find('r3')?.info.id).toBe('r3')
  const lock = takeLock(join(dir, 'r3', 'journal.lock'))
  expect(ids()).toContain('r3')
  expect(finder.older).toBe(19)
  lock.release()
  // More than a tenth too many: the oldest give way.
  writeRun(join(dir, 'new'), 'new', 1)
  const now = ids()
  expect([now.length, now.includes('new'), now.includes('r3'), now.includes('r20')]).toEqual([
    10,
    true,
    true,
    false,
  ])
  expect(finder.older).toBe(21)
})

test('older runs are counted, and found when they go on, also in the folders of other hosts', () => {
  for (let host = 0; host < 5; host++) {
    for (let n = 0; n < 6; n++) {
      writeRun(join(dir, `host-${host}`, `r${n}`), `h${host}.r${n}`, 1)
      utimesSync(join(dir, `host-${host}`, `r${n}`), 1000 + host, 1000 + host)
    }
    utimesSync(join(dir, `host-${host}`), 1000 + host, 1000 + host)
  }
  const finder = new RunFinder(dir, undefined, 10)
  const ids = () => runsOf(finder).map(({ info }) => info.id)
  expect([ids().length, finder.older]).toEqual([10, 20])
  writeRun(join(dir, 'host-0', 'new'), 'new', 1)
  expect(ids()).toContain('host-0/new')
})

test('the outcome of logs that were not read yet is not unknown', async () => {
  mkdirSync(join(dir, 'r'))
  writeFileSync(join(dir, 'r', 'stdout.1.log'), '{"type":"thread.started","thread_id":"t"}\n')
  utimesSync(join(dir, 'r', 'stdout.1.log'), 1000, 1000)
  const logs = logOverviews(new AbortController().signal)
  const finder = new RunFinder(dir, logs)
  const stateOf = () => runsOf(finder).map(({ info: { state, outcome, ok } }) => [state, outcome, ok])
  expect(stateOf()).toEqual([['unread', null, null]])
  await logs.settled(10_000, 0)
  expect(stateOf()).toEqual([['unknown', 'unknown', false]])
})

test('a folder that is removed with its runs is gone with all of them', () => {
  const finder = new RunFinder(dir)
  putEvents('above', [['raw.stdout', { line: 'x' }]])
  putEvents('above/below', [['raw.stdout', { line: 'x' }]])
  expect([...finder.look()].filter(Boolean)).toHaveLength(2)
  rmSync(join(dir, 'above'), { recursive: true })
  expect([...finder.look()].filter(Boolean)).toHaveLength(2)
  expect([...finder.look()].filter(Boolean)).toEqual([])
})
