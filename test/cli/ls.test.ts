import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import type { RunOutcome } from '../../src/events/run-outcome.ts'
import { recordedRuns } from '../../src/serve/run-list.ts'
import { inside, standIn } from './inside.ts'

let runs: string
beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), 'sluice-ls-'))
  vi.stubEnv('COLUMNS', '160')
})

interface Recorded {
  readonly outcome?: RunOutcome
  readonly engine?: string
  readonly task?: string
  readonly problem?: string
  readonly failure_class?: string
  readonly cost?: object
  readonly tokens?: object
  readonly model?: string
  readonly tags?: object
  /** What was said, as the only event. */
  readonly said?: string
}

/** A recorded run that began in this minute of an hour; without an outcome it is in progress. */
function recorded(minute: number, told: Recorded = {}): string {
  const at = `2026-11-15T10:${String(minute).padStart(2, '0')}:00.000Z`
  const name = `${at.replaceAll(':', '-')}-000000${String(minute).padStart(2, '0')}`
  const dir = join(runs, name)
  mkdirSync(dir)
  const { outcome, engine = 'codex', task = `task ${minute}`, problem, said, ...more } = told
  const end = outcome && {
    outcome,
    ok: outcome === 'finished',
    state: 'unknown',
    complete: true,
    problem,
    ...more,
  }
  const times = { started_at: at, ended_at: outcome ? at.replace('00.000', '02.000') : null }
  const meta = { run_id: name, attempt_number: 1, engine, argv: ['agent', 'go'], task, ...times, ...end }
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify(meta))
  writeFileSync(join(dir, 'stdout.1.log'), '')
  const lock = { token: 'x', pid: process.pid, host: hostname(), started: null }
  if (!outcome) writeFileSync(join(dir, 'journal.lock'), JSON.stringify(lock))
  const event = { type: 'agent.message.final', seq: 7, ts: at, attempt_number: 1, data: { text: said } }
  writeFileSync(join(dir, 'events.jsonl'), said === undefined ? '' : `${JSON.stringify(event)}\n`)
  return name
}

/** What `sluice ls` lists of each run. */
async function listed(...args: string[]) {
  const { code, out, err } = await inside(['ls', runs, ...args])
  expect(code).toBe(0)
  const lines = out.split('\n').slice(0, -1)
  return { ids: lines.map((line) => JSON.parse(line).id), err }
}

test('lists runs in progress first, then the newest, as NDJSON in a pipe', async () => {
  const [going, first, second] = [
    recorded(1),
    recorded(2, { outcome: 'finished' }),
    recorded(3, { outcome: 'failed' }),
  ]
  symlinkSync(second, join(runs, 'latest'))
  expect(await listed()).toEqual({ ids: [going, second, first], err: '' })
  expect((await listed('--last')).ids).toEqual([second])
  const { out } = await inside(['ls', runs, '--last', '--json'], { stdout: standIn({ tty: true }) })
  expect(JSON.parse(out)).toMatchObject({ outcome: 'failed', ok: false, path: join(runs, second) })
})

test('finds runs by outcome, engine and words, as the page does', async () => {
  recorded(1, { outcome: 'finished' })
  const going = recorded(2)
  const auth = recorded(3, { outcome: 'failed', engine: 'claude', problem: 'The key is not valid.' })
  const other = recorded(4, { outcome: 'failed', task: 'Mend the parser' })
  expect((await listed('--outcome', 'failed')).ids).toEqual([other, auth])
  expect((await listed('--outcome', 'running', '--outcome', 'failed')).ids).toEqual([going, other, auth])
  expect((await listed('--engine', 'claude')).ids).toEqual([auth])
  expect((await listed('--find', 'PARSER mend')).ids).toEqual([other])
  expect((await listed('--find', 'key valid')).ids).toEqual([auth])
  expect(await listed('--find', 'nothing has this')).toEqual({
    ids: [],
    err: 'sluice: none of 4 runs is like that\n',
  })
})

test('says that there are more than it lists', async () => {
  const names = [1, 2, 3].map((minute) => recorded(minute, { outcome: 'finished' }))
  const { ids, err } = await listed('--limit', '2')
  expect(ids).toEqual([names[2], names[1]])
  expect(err).toBe('sluice: these are 2 of 3 runs; --limit shows more\n')
})

test('a run in progress is read, however many newer ones there are', async () => {
  const going = recorded(1)
  for (const minute of [2, 3, 4]) recorded(minute, { outcome: 'finished' })
  const { found: read, older } = await recordedRuns(runs, 1)
  expect([read.map(({ info }) => info.id).includes(going), older]).toEqual([true, 4 - read.length])
  expect(read.length).toBeLessThan(4)
})

