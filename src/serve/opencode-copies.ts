import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCodeLines, openCodeSession } from '../run/opencode-db.ts'

/** Sessions of OpenCode's database as files in a folder of our own. */
export interface OpenCodeCopies {
  /** Where the copy of a session is, or will be. */
  pathOf(session: string): string
  /** Whether it was copied. */
  has(session: string): boolean
  /** When the session changed last, in milliseconds since 1970; 0 if it is gone. */
  updated(database: string, session: string): number
  /** Copies it again if it changed; the copy of a session that is gone goes, too. */
  refresh(database: string, session: string): void
  close(): void
}

/** Makes the folder when the first session is asked for. */
export function openCodeCopies(): OpenCodeCopies {
  let folder: string | undefined
  /** Which state of a session was copied. */
  const copied = new Map<string, number>()

  const pathOf = (session: string) => {
    folder ??= fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sluice-serve-')))
    // The id is another program's: it may be anything.
    return join(folder, `${createHash('sha256').update(session).digest('hex')}.jsonl`)
  }
  const updated = (database: string, session: string) => {
    try {
      return openCodeSession(database, session)?.time_updated ?? 0
    } catch {
      return 0
    }
  }
  return {
    pathOf,
    has: (session) => copied.has(session),
    updated,
    refresh(database, session) {
      const now = updated(database, session)
      if (copied.get(session) === now) return
      const path = pathOf(session)
      if (now === 0) {
        fs.rmSync(path, { force: true })
        copied.delete(session)
        return
      }
      // Put in place at once: who follows it reads the new one from its start.
      fs.writeFileSync(`${path}.new`, openCodeLines(database, session).join(''), { mode: 0o600 })
      fs.renameSync(`${path}.new`, path)
      copied.set(session, now)
    },
    close() {
      if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}
