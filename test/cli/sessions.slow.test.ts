import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import { lastRun } from '../../src/cli/input/last-run.ts'
import { built } from '../built.ts'
import { inside, standIn } from './inside.ts'

const home = mkdtempSync(join(tmpdir(), 'sluice-sessions-'))
afterAll(() => rmSync(home, { recursive: true }))

function put(path: string, from: string, at: number, cwd = process.cwd()): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  const text = readFileSync(join('fixtures', from, 'session.jsonl'), 'utf8')
  writeFileSync(file, text.replaceAll('/srv/ws1/repo', cwd))
  utimesSync(file, at, at)
  return file
}

const claude = put('.claude/projects/-a/s.jsonl', 'claude-session/plain', 2000)
const codex = put('.codex/sessions/2026/11/15/rollout-x.jsonl', 'codex-session/0.166.0-tool_fail', 1000)
// The escape is one of JSON here; as it is, it would make the line no JSON.
const other = put(
  '.codex/sessions/2026/11/15/rollout-y.jsonl',
  'codex-session/0.74.0-done',
  3000,
  '/srv/o\\u001b[2J',
)

/** Another process writes the text in pieces that end inside of lines. */
function append(file: string, text: string): void {
  const code = `const [file, text] = process.argv.slice(1)
    const next = (at) => {
      if (at >= text.length) return
      fs.appendFileSync(file, text.slice(at, at + 3001))
      setImmediate(next, at + 3001)
    }
    next(0)`
  spawn(process.execPath, ['-e', code, file, text], { stdio: 'inherit' })
}

const typesIn = (jsonl: string): string[] =>
  jsonl
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).type)

describe('sluice sessions', () => {
  test('lists the newest first, as NDJSON in a pipe', async () => {
    const { code, out } = await inside(['sessions', '--home', home])
    const rows = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(rows.map(({ path }) => path)).toEqual([other, claude, codex])
    expect(rows[2]).toMatchObject({ engine: 'codex', turns: 1, outcome: 'finished' })
    expect(code).toBe(0)
  })

  test('draws a table on a terminal, which no directory can steer', async () => {
    const { out } = await inside(['sessions', '--home', home], { stdout: standIn({ tty: true }) })
    expect(out).toMatch(/^started .*engine .*turns .*outcome .*directory .*file\n/)
    expect(out).toMatch(/codex +1 +finished /)
    expect(out).not.toContain('\u001b[2J')
  })

  test('a directory with a line end in its name makes no row of its own', async () => {
    const forged = put(
      '.claude/projects/-b/f.jsonl',
      'claude-session/plain',
      4000,
      '/srv\\n2026-11-15 forged',
    )
    const { out } = await inside(['sessions', '--home', home, '--limit', '1'], {
      stdout: standIn({ tty: true }),
    })
    rmSync(forged)
    expect(out.trimEnd().split('\n')).toHaveLength(2)
    expect(out).toContain('/srv\u240a2026-11-15 forged')
  })

  test('takes an engine, this directory and a limit', async () => {
    const paths = async (...args: string[]) =>
      (await inside(['sessions', '--home', home, ...args])).out
        .split('\n')
        .flatMap((line) => line.match(/[^/]+\.jsonl/) ?? [])
    expect(await paths('--engine', 'claude')).toEqual(['s.jsonl'])
    expect(await paths('--here')).toEqual(['s.jsonl', 'rollout-x.jsonl'])
    expect(await paths('--limit', '1')).toEqual(['rollout-y.jsonl'])
    expect((await inside(['sessions', '--limit', '0'])).code).toBe(2)
    expect((await inside(['sessions', '--home', join(home, 'empty')])).err).toContain('no session files')
  })
})

describe('sluice chat --last', () => {
  test('--home without it is told, not passed over', async () => {
    const { code, err } = await inside(['chat', '--home', home, claude])
    expect({ code, err }).toEqual({
      code: 2,
      err: 'sluice: --home is for --last; add that, or leave it out\n',
    })
  })

  test.each(['events', 'chat', 'chat --follow', 'why', 'export --to md'])(
    '%s --session of a file that is no database is told, not passed over',
    async (words) => {
      const { code, err } = await inside([...words.split(' '), 'LICENSE', '--session', 'abc'], { stdin: '' })
      expect([code, err]).toEqual([2, 'sluice: --session is for an OpenCode database; leave it out\n'])
    },
  )

  test('opens the newest session of this directory', async () => {
    const { code, out, err } = await inside(['chat', '--last', '--home', home])
    expect(err).toBe(`sluice: ${claude}\n`)
    expect(out).toContain('"text":"Hello."')
    // The file tells no end.
    expect(code).toBe(4)
  })

  test('reads it as what it is by its place, whatever its first lines are', async () => {
    const before = readFileSync(claude, 'utf8')
    writeFileSync(claude, `{"type":"of tomorrow"}\n${before}`)
    utimesSync(claude, 4000, 4000)
    const { out } = await inside(['chat', '--last', '--home', home])
    expect(out).toContain('"engine":"claude"')
    expect(out).toContain('"text":"Hello."')
    writeFileSync(claude, before)
    utimesSync(claude, 2000, 2000)
  })

  test('prefers a recorded run that is newer, and says so if there is nothing', () => {
    const audit = join(home, 'work', '.audit', 'latest')
    mkdirSync(audit, { recursive: true })
    writeFileSync(join(audit, 'stdout.1.log'), '')
    symlinkSync('nowhere', join(audit, 'broken'))
    expect(lastRun(join(home, 'work'), home).path).toBe(audit)
    expect(() => lastRun(join(home, 'nowhere'), home)).toThrow('there is no last run')
  })

  test('--follow goes on while another process writes, also half a line', async () => {
    const growing = mkdtempSync(join(tmpdir(), 'sluice-grows-'))
    const fixture = 'fixtures/codex-session/0.166.0-tool_fail'
    const text = readFileSync(join(fixture, 'session.jsonl'), 'utf8')
    const whole = text.replaceAll('/srv/ws1/repo', process.cwd())
    const begun = whole.indexOf('\n') + 1
    const file = join(growing, '.codex/sessions/2026/11/15/rollout-x.jsonl')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, whole.slice(0, begun))
    const args = [built('src/cli/main.ts'), 'chat', '--last', '--follow', '--json', '--home', growing]
    const reader = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const types: string[] = []
    for await (const line of createInterface({ input: reader.stdout })) {
      const { type } = JSON.parse(line)
      types.push(type)
      if (type === 'conversation.started') append(file, whole.slice(begun))
      if (type === 'user.input.required') reader.kill('SIGINT')
    }
    // The session may go on: only its reader has ended.
    const all = typesIn(readFileSync(join(fixture, 'chat.jsonl'), 'utf8'))
    expect([...types, 'conversation.ended']).toEqual(all)
    rmSync(growing, { recursive: true })
  })

  test('refuses a file beside it', async () => {
    expect((await inside(['chat', '--last', 'x.log'])).code).toBe(2)
    expect((await inside(['chat', '--follow'])).code).toBe(2)
  })
})
