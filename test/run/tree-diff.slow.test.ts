import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import { diffsOf } from '../../src/run/tree-diff.ts'
import { agent, codesOf, ran, workspace } from './agent.ts'

afterEach(() => void vi.unstubAllEnvs())

const say = 'for (const line of lines) say(line)'
const git = (cwd: string, ...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd, encoding: 'utf8' })

/** A repository with a commit, and in it the directory that the agent works in. */
function repository() {
  const { cwd: top } = workspace()
  const cwd = join(realpathSync(top), 'sub')
  mkdirSync(cwd)
  git(top, 'init', '-q')
  writeFileSync(join(cwd, 'a.txt'), 'one\ntwo\n')
  writeFileSync(join(cwd, 'gone.txt'), 'gone\n')
  writeFileSync(join(cwd, '.gitignore'), 'ignored\nagent.mjs\n')
  git(top, 'add', '-A')
  git(top, 'commit', '-qm', 'first')
  return { top, cwd, audit: join(cwd, '.audit') }
}

const diffs = (events: readonly AgentEvent[]) =>
  events.flatMap(({ type, data }) =>
    type.startsWith('artifact.') ? [[type.slice(9), ...Object.values(data)] as unknown[]] : [],
  )

test('what a run changes is recorded by git, without what was changed before', async () => {
  const { top, cwd, audit } = repository()
  writeFileSync(join(cwd, 'a.txt'), 'one\ntwo\nbefore\n')
  writeFileSync(join(cwd, 'dirty.txt'), 'dirty\n')
  vi.stubEnv('TMPDIR', top)
  const objects = git(top, 'count-objects')
  const work = `fs.writeFileSync('a.txt', 'one\\nTWO\\nbefore\\n'); fs.rmSync('gone.txt')
    fs.writeFileSync('new file.txt', 'new\\n'); fs.writeFileSync('ignored', 'x'); ${say}`
  const { events, end } = await ran({ ...agent(cwd, work), cwd, audit, fsDiff: true, diff: true })
  expect(end.outcome).toBe('finished')
  expect(end.notes).toEqual([])
  expect(diffs(events)).toEqual([
    ['created', 'ignored'],
    ['created', 'new file.txt', expect.stringContaining('@@ -0,0 +1 @@\n+new\n'), true],
    [
      'modified',
      'a.txt',
      expect.stringMatching(/^diff --git a\/a.txt b\/a.txt\n[\s\S]*\n one\n-two\n\+TWO\n before\n$/),
      true,
    ],
    ['deleted', 'gone.txt', expect.stringContaining('-gone\n'), true],
  ])
  const patch = readFileSync(join(audit, 'diff.1.patch'), 'utf8')
  expect([...diffsOf(patch).keys()]).toEqual(['a.txt', 'gone.txt', 'new file.txt'])
  // A replay tells the same, git's own tool can undo it, and nothing of ours is left.
  expect(await replay(audit).toArray()).toEqual(events)
  git(top, 'apply', '-R', '--directory=sub', join(audit, 'diff.1.patch'))
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one\ntwo\nbefore\n')
  expect(existsSync(join(cwd, 'new file.txt'))).toBe(false)
  expect(readdirSync(top).sort()).toEqual(['.git', 'sub'])
  expect(git(top, 'count-objects')).toBe(objects)
  expect(git(top, 'status', '--short').split('\n').sort().join('\n')).not.toContain('A ')
})

test('a commit of the agent hides nothing', async () => {
  const { cwd, audit } = repository()
  const commit = `const { execFileSync } = await import('node:child_process')
    fs.writeFileSync('a.txt', 'one\\n')
    execFileSync('git', ['add', '-A']); execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'second'])`
  const { events } = await ran({ ...agent(cwd, `${commit}; ${say}`), cwd, audit, fsDiff: true, diff: true })
  expect(diffs(events)).toEqual([['modified', 'a.txt', expect.stringContaining('-two\n'), true]])
})

test('outside a repository the run goes on, and a note says that there is no diff', async () => {
  const { cwd, audit } = workspace()
  const work = `fs.writeFileSync('a.txt', 'x'); ${say}`
  const { events, end } = await ran({ ...agent(cwd, work), cwd, audit, fsDiff: true, diff: true })
  expect([end.outcome, codesOf(events)]).toEqual(['finished', ['DIFF_MISSING']])
  expect(end.notes[0]?.message).toContain('not a git repository')
  expect(diffs(events)).toEqual([['created', 'a.txt']])
  expect(existsSync(join(audit, 'diff.1.patch'))).toBe(false)
})

