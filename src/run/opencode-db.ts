import { badOption, Fault, quote } from '../base/fault.ts'
import { beginsWith } from '../disk/plain-file.ts'
import { jsonValue } from '../json/strict.ts'

/** The part of `node:sqlite` that is used; Node has it from 22.5 on. */
interface Sqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean },
  ) => {
    exec(sql: string): void
    prepare(sql: string): { all(...values: unknown[]): unknown[] }
    close(): void
  }
}

export interface OpenCodeSession {
  readonly id: string
  readonly directory: string
  readonly time_created: number
  readonly time_updated: number
}

/** Whether this version of Node can read the database. */
export function canReadOpenCode(): boolean {
  return sqlite() !== undefined
}

/** True for a file that begins like an SQLite database. */
export function isDatabase(path: string): boolean {
  return beginsWith(path, 'SQLite format 3\0')
}

/** The newest sessions of a database; those of subagents are parts of others. */
export function openCodeSessions(path: string, max: number): OpenCodeSession[] {
  const sql =
    'SELECT id, directory, time_created, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT ?'
  // Cast: the columns of the query.
  return reading(path, (all) => all(sql, max) as OpenCodeSession[])
}

/** One session of a database, if it exists. */
export function openCodeSession(path: string, id: string): OpenCodeSession | undefined {
  const sql = 'SELECT id, directory, time_created, time_updated FROM session WHERE id = ?'
  return reading(path, (all) => all(sql, id)[0] as OpenCodeSession | undefined)
}

/** About how many bytes the lines of a session have. */
export function openCodeSize(path: string, id: string): number {
  const sql = 'SELECT sum(length(data)) AS size FROM part WHERE session_id = ?'
  return Number(reading(path, (all) => (all(sql, id)[0] as { size: number | null }).size))
}

/** A session as the lines that `opencode-session` reads: its row, then each message with its parts. */
export function openCodeLines(path: string, session?: string | undefined): string[] {
  return reading(path, (all) => {
    const id = session ?? openCodeSessions(path, 1)[0]?.id
    const [row] = all(
      'SELECT id, directory, version, title, time_created FROM session WHERE id = ?',
      id ?? '',
    )
    if (!row) throw badOption(`the database has no session${id ? ` ${quote(id)}` : ''}`)
    const parts = new Map<string, unknown[]>()
    for (const { id: partId, message_id, data } of all(
      'SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id',
      id,
    ) as { id: string; message_id: string; data: string }[]) {
      const known = parts.get(message_id) ?? []
      parts.set(message_id, known)
      known.push({ id: partId, ...parsed(data) })
    }
    const messages = all('SELECT id, data FROM message WHERE session_id = ? ORDER BY id', id) as {
      id: string
      data: string
    }[]
    return [
      { opencode: 'session', row },
      ...messages.map((message) => ({
        opencode: 'message',
        id: message.id,
        sessionID: id,
        data: parsed(message.data),
        parts: parts.get(message.id) ?? [],
      })),
    ].map((line) => `${JSON.stringify(line)}\n`)
  })
}

function sqlite(): Sqlite | undefined {
  const { emitWarning } = process
  // Loading it warns on stderr that it is experimental, which no reader of a session can change.
  process.emitWarning = () => {}
  try {
    // Cast: the types of Node 20 do not have the module.
    return process.getBuiltinModule('node:sqlite') as Sqlite | undefined
  } finally {
    process.emitWarning = emitWarning
  }
}

function reading<T>(path: string, read: (all: (sql: string, ...values: unknown[]) => unknown[]) => T): T {
  const { DatabaseSync } = sqlite() ?? tooOld()
  let database: InstanceType<typeof DatabaseSync> | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    // Older versions do not have the option.
    database.exec('PRAGMA query_only = 1')
    const opened = database
    return read((sql, ...values) => opened.prepare(sql).all(...values))
  } catch (cause) {
    if (Fault.is(cause)) throw cause
    const why = cause instanceof Error ? quote(cause.message, 120) : 'unknown'
    throw badOption(`cannot read the database ${quote(path, 200)}: ${why}`, { cause })
  } finally {
    database?.close()
  }
}

function tooOld(): never {
  throw badOption(
    `OpenCode keeps its sessions in SQLite; reading them needs Node 22.5 or newer, and this is ${process.version}`,
  )
}

function parsed(json: string): object {
  const value = jsonValue(json)
  return typeof value === 'object' && value !== null ? value : {}
}
