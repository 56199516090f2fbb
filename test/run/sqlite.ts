import { readFileSync } from 'node:fs'
import { vi } from 'vitest'

const fixture = 'fixtures/opencode-session/1.18.34-resume-turn2/session.jsonl'

/** What the database of a fixture holds, as `openCodeLines` gives it. */
// biome-ignore lint/suspicious/noExplicitAny: rows of another program, taken as they are.
export const sessionLines: any[] = readFileSync(fixture, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
const [{ row: session }, ...messages] = sessionLines
/** The columns that only the list asks for. */
const listed = { ...session, time_updated: session.time_created }

/** How many databases were closed. */
export const closed: boolean[] = []

/** Answers what the database of the fixture would: not every Node that runs these tests has `node:sqlite`. */
class StandIn {
  constructor(path: string) {
    if (path.endsWith('broken.db')) throw new Error('file is not a database')
  }
  exec() {}
  prepare(sql: string) {
    const all = (...values: unknown[]): unknown[] => {
      const row = sql.includes('time_updated') ? listed : session
      if (sql.includes('FROM session WHERE id')) return values[0] === session.id ? [row] : []
      if (sql.includes('FROM session')) return [row]
      if (sql.includes('sum(length')) return [{ size: JSON.stringify(messages).length }]
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

/** Lets this Node have a `node:sqlite` with that database, or none. */
export function withSqlite(there: boolean): void {
  const module = there ? { DatabaseSync: StandIn } : undefined
  vi.spyOn(process, 'getBuiltinModule').mockImplementation((() => module) as typeof process.getBuiltinModule)
}
