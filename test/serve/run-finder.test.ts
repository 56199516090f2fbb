import {
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
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { RunFinder } from '../../src/serve/run-finder.ts'
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
  expect(finder.find('r1')?.info).toBe(first)
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
  const [newest, second, ...others] = runsOf(new RunFinder(dir, undefined, 2))
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
