import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { inside, standIn } from './inside.ts'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sluice-newest-'))
  vi.spyOn(process, 'cwd').mockReturnValue(cwd)
})
afterEach(() => void vi.restoreAllMocks().unstubAllEnvs())

const STDOUT = [
  { type: 'thread.started', thread_id: 't-1' },
  { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'Hello.' } },
  { type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } },
]

/** A recorded run in `.audit` that ended so many days ago. */
function recorded(day: number, { outcome = 'failed', ended = true } = {}) {
  const at = new Date(Date.now() - day * 86_400_000)
  const name = `${at.toISOString().replaceAll(':', '-')}-0000000${day % 10}`
  const dir = join(cwd, '.audit', name)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'stdout.1.log'), STDOUT.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const meta = { run_id: name, attempt_number: 1, engine: 'codex', exit_code: 1, outcome }
  const times = { started_at: at.toISOString(), ended_at: ended ? at.toISOString() : null }
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ ...meta, ...times }))
  for (const file of readdirSync(dir)) utimesSync(join(dir, file), at, at)
  utimesSync(dir, at, at)
  return name
}

const latest = (name: string) => symlinkSync(name, join(cwd, '.audit', 'latest'))

describe.each([['why'], ['chat'], ['events', '--json'], ['replay', '--json'], ['export', '--to', 'md']])(
  'the newest run is read by %s',
  (...args) => {
    test('on a terminal, without an argument', async () => {
      latest(recorded(1))
      const { out, err } = await inside([...args, '--home', cwd])
      expect(err).toContain('latest')
      expect(out).toMatch(/Hello|failed/)
    })

    test('with --last, also where stdin is a pipe', async () => {
      latest(recorded(1))
      const { out, err } = await inside([...args, '--last', '--home', cwd], { stdin: '' })
      expect(err).toContain('latest')
      expect(out).toMatch(/Hello|failed/)
    })

    test('beside a directory --last is refused', async () => {
      const { code, err } = await inside([...args, '--last', join(cwd, '.audit')])
      expect([code, err]).toEqual([2, expect.stringContaining('sluice: --last finds the ')])
    })
  },
)

test('reply takes --last, and not a directory beside it', async () => {
  latest(recorded(1))
  // The run has no session to continue: it was found, and nothing is started.
  const found = await inside(['reply', '--last', 'go on'])
  expect([found.code, found.err]).toEqual([2, expect.not.stringContaining('--last')])
  const both = await inside(['reply', '--last', join(cwd, '.audit', 'latest'), 'go on'])
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('--last finds the run itself')])
})

test('a run of an engine that is not ours says so where it is read again', async () => {
  const dir = join(cwd, '.audit', recorded(1))
  const meta = join(dir, 'meta.1.json')
  const own = { ...JSON.parse(readFileSync(meta, 'utf8')), engine: 'robo', complete: true }
  writeFileSync(meta, JSON.stringify(own))
  for (const command of ['why', 'replay']) {
    const { err } = await inside([command, dir])
    expect(err).toContain('the engine "robo", which is not one of ours; give it again: --engine')
  }
  expect((await inside(['why', dir, '--engine', 'codex'])).err).toBe('')
})

test('a reply without its text is not sent the name of the directory', async () => {
  latest(recorded(1))
  const { code, err } = await inside(['reply', join(cwd, '.audit', 'latest')])
  expect([code, err]).toEqual([2, expect.stringContaining('the text is missing')])
})

test('export knows its format by the name of the file', async () => {
  latest(recorded(1))
  const out = join(cwd, 'run.md')
  expect((await inside(['export', '--home', cwd, '--out', out])).code).toBe(0)
  expect(existsSync(out)).toBe(true)
  const unknown = await inside(['export', '--home', cwd, '--out', join(cwd, 'run.txt')])
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('say what to write')])
})

test('prune removes runs that ended long ago, and says what it freed', async () => {
  const names = [recorded(40), recorded(31), recorded(2)]
  latest(names[0]!)
  const asked = await inside(['prune', join(cwd, '.audit'), '--dry-run'])
  expect(asked.out.match(/^2026-|^\d{4}-/gm)).toHaveLength(2)
  expect(asked.err).toMatch(/2 runs of 3 would be removed, frees \d/)
  expect(readdirSync(join(cwd, '.audit'))).toHaveLength(4)
  const { code, err } = await inside(['prune', join(cwd, '.audit'), '--older', '30d'])
  expect([code, err]).toEqual([0, expect.stringMatching(/2 runs of 3 removed, freed \d/)])
  expect(readdirSync(join(cwd, '.audit'))).toEqual([names[2]])
})

test('prune keeps what it is told to keep, what is being written, and what is no run', async () => {
  const failed = recorded(40)
  const good = recorded(41, { outcome: 'succeeded' })
  const held = recorded(42, { outcome: 'succeeded' })
  const lock = { token: 'x', pid: process.pid, host: (await import('node:os')).hostname(), started: null }
  writeFileSync(join(cwd, '.audit', held, 'journal.lock'), JSON.stringify(lock))
  mkdirSync(join(cwd, '.audit', 'mine'))
  utimesSync(join(cwd, '.audit', 'mine'), new Date(0), new Date(0))
  const { err } = await inside(['prune', join(cwd, '.audit'), '--older', '1d', '--keep', 'failed'])
  expect(err).toContain('1 run of 3 removed')
  expect(readdirSync(join(cwd, '.audit')).sort()).toEqual([held, failed, 'mine'].sort())
  expect(existsSync(join(cwd, '.audit', good))).toBe(false)
  expect(lstatSync(join(cwd, '.audit', 'mine')).isDirectory()).toBe(true)
})

test('prune tells on a terminal how far it is, and wipes that before the end', async () => {
  for (let day = 40; day < 44; day++) recorded(day)
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 150
    return now
  })
  vi.stubEnv('TERM', 'xterm')
  const stderr = standIn({ tty: true })
  const { code, err } = await inside(['prune', join(cwd, '.audit'), '--older', '30d', '--yes'], { stderr })
  const lines = err.split('\r\u001b[K')
  expect([code, lines[1], lines.at(-1)]).toEqual([
    0,
    expect.stringMatching(/^looked at \d of 4 runs$/),
    expect.stringMatching(/^sluice: 4 runs of 4 removed/),
  ])
})

test.each([
  [['prune', '--older', 'soon'], 'give an age such as'],
  [['prune', '--keep', 'bad'], '--keep cannot be "bad"; it is one of'],
  [['prune'], '--older 30d, --keep failed, or --dry-run'],
  [['prune', 'nowhere', '--older', '1d'], 'name the directory of the runs'],
])('prune refuses %j', async (args, words) => {
  expect(await inside(args)).toMatchObject({ code: 2, err: expect.stringContaining(words) })
})