test('draws a table on a terminal, which no task can steer', async () => {
  recorded(1, { outcome: 'failed', task: 'a\u001b[2Jb\nforged', problem: 'It broke.' })
  const { out } = await inside(['ls', runs], { stdout: standIn({ tty: true, columns: 200 }) })
  expect(out).toMatch(/^started .*engine .*outcome .*took .*task .*directory\n/)
  expect(out).toMatch(/2026-11-15 10:01 +codex +failed +2\.0 s +a.* — It broke\. .*\n$/)
  expect(out).not.toContain('\u001b[2J')
  expect(out.split('\n')).toHaveLength(3)
})

test('a directory that is a run itself is listed', async () => {
  const name = recorded(1, { outcome: 'finished' })
  const { out } = await inside(['ls', join(runs, name)])
  expect(JSON.parse(out)).toMatchObject({ id: name, path: join(runs, name) })
})

test('there are no runs yet, or no such directory', async () => {
  expect(await listed()).toEqual({ ids: [], err: expect.stringContaining('no runs are recorded in') })
  expect(await inside(['ls', join(runs, 'none')])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^sluice: cannot read .*; name the directory of the runs\n$/),
  })
})

test('--find also finds what was said, in any case, across what JSON escapes', async () => {
  const said = recorded(1, { outcome: 'finished', said: 'Write "Überall" to C:\\temp\nand go' })
  recorded(2, { outcome: 'finished', said: 'Nothing' })
  for (const text of ['überall', '"ÜBERALL" to c:\\TEMP\nand'])
    expect((await listed('--find', text)).ids).toEqual([said])
  // Names of fields were not said.
  expect((await listed('--find', 'attempt_number')).ids).toEqual([])
})

test('picks runs by their model and their tags', async () => {
  const web = recorded(1, { outcome: 'finished', model: 'gpt-9', tags: { team: 'web', try: '2' } })
  const core = recorded(2, { outcome: 'finished', model: 'opus', tags: { team: 'core' } })
  recorded(3, { outcome: 'finished' })
  expect((await listed('--model', 'opus')).ids).toEqual([core])
  expect((await listed('--tag', 'team=web')).ids).toEqual([web])
  expect((await listed('--tag', 'team=web', '--tag', 'try=2')).ids).toEqual([web])
  expect((await listed('--tag', 'team=core', '--tag', 'try=2')).ids).toEqual([])
  expect((await listed('--find', 'gpt-9 web')).ids).toEqual([web])
})

test('picks runs by their days, their cost and why they failed', async () => {
  const cheap = recorded(1, {
    outcome: 'failed',
    failure_class: 'rate',
    cost: { amount: 0.1, currency: 'USD' },
  })
  const dear = recorded(2, { outcome: 'failed', failure_class: 'auth', cost: { amount: 2, currency: 'USD' } })
  expect((await listed('--class', 'rate')).ids).toEqual([cheap])
  expect((await listed('--cost', '0.5')).ids).toEqual([dear])
  expect((await listed('--cost', '0.1')).ids).toEqual([dear, cheap])
  expect((await listed('--from', '2026-11-14', '--to', '2026-11-16')).ids).toHaveLength(2)
  expect((await listed('--from', '2026-11-17')).ids).toEqual([])
  expect((await listed('--to', '2026-11-13')).ids).toEqual([])
  for (const wrong of [
    ['--from', 'monday'],
    ['--to', '2026-13-40'],
    ['--cost', '-1'],
    ['--class', 'bad'],
  ])
    expect((await inside(['ls', runs, ...wrong])).code).toBe(2)
})

test('--totals adds up the runs that are picked, by day and by engine, and says of how many a number is known', async () => {
  const spent = (amount: number, more = {}) => ({
    ...{ cost: { amount, currency: 'USD', ...more }, tokens: { input: 100, output: 10 } },
  })
  recorded(1, { outcome: 'failed', ...spent(0.1) })
  recorded(2, { outcome: 'finished', engine: 'claude', ...spent(0.2, { cumulative: true }) })
  recorded(3, { outcome: 'finished' })
  recorded(4)
  const { out } = await inside(['ls', runs, '--totals', '--json'])
  const { days, engines, ...all } = JSON.parse(out)
  expect(all).toEqual({
    runs: 4,
    outcomes: { running: 1, finished: 2, failed: 1 },
    tokens: { input: 200, output: 20, runs: 2 },
    costs: [{ amount: 0.3, currency: 'USD', runs: 2, cumulative: 1 }],
    time: { ms: expect.any(Number), runs: 4 },
  })
  expect(days).toMatchObject([{ runs: 4 }])
  expect(engines).toMatchObject([
    { engine: 'codex', runs: 3, costs: [{ amount: 0.1 }] },
    { engine: 'claude', runs: 1, costs: [{ amount: 0.2 }] },
  ])
  const drawn = await inside(['ls', runs, '--totals', '--draw', '--engine', 'codex'])
  expect(drawn.out).toMatch(/^all +3 +1 +100 +10 +\$0\.1/m)
  expect(drawn.out).toContain('Tokens are known of 1 of 3 runs')
})
