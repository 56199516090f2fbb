import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { canReadOpenCode, isDatabase, openCodeLines, openCodeSessions } from '../../src/run/opencode-db.ts'
import { inside } from '../cli/inside.ts'
import { closed, sessionLines, withSqlite } from './sqlite.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-db-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(dir, { recursive: true })
})

const [{ row: session }] = sessionLines

describe('the database of OpenCode', () => {
  test('gives a session as lines, the newest one or the one that is named', () => {
    withSqlite(true)
    expect(openCodeLines('opencode.db').map((line) => JSON.parse(line))).toEqual(sessionLines)
    expect(openCodeLines('opencode.db', session.id)).toHaveLength(sessionLines.length)
    expect(() => openCodeLines('opencode.db', 'other')).toThrow('no session')
    expect(openCodeSessions('opencode.db', 1)).toMatchObject([session])
    expect(closed.length).toBeGreaterThan(0)
  })

  test('says which Node it needs, and what is wrong with a file', async () => {
    const file = join(dir, 'opencode.db')
    writeFileSync(file, 'SQLite format 3\0…')
    expect([isDatabase(file), isDatabase('package.json'), isDatabase('missing')]).toEqual([
      true,
      false,
      false,
    ])
    withSqlite(false)
    const { code, err } = await inside(['chat', file])
    expect([code, err]).toEqual([2, expect.stringContaining('needs Node 22.5')])
    withSqlite(true)
    expect(() => openCodeLines('broken.db')).toThrow('cannot read the database')
  })

  test('is read by sluice chat', async () => {
    const file = join(dir, 'opencode.db')
    writeFileSync(file, 'SQLite format 3\0…')
    withSqlite(true)
    const { code, out } = await inside(['chat', file])
    expect(out).toContain('Command finished: alpha, beta.')
    expect(code).toBe(0)
    expect((await inside(['chat', file, '--follow'])).code).toBe(2)
  })
})

test('loading the database of Node warned on stderr', () => {
  const load = process.getBuiltinModule
  const warn = process.emitWarning
  const told: unknown[] = []
  process.emitWarning = ((...words: unknown[]) => told.push(words)) as never // cast: one of its forms
  process.getBuiltinModule = ((name: string) => {
    process.emitWarning(`${name} is experimental`)
    return undefined
  }) as never // cast: a part of it
  try {
    expect(canReadOpenCode()).toBe(false)
    process.emitWarning('another')
  } finally {
    process.getBuiltinModule = load
    process.emitWarning = warn
  }
  expect(told).toEqual([['another']])
})
