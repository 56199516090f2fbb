import fs from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { EVENTS_FILE, LOCK_FILE } from '../disk/journal.ts'
import { isLocked } from '../disk/lock.ts'
import { isInside, readBlock, withPlain } from '../disk/plain-file.ts'
import { engineNamed } from '../engines/engine-name.ts'
import { readCost } from '../events/cost.ts'
import { isRecord } from '../events/engine.ts'
import type { EndState } from '../events/event.ts'
import {
  endPhrase,
  isGood,
  type OutcomeEvidence,
  outcomeOf,
  type RunOutcome,
  readFailure,
} from '../events/run-outcome.ts'
import { tokensOf } from '../events/tokens.ts'
import { type Attempt, attemptsIn, shownChannels } from '../run/audit.ts'
import { folders, readFolder } from '../run/folders.ts'
import { type Meta, readMeta } from '../run/meta.ts'
import { countChanged } from '../run/read-attempt.ts'
import { fileMark, type LogOverviews, OverviewReader, type RunOverview } from './log-overviews.ts'
import type { RunInfo } from './run-info.ts'
import { auditPlace, isUnlockedRunning, type RunPlace } from './run-place.ts'

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
  /** What was found the last time. @default none */
  readonly kept?: KeptRuns | undefined
}

/**
 * What does not have to be read again, by path: the entries of a folder, as long as it does not change, and
 * runs that are over, as long as their folder, their journal and their metas do not. There may be thousands
 * of them, and the page asks every two seconds.
 */
export interface KeptRuns {
  readonly folders: Map<string, { readonly mark: string; readonly entries: readonly fs.Dirent[] }>
  readonly ended: Map<string, { readonly mark: string; readonly run: FoundRun }>
}

/** A folder that changed less than this ago may change again without another time stamp. */
const SETTLED_MS = 100

/** What the ends of journals say, by path, as long as they do not change. */
export type Tails = Map<string, { readonly mark: string; readonly overview: RunOverview | undefined }>

/**
 * Finds the runs under a directory, including itself: every folder with logs or events. Links are not
 * followed, so a link `latest` next to the runs is not another run. Runs in progress come first, then the
 * newest.
 */
export function findRuns(root: string, options: FindOptions = {}): FoundRun[] {
  const { maxDepth = 6, maxRuns = 20_000, maxFolders = 50_000, tails, kept } = options
  const asked = new Set<string>()
  const found: FoundRun[] = []
  const read = kept && ((path: string) => keptEntries(path, kept.folders))
  for (const { path, entries } of folders(root, { maxDepth, maxFolders, read })) {
    if (found.length >= maxRuns) break
    asked.add(path)
    const mark = kept && markOf(path, entries)
    const before = kept?.ended.get(path)
    if (before && before.mark === mark) {
      found.push(before.run)
      continue
    }
    kept?.ended.delete(path)
    try {
      const attempts = attemptsIn(path, entries, root)
      const journaled = entries.some((entry) => entry.name === EVENTS_FILE && entry.isFile())
      if (!journaled && attempts.length === 0) continue
      const place = auditPlace(path, root)
      const locked = entries.some(({ name }) => name === LOCK_FILE) && isLocked(join(path, LOCK_FILE))
      const info = infoOf(root, { place, attempts, locked }, options)
      // A folder may have become a link since it was seen: then all this is of somewhere else.
      if (!isInside(fs.realpathSync.native(path), root)) continue
      found.push({ place, info })
      // The end of logs without a journal may not be known yet.
      if (mark !== undefined && info.state !== 'running' && place.journal() !== undefined)
        kept?.ended.set(path, { mark, run: { place, info } })
    } catch {
      // It was removed or replaced while it was read: the other runs are listed all the same.
    }
  }
  for (const path of tails?.keys() ?? []) if (!asked.has(dirname(path))) tails!.delete(path)
  for (const map of [kept?.ended, kept?.folders])
    for (const path of map?.keys() ?? []) if (!asked.has(path)) map!.delete(path)
  return inOrder(found)
}

