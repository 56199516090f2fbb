import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { inside, standIn } from './inside.ts'

const home = mkdtempSync(join(tmpdir(), 'sluice-drift-'))
afterAll(() => rmSync(home, { recursive: true }))
const file = (name: string, text: string) => {
  writeFileSync(join(home, name), text)
  return join(home, name)
}

const drift = 'fixtures/claude/stream-json.drift'

test('prints a table: engines, names with their first place, and the sum', async () => {
  const { code, out, err } = await inside(['drift', drift, 'fixtures/codex'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^engine {2}dialect +version +runs +records +unknown$/m)
  expect(out).toMatch(/^codex +codex_ndjson +\S+ +\d+ +\d+ +-$/m)
  expect(out).toMatch(
    /^field +mood +1 +1 +claude unknown +fixtures\/claude\/stream-json\.drift\/stdout\.log:533$/m,
  )
  expect(out).toMatch(/^\d+ runs, \d+ records$/m)
})

test('the same is one JSON document with --json', async () => {
  const { code, out } = await inside(['drift', '--json', drift])
  const report = JSON.parse(out)
  expect([code, Object.keys(report)]).toEqual([0, ['runs', 'records', 'engines', 'no_engine', 'unreadable']])
  expect(report).toMatchObject({ runs: 1, engines: [{ engine: 'claude', drifted: 1 }] })
})

test('says what cannot be read, reports the rest, and leaves with 2', async () => {
  const { code, out, err } = await inside(['drift', join(home, 'missing'), drift])
  expect(code).toBe(2)
  expect(err).toContain(`cannot read "${join(home, 'missing')}": there is no such file or directory`)
  expect(out).toContain('1 run, 6 records')
})

test('leaves with 2 where there is no run', async () => {
  expect(await inside(['drift', home])).toMatchObject({
    ...{ code: 2, out: '', err: 'sluice: no runs were found\n' },
  })
})

test('lists runs that no engine knows with the keys of a record', async () => {
  const log = file('odd.log', '{"a":1}\n{"a":2}\n')
  const { code, out } = await inside(['drift', log])
  expect(code).toBe(0)
  expect(out).toContain(`1 run of an unknown engine:\n  ${log}:0: records (2); the first: {a}`)
})

test('a name with a line end makes no row of its own', async () => {
  const log = file('rows.log', '{"type":"thread.started","thread_id":"t"}\n{"type":"x\\nforged"}\n')
  const { out } = await inside(['drift', '--engine', 'codex', log])
  expect(out).not.toMatch(/^forged/m)
  expect(out).toContain('x\u240aforged')
})

test('names from a log cannot steer the terminal', async () => {
  const log = file('evil.log', '{"type":"thread.started","thread_id":"t"}\n{"type":"\\u001b[2J\\u009b1m"}\n')
  const { out } = await inside(['drift', '--engine', 'codex', log], { stdout: standIn({ tty: true }) })
  expect(out).toContain('type')
  expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  const json = await inside(['drift', '--json', '--engine', 'codex', log])
  expect(json.out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
})

test('says on a terminal how far it is, and wipes the line', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 500))
  vi.stubEnv('TERM', 'xterm')
  try {
    const { err } = await inside(['drift', drift], { stderr: standIn({ tty: true }) })
    expect(err).toBe(`\r\u001b[K0 runs, ${drift}\r\u001b[K`)
  } finally {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  }
})