test('without git the run goes on, too', async () => {
  const { cwd, audit } = repository()
  vi.stubEnv('PATH', cwd)
  const { end } = await ran({ ...agent(cwd, say), cwd, audit, fsDiff: true, diff: true })
  expect([end.outcome, end.notes.map(({ message }) => message)]).toEqual([
    'finished',
    ['no diff of the working tree was recorded: git is not installed'],
  ])
})

test('a large diff is cut, and a note says so', async () => {
  const { cwd, audit } = repository()
  const work = `fs.writeFileSync('big.txt', 'line\\n'.repeat(500_000)); ${say}`
  const { end } = await ran({ ...agent(cwd, work), cwd, audit, fsDiff: true, diff: true })
  expect(end.outcome).toBe('finished')
  expect(end.notes.map(({ message }) => message)).toEqual([expect.stringContaining('larger than 1.0 MB')])
  expect(readFileSync(join(audit, 'diff.1.patch')).length).toBe(1 << 20)
})

test('what the agent puts into the configuration of the repository is not run', async () => {
  const { cwd, audit } = repository()
  const work = `const { execFileSync } = await import('node:child_process')
    const set = (name, value) => execFileSync('git', ['config', name, value])
    for (const name of ['filter.f.clean', 'core.fsmonitor', 'diff.f.command', 'diff.f.textconv']) set(name, 'touch ${join(cwd, 'ran')}; cat')
    fs.writeFileSync('.gitattributes', '*.txt filter=f diff=f\\n'); fs.writeFileSync('a.txt', 'changed\\n'); ${say}`
  const { events } = await ran({ ...agent(cwd, work), cwd, audit, fsDiff: true, diff: true })
  expect(diffs(events).map(([change, path]) => `${change} ${path}`)).toEqual([
    'created .gitattributes',
    'modified a.txt',
  ])
  expect(diffs(events)[1]).toEqual(['modified', 'a.txt', expect.stringContaining('+changed\n'), true])
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
})

test('with `redact` the recorded diff has no secret', async () => {
  const { cwd, audit } = repository()
  const token = 'ghp_7hQ2mV9xK4tLw8ZpR3nB6yD1cF5gJ0sA2eUi'
  const work = `fs.writeFileSync('key.txt', 'key: ${token}\\n'); ${say}`
  const { events } = await ran({ ...agent(cwd, work), cwd, audit, fsDiff: true, diff: true, redact: true })
  expect(readFileSync(join(audit, 'diff.1.patch'), 'utf8')).toContain('+key: [redacted:github]')
  expect(diffs(events)).toEqual([['created', 'key.txt', expect.stringContaining('[redacted:github]'), true]])
  for (const name of readdirSync(audit)) expect(readFileSync(join(audit, name), 'utf8')).not.toContain(token)
})

test('it is refused without the comparison of files', () => {
  const options = { fsDiff: false, diff: true } as const
  return expect(run('codex', [], options).end).rejects.toThrow('`diff` compares the working directory')
})

test('recordings that git ignores already are left out, and the rest is told', async () => {
  const { cwd } = repository()
  writeFileSync(join(cwd, '.gitignore'), 'agent.mjs\n/runs [x]/\n')
  const audit = join(cwd, 'runs [x]', 'one')
  const work = `fs.writeFileSync('a.txt', 'one\\nTWO\\n'); ${say}`
  const { events, end } = await ran({ ...agent(cwd, work), cwd, audit, fsDiff: true, diff: true })
  expect(end.notes).toEqual([])
  expect(diffs(events)).toEqual([['modified', 'a.txt', expect.stringContaining('-two\n+TWO\n'), true]])
})

test('recordings that lie in a folder that ignores itself are left out, too', async () => {
  const { cwd } = repository()
  mkdirSync(join(cwd, 'runs'))
  writeFileSync(join(cwd, 'runs', '.gitignore'), '*\n')
  const work = `fs.writeFileSync('a.txt', 'one\\nTWO\\n'); ${say}`
  const options = { fsDiff: true, diff: true }
  for (const name of ['one', 'two']) {
    const { end } = await ran({ ...agent(cwd, work), cwd, audit: join(cwd, 'runs', name), ...options })
    expect(end.notes).toEqual([])
  }
})
