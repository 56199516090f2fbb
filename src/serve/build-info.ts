import { engineNamed } from '../engines/engine-name.ts'
import { taskInCommand } from '../engines/programs.ts'
import type { EndState } from '../events/event.ts'
import { endPhrase, isGood, outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { type Attempt, shownChannels } from '../run/attempt-logs.ts'
import type { Meta } from '../run/meta.ts'
import { countChanged } from '../run/read-attempt.ts'
import { stillRunning } from '../run/resume.ts'
import type { RunInfo } from './run-info.ts'
import { type RunOverview, statsOf } from './run-overviews.ts'

/** What is known about a run: of a recording, of a session file, or of events that are exported. */
export interface RunFacts {
  readonly id: string
  /** As its recorder says before there are records. */
  readonly run_id?: string | undefined
  readonly running?: boolean
  /** It runs, but its recorder does not. */
  readonly lost?: boolean
  /** The metas of its first and its last attempt. */
  readonly first?: Partial<Meta> | undefined
  readonly last?: Partial<Meta> | undefined
  readonly attempts: readonly Attempt[]
  /** What its events tell. */
  readonly told: RunOverview | undefined
  /** Where no meta tells it. */
  readonly started_at?: string | undefined
  readonly ended_at?: string | undefined
  readonly streams?: RunInfo['streams'] | undefined
}

export function runInfo(facts: RunFacts): RunInfo {
  const { id, running = false, lost = false, first, last, attempts, told, ...rest } = facts
  // The last attempt may have no event yet, or none that was stored.
  const stale = typeof told?.attempt === 'number' && told.attempt < (attempts.at(-1)?.number ?? 0)
  const end = running || stale ? undefined : told?.completion
  const current = stale ? undefined : told
  // Its recorder was killed while the agent asked: no end was recorded, and nobody can answer now.
  const isWaiting = !running && !end && current?.waits_for !== undefined && !last?.outcome
  const known = running ? null : isWaiting ? 'needs_input' : outcomeIn(end, last)
  const unread = !running && told?.unread === true
  const outcome = unread && known === 'unknown' ? null : known
  const meta = running || stale ? undefined : last
  const tags = { ...first?.tags, ...last?.tags }
  return {
    id,
    run_id: told?.run_id ?? last?.run_id ?? rest.run_id ?? null,
    engine: told?.engine ?? last?.engine ?? null,
    model: told?.model ?? meta?.model ?? null,
    task: taskOf(first) ?? told?.task ?? null,
    attempts: Math.max(attempts.length, told ? 1 : 0),
    state: running ? 'running' : unread ? 'unread' : (end?.state ?? stateIn(outcome)),
    outcome,
    ok: outcome && isGood(outcome),
    failure_class: (outcome === 'failed' && (end?.failure_class ?? last?.failure_class)) || null,
    cost: end?.cost ?? meta?.cost ?? null,
    tokens: end?.tokens ?? meta?.tokens ?? null,
    files: running ? null : (countChanged(attempts) ?? told?.files ?? null),
    ...openOrWrong(outcome, current, last),
    ...(lost && { problem: `its recorder was lost, but ${stillRunning(last)}` }),
    reason_code: end?.reason_code ?? null,
    exit_code: running ? null : (last?.exit_code ?? null),
    signal: running ? null : (last?.signal ?? null),
    started_at: first?.started_at ?? rest.started_at ?? realTime(told?.ts) ?? null,
    ended_at: running ? null : (last?.ended_at ?? rest.ended_at ?? endOf(last)),
    argv: last?.argv ?? [],
    ...(Object.keys(tags).length > 0 && { tags }),
    streams: rest.streams ?? streamsOf(attempts),
  }
}

function outcomeIn(end: RunOverview['completion'], meta: Partial<Meta> | undefined): RunOutcome {
  const told = end ? outcomeOf(end) : 'unknown'
  // Without an end in the events the exit may have decided alone, and is in the meta.
  const outcome = told === 'unknown' ? (meta?.outcome ?? told) : told
  // 0.2 recorded a named marker only in the meta; a run that has it did not just finish.
  return outcome === 'finished' && meta?.reading?.done_marker !== undefined ? 'needs_input' : outcome
}

/** The state of a run whose end is only in its meta. */
function stateIn(outcome: RunOutcome | null): EndState {
  return outcome === 'failed' || outcome === 'cancelled' ? 'interrupted' : 'unknown'
}

/** What went wrong in a run that ended badly; what one waits for that did not end, or needs an answer. */
function openOrWrong(
  outcome: RunOutcome | null,
  tail: RunOverview | undefined,
  meta: Partial<Meta> | undefined,
): Pick<RunInfo, 'problem' | 'waits_for'> {
  const { request, failure, exit_code, signal } = { ...meta, ...tail?.completion?.evidence }
  if (outcome === null || outcome === 'needs_input')
    return { problem: (outcome && tail?.problem) ?? null, waits_for: tail?.waits_for ?? request ?? null }
  if (isGood(outcome)) return { problem: null, waits_for: null }
  const stopped = outcome === 'cancelled' && meta?.notes?.find(({ code }) => code === 'RUN_INTERRUPTED')
  if (stopped) return { problem: stopped.message, waits_for: null }
  const exit = signal ? `ended by ${signal}` : exit_code ? `exit code ${exit_code}` : undefined
  const end = tail?.completion?.failure_class
  const problem = tail?.problem ?? failure ?? exit ?? (tail ? endPhrase(outcome, end) : null)
  return { problem, waits_for: null }
}

/** What the first attempt was asked: in its meta when it is over, and in its command. */
export function taskOf(meta: Partial<Meta> | undefined): string | undefined {
  return meta?.task ?? taskInCommand(engineNamed(meta?.engine), meta?.argv ?? [])
}

function streamsOf(attempts: readonly Attempt[]): RunInfo['streams'] {
  return attempts.flatMap((attempt) =>
    shownChannels.flatMap((stream) => {
      const log = attempt.logs[stream]
      return log === undefined ? [] : [{ attempt: attempt.number, stream, bytes: statsOf(log)?.size ?? 0 }]
    }),
  )
}

/** A fixed clock at 0 is not a time to show. */
export function realTime(ts: string | undefined): string | undefined {
  return ts !== undefined && Date.parse(ts) > 0 ? ts : undefined
}

function endOf(meta: Partial<Meta> | undefined): string | null {
  if (meta?.started_at === undefined || meta.duration_ms == null) return null
  return new Date(Date.parse(meta.started_at) + meta.duration_ms).toISOString()
}