/** The entries of a folder, read again only if it changed. */
function keptEntries(path: string, kept: KeptRuns['folders']): readonly fs.Dirent[] {
  const mark = fileMark(path)
  const known = kept.get(path)
  if (known?.mark === mark) return known.entries
  const changed = Number(mark.slice(mark.lastIndexOf(':') + 1))
  const isSettled = Date.now() - changed > SETTLED_MS
  const entries = readFolder(path)
  if (isSettled) kept.set(path, { mark, entries })
  return entries
}

/** Changes with the folder, the journal and the metas; other programs write a meta in place. */
function markOf(path: string, entries: readonly fs.Dirent[]): string {
  const telling = entries.filter(({ name }) => name === EVENTS_FILE || name.startsWith('meta'))
  return [path, ...telling.map(({ name }) => join(path, name))].map(fileMark).join()
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
  run: { readonly place: RunPlace; readonly attempts: readonly Attempt[]; readonly locked: boolean },
  { logs, tails }: FindOptions,
): RunInfo {
  const { place, attempts, locked } = run
  const last = readMeta(attempts.at(-1)?.meta, root)
  const first = attempts.length > 1 ? readMeta(attempts[0]?.meta, root) : last
  const dir = place.key
  const running = locked || isUnlockedRunning(dir, attempts.at(-1), last)
  const journal = place.journal()
  const task = taskOf(first)
  const tail =
    journal !== undefined
      ? tailOf(journal, root, task === undefined, tails)
      : running
        ? undefined
        : logs?.of(place, attempts)
  // The last attempt may have no event yet, or none that was stored.
  const stale = typeof tail?.attempt === 'number' && tail.attempt < (attempts.at(-1)?.number ?? 0)
  const end = running || stale ? undefined : tail?.completion
  // Without a completion in the journal the exit may have decided alone, and is in the meta.
  const told = running ? null : end ? outcomeOf(end) : (last?.outcome ?? 'unknown')
  // 0.2 recorded a named marker only in the meta; a run that has it did not just finish.
  const outcome = told === 'finished' && last?.reading?.done_marker !== undefined ? 'needs_input' : told
  const ok = outcome && isGood(outcome)
  return {
    id: relative(root, dir).split(sep).join('/') || basename(root) || 'run',
    run_id: tail?.run_id ?? last?.run_id ?? null,
    engine: tail?.engine ?? last?.engine ?? null,
    task: task ?? tail?.task ?? null,
    attempts: Math.max(attempts.length, tail ? 1 : 0),
    state: running ? 'running' : (end?.state ?? 'unknown'),
    outcome,
    ok,
    failure_class: (outcome === 'failed' && (end?.failure_class ?? last?.failure_class)) || null,
    cost: (running ? null : (end?.cost ?? (stale ? null : last?.cost))) ?? null,
    tokens: (running ? null : (end?.tokens ?? (stale ? null : last?.tokens))) ?? null,
    ...openOrWrong(outcome, stale ? undefined : tail, last),
    files: countChanged(attempts) ?? tail?.files ?? null,
    reason_code: end?.reason_code ?? null,
    exit_code: running ? null : (last?.exit_code ?? null),
    signal: running ? null : (last?.signal ?? null),
    started_at: first?.started_at ?? realTime(tail?.ts) ?? null,
    ended_at: running ? null : (last?.ended_at ?? endOf(last)),
    argv: last?.argv ?? [],
    streams: streamsOf(attempts),
  }
}

/** What went wrong in a run that ended badly; what one waits for that did not end, or needs an answer. */
export function openOrWrong(
  outcome: RunOutcome | null,
  tail: RunOverview | undefined,
  meta?: Pick<Partial<Meta>, 'exit_code' | 'signal'>,
): Pick<RunInfo, 'problem' | 'waits_for'> {
  const { request, failure, exit_code, signal } = { ...meta, ...tail?.completion?.evidence }
  if (outcome === null || outcome === 'needs_input')
    return { problem: null, waits_for: tail?.waits_for ?? request ?? null }
  if (isGood(outcome)) return { problem: null, waits_for: null }
  const exit = signal ? `ended by ${signal}` : exit_code ? `exit code ${exit_code}` : undefined
  const end = tail?.completion?.failure_class
  const problem = tail?.problem ?? failure ?? exit ?? (tail ? endPhrase(outcome, end) : null)
  return { problem, waits_for: null }
}

