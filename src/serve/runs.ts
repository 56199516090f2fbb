import fs from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { EVENTS_FILE } from '../disk/journal.ts'
import { isInside, readBlock, withPlain } from '../disk/plain-file.ts'
import { readCost } from '../events/cost.ts'
import type { EndState } from '../events/event.ts'
import { isGood, outcomeOf, readFailure } from '../events/run-outcome.ts'
import { type Attempt, shownChannels } from '../run/audit.ts'
import { folders } from '../run/folders.ts'
import { type Meta, readMeta } from '../run/meta.ts'
import { fileMark, type LogOverviews, type RunOverview } from './log-overviews.ts'
import type { RunInfo } from './run-info.ts'
import { auditPlace, type RunPlace } from './run-place.ts'

/** A run and its place. */
export interface FoundRun {
  readonly info: RunInfo
  readonly place: RunPlace
}

export interface FindOptions {
  /** How many levels below the served directory are searched. @default 6 */
  readonly maxDepth?: number | undefined
  /** How many runs are listed; the rest is left out. @default 20000 */
  readonly maxRuns?: number | undefined
  /** Maximum number of folders to read. @default 50000 */
  readonly maxFolders?: number | undefined
  /** Overviews of runs that have logs but no journal. @default none, so their end is unknown */
  readonly logs?: LogOverviews | undefined
  /** A cache of the ends of journals. @default they are all read */
  readonly tails?: Tails | undefined
  /** What was found the last time, of runs that are over and have a journal alone. @default none */
  readonly ended?: EndedRuns | undefined
}

/**
 * Runs of which nothing can change as long as their folder and their journal do not, by path. A mirror has
 * thousands of them.
 */
export type EndedRuns = Map<string, { readonly mark: string; readonly run: FoundRun }>

/** What the ends of journals say, by path, as long as they do not change. */
export type Tails = Map<string, { readonly mark: string; readonly overview: RunOverview | undefined }>

/**
 * Finds the runs under a directory, including itself: every folder with logs or events. Links are not
 * followed, so a link `latest` next to the runs is not another run. Runs in progress come first, then the
 * newest.
 */
export function findRuns(root: string, options: FindOptions = {}): FoundRun[] {
  const { maxDepth = 6, maxRuns = 20_000, maxFolders = 50_000, tails, ended } = options
  const asked = new Set<string>()
  const found: FoundRun[] = []
  for (const { path, entries } of folders(root, { maxDepth, maxFolders })) {
    if (found.length >= maxRuns) break
    const journaled = entries.some((entry) => entry.name === EVENTS_FILE && entry.isFile())
    const journal = join(path, EVENTS_FILE)
    const mark = journaled && ended ? `${fileMark(path)} ${fileMark(journal)}` : undefined
    const before = ended?.get(path)
    if (before && before.mark === mark) {
      asked.add(journal)
      found.push(before.run)
      continue
    }
    ended?.delete(path)
    try {
      const place = auditPlace(path, root)
      const attempts = place.attempts()
      if (journaled || attempts.length > 0) {
        const info = infoOf(root, place, attempts, options)
        asked.add(journal)
        // A folder may have become a link since it was seen: then all this is of somewhere else.
        if (!isInside(fs.realpathSync(path), root)) continue
        found.push({ place, info })
        if (mark !== undefined && attempts.length === 0 && info.state !== 'running')
          ended?.set(path, { mark, run: { place, info } })
      }
    } catch {
      // It was removed or replaced while it was read: the other runs are listed all the same.
    }
  }
  for (const path of tails?.keys() ?? []) if (!asked.has(path)) tails!.delete(path)
  for (const path of ended?.keys() ?? []) if (!asked.has(join(path, EVENTS_FILE))) ended!.delete(path)
  return inOrder(found)
}

/** Runs in progress first, then the newest. */
export function inOrder(found: FoundRun[]): FoundRun[] {
  return found.sort((a, b) => rank(a.info) - rank(b.info) || newestFirst(a.info, b.info))
}

function rank(info: RunInfo): number {
  return info.state === 'running' ? 0 : 1
}

function newestFirst(a: RunInfo, b: RunInfo): number {
  const [mine, theirs] = [dateOf(a), dateOf(b)]
  if (mine !== theirs) return mine > theirs ? -1 : 1
  return byName(a.id, b.id)
}

/** As `localeCompare`, which takes five times as long for thousands of runs. */
const byName = new Intl.Collator().compare

/** A session goes on for days: its last word counts. */
function dateOf({ session, started_at }: RunInfo): string {
  return session?.updated_at ?? started_at ?? ''
}

