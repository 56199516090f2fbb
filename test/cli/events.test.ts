import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import type { Chat } from '../../src/chat/chat.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { Event } from '../../src/events/event.ts'
import { built } from '../built.ts'
import { validChat, validEvents } from '../engines/valid.ts'
import { slow } from '../pace.ts'
import { inside } from './inside.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-events-'))
afterAll(() => rmSync(dir, { recursive: true }))

const start = (args: readonly string[]) =>
  spawn(process.execPath, [built('src/cli/main.ts'), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })

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
    const events = records<Event>(lines)
    validEvents(events)
    expect(new Set(events.map(({ run_id }) => run_id))).toEqual(new Set(['r1']))
    expect(events.filter(({ event }) => event.type === 'artifact.created')).toHaveLength(1)
    const expected = records<Event>(readFileSync(at('events.jsonl'), 'utf8').trim().split('\n'))
    expect(events.map(({ event, data }) => [event.type, data])).toEqual(
      expected.map(({ event, data }) => [event.type, data]),
    )
    expect([code, err]).toEqual([0, ''])
  })

  test('judges a schema: 0 for a valid result, 3 for none', async () => {
    const log = fixture('codex/05a-thinking-json.tee80', 'stdout.log')
    const schema = (name: string, value: object) => {
      writeFileSync(join(dir, name), JSON.stringify(value))
      return join(dir, name)
    }
    const good = await sluice([
      'events',
      log,
      '--schema',
      schema('good.json', { type: 'object', required: ['issues'] }),
    ])
    expect(
      records<Event>(good.lines).find(({ event }) => event.type === 'lifecycle.run.result')!.data,
    ).toMatchObject({ status: 'success' })
    expect(good.code).toBe(0)
    expect(
      (await sluice(['events', log, '--schema', schema('bad.json', { required: ['nothing'] })])).code,
    ).toBe(3)
  })

  test.each([
    ['0 for a run that waits', 'codex/02-reasoning.pipe', ['--exit', '0'], 0],
    ['0 for a run that is done', 'opencode/06a-skill-done.pipe', [], 0],
    ['1 for a run that failed', 'codex/08a-http-429.pipe', ['--exit', '1'], 1],
    ['4 for a run that was cut', 'qwen/big_200k.json-pipe', ['--exit', '0'], 4],
    ['4 for an unknown end', 'codex/0.42-02-reasoning.pipe', ['--exit', '0'], 4],
  ])('leaves with %s', async (_, name, args, code) => {
    expect((await sluice(['events', fixture(name, 'stdout.log'), ...args])).code).toBe(code)
  })

  test.each([
    ['an unknown engine', ['--engine', 'codx'], 'codex'],
    ['a file that is not there', ['missing.log'], 'no such file'],
    ['a schema that is none', ['--schema', 'package-lock.json', 'missing.log'], ''],
    ['an exit code that is none', ['--exit', 'x'], 'whole number'],
    ['stdout twice', ['a.log', '--stdout', 'b.log'], 'give one of them'],
    ['a diff that is none', ['--fs-diff', 'biome.json', 'package.json'], ''],
  ])('leaves with 2 for %s', async (name, args, words) => {
    const { code, err, out } = await sluice(['events', ...args])
    if (name !== 'a diff that is none') expect([code, out]).toEqual([2, ''])
    expect(err).toContain(words)
  })
})

describe('sluice chat', () => {
  const runs = Object.keys(engines).flatMap((engine) =>
    readdirSync(join('fixtures', engine)).map((name) => `${engine}/${name}`),
  )
  const recorded = runs.filter((name) => existsSync(fixture(name, 'stdout.log')))

  // One of each engine; the whole set is walked without processes in engines.test.ts.
  test.each(Object.keys(engines))('reads the stdout of %s from a pipe, without --engine', async (engine) => {
    for (const name of recorded.filter((one) => one.startsWith(`${engine}/`)).slice(0, 1)) {
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

  test.runIf(slow)('stops quietly when its reader has left', async () => {
    const child = start(['chat', fixture('codex/03h-interleave.tee80', 'stdout.log')])
    child.stdin.end()
    child.stdout.once('data', () => child.stdout.destroy())
    const [err, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect([err, code, signal]).toEqual(['', 0, null])
  })
})

test('sluice engines lists every engine', async () => {
  const { code, lines } = await sluice(['engines', '--json'])
  expect(records<{ name: string }>(lines).map(({ name }) => name)).toEqual([...Object.keys(engines), 'auto'])
  expect(code).toBe(0)
  expect((await sluice(['engines'])).out).toContain('codex exec --json')
})
