import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { type FsDiff, judgePath } from '../../src/events/artifacts.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import { events } from '../../src/streams/events.ts'
import { lines, only, run } from '../engines/run.ts'
import { scripted } from './scripted.ts'

const change = (path: string, kind: string) =>
  lines({
    type: 'item.completed',
    item: { id: 'item_0', type: 'file_change', changes: [{ path, kind }], status: 'completed' },
  })

const artifactsOf = (list: readonly AgentEvent[]) =>
  list
    .filter(({ event }) => event.category === 'artifact')
    .map(({ event, data }) => `${event.type.slice(9)} ${(data as { path: string }).path}`)
const warningsOf = (list: readonly AgentEvent[], code: string) =>
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
    expect(warningsOf(list, 'ARTIFACT_REJECTED').at(-1)).toBe('400 more paths were refused or missing')
    const told = warningsOf(
      run(codex, {}, { fsDiff: { created: created.slice(0, 100) } }),
      'ARTIFACT_REJECTED',
    )
    expect([told.length, told.at(-1)]).toEqual([100, '"../99": it leaves the run directory'])
  })
})

/** An engine of one line per claim: the change, the path, and a diff if there is one. */
const claims = (list: readonly (readonly [string, string, string?])[], options: EventOptions = {}) =>
  drive(eventStage(scripted, { clock: () => 0, ...options }), [
    {
      channel: 'stdout',
      bytes: Buffer.from(list.map((claim) => `${JSON.stringify([['artifact', ...claim]])}\n`).join('')),
    },
  ])

describe('claims', () => {
  test('of one path are one event, and that of a file created and changed says created', () => {
    const rows: [changes: string[], event: string][] = [
      [['created'], 'created'],
      [['created', 'modified'], 'created'],
      [['created', 'modified', 'modified'], 'created'],
      [['created', 'deleted'], 'deleted'],
      [['modified', 'created'], 'created'],
      [['modified', 'modified'], 'modified'],
      [['deleted', 'modified'], 'modified'],
      [['deleted', 'created'], 'created'],
    ]
    for (const [changes, event] of rows)
      expect([changes, ...artifactsOf(claims(changes.map((change) => [change, 'a'] as const)))]).toEqual([
        changes,
        `${event} a`,
      ])
  })

  test('that were refused are none', () => {
    expect(
      artifactsOf(
        claims([
          ['created', '../a'],
          ['created', '.audit/a'],
          ['created', 'a'],
        ]),
      ),
    ).toEqual(['created a'])
  })

  test('that the file system does not confirm are missing, unless the file was deleted', () => {
    const list = claims(
      [
        ['created', 'a'],
        ['modified', 'b'],
        ['deleted', 'c'],
        ['created', 'd'],
      ],
      {
        fsDiff: { created: ['d'] },
      },
    )
    expect(artifactsOf(list)).toEqual(['created d'])
    expect(warningsOf(list, 'ARTIFACT_MISSING')).toEqual([
      'the engine claims a file that is not there: "a"',
      'the engine claims a file that is not there: "b"',
    ])
  })

  test('have the last diff, 65,536 characters of it, and 4 MiB of all', () => {
    const diffs = (list: readonly (readonly [string, string, string?])[]) =>
      claims(list).flatMap(({ data }) => ('path' in data ? [data.diff] : []))
    expect(
      diffs([
        ['created', 'a'],
        ['created', 'b', ''],
        ['created', 'c', '+1'],
        ['modified', 'c', '+2'],
      ]),
    ).toEqual([undefined, undefined, '+2'])
    const long = `+${'x'.repeat(65_536)}`
    expect(diffs([['created', 'a', long]])).toEqual([long.slice(0, 65_536)])
    const most = [
      ['created', 'without'],
      ...Array.from({ length: 64 }, (_, n) => ['created', `f${n}`, long]),
    ] as [string, string, string?][]
    // Exactly 4 MiB. What a later diff of the same path replaces makes room again.
    const more = [
      ['created', 'late', '+1'],
      ['modified', 'f0', '+1'],
      ['created', 'some', '+1'],
    ] as const
    expect(diffs([...most, ...more]).map((diff) => diff?.length)).toEqual([
      undefined,
      2,
      ...Array(63).fill(65_536),
      undefined,
      2,
    ])
  })
})

test('a diff of the file system that cannot be used leaves the claims, with a warning', () => {
  const why = 'fsDiff cannot be used: "it must return {created, modified, deleted} synchronously"'
  const rows: [fsDiff: unknown, events: string[], warning?: string][] = [
    [undefined, ['created a']],
    [() => undefined, ['created a']],
    [{}, []],
    [{ created: undefined, deleted: ['x', 'x', './x'] }, ['deleted x']],
    [null, ['created a'], why],
    ['x', ['created a'], why],
    [5, ['created a'], why],
    [{ created: 'a' }, ['created a'], why],
    [async () => ({ created: [] }), ['created a'], why],
    [() => Promise.reject(new Error('late')), ['created a'], why],
    [
      () => {
        throw new Error('no disk')
      },
      ['created a'],
      'fsDiff cannot be used: "no disk"',
    ],
  ]
  for (const [fsDiff, events, warning] of rows) {
    const list = claims([['created', 'a']], { fsDiff: fsDiff as FsDiff })
    expect([artifactsOf(list), warningsOf(list, 'ARTIFACT_REJECTED')]).toEqual([
      events,
      warning ? [warning] : [],
    ])
  }
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
    const list: AgentEvent[] = []
    for await (const event of flow) list.push(event)
    expect(artifactsOf(list)).toEqual(['created in', 'created real'])
    expect(warningsOf(list, 'ARTIFACT_REJECTED')).toHaveLength(2)
  })
})

test('a path is accepted, refused with a reason, or left out silently', () => {
  const absolute = { why: 'an absolute path outside the run directory' }
  const rows: [path: string, dir: string | undefined, judged: { ok?: string; why?: string }][] = [
    ['a/b.txt', undefined, { ok: 'a/b.txt' }],
    ['a//b/./c', undefined, { ok: 'a/b/c' }],
    ['a\\b', undefined, { ok: 'a/b' }],
    ['/run/a', '/run', { ok: 'a' }],
    ['/run/a', '/run//', { ok: 'a' }],
    ['C:\\run\\a', 'C:\\run', { ok: 'a' }],
    ['/a', '/', absolute],
    ['/running/a', '/run', absolute],
    ['/run/a', undefined, absolute],
    ['c:a', undefined, absolute],
    ['/run/', '/run', { why: 'the run directory itself' }],
    ['/run', '/run', absolute],
    ['.', undefined, { why: 'the run directory itself' }],
    ['', undefined, { why: 'an empty or very long path' }],
    ['a'.repeat(4096), undefined, { ok: 'a'.repeat(4096) }],
    ['a'.repeat(4097), undefined, { why: 'an empty or very long path' }],
    ['a\n', undefined, { why: 'a control character' }],
    ['a\u007f', undefined, { why: 'a control character' }],
    ['a/../b', undefined, { why: 'it leaves the run directory' }],
    ['.audit', undefined, {}],
    ['./.audit/x', undefined, {}],
    ['.Audit/x', undefined, { why: 'it looks like .audit' }],
    ['a/.audit', undefined, { ok: 'a/.audit' }],
    ['__proto__/x', undefined, { ok: '__proto__/x' }],
  ]
  for (const [path, dir, judged] of rows)
    expect([path, dir, judgePath(path, dir)]).toEqual([path, dir, judged])
})
