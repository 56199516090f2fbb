import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex.ts'
import { judgePath } from '../../src/events/artifacts.ts'
import type { Event } from '../../src/events/event.ts'
import { events } from '../../src/streams/events.ts'
import { lines, only, run } from '../engines/run.ts'

const change = (path: string, kind: string) =>
  lines({
    type: 'item.completed',
    item: { id: 'item_0', type: 'file_change', changes: [{ path, kind }], status: 'completed' },
  })

const artifactsOf = (list: readonly Event[]) =>
  list
    .filter(({ event }) => event.category === 'artifact')
    .map(({ event, data }) => `${event.type.slice(9)} ${(data as { path: string }).path}`)
const warningsOf = (list: readonly Event[], code: string) =>
  only(list, 'diagnostic.parser.warning')
    .filter(({ data }) => data.code === code)
    .map(({ data }) => data.message)

describe('artifacts', () => {
  test('come from the diff and from the engine, each path once, before the end', () => {
    const fsDiff = { created: ['artifacts/info.json', 'b.txt'], modified: ['c.txt'], deleted: ['d.txt'] }
    const list = run(
      codex,
      { stdout: change('/home/agent/artifacts/info.json', 'add'), exit: 0 },
      { fsDiff, dir: '/home/agent' },
    )
    expect(artifactsOf(list)).toEqual([
      'created artifacts/info.json',
      'created b.txt',
      'modified c.txt',
      'deleted d.txt',
    ])
    expect(only(list, 'artifact.created').map(({ raw_ref }) => raw_ref?.stream ?? null)).toEqual([
      'stdout',
      null,
    ])
    expect(list.at(-1)!.event.type).toBe('lifecycle.completion.state')
  })

  test('are the engine’s claims where there is no diff', () => {
    const stdout =
      change('/home/agent/a.txt', 'add') + change('/home/agent/a.txt', 'update') + change('b.txt', 'delete')
    expect(artifactsOf(run(codex, { stdout }, { dir: '/home/agent/' }))).toEqual([
      'created a.txt',
      'deleted b.txt',
    ])
  })

  test('that are claimed but not in the diff are only a warning', () => {
    const list = run(codex, { stdout: change('gone.txt', 'add') }, { fsDiff: { created: [] } })
    expect(artifactsOf(list)).toEqual([])
    expect(warningsOf(list, 'ARTIFACT_MISSING')).toEqual([expect.stringContaining('gone.txt')])
  })

  test('never leave the run directory, and .audit is left out', () => {
    const created = [
      '../../x',
      '/etc/passwd',
      'C:\\x',
      '..\\x',
      'a/../../x',
      'nul\u0000',
      '.AUDIT/x',
      '.audit\u200b/x',
      '.audit/meta.json',
      'ok/../fine',
      './good',
    ]
    const list = run(codex, {}, { fsDiff: { created } })
    expect(artifactsOf(list)).toEqual(['created good'])
    expect(warningsOf(list, 'ARTIFACT_REJECTED')).toHaveLength(9)
  })

  test('asks for the diff when the run is over', () => {
    let asked = 0
    const fsDiff = () => {
      asked++
      return { created: ['late.txt'] }
    }
    expect(artifactsOf(run(codex, { stdout: 'noise\n' }, { fsDiff }))).toEqual(['created late.txt'])
    expect(asked).toBe(4)
  })

  test('tells of a flood of bad paths once they are too many', () => {
    const created = Array.from({ length: 500 }, (_, i) => `../${i}`)
    const list = run(codex, {}, { fsDiff: { created } })
    expect(warningsOf(list, 'ARTIFACT_REJECTED')).toHaveLength(101)
    expect(warningsOf(list, 'ARTIFACT_REJECTED').at(-1)).toContain('400 more')
  })
})

describe('links', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-artifacts-'))
  afterAll(() => rmSync(dir, { recursive: true }))

  test('that lead out of the run directory are refused', async () => {
    mkdirSync(join(dir, 'run'))
    writeFileSync(join(dir, 'secret'), 'x')
    writeFileSync(join(dir, 'run', 'real'), 'x')
    symlinkSync(join(dir, 'secret'), join(dir, 'run', 'out'))
    symlinkSync(join(dir, 'run', 'real'), join(dir, 'run', 'in'))
    symlinkSync(dir, join(dir, 'run', 'up'))
    const flow = events(codex, {
      dir: join(dir, 'run'),
      fsDiff: { created: ['out', 'in', 'up/secret', 'real'] },
    })
    flow.end()
    const list: Event[] = []
    for await (const event of flow) list.push(event)
    expect(artifactsOf(list)).toEqual(['created in', 'created real'])
    expect(warningsOf(list, 'ARTIFACT_REJECTED')).toHaveLength(2)
  })
})

test.each([
  ['a/b.txt', undefined, { ok: 'a/b.txt' }],
  ['a//b/./c', undefined, { ok: 'a/b/c' }],
  ['/run/a', '/run', { ok: 'a' }],
  ['/running/a', '/run', { why: expect.any(String) }],
  ['/run', '/run', { why: expect.any(String) }],
  ['.audit', undefined, {}],
  ['a/.audit', undefined, { ok: 'a/.audit' }],
  ['__proto__/x', undefined, { ok: '__proto__/x' }],
])('judges %s in %s', (path, dir, expected) => expect(judgePath(path, dir)).toEqual(expected))
