import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type WorkOptions, work } from '../../src/work/work.ts'

/** Codex, which leaves these results, one with each turn. */
function codex(results: readonly object[]) {
  const base = mkdtempSync(join(tmpdir(), 'work-rounds-'))
  const repo = join(base, 'repo')
  mkdirSync(repo)
  const program = join(base, 'codex')
  writeFileSync(
    program,
    `#!${process.execPath}
    const fs = require('node:fs')
    const calls = ${JSON.stringify(join(base, 'calls.jsonl'))}
    fs.appendFileSync(calls, JSON.stringify([process.argv.slice(2, 6), fs.readFileSync(0, 'utf8')]) + '\\n')
    const turn = fs.readFileSync(calls, 'utf8').trim().split('\\n').length
    fs.writeFileSync('work_result.json', JSON.stringify(${JSON.stringify(results)}[turn - 1]))
    for (const type of ['thread.started', 'turn.started', 'turn.completed']) console.log(JSON.stringify({ type, thread_id: 't-1', usage: {} }))`,
    { mode: 0o755 },
  )
  const calls = () =>
    readFileSync(join(base, 'calls.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  const done = (options: Partial<WorkOptions>) =>
    work(
      { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: repo },
      { worker: 'codex', command: [program, 'exec', '--json'], audit: join(base, 'audit'), ...options },
    )
  return { calls, done }
}

const good = { issue_ref: 'shop#12', run_id: 'run-7', status: 'ok', commit: 'c', tests: 'n/a' }
const { tests: _, ...incomplete } = { ...good, status: 'done' }

test.each([{}, { audit: false as const }])(
  'an agent is asked again for a result that cannot be used (%o)',
  async (more) => {
    const { calls, done } = codex([incomplete, good])
    expect(await done({ rounds: 2, ...more })).toMatchObject({ verdict: 'advance', result: { status: 'ok' } })
    const [, [words, text], ...others] = calls()
    expect(words).toEqual(['exec', '--json', 'resume', 't-1'])
    expect(text).toBe(
      'The result of your work cannot be used:\n- status must be ok, fail or blocked, but is "done"\n' +
        '- tests is missing\nWrite work_result.json again, as you were asked to.',
    )
    expect(others).toEqual([])
  },
)

test('it is asked as often as allowed, and not at all by default, or if it is no agent', async () => {
  for (const [rounds, turns, worker] of [
    [2, 3, 'codex'],
    [0, 1, 'codex'],
    [2, 1, 'json-cli'],
  ] as const) {
    const { calls, done } = codex([incomplete, incomplete, incomplete, good])
    expect(await done({ rounds, worker })).toMatchObject({ verdict: 'needs-human' })
    expect(calls()).toHaveLength(turns)
  }
})
