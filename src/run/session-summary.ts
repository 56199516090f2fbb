import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { orElse } from '../base/fault.ts'
import { drive } from '../base/stage.ts'
import { readBlock, readPlain, withPlain } from '../disk/plain-file.ts'
import { sessions } from '../engines/engines-by-name.ts'
import { isEvent } from '../events/event.ts'
import { eventStage } from '../events/event-stage.ts'
import { Rec } from '../events/record.ts'
import { outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { jsonValue } from '../json/strict.ts'
import { openCodeLines, openCodeSession } from './opencode-db.ts'
import type { SessionFile } from './session-files.ts'

/** Facts from the start of a session file. */
export interface SessionHead {
  /** The directory the agent worked in. */
  readonly directory: string | null
  /** ISO 8601. */
  readonly started_at: string | null
}

/** What is known before a file is read: `inner` if it is that of a subagent, and no session of its own. */
export interface ReadHead extends SessionHead {
  readonly inner?: true
}

/** A line of `sluice sessions`. What is not in the file is null, and the outcome `unknown`. */
export interface SessionSummary extends SessionHead {
  readonly engine: string
  readonly session_id: string | null
  readonly updated_at: string
  /** Prompts of the user; null if the file is too large to read completely. */
  readonly turns: number | null
  readonly outcome: RunOutcome
  readonly size: number
  readonly path: string
}

/** Bytes to read for the head of a file: first a few, which are nearly always enough; and for its summary. */
const SHORT_HEAD = 64 * 1024
const MAX_HEAD = 512 * 1024
const MAX_FILE = 32 * 1024 * 1024

/** Reads a session file for the list: its head, its turns and how its last turn ended; not of a subagent. */
export function summarise(file: SessionFile): SessionSummary | undefined {
  const { engine, path, size, modified } = file
  const updated_at = isoTime(modified)
  const { inner, ...head } = readHead(file)
  if (inner) return undefined
  const bytes = bytesOf(file)
  if (!bytes)
    return { engine, session_id: null, ...head, updated_at, turns: null, outcome: 'unknown', size, path }
  let turns = 0
  let outcome: RunOutcome = 'unknown'
  let session_id: string | null = null
  for (const event of drive(eventStage(sessions[`${engine}-session`]), [{ channel: 'stdout', bytes }])) {
    // A resumed file of Claude Code begins with lines of the previous session.
    session_id = event.correlation.session_id ?? session_id
    if (isEvent(event, 'lifecycle.run.status') && event.data.status === 'turn_started') turns++
    if (isEvent(event, 'lifecycle.completion.state')) outcome = outcomeOf(event.data)
  }
  if (outcome === 'unknown') outcome = outcomeBeside(file) ?? outcome
  return { engine, session_id, ...head, updated_at, turns, outcome, size, path }
}

/** How the session ended according to a file next to it, if there is one: Cline's manifest. */
export function outcomeBeside(file: SessionFile): RunOutcome | undefined {
  return file.engine === 'cline' ? manifestOf(file).outcome : undefined
}

/** The input of the engine: the whole file, if it is not too large. */
function bytesOf(file: SessionFile): Buffer | undefined {
  const { path, size, session } = file
  if (session === undefined) return size > MAX_FILE ? undefined : firstBytes(file, MAX_FILE)
  return orElse(() => Buffer.from(openCodeLines(path, session).join('')), undefined)
}

/** Reads the start of a session file. Empty if it cannot be read. */
export function readHead(file: SessionFile): ReadHead {
  const { engine, path } = file
  if (file.session !== undefined) return rowHead(path, file.session)
  const beside = engine === 'gemini' ? projectOf(file) : engine === 'cline' ? manifestOf(file) : undefined
  let found: ReadHead = { directory: null, started_at: null }
  for (const max of [SHORT_HEAD, MAX_HEAD]) {
    const start = firstBytes(file, max)
    found = headOf(start?.toString('utf8') ?? '')
    // Reading more of the file would not help.
    if ((start?.length ?? 0) < max || isKnown(found, beside)) break
  }
  return {
    ...found,
    directory: beside?.directory ?? found.directory,
    started_at: beside?.started_at ?? found.started_at,
  }
}

/**
 * Whether the agent of a session worked in this directory, under any of its names.
 *
 * @example
 * sessionFiles().find((file) => isSessionOf(file, process.cwd())) // the newest session of this directory
 */
export function isSessionOf(file: SessionFile, dir: string): boolean {
  const real = realOf(dir)
  const { directory, inner } = readHead(file)
  if (inner) return false
  if (directory !== null) return realOf(directory) === real
  // Gemini 0.20 stores no directory, but names the folder of its chats by a hash of it.
  const project = basename(dirname(dirname(file.path)))
  const hashes = [dir, real].map((path) => createHash('sha256').update(path).digest('hex'))
  return file.engine === 'gemini' && hashes.includes(project)
}

function realOf(path: string): string {
  // The real path of an empty string would be the current directory.
  return path === '' ? path : orElse(() => fs.realpathSync(path), path)
}

function isKnown(found: SessionHead, beside: Partial<SessionHead> | undefined): boolean {
  const { directory, started_at } = { ...found, ...beside }
  return directory !== null && started_at !== null
}

/** The facts from the first lines that have any. */
function headOf(start: string): ReadHead {
  let inner = false
  let directory: string | null = null
  let started_at: string | null = null
  for (const record of recordsIn(start)) {
    inner ||= isInner(record)
    // In the line (Claude Code, Qwen, pi, Gemini), in its payload (Codex) or its context (Copilot).
    directory ??= record.text('cwd payload.cwd data.context.cwd') ?? null
    started_at ??= validTime(record.text('startTime timestamp'))
    if (directory !== null && started_at !== null) break
  }
  return { directory, started_at, ...(inner && { inner }) }
}

/** The first line of a subagent's file (Codex, Gemini). */
function isInner(line: Rec): boolean {
  const source = line.record('payload.source.subagent') ?? line.text('payload.source.subagent')
  return source !== undefined || line.text('payload.thread_source kind') === 'subagent'
}

/** OpenCode's row of the session. */
function rowHead(path: string, session: string): SessionHead {
  const nothing = { directory: null, started_at: null }
  return orElse(() => {
    const found = openCodeSession(path, session)
    if (!found) return nothing
    return { directory: found.directory, started_at: new Date(found.time_created).toISOString() }
  }, nothing)
}

/** Number of lines at the start to read. */
const HEAD_LINES = 40

/** One by one: the first ones often have everything, and the next may be long. */
function* recordsIn(start: string): Generator<Rec> {
  // The document of Gemini 0.20 is one record on many lines.
  const whole = start.startsWith('{\n') ? Rec.of(jsonValue(start)) : undefined
  if (whole) yield whole
  else
    for (const line of start.split('\n', HEAD_LINES)) {
      const record = Rec.of(jsonValue(line))
      if (record) yield record
    }
}

/** A time in an engine's file may be invalid. */
function validTime(time: string | undefined): string | null {
  return time !== undefined && !Number.isNaN(Date.parse(time)) ? time : null
}

/** The time in ISO 8601; 1970 for an invalid one, which a file system may contain. */
export function isoTime(milliseconds: number): string {
  const date = new Date(milliseconds)
  return (Number.isNaN(date.valueOf()) ? new Date(0) : date).toISOString()
}

/** Gemini stores the directory next to the chats, from 0.40 on. */
function projectOf({ path, within }: SessionFile): Partial<SessionHead> {
  const root = join(dirname(dirname(path)), '.project_root')
  return orElse(() => ({ directory: readPlain(root, 4096, within).trim() }), {})
}

/** The outcomes in Cline's manifest; it stays `running` if the process was killed. */
const statuses: Readonly<Record<string, RunOutcome>> = {
  completed: 'finished',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** Cline's manifest, next to the messages. */
function manifestOf(file: SessionFile): Partial<SessionHead> & { readonly outcome?: RunOutcome | undefined } {
  const { path, within } = file
  try {
    const name = basename(path).slice(0, -'.messages.json'.length)
    const manifest = Rec.of(jsonValue(readPlain(join(dirname(path), `${name}.json`), MAX_HEAD, within)))
    const status = manifest?.text('status') ?? ''
    return {
      directory: manifest?.text('cwd') ?? null,
      started_at: validTime(manifest?.text('started_at')),
      outcome: Object.hasOwn(statuses, status) ? statuses[status] : undefined,
    }
  } catch {
    return {}
  }
}

/** The first bytes of a file; nothing if it cannot be read. */
function firstBytes({ path, within }: SessionFile, max: number): Buffer | undefined {
  const read = (fd: number) => readBlock(fd, 0, Math.min(max, fs.fstatSync(fd).size))
  return orElse(() => withPlain(path, within, read), undefined)
}
