import fs from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import type { EndState } from '../events/event.ts'
import { type OutcomeEvidence, outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { type Attempt, channels, listAttempts } from '../run/audit.ts'
import { type Meta, readMeta } from '../run/meta.ts'
import { readBlock } from '../run/read-attempt.ts'
import { EVENTS_FILE, LOCK_FILE } from '../sinks/journal.ts'
import { isLocked, isSameProcess } from '../sinks/lock.ts'
import { openPlain } from '../sinks/plain-file.ts'

/** A run as `GET /runs` tells it. */
interface RunInfo {
  /** Its place under the served directory. */
  readonly id: string
  /** The id in its records, once there are any. */
  readonly run_id: string | null
  readonly engine: string | null
  readonly attempts: number
  readonly state: 'running' | EndState
  /** How it ended in one word; null while it runs. */
  readonly outcome: RunOutcome | null
  /** What decided the end: DONE_MARKER, END_SIGNAL, EXIT_CODE, … */
  readonly reason_code: string | null
  readonly exit_code: number | null
  readonly signal: string | null
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly argv: readonly string[]
  /** The streams of each attempt and their sizes in bytes. */
  readonly streams: readonly { attempt: number; stream: string; bytes: number }[]
}

/** A run and where it is kept. */
export interface FoundRun {
  readonly info: RunInfo
  readonly dir: string
}

export interface FindOptions {
  /** How many folders below the served one are looked into. @default 6 */
  readonly maxDepth?: number | undefined
  /** How many runs are listed; the rest is left out. @default 5000 */
  readonly maxRuns?: number | undefined
  /** How many folders are looked into. @default 50000 */
  readonly maxFolders?: number | undefined
}

const skipped = new Set(['node_modules', '.git'])
/** A log without a meta that grew within this time counts as one that is being written. */
const FRESH_MS = 10_000

/**
 * Finds the runs under a directory, itself included: every folder that holds logs or events. Links are not followed.
 * The ones that are running come first, then the newest.
 */
export function findRuns(root: string, options: FindOptions = {}): FoundRun[] {
  const { maxDepth = 6, maxRuns = 5000, maxFolders = 50_000 } = options
  const found: FoundRun[] = []
  const folders: { path: string; depth: number }[] = [{ path: root, depth: 0 }]
  for (let seen = 0; folders.length > 0 && seen < maxFolders && found.length < maxRuns; seen++) {
    const { path, depth } = folders.pop()!
    let entries: fs.Dirent[]
    try {
      entries = fs.readdirSync(path, { withFileTypes: true })
    } catch {
      continue
    }
    const journaled = entries.some((entry) => entry.name === EVENTS_FILE && entry.isFile())
    try {
      const attempts = listAttempts(path)
      if (journaled || attempts.length > 0) found.push({ dir: path, info: infoOf(root, path, attempts) })
    } catch {
      // It went away, or became something else, while it was looked at: the others are there all the same.
    }
    if (depth >= maxDepth) continue
    for (const entry of entries) {
      if (entry.isDirectory() && !skipped.has(entry.name)) {
        folders.push({ path: join(path, entry.name), depth: depth + 1 })
      }
    }
  }
  return found.sort((a, b) => rank(a.info) - rank(b.info) || newestFirst(a.info, b.info))
}

function rank(info: RunInfo): number {
  return info.state === 'running' ? 0 : 1
}

function newestFirst(a: RunInfo, b: RunInfo): number {
  return (b.started_at ?? '').localeCompare(a.started_at ?? '') || a.id.localeCompare(b.id)
}

function infoOf(root: string, dir: string, attempts: readonly Attempt[]): RunInfo {
  const first = readMeta(attempts[0]?.meta)
  const last = readMeta(attempts.at(-1)?.meta)
  const tail = lastEvents(join(dir, EVENTS_FILE))
  const running = isRunning(dir, attempts)
  // The last attempt may have no event yet, or none that was kept.
  const stale = typeof tail?.attempt === 'number' && tail.attempt < (attempts.at(-1)?.number ?? 0)
  const end = running || stale ? undefined : tail?.completion
  return {
    id: relative(root, dir).split(sep).join('/') || basename(root) || 'run',
    run_id: tail?.run_id ?? last?.run_id ?? null,
    engine: tail?.engine ?? last?.engine ?? null,
    attempts: Math.max(attempts.length, tail ? 1 : 0),
    state: running ? 'running' : (end?.state ?? 'unknown'),
    // Without a completion in the journal the exit may have decided alone, and stands in the meta.
    outcome: running ? null : end ? outcomeOf(end) : (last?.outcome ?? 'unknown'),
    reason_code: end?.reason_code ?? null,
    exit_code: running ? null : (last?.exit_code ?? null),
    signal: running ? null : (last?.signal ?? null),
    started_at: first?.started_at ?? realTime(tail?.ts) ?? null,
    ended_at: running ? null : (last?.ended_at ?? endOf(last)),
    argv: last?.argv ?? [],
    streams: attempts.flatMap((attempt) =>
      channels.flatMap((stream) => {
        const log = attempt.logs[stream]
        return log === undefined ? [] : [{ attempt: attempt.number, stream, bytes: sizeOf(log) }]
      }),
    ),
  }
}

/** A fixed clock at 0 is no time to show. */
function realTime(ts: string | undefined): string | undefined {
  return ts !== undefined && Date.parse(ts) > 0 ? ts : undefined
}

function endOf(meta: Partial<Meta> | undefined): string | null {
  if (meta?.started_at === undefined || meta.duration_ms == null) return null
  return new Date(Date.parse(meta.started_at) + meta.duration_ms).toISOString()
}

/** True while the run is being recorded, by us or by somebody else. */
export function isRunning(dir: string, attempts: readonly Attempt[]): boolean {
  if (isLocked(join(dir, LOCK_FILE))) return true
  const last = attempts.at(-1)
  const meta = readMeta(last?.meta)
  if (meta) {
    // Its recorder is gone, but it may go on by itself.
    return (
      meta.ended_at === undefined &&
      typeof meta.pid === 'number' &&
      isSameProcess(meta.pid, meta.pid_started ?? null)
    )
  }
  if (!last || fs.existsSync(join(dir, EVENTS_FILE))) return false
  return Object.values(last.logs).some((log) => Date.now() - mtimeOf(log) < FRESH_MS)
}

const TAIL = 64 * 1024

/** What the end of the journal says. Whoever wrote it: only text is taken for text. */
interface Told {
  readonly run_id: string | undefined
  readonly engine: string | undefined
  readonly ts: string | undefined
  readonly attempt: unknown
  readonly completion?: (OutcomeEvidence & { readonly reason_code: string | undefined }) | undefined
}

function lastEvents(path: string): Told | undefined {
  let text: string
  try {
    const fd = openPlain(path)
    try {
      text = readBlock(fd, Math.max(0, fs.fstatSync(fd).size - TAIL), TAIL).toString()
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined
  }
  let told: Told | undefined
  const lines = text.split('\n')
  // From the end: the last whole line tells who, the last completion of its attempt tells how.
  for (let i = lines.length - 2; i >= 0; i--) {
    try {
      const event = JSON.parse(lines[i]!)
      const { run_id, ts, attempt_number: attempt } = event
      told ??= { run_id: textOf(run_id), engine: textOf(event.source.engine), ts: textOf(ts), attempt }
      // The attempt before ended; this one did not say how.
      if (attempt !== told.attempt) return told
      if (event.type === 'lifecycle.completion.state') {
        const state = endStates.find((known) => known === event.data.state) ?? 'unknown'
        const { evidence, reason_code } = event.data
        return { ...told, completion: { state, evidence: evidence ?? {}, reason_code: textOf(reason_code) } }
      }
    } catch {
      // The first of them may be half a line.
    }
    if (told && lines.length - i > 16) break
  }
  return told
}

const endStates: readonly EndState[] = ['completed', 'awaiting_user_input', 'interrupted', 'unknown']

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function sizeOf(path: string): number {
  try {
    return fs.statSync(path).size
  } catch {
    return 0
  }
}

function mtimeOf(path: string): number {
  try {
    return fs.statSync(path).mtimeMs
  } catch {
    return 0
  }
}