/** What the first attempt was asked: in its meta when it is over, and in its command. */
export function taskOf(meta: Partial<Meta> | undefined): string | undefined {
  return meta?.task ?? engineNamed(meta?.engine)?.task?.(meta?.argv ?? [])
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

/** Bytes at the end of a journal, of a run that ended well and of any other. */
const SHORT_TAIL = 4 * 1024
const TAIL = 64 * 1024

/** The end of a journal, and the task at its start if it is `asked` for; read again only if it changed. */
function tailOf(
  path: string,
  root: string,
  asked: boolean,
  tails: Tails | undefined,
): RunOverview | undefined {
  const mark = fileMark(path)
  const known = tails?.get(path)
  if (known?.mark === mark) return known.overview
  let overview: RunOverview | undefined
  try {
    overview = withPlain(path, root, (fd) => {
      const { size } = fs.fstatSync(fd)
      const linesAt = (at: number, length: number) => readBlock(fd, at, length).toString().split('\n')
      const last = (length: number) => linesAt(Math.max(0, size - length), length)
      let ended = lastEvents(last(SHORT_TAIL))
      if (!ended?.completion || !isGood(outcomeOf(ended.completion))) {
        const lines = last(TAIL)
        ended = lastEvents(lines)
        ended &&= { ...ended, ...telling(ended, lines) }
      }
      return ended && { ...ended, task: asked ? telling(undefined, linesAt(0, TAIL)).task : undefined }
    })
  } catch {
    overview = undefined
  }
  tails?.set(path, { mark, overview })
  return overview
}

/** What the events in these lines tell: of a run that ended badly or not yet, else its task alone. */
function telling(ended: RunOverview | undefined, lines: readonly string[]): Partial<RunOverview> {
  const reader = new OverviewReader()
  for (const line of lines) {
    // Pieces of a message, which may be thousands, say nothing that its end does not say.
    if (ended ? line.includes('"agent.message.delta"') : !line.includes('"user.message"')) continue
    try {
      const event = JSON.parse(line)
      if (!ended || event.attempt_number === ended.attempt) reader.take(event)
    } catch {
      // The first line of the block may be incomplete.
    }
  }
  const { task, problem, waits_for } = reader.overview() ?? {}
  return { task, problem, waits_for }
}

/** Another program may have written it: only strings count as text. */
function lastEvents(lines: readonly string[]): RunOverview | undefined {
  let overview: RunOverview | undefined
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
      if ((event.type ?? event.event?.type) === 'lifecycle.completion.state')
        return { ...overview, completion: completionIn(event.data) }
    } catch {
      // The first line of the block may be incomplete.
    }
    if (overview && lines.length - i > 16) break
  }
  return overview
}

function completionIn(data: Record<string, unknown>): RunOverview['completion'] {
  const state = endStates.find((known) => known === data['state']) ?? 'unknown'
  const { evidence, tokens } = data
  const { request, ...seen } = isRecord(evidence) ? evidence : {}
  const end = { state, evidence: { ...seen, ...(typeof request === 'string' && { request }) } }
  // Cast: `outcomeOf` checks each of them.
  const outcome = outcomeOf({ ...end, outcome: data['outcome'] } as OutcomeEvidence)
  return {
    ...(end as OutcomeEvidence),
    outcome,
    failure_class: readFailure(data['failure_class']),
    cost: readCost(data['cost']),
    tokens: isRecord(tokens) ? tokensOf(tokens) : undefined,
    reason_code: textOf(data['reason_code']),
  }
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
