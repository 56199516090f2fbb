import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import type { Chat } from '../../src/views/chat.ts'
import { validChat, validEvents } from '../engines/valid.ts'
import { inside } from './inside.ts'

async function sluice(args: readonly string[], input: string | Buffer = '') {
  const { code, err, out } = await inside(args, { stdin: input })
  return { code, err, out, lines: out.split('\n').filter(Boolean) }
}

const records = <T>(lines: readonly string[]): T[] => lines.map((line) => JSON.parse(line))
const fixture = (name: string, file: string) => join('fixtures', name, file)

describe('sluice events', () => {
  test('reads logs of one run, with its diff and exit, and prints valid RASP', async () => {
    const at = (file: string) => fixture('codex/07a-file-write.tee80', file)
    const files = ['--stdout', at('stdout.log'), '--stderr', at('stderr.log'), '--pty', at('pty-output.log')]
    const more = [
      '--fs-diff',
      at('fs-diff.json'),
      '--exit',
      '0',
      '--run-id',
      'r1',
      '--dir',
      '/tmp/ws/repo',
      '--engine',
      'codex',
    ]
    const { code, lines, err } = await sluice(['events', ...files, ...more])
    const events = records<AgentEvent>(lines)
    validEvents(events)
    expect(new Set(events.map(({ run_id }) => run_id))).toEqual(new Set(['r1']))
    expect(events.filter(({ event }) => event.type === 'artifact.created')).toHaveLength(1)
    const expected = records<AgentEvent>(readFileSync(at('events.jsonl'), 'utf8').trim().split('\n'))
    expect(events.map(({ event, data }) => [event.type, data])).toEqual(
      expected.map(({ event, data }) => [event.type, data]),
    )
    expect([code, err]).toEqual([0, ''])
  })

  test.each([
    ['a file that is not there', ['missing.log'], 'no such file'],
    ['an exit code that is none', ['--exit', 'x'], 'whole number'],
    ['stdout twice', ['a.log', '--stdout', 'b.log'], 'give one of them'],
  ])('leaves with 2 for %s', async (_name, args, words) => {
    const { code, err, out } = await sluice(['events', ...args])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(words)
  })
})

describe('sluice chat', () => {
  const runs = Object.keys(engines).flatMap((engine) =>
    readdirSync(join('fixtures', engine)).map((name) => `${engine}/${name}`),
  )
  const recorded = runs.filter((name) => existsSync(fixture(name, 'stdout.log')))

  // One of each engine; engines.test.ts walks the whole set.
  test('reads the stdout of every engine from a pipe, without --engine', async () => {
    for (const engine of Object.keys(engines)) {
      const name = recorded.find((one) => one.startsWith(`${engine}/`))
      if (name === undefined) continue
      const { code, err, lines } = await sluice(['chat', '--json'], readFileSync(fixture(name, 'stdout.log')))
      validChat(records<Chat>(lines))
      expect([0, 1, 4], name).toContain(code)
      expect(err, name).toBe('')
    }
  })

  test('prints control characters of an agent as escapes only', async () => {
    const { out } = await sluice(['chat', fixture('codex/09a-unicode.tee80', 'stdout.log')])
    expect(out).not.toMatch(/[\u007f-\u009f\u2028\u2029]/)
    expect(JSON.stringify(records(out.split('\n').filter(Boolean)))).toContain('\u0085')
  })
})

test('sluice engines lists every engine, those that people look for first', async () => {
  const { code, lines } = await sluice(['engines', '--json'])
  const names = records<{ name: string }>(lines).map(({ name }) => name)
  expect([...names].sort()).toEqual([...Object.keys(engines), 'auto'].sort())
  expect(names.slice(0, 4)).toEqual(['claude', 'codex', 'gemini', 'copilot'])
  expect(names.at(-1)).toBe('auto')
  expect(code).toBe(0)
  expect((await sluice(['engines'])).out).toContain('codex exec --json')
})
