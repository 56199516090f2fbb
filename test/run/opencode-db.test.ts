import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isDatabase, openCodeLines, openCodeSessions } from '../../src/run/opencode-db.ts'
import { inside } from '../cli/inside.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-db-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(dir, { recursive: true })
})

const fixture = 'fixtures/opencode-session/1.18.34-resume-turn2/session.jsonl'
const lines = readFileSync(fixture, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
const [{ row: session }, ...messages] = lines
const closed: boolean[] = []

/** Answers what the database of the fixture would: not every Node that runs these tests has `node:sqlite`. */
class StandIn {
  constructor(path: string) {
    if (path.endsWith('broken.db')) throw new Error('file is not a database')
  }
  exec() {}
  prepare(sql: string) {
    const all = (...values: unknown[]): unknown[] => {
      if (sql.includes('FROM session WHERE id')) return values[0] === session.id ? [session] : []
      if (sql.includes('FROM session')) return [session]
      if (sql.includes('FROM message'))
        return messages.map(({ id, data }) => ({ id, data: JSON.stringify(data) }))
      return messages.flatMap(({ id: message_id, parts }) =>
        parts.map(({ id, ...data }: { id: string }) => ({ id, message_id, data: JSON.stringify(data) })),
      )
    }
    return { all }
  }
  close() {
    closed.push(true)
  }
}

const withSqlite = (module: object | undefined) =>
  vi.spyOn(process, 'getBuiltinModule').mockImplementation((() => module) as typeof process.getBuiltinModule)

describe('the database of OpenCode', () => {
  test('gives a session as lines, the newest one or the one that is named', () => {
    withSqlite({ DatabaseSync: StandIn })
    expect(openCodeLines('opencode.db').map((line) => JSON.parse(line))).toEqual(lines)
    expect(openCodeLines('opencode.db', session.id)).toHaveLength(lines.length)
    expect(() => openCodeLines('opencode.db', 'other')).toThrow('no session')
    expect(openCodeSessions('opencode.db', 1)).toEqual([session])
    expect(closed.length).toBeGreaterThan(0)
  })

  test('says which Node it needs, and what is wrong with a file', async () => {
    const file = join(dir, 'opencode.db')
    writeFileSync(file, 'SQLite format 3\0…')
    expect([isDatabase(file), isDatabase(fixture), isDatabase('missing')]).toEqual([true, false, false])
    withSqlite(undefined)
    const { code, err } = await inside(['chat', file])
    expect([code, err]).toEqual([2, expect.stringContaining('needs Node 22.5')])
    withSqlite({ DatabaseSync: StandIn })
    expect(() => openCodeLines('broken.db')).toThrow('cannot read the database')
  })

  test('is read by sluice chat', async () => {
    const file = join(dir, 'opencode.db')
    writeFileSync(file, 'SQLite format 3\0…')
    withSqlite({ DatabaseSync: StandIn })
    const { code, out } = await inside(['chat', file])
    expect(out).toContain('Command finished: alpha, beta.')
    expect(code).toBe(0)
    expect((await inside(['chat', file, '--follow'])).code).toBe(2)
  })
})
