import fs, {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { run } from '../../src/run/run.ts'
import { fixedDir, linkLatest, newAuditDir } from '../../src/run/run-directory.ts'
import type { RunCommand } from '../../src/run/run-options.ts'
import { inside } from '../cli/inside.ts'
import { agent, codesOf, ran as ranTo } from './agent.ts'

let cwd: string
beforeEach(() => {
  cwd = fs.realpathSync(mkdtempSync(join(tmpdir(), 'sluice-audits-')))
  vi.spyOn(process, 'cwd').mockReturnValue(cwd)
})
afterEach(() => void vi.restoreAllMocks())

/** Recorded like `sluice run` records. */
const ran = async (options: RunCommand) => {
  const { events, end } = await ranTo({ runs: '.audit', ...options })
  return { events, end: { ...end, audit: end.audit ?? '' } }
}
const says = () => agent(cwd, 'for (const line of lines) say(line)')
const words = ({ command, args = [] } = says()) => ['--', command, ...args]
const audits = () =>
  readdirSync(join(cwd, '.audit')).filter((name) => name !== 'latest' && name !== '.gitignore')
const linked = () => readlinkSync(join(cwd, '.audit', 'latest'))
const NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{8}$/

test('two runs in one directory of runs are two runs, not two attempts of one', async () => {
  const first = await ran({ ...says(), cwd })
  expect(linked()).toBe(basename(first.end.audit))
  const second = await ran({ ...says(), cwd })
  expect([first.end.attempt, second.end.attempt]).toEqual([1, 1])
  expect(first.end.runId).not.toBe(second.end.runId)
  expect(audits()).toEqual([first, second].map(({ end }) => basename(end.audit)).sort())
  for (const name of audits()) expect(name).toMatch(NAME)
  expect(linked()).toBe(basename(second.end.audit))
  expect(second.end.audit.endsWith(`-${second.end.runId.slice(0, 8)}`)).toBe(true)
})

test('sluice run makes a directory per run, and --attempt-of adds an attempt', async () => {
  const base = ['run', '--engine', 'codex', '--no-fs-diff']
  expect((await inside([...base, ...words()])).err).toMatch(/attempt 1 is recorded in \.audit\/\d{4}-/)
  const first = linked()
  expect((await inside([...base, ...words()])).err).toContain('attempt 1 is recorded')
  expect(audits()).toHaveLength(2)
  const again = await inside([...base, '--attempt-of', join(cwd, '.audit', first), ...words()])
  expect(again.err).toContain(`attempt 2 is recorded in .audit/${first}`)
  const latest = linked()
  const more = await inside([...base, '--attempt-of', join(cwd, '.audit', 'latest'), ...words()])
  expect(more.err).toContain(`attempt 2 is recorded in .audit/${latest}`)
  expect(audits()).toHaveLength(2)
})

test('--attempt-of refuses what holds no run, and makes nothing of it', async () => {
  await ran({ ...says(), cwd })
  const refused = (...args: string[]) => inside(['run', ...args, ...words()])
  const above = await refused('--attempt-of', join(cwd, '.audit'))
  expect(above).toMatchObject({
    code: 2,
    err: expect.stringContaining('a directory per run; give one of them'),
  })
  expect(await refused('--attempt-of', join(cwd, 'nowhere'))).toMatchObject({
    code: 2,
    err: expect.stringContaining('has no stdout.N.log'),
  })
  expect(existsSync(join(cwd, 'nowhere'))).toBe(false)
  expect((await refused('--attempt-of', 'a', '--audit', 'b')).err).toContain('exclude each other')
  const replayed = await inside(['replay', join(cwd, '.audit')])
  expect(replayed).toMatchObject({ code: 2, err: expect.stringContaining('.audit/latest"') })
})

test('a command that cannot be started leaves a recording that says so, as the newest', async () => {
  const missing = run({ command: 'no-such-agent', cwd, runs: join(cwd, '.audit'), fsDiff: false })
  await expect(missing.end).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
  expect(audits()).toEqual([basename(missing.audit!)])
  expect(linked()).toBe(basename(missing.audit!))
  const told = await replay(missing.audit!).toArray()
  const problem = 'cannot start "no-such-agent": no such command; is it installed and on PATH?'
  expect(told.at(-1)).toMatchObject({
    type: 'lifecycle.completion.state',
    data: { outcome: 'failed', ok: false, state: 'interrupted', problem },
  })
  const meta = JSON.parse(readFileSync(join(missing.audit!, 'meta.1.json'), 'utf8'))
  expect(meta).toMatchObject({ reason: 'not_started', outcome: 'failed', problem, pid: null, complete: true })
  expect(await resume(missing.audit!)).toEqual({ attempts: [], added: 0 })
  expect(await replay(missing.audit!).toArray()).toEqual(told)
  await ran({ ...says(), cwd })
  const again = run({ command: 'no-such-agent', cwd, runs: join(cwd, '.audit') })
  await expect(again.end).rejects.toThrow('no such')
  expect(linked()).toBe(basename(again.audit!))
})

test('a run whose start is stopped before it leaves nothing behind', async () => {
  const left = run({ ...says(), cwd, runs: join(cwd, '.audit'), fsDiff: false })
  left.destroy()
  await left.end
  expect(existsSync(join(cwd, '.audit'))).toBe(false)
})

test('a file where the directory of a run should be is refused in words, and stays', async () => {
  const file = join(cwd, 'file')
  writeFileSync(file, 'mine')
  for (const audit of [file, join(file, 'below')]) {
    const refused = await inside(['run', '--audit', audit, ...words()])
    expect(refused).toMatchObject({
      code: 7,
      err: expect.stringContaining('a file where a directory should be'),
    })
  }
  expect(readFileSync(file, 'utf8')).toBe('mine')
})

test('the names sort by time, and two runs of one moment get two', () => {
  const base = join(cwd, 'audits')
  const early = newAuditDir(base, 'ffffffff', new Date('2026-11-15T16:58:01.123Z'))
  expect(basename(early)).toBe('2026-11-15T16-58-01.123Z-ffffffff')
  const twin = newAuditDir(base, 'ffffffff', new Date('2026-11-15T16:58:01.123Z'))
  expect(basename(twin)).toMatch(NAME)
  const late = newAuditDir(base, '00000000', new Date('2026-11-15T16:58:01.124Z'))
  expect(readdirSync(base).sort().at(-1)).toBe(basename(late))
})

test('where the link cannot be made there is a note, and the run is good', async () => {
  vi.spyOn(fs, 'symlinkSync').mockImplementation(() => {
    throw Object.assign(new Error('no links here'), { code: 'EPERM' })
  })
  const { events, end } = await ran({ ...says(), cwd })
  expect(codesOf(events)).toContain('LATEST_NOT_LINKED')
  expect(end.completion.state).toBe('awaiting_user_input')
  const again: AgentEvent[] = []
  for await (const event of replay(end.audit)) again.push(event)
  expect(again).toEqual(events)
  expect(audits()).toEqual([basename(end.audit)])
})

test('a directory of the name latest is left alone', () => {
  mkdirSync(join(cwd, 'latest'))
  expect(linkLatest(join(cwd, 'run'))).toMatchObject([
    {
      code: 'LATEST_NOT_LINKED',
      message: expect.stringContaining('something that is not a link has that name'),
    },
  ])
  expect(lstatSync(join(cwd, 'latest')).isDirectory()).toBe(true)
  expect(readdirSync(cwd)).toEqual(['latest'])
})

test('the link is relative: the folder can be moved', async () => {
  await ran({ ...says(), cwd })
  renameSync(join(cwd, '.audit'), join(cwd, 'moved'))
  const events: AgentEvent[] = []
  for await (const event of replay(join(cwd, 'moved', 'latest'))) events.push(event)
  expect(events.at(-1)?.type).toBe('lifecycle.completion.state')
})

test('who follows latest stays with the run it led to', async () => {
  const slow =
    "say(lines[0]); while (!fs.existsSync('go')) await sleep(5); for (const line of lines.slice(1)) say(line)"
  const live = run({ ...agent(cwd, slow), engine: codex, cwd, runs: '.audit', fsDiff: false }).resume()
  const followed: AgentEvent[] = []
  for await (const event of replay(join(cwd, '.audit', await latestOf(live.audit!)), { follow: true })) {
    followed.push(event)
    if (followed.length > 1) continue
    // Another run begins, and latest leads to it, before the first one goes on.
    const { end } = await ran({ ...says2(), cwd })
    expect(linked()).toBe(basename(end.audit))
    writeFileSync(join(cwd, 'go'), '')
  }
  const { audit } = await live.end
  expect(new Set(followed.map((event) => event.run_id))).toEqual(new Set([live.runId]))
  expect(followed.map((event) => JSON.stringify(event))).toEqual(
    readFileSync(join(audit!, 'events.jsonl'), 'utf8').trimEnd().split('\n'),
  )
})

/** Another program than the one that is running. */
function says2() {
  const dir = join(cwd, 'second')
  mkdirSync(dir)
  return agent(dir, 'for (const line of lines) say(line)')
}

/** Waits until `latest` leads to this directory. */
async function latestOf(dir: string): Promise<string> {
  await expect.poll(() => existsSync(join(cwd, '.audit', 'latest')) && linked()).toBe(basename(dir))
  return 'latest'
}

test('a link with a slash behind it is followed once, too', async () => {
  const { end } = await ran({ ...says(), cwd })
  expect(fixedDir(join(cwd, '.audit', 'latest/'))).toBe(end.audit)
  expect(await resume(join(cwd, '.audit', 'latest/'))).toEqual({ attempts: [], added: 0 })
  symlinkSync('nowhere', join(cwd, 'dangling'))
  expect(fixedDir(join(cwd, 'dangling'))).toBe(join(cwd, 'dangling'))
})