function infoOf(
  root: string,
  place: RunPlace,
  attempts: readonly Attempt[],
  { logs, tails }: FindOptions,
): RunInfo {
  const last = readMeta(attempts.at(-1)?.meta, root)
  const first = attempts.length > 1 ? readMeta(attempts[0]?.meta, root) : last
  const dir = place.key
  const running = place.isRunning()
  const journal = place.journal()
  const tail =
    journal !== undefined ? tailOf(journal, root, tails) : running ? undefined : logs?.of(place, attempts)
  // The last attempt may have no event yet, or none that was stored.
  const stale = typeof tail?.attempt === 'number' && tail.attempt < (attempts.at(-1)?.number ?? 0)
  const end = running || stale ? undefined : tail?.completion
  // Without a completion in the journal the exit may have decided alone, and is in the meta.
  const told = running ? null : end ? outcomeOf(end) : (last?.outcome ?? 'unknown')
  // 0.2 recorded a named marker only in the meta; a run that has it did not just finish.
  const outcome = told === 'finished' && last?.reading?.done_marker !== undefined ? 'needs_input' : told
  return {
    id: relative(root, dir).split(sep).join('/') || basename(root) || 'run',
    run_id: tail?.run_id ?? last?.run_id ?? null,
    engine: tail?.engine ?? last?.engine ?? null,
    attempts: Math.max(attempts.length, tail ? 1 : 0),
    state: running ? 'running' : (end?.state ?? 'unknown'),
    outcome,
    ok: outcome && isGood(outcome),
    failure_class: (outcome === 'failed' && (end?.failure_class ?? last?.failure_class)) || null,
    cost: (running ? null : (end?.cost ?? (stale ? null : last?.cost))) ?? null,
    reason_code: end?.reason_code ?? null,
    exit_code: running ? null : (last?.exit_code ?? null),
    signal: running ? null : (last?.signal ?? null),
    started_at: first?.started_at ?? realTime(tail?.ts) ?? null,
    ended_at: running ? null : (last?.ended_at ?? endOf(last)),
    argv: last?.argv ?? [],
    streams: streamsOf(attempts),
  }
}

/** The streams of attempts and their sizes. */
export function streamsOf(attempts: readonly Attempt[]): RunInfo['streams'] {
  return attempts.flatMap((attempt) =>
    shownChannels.flatMap((stream) => {
      const log = attempt.logs[stream]
      return log === undefined ? [] : [{ attempt: attempt.number, stream, bytes: sizeOf(log) }]
    }),
  )
}

/** A fixed clock at 0 is not a time to show. */
function realTime(ts: string | undefined): string | undefined {
  return ts !== undefined && Date.parse(ts) > 0 ? ts : undefined
}

function endOf(meta: Partial<Meta> | undefined): string | null {
  if (meta?.started_at === undefined || meta.duration_ms == null) return null
  return new Date(Date.parse(meta.started_at) + meta.duration_ms).toISOString()
}

const TAIL = 64 * 1024

/** The end of a journal, read again only if it changed. */
function tailOf(path: string, root: string, tails: Tails | undefined): RunOverview | undefined {
  const mark = fileMark(path)
  const known = tails?.get(path)
  if (known?.mark === mark) return known.overview
  const overview = lastEvents(path, root)
  tails?.set(path, { mark, overview })
  return overview
}

/** Another program may have written it: only strings count as text. */
function lastEvents(path: string, root: string): RunOverview | undefined {
  let text: string
  try {
    const end = (fd: number) => readBlock(fd, Math.max(0, fs.fstatSync(fd).size - TAIL), TAIL)
    text = withPlain(path, root, end).toString()
  } catch {
    return undefined
  }
  let overview: RunOverview | undefined
  const lines = text.split('\n')
  // From the end: the last whole line has the run and attempt, the last completion of that attempt has the
  // outcome.
  for (let i = lines.length - 2; i >= 0; i--) {
    try {
      const event = JSON.parse(lines[i]!)
      const { run_id, ts, attempt_number: attempt } = event
      overview ??= { run_id: textOf(run_id), engine: textOf(event.source.engine), ts: textOf(ts), attempt }
      // The previous attempt ended; this one has no end.
      if (attempt !== overview.attempt) return overview
      // Journals of before 0.2 have no `type` at the top.
      if ((event.type ?? event.event?.type) === 'lifecycle.completion.state') {
        const state = endStates.find((known) => known === event.data.state) ?? 'unknown'
        const { evidence = {}, reason_code } = event.data
        const outcome = outcomeOf({ state, evidence, outcome: event.data.outcome })
        const failure_class = readFailure(event.data.failure_class)
        const cost = readCost(event.data.cost)
        const completion = { state, evidence, outcome, failure_class, cost, reason_code: textOf(reason_code) }
        return { ...overview, completion }
      }
    } catch {
      // The first line of the block may be incomplete.
    }
    if (overview && lines.length - i > 16) break
  }
  return overview
}

const endStates: readonly EndState[] = ['completed', 'awaiting_user_input', 'interrupted', 'unknown']

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function sizeOf(path: string): number {
  try {
    return fs.lstatSync(path).size
  } catch {
    return 0
  }
}
