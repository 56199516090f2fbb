import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { built } from '../built.ts'
import { root } from '../serve/serving.ts'
import { makeRun } from '../views/make-run.ts'
import { inside } from './inside.ts'

const claude = join('fixtures', 'claude/stream-json.tools')

function recorded(dir: string, name: string, steps: Parameters<typeof makeRun>[0]): string {
  const path = join(dir, name)
  mkdirSync(path)
  const events = makeRun(steps)
  const say = (record: object) => `${JSON.stringify(record)}\n`
  // What an engine reads: the text is one, whose lines are messages.
  writeFileSync(join(path, 'stdout.1.log'), events.map(say).join(''))
  return path
}

describe('sluice diff', () => {
  test('prints the edits of a run, by file', async () => {
    const { code, out, err } = await inside(['diff', claude])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^diff --git a\/\S+ b\/\S+\n--- \S+\n\+\+\+ b\/\S+\n@@ edit 1 of 1 @@\n\+/)
    const { files } = JSON.parse((await inside(['diff', claude, '--json'])).out)
    expect(files).toHaveLength(out.split('diff --git ').length - 1)
  })

  test('what was recorded with --diff can be applied', async () => {
    const cwd = root()
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd })
    git('init', '-q')
    writeFileSync(join(cwd, 'a.txt'), 'one\n')
    git('add', '-A')
    git('commit', '-qm', 'first')
    const change =
      'echo two >> a.txt; mkdir sub; echo new > "sub/b c.txt"; echo \'{"type":"thread.started","thread_id":"t"}\''
    const sluice = [built('src/cli/main.ts'), 'run', '--engine', 'codex', '--diff', '--', 'sh', '-c', change]
    // The end is not known: 4.
    expect(() => execFileSync(process.execPath, sluice, { cwd, stdio: 'pipe' })).toThrow()
    const { code, out } = await inside(['diff', join(cwd, '.audit/latest')])
    expect(code).toBe(0)
    git('stash', '-u', '-q')
    writeFileSync(join(cwd, 'all.patch'), out)
    git('apply', 'all.patch')
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(readFileSync(join(cwd, 'sub/b c.txt'), 'utf8')).toBe('new\n')
  })

  test('compares two runs: 0 if they are the same, 1 if they differ', async () => {
    const dir = root()
    cpSync(claude, join(dir, 'copy'), { recursive: true })
    const same = await inside(['diff', claude, join(dir, 'copy')])
    expect([same.code, same.err]).toEqual([0, ''])
    expect(same.out).toContain('\nThe conversations are the same.\n')
    const other = join('fixtures', 'claude/stream-json.plain')
    const { code, out } = await inside(['diff', claude, other])
    expect(code).toBe(1)
    expect(out).toMatch(/^ {3}run .*\n/)
    expect(out).toMatch(/\n≠ {2}answer /)
    expect(out).toMatch(/\nThe conversations part here:\n< 1\.\d+ \w+: .*\n> 1\.\d+ \w+: .*\n$/)
    const json = await inside(['diff', claude, other, '--json'])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({ same: false, differs: expect.arrayContaining(['answer']) })
  })

  test('2 for what cannot be read, and for half a question', async () => {
    const dir = root()
    const none = join(dir, 'none')
    for (const words of [['none'], [claude, none], [none, claude], [], [claude, claude, '--last']]) {
      const { code, out, err } = await inside(['diff', ...words], { stdin: '' })
      expect([code, out]).toEqual([2, ''])
      expect(err).toMatch(/^sluice: /)
    }
  })

  test('a run without a change says so', async () => {
    const path = recorded(root(), 'run', [['agent.message.final', { message_id: 'm', text: 'hi' }]])
    const { code, out, err } = await inside(['diff', path, '--engine', 'text'])
    expect([code, out, err]).toEqual([0, '', 'sluice: the run changed no file\n'])
  })
})
