import fs from 'node:fs'
import { join } from 'node:path'
import { quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { type Attempt, listAttempts, singleLog } from './audit.ts'
import { fixedDir } from './audit-dir.ts'
import { folders } from './folders.ts'
import { isDatabase } from './opencode-db.ts'

/** A recorded attempt, or a single log, to be read by `replay(path, { attempt })`. */
export interface FoundLogs {
  readonly path: string
  readonly attempt: Attempt
  /** A single log that was found, not named by the caller: it may be something else. */
  readonly loose?: true
}

/** Deep enough for every layout seen, and a limit for endless trees. */
const MAX_DEPTH = 32

/**
 * Finds what can be read as runs, in the order of the names: each attempt of a folder with logs; in a folder
 * without logs, its single logs and session files. A path that is a file is one log. `unreadable` is called
 * for what cannot be read, and the search continues.
 *
 * @example
 * for (const { path, attempt } of findLogs('.audit', console.error)) replay(path, { attempt: attempt.number
 * })
 */
export function* findLogs(
  path: string,
  unreadable: (path: string, why: string) => void,
): Generator<FoundLogs> {
  const failed = (where: string, error: unknown) => unreadable(where, codeOf(error) ?? String(error))
  let stats: fs.Stats
  try {
    stats = fs.statSync(path)
  } catch (error) {
    failed(path, error)
    return
  }
  if (!stats.isDirectory()) {
    if (!stats.isFile()) unreadable(path, 'it is neither a file nor a directory')
    else if (isDatabase(path))
      unreadable(path, `a database; npx agent-sluice chat ${quote(path)} reads a session of it`)
    else yield { path, attempt: singleLog(path) }
    return
  }
  for (const folder of folders(fixedDir(path), { maxDepth: MAX_DEPTH, unreadable: failed })) {
    let attempts: Attempt[]
    try {
      attempts = listAttempts(folder.path)
    } catch (error) {
      failed(folder.path, error)
      continue
    }
    for (const attempt of attempts) yield { path: folder.path, attempt }
    if (attempts.length > 0 || folder.entries.some(({ name }) => name === EVENTS_FILE)) continue
    for (const entry of folder.entries) {
      if (!entry.isFile() || !isLog(entry.name)) continue
      const file = join(folder.path, entry.name)
      yield { path: file, attempt: singleLog(file), loose: true }
    }
  }
}

/** Logs, and the documents that Gemini and Cline keep as session files. */
function isLog(name: string): boolean {
  if (name.endsWith('.json')) return name.startsWith('session-') || name.endsWith('.messages.json')
  return name.endsWith('.log') || name.endsWith('.jsonl') || name.endsWith('.ndjson')
}
