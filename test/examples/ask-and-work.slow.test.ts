import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codes } from '../../src/base/fault.ts'
import { outbox } from '../../src/work/outbox.ts'
import { work } from '../../src/work/work.ts'
import { buildPrograms } from '../page-programs.ts'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))
let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-examples-'))
  const names = ['ask', 'ask-stream', 'work', 'indicators', 'skill-result', 'agent-parsers', 'engine-events']
  const texts = names.map((name) => [name, readFileSync(join(folder, `${name}.ts`), 'utf8')])
  buildPrograms(dir, Object.fromEntries(texts))
  copyFileSync(join(folder, 'worker.sh'), join(dir, 'work', 'worker.sh'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function run(name: string, ...args: string[]): Promise<string[]> {
  const words = [join(dir, name, 'program.mjs'), ...args]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  return stdout.trimEnd().split('\n')
}

test('examples/ask.ts asks twice, then answers from the cache', async () => {
  expect(await run('ask')).toEqual([
    'asked (1): Judge this share as JSON: {"verdict": "buy | hold | sell", "score": 0..1}',
    'asked (2): Error: no JSON that can be used was found in the answer',
    "answer: { verdict: 'hold', score: 0.6 }",
    "again, from the cache: { verdict: 'hold', score: 0.6 }",
    'wrapped: JudgeError: judge: no payload was found in the input (after 1 attempt)',
  ])
})

test('examples/ask-stream.ts shows the value growing', async () => {
  const lines = await run('ask-stream')
  expect(lines.at(0)).toBe('... {} ')
  expect(lines.at(-1)).toBe('done {"title":"Cart","steps":["read the test","fix the sum"],"minutes":25}')
  expect(lines.some((line) => line.endsWith(' /title'))).toBe(true)
})

test('examples/skill-result.ts tells what was repaired, and caches only what passed', async () => {
  const lines = await run('skill-result')
  const repaired = 'deterministic_generic'
  expect(lines.slice(0, -1).map((line) => JSON.parse(line.slice(line.indexOf(' '))))).toMatchObject([
    { status: 'success', repair_level: repaired, warnings: ['OUTPUT_REPAIRED_GENERIC'] },
    { status: 'success', repair_level: repaired, warnings: ['OUTPUT_REPAIRED_GENERIC'] },
    { status: 'success', repair_level: repaired, warnings: ['OUTPUT_REPAIRED_GENERIC'] },
    { status: 'success', repair_level: 'none', warnings: [] },
    { status: 'failed', warnings: ['SCHEMA_FAILED'] },
    { status: 'failed', warnings: ['TRUNCATED'] },
  ])
  expect(lines.at(-1)).toBe('cached: fence, envelope, mixed, plain')
})

test('examples/agent-parsers.ts gives each agent a parser, and asks again in Chinese', async () => {
  expect(await run('agent-parsers')).toEqual([
    'hold',
    'true Error: verdict: no payload was found in the input',
    '{"file":"a.go","line":3}',
    '判断这只股票。',
    '请严格按要求重新输出，仅输出 JSON 对象，不要包含任何额外文字、Markdown 标记或代码块。',
    "{ verdict: 'hold' }",
  ])
})

test('examples/engine-events.ts reads the logs of three engines into journals and conversations', async () => {
  const lines = await run('engine-events')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['codex', 'gemini', 'iflow'])
  for (const line of lines) {
    expect(line).toContain(' true ')
    expect(line).toMatch(/conversation\.started.*assistant\.message\.final.*user\.input\.required/)
  }
})

test('examples/work.ts runs a shell worker and posts one comment', async () => {
  const lines = await run('work')
  expect(lines[0]).toBe("advance posted { commit: '4f2c9d1' }")
  expect(lines).toContain('Status: ok')
  expect(lines).toContain('> Fix the sum of the cart. The last item was left out.')
  expect(lines.slice(-2)).toEqual(['state: ok', 'parsed by: work-headers/1'])
})

test('examples/indicators.ts computes the four indicators of success from audits', async () => {
  const base = mkdtempSync(join(tmpdir(), 'work-indicators-'))
  const worker = ['sh', join(folder, 'worker.sh')]
  const start = (run_id: string, command: string[], activeRunId?: string) =>
    work(
      { issue_ref: 'shop#12', run_id, repo_dir: mkdtempSync(join(base, 'repo-')), task: 'Do it.' },
      {
        worker: 'text-cli',
        command,
        outbox: outbox(join(base, 'box')),
        audit: join(base, 'audit'),
        activeRunId,
      },
    )
  await start('run-1', ['true'])
  await start('run-2', worker)
  await start('run-3', worker)
  await start('run-4', worker, 'run-5')
  const [line] = await run('indicators', join(base, 'audit'))
  expect(JSON.parse(line!)).toEqual({
    runs: 4,
    hours_to_first_result: expect.any(Number),
    mended_by_hand: 0.25,
    comments_with_all_fields: 1,
    polluted_states: 0,
  })
  rmSync(base, { recursive: true })
})

test.each(['ask.md', 'work.md'])('docs/%s names only files and codes that exist', (name) => {
  const page = readFileSync(join(folder, '..', 'docs', name), 'utf8')
  for (const [, file] of page.matchAll(/\]\(\.\.\/(examples\/[\w./-]+)\)/g)) {
    expect(readFileSync(join(folder, '..', file!), 'utf8').length, file).toBeGreaterThan(0)
  }
  const variables = ['ISSUE_REF', 'RUN_ID', 'REPO_DIR', 'TASK', 'CONSTRAINTS', 'ORDER'].map(
    (part) => `WORK_${part}`,
  )
  const named = [...page.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code]) => code)
  expect(named.filter((code) => !(code! in codes) && !variables.includes(code!))).toEqual([])
})
