import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { run } from '../../src/run/run.ts'
import type { RunCommand } from '../../src/run/run-options.ts'
import { agent } from './agent.ts'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sluice-unrecorded-'))
})

const says = (body = 'for (const line of lines) say(line)'): RunCommand => ({
  ...agent(cwd, body),
  engine: codex,
  cwd,
})
const eventsOf = async (source: AsyncIterable<AgentEvent>) => {
  const events: AgentEvent[] = []
  for await (const event of source) events.push(event)
  return events
}

test('the end alone is enough: how it ended and what it said, and nothing on disk', async () => {
  const before = readdirSync(cwd)
  const program = says()
  const made = readdirSync(cwd)
  const end = await run(program).end
  expect(end).toMatchObject({ text: 'Grüße — done.', session: 't-1', exitCode: 0, audit: undefined })
  expect(readdirSync(cwd)).toEqual(made)
  expect(made.length).toBeGreaterThan(before.length)
})

test('the events are those of a recorded run, but for time and id', async () => {
  const shape = (events: readonly AgentEvent[]) =>
    events.map(({ type, data, seq, raw_ref }) => [type, data, seq, raw_ref])
  const plain = await eventsOf(run({ ...says(), runId: 'r' }))
  const recorded = await eventsOf(run({ ...says(), runId: 'r', audit: join(cwd, 'audit'), fsDiff: false }))
  expect(shape(plain)).toEqual(shape(recorded))
})

test('a slow reader holds the agent back, loses nothing, and does not look like a silent agent', async () => {
  const program = says(
    "for (let i = 0; i < 4000; i++) await new Promise((done) => process.stdout.write('x'.repeat(999) + '\\n', done))",
  )
  const limits = { engine: 'text', idleTimeout: 500, pipeGrace: 100 } as const
  const live = run({ ...program, ...limits })
  let bytes = 0
  let waited = false
  for await (const event of live) {
    if (event.raw_ref) bytes = Math.max(bytes, event.raw_ref.byte_to)
    if (waited) continue
    waited = true
    // Until an agent that is really silent was ended twice.
    for (const _ of [1, 2])
      expect((await run({ ...says('setInterval(() => {}, 1000)'), ...limits }).end).reason).toBe(
        'idle_timeout',
      )
  }
  expect(await live.end).toMatchObject({ exitCode: 0, reason: null })
  expect(bytes).toBe(4_000_000)
})

test('both a reader and the end', async () => {
  const live = run(says())
  const { end } = live
  const events = await eventsOf(live)
  expect(events.at(-1)?.type).toBe('lifecycle.completion.state')
  expect((await end).exitCode).toBe(0)
})

test('a reader that comes after the end was asked for is refused, and the end is still told', async () => {
  const live = run(says())
  const { end } = live
  await turn()
  await turn()
  await expect(eventsOf(live)).rejects.toMatchObject({ code: 'BAD_STATE' })
  expect(() => live.pipe(process.stdout)).toThrow('already')
  expect(() => live.on('data', () => {})).toThrow('already')
  expect((await end).exitCode).toBe(0)
})

const wrong: [string, RunCommand, string][] = [
  ['a command that is not there', { command: 'no-such-agent' }, 'SPAWN_FAILED'],
  ['no command', { command: '' }, 'BAD_OPTION'],
  ['an engine that is none', { command: 'true', engine: 'codx' as never }, 'BAD_OPTION'],
  ['an option that is none', { command: 'true', tiemout: 5 } as never, 'BAD_OPTION'],
  ['a terminal without a directory', { command: 'true', pty: true }, 'BAD_OPTION'],
  ['two directories', { command: 'true', audit: 'a', runs: 'b' }, 'BAD_OPTION'],
  ['a place that cannot be written', { command: 'true', audit: '/proc/nowhere/x' }, 'JOURNAL_FAILED'],
]

test.each(wrong)(
  'what is wrong fails the flow, the end, or both, and is never uncaught: %s',
  async (_, call, code) => {
    await expect(eventsOf(run(call))).rejects.toMatchObject({ code })
    await expect(run(call).end).rejects.toMatchObject({ code })
    const live = run(call)
    const { end } = live
    await expect(eventsOf(live)).rejects.toMatchObject({ code })
    await expect(end).rejects.toMatchObject({ code })
    // Nobody looks at this one.
    await new Promise((closed) => run(call).on('close', closed))
    await turn()
  },
)

test('a whole command line in place of a command is told apart', async () => {
  await expect(run('codex exec --json').end).rejects.toThrow('arguments are a list')
})

test('an engine is known by its name, and one that is misspelled is guessed', async () => {
  const end = await run({ ...says(), engine: 'codex' }).end
  expect(end.session).toBe('t-1')
  await expect(run({ ...says(), engine: 'codx' as never }).end).rejects.toThrow('did you mean codex?')
})

test('a directory of runs is made once, kept out of git, and readable by its owner only', async () => {
  const runs = join(cwd, 'out', 'runs')
  const { audit } = await run({ ...says(), runs }).end
  expect(audit?.startsWith(`${runs}/`)).toBe(true)
  expect(readFileSync(join(runs, '.gitignore'), 'utf8')).toBe('*\n')
  const modes = (dir: string) => readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o077)
  expect(new Set(modes(audit!))).toEqual(new Set([0]))
  expect(statSync(audit!).mode & 0o077).toBe(0)
})

test('a directory that was there before gets no .gitignore', async () => {
  const audit = join(cwd, 'mine')
  mkdirSync(audit)
  writeFileSync(join(audit, 'notes.txt'), 'mine')
  await run({ ...says(), audit }).end
  expect(existsSync(join(audit, '.gitignore'))).toBe(false)
})

test('it starts no process but the agent', async () => {
  const live = run('/bin/sh', ['-c', 'ps -o args= --ppid $PPID'], { cwd, prompt: 'look' })
  const lines = (await eventsOf(live)).flatMap(({ data }) => ('line' in data ? [String(data.line)] : []))
  expect(lines.filter((line) => /mkfifo|\bcat\b|tee/.test(line))).toEqual([])
  expect(lines.join('\n')).toContain('ps -o args=')
})
