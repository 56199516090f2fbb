import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCodeLines, openCodeSession } from '../run/opencode-db.ts'

/** Sessions of OpenCode's database as files in a temporary folder. */
export interface OpenCodeCopies {
  /** The path of the copy of a session, whether it exists or not. */
  pathOf(session: string): string
  /** Whether it was copied. */
  has(session: string): boolean
  /** When the session was last changed, in milliseconds since 1970; 0 if it is gone. */
  updated(database: string, session: string): number
  /** Copies it again if it changed; removes the copy of a session that is gone. */
  refresh(database: string, session: string): void
  close(): void
}

/** Creates the folder when the first session is requested. */
export function openCodeCopies(): OpenCodeCopies {
  let folder: string | undefined
  /** The version of each session that was copied. */
  const copied = new Map<string, number>()

  const pathOf = (session: string) => {
    folder ??= fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sluice-serve-')))
    // The id comes from another program: it may be anything.
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
      // Replaced atomically: a follower reads the new file from its start.
      fs.writeFileSync(`${path}.new`, openCodeLines(database, session).join(''), { mode: 0o600 })
      fs.renameSync(`${path}.new`, path)
      copied.set(session, now)
    },
    close() {
      if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}
