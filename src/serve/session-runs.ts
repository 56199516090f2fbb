import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { orElse } from '../base/fault.ts'
import { drive } from '../base/stage.ts'
import { replaceFile } from '../disk/durable.ts'
import { writtenAt } from '../disk/plain-file.ts'
import { sessions } from '../engines/engines-by-name.ts'
import type { AgentEvent } from '../events/event.ts'
import { eventStage } from '../events/event-stage.ts'
import type { Attempt } from '../run/attempt-logs.ts'
import { openCodeLines, openCodeSession, openCodeSize } from '../run/opencode-db.ts'
import { replayLogs } from '../run/replay.ts'
import { type SessionFile, sessionFiles } from '../run/session-files.ts'
import { isoTime, outcomeBeside, type ReadHead, readHead, type SessionHead } from '../run/session-summary.ts'
import { runInfo } from './build-info.ts'
import type { FoundRun } from './run-finder.ts'
import type { RunInfo } from './run-info.ts'
import { type LogOverviews, UNREAD } from './run-overviews.ts'
import { liesWithin, type RunPlace } from './run-place.ts'
import { SESSIONS_OPTIONS, type SessionsServed } from './serve-options.ts'

/** An agent that waits for its model writes nothing: a file that rests this long may still be in use. */
const FRESH_MS = 30_000
/** The end of a larger file is read when it is opened: there are many of them, and each lasts for days. */
const MAX_LISTED = 16 << 20

export type SessionRuns = ReturnType<typeof sessionRuns>

/** Finds session files for the list, as runs. Only these can be opened, and they are only read. */
export function sessionRuns(logs: LogOverviews, options: SessionsServed = {}) {
  const { home, engine, max = SESSIONS_OPTIONS.max.default } = options
  let heads = new Map<string, Head>()
  const copies = openCodeCopies()
  // If the database cannot be read right now, the other sessions are listed all the same.
  const foundAt = (file: SessionFile, place: RunPlace, head: SessionHead): FoundRun | undefined =>
    orElse(() => ({ place, info: infoOf(file, place, head, logs, copies) }), undefined)

  return {
    /** All of them, or the one with this id; undefined for one that cannot be read now. */
    *find(wanted?: string): Generator<FoundRun | undefined, void> {
      if (wanted !== undefined && !wanted.startsWith(SCHEME)) return
      const met = new Map<string, Head>()
      for (const file of sessionFiles({ home, engine }).slice(0, max)) {
        const id = idOf(file)
        if (wanted !== undefined && wanted !== id) continue
        const before = heads.get(id)
        const head = before?.modified === file.modified ? before.head : readHead(file)
        met.set(id, { modified: file.modified, head })
        if (head.inner) continue
        yield foundAt(file, placeOf(file, copies), head)
      }
      if (wanted === undefined) heads = met
    },
    /** Removes the copies from a database. */
    close: copies.close,
  }
}

/** The first lines of a session file, and when it was changed. */
interface Head {
  readonly modified: number
  readonly head: ReadHead
}

const SCHEME = 'session://'

/** Two slashes: no path below the served directory has them, so it is the id of no other run. */
function idOf({ engine, name }: SessionFile): string {
  return `${SCHEME}${engine}/${name}`
}

/** It is in every event, and in the ids to resume with: a name that could forge one is not used. */
function runIdOf({ engine, name, path }: SessionFile): string {
  const plain = /^[\w./-]{1,240}$/.test(name)
  return `${engine}-${plain ? name.replaceAll('/', '.') : createHash('sha256').update(path).digest('hex').slice(0, 16)}`
}

/** A session file; or a copy of the rows of OpenCode's database, to be read and shown as bytes. */
function placeOf(file: SessionFile, copies: OpenCodeCopies): RunPlace {
  const { session, engine } = file
  const path = session === undefined ? file.path : copies.pathOf(session)
  const within = session === undefined ? file.within : dirname(path)
  const updated = () => (session === undefined ? writtenAt(path) : copies.updated(file.path, session))
  const attempts = () => {
    if (session !== undefined) copies.refresh(file.path, session)
    return [{ number: 1, logs: { stdout: path }, within, alone: true as const }]
  }
  return {
    key: path,
    within,
    maxListed: MAX_LISTED,
    attempts,
    isThere: () => (session === undefined ? liesWithin(path, within) : updated() > 0),
    isRunning: () => Date.now() - updated() < FRESH_MS,
    journal: () => undefined,
    isCut: () => false,
    replay(options) {
      const reading = { ...options, engine: sessions[`${engine}-session`], runId: runIdOf(file) }
      return replayLogs(file.path, { dir: dirname(file.path), list: attempts }, reading)
    },
  }
}

function infoOf(
  file: SessionFile,
  place: RunPlace,
  head: SessionHead,
  logs: LogOverviews,
  copies: OpenCodeCopies,
): RunInfo {
  const running = place.isRunning()
  const copied = file.session === undefined || copies.has(file.session)
  const attempts = copied ? place.attempts() : []
  const told = running ? undefined : overviewOf(file, place, attempts, logs)
  const outcome = outcomeBeside(file)
  const last = outcome && { outcome }
  const streams = copied ? undefined : [{ attempt: 1, stream: 'stdout', bytes: 0 }]
  return {
    ...runInfo({ id: idOf(file), running, attempts, last, told, streams }),
    run_id: runIdOf(file),
    engine: file.engine,
    attempts: 1,
    started_at: head.started_at,
    session: { directory: head.directory, updated_at: isoTime(file.modified) },
  }
}

function overviewOf(file: SessionFile, place: RunPlace, attempts: readonly Attempt[], logs: LogOverviews) {
  const { session, modified } = file
  if (session === undefined) return logs.of(place, attempts)
  // For the list a database is not copied. One that is too large is read when it is opened.
  const rows = { ...place, key: `${place.key}@${modified}`, replay: () => rowEvents(file, session) }
  return logs.of(rows, []) ?? UNREAD
}

async function* rowEvents({ path }: SessionFile, session: string): AsyncGenerator<AgentEvent> {
  if (openCodeSize(path, session) > MAX_LISTED) return
  const bytes = Buffer.from(openCodeLines(path, session).join(''))
  yield* drive(eventStage(sessions['opencode-session']), [{ channel: 'stdout', bytes }])
}

type OpenCodeCopies = ReturnType<typeof openCodeCopies>

/** Sessions of OpenCode's database as files in a temporary folder, made when the first one is requested. */
function openCodeCopies() {
  let folder: string | undefined
  /** The version of each session that was copied. */
  const copied = new Map<string, number>()

  /** The path of the copy of a session, whether it exists or not. */
  const pathOf = (session: string) => {
    folder ??= fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sluice-serve-')))
    // The id comes from another program: it may be anything.
    return join(folder, `${createHash('sha256').update(session).digest('hex')}.jsonl`)
  }
  /** When the session was last changed, in milliseconds since 1970; 0 if it is gone. */
  const updated = (database: string, session: string) =>
    orElse(() => openCodeSession(database, session)?.time_updated ?? 0, 0)
  return {
    pathOf,
    has: (session: string) => copied.has(session),
    updated,
    /** Copies it again if it changed; removes the copy of a session that is gone. */
    refresh(database: string, session: string) {
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
      replaceFile(`${path}.new`, path)
      copied.set(session, now)
    },
    close() {
      if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}
