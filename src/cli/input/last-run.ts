import fs from 'node:fs'
import { join } from 'node:path'
import { badOption } from '../../base/fault.ts'
import { writtenAt } from '../../disk/plain-file.ts'
import { sessionFiles } from '../../run/session-files.ts'
import { isSessionOf } from '../../run/session-summary.ts'

/** Number of session files to read in search of one of this directory. */
const MAX_HEADS = 2000

/** A recorded run, a session file, or a session of a database. */
export interface LastRun {
  readonly path: string
  readonly session?: string | undefined
  /** The engine of a session file: its location decides, whatever its first lines are. */
  readonly engine?: string
}

/** The newest of the run at `.audit/latest` and the session files of this directory; throws without any. */
export function lastRun(dir: string, home?: string | undefined): LastRun {
  const audit = join(dir, '.audit', 'latest')
  const recorded = newestIn(audit)
  const files = sessionFiles({ home }).slice(0, MAX_HEADS)
  const session = files.filter(({ modified }) => modified > recorded).find((file) => isSessionOf(file, dir))
  if (session) return { path: session.path, session: session.session, engine: `${session.engine}-session` }
  if (recorded > 0) return { path: audit }
  throw badOption(
    'there is no last run: no .audit/latest here, and no session file of this directory (see sluice sessions)',
  )
}

/** When the newest file of a directory was written; 0 if there is none. */
function newestIn(dir: string): number {
  let newest = 0
  try {
    for (const name of fs.readdirSync(dir)) newest = Math.max(newest, writtenAt(join(dir, name)))
  } catch {
    // There is no such directory.
  }
  return newest
}
