import { badOption, type Code, meaningOf } from '../base/fault.ts'
import type { Sink } from '../base/stage.ts'
import {
  type Cache,
  type CachedRun,
  type CacheEntry,
  cacheAccess,
  digestOf,
  keyOfSchema,
  stillPasses,
} from '../disk/cache.ts'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/engines-by-name.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { AgentEvent, ResultData } from '../events/event.ts'
import { isGood, outcomeOf } from '../events/run-outcome.ts'
import { writer } from '../events/write.ts'
import type { RecordOptions } from './attempt-record.ts'
import type { RunEnd } from './run-options.ts'

export interface CachedResultOptions
  extends Pick<RecordOptions, 'engine' | 'command' | 'args' | 'cwd' | 'input' | 'pty' | 'reading'> {
  readonly cache: Cache
  readonly cacheKey: string | undefined
  readonly maxCacheWait: number
}

export interface Hit {
  readonly result: ResultData
  readonly from: CachedRun
}

/** What must be known of a run to store its result. */
type Ended = Pick<RunEnd, 'runId' | 'attempt' | 'result' | 'completion' | 'exitCode' | 'reason'>

/** The cache entry of one run's result. */
export type CachedResult = ReturnType<typeof cachedResult>

/**
 * Caches the result of a run. Only success is stored: the last payload passed the schema, repaired or not,
 * and neither the engine nor its process failed. Throws BAD_OPTION for a run that cannot have a key.
 */
export function cachedResult(options: CachedResultOptions) {
  const { cache, maxCacheWait, reading } = options
  const access = cacheAccess(cache, runKey(options), { maxCacheWait })
  return {
    trouble: access.trouble,
    async find(): Promise<Hit | undefined> {
      const entry = await access.get()
      return entry && isRun(entry.run) && stillPasses(reading.schema, entry.value)
        ? { result: resultOf(entry), from: entry.run }
        : undefined
    },
    /** Stores a result, if the run succeeded and its process exited with 0. */
    async keep({ runId, attempt, result, completion, exitCode, reason }: Ended): Promise<void> {
      if (!result?.cacheable || exitCode !== 0 || reason !== null) return
      const { value, repair_level, warnings } = result
      const notes = warnings.map((code) => ({ code, message: meaningOf(code) }))
      const ts = new Date().toISOString()
      await access.set({
        value,
        repair_level,
        notes,
        run: { run_id: runId, attempt_number: attempt, ts, completion },
      })
    },
  }
}

/** What decides the result, without files, the environment and the agent's own settings. */
function runKey(options: CachedResultOptions): string {
  const { engine, command, args, cwd, input, pty, cacheKey, reading } = options
  const { schema, doneMarker, maxFrame, window, pick, maxRepair } = reading
  if (schema === undefined) throw badOption('`cache` keeps results that pass a schema; give a `schema`, too')
  if (input === 'inherit')
    throw badOption("cache needs an input that is known in advance: give it as { text }, or 'ignore'")
  const plain = keyOfSchema(schema)
  const ours = engine === auto || Object.values<Engine | Picker>(engines).includes(engine)
  if (cacheKey === undefined && !(plain && ours))
    throw badOption('a schema or an engine that is code needs a cacheKey')
  const rules = [doneMarker, maxFrame, window, pick, maxRepair]
  const on = pty ? (pty.pipes ? 'pty+pipe' : 'pty') : 'pipe'
  return digestOf(['run/1', engine.name, command, args, cwd, input, on, cacheKey, plain ?? null, rules])
}

function resultOf({ value, repair_level, notes }: CacheEntry): ResultData {
  const warnings: Code[] = [...notes.map(({ code }) => code), 'RESULT_CACHED']
  return { status: 'success', value, repair_level, warnings, cacheable: true }
}

const states: readonly unknown[] = ['completed', 'awaiting_user_input', 'unknown']

function isRun(run: CachedRun | undefined): run is CachedRun {
  return (
    typeof run?.run_id === 'string' &&
    Number.isSafeInteger(run.attempt_number) &&
    typeof run.ts === 'string' &&
    states.includes(run.completion?.state) &&
    typeof run.completion.evidence === 'object'
  )
}

/**
 * The events of a run that was not started, because its result was cached: where it is from, the result, and
 * how the original run ended. They refer to no log.
 */
export function writeCached(
  { result, from }: Hit,
  who: { readonly runId: string; readonly attempt: number; readonly engine: string },
  next: Sink<AgentEvent>,
): void {
  const { runId, attempt, engine } = who
  const events = writer(
    { runId, attempt, clock: Date.now },
    {
      write(event) {
        // Not the ids of the real attempt with this number, which may follow.
        const event_id = `${runId}:${attempt}:cache:${event.seq - 1}`
        next.write({ ...event, correlation: { event_id } })
      },
      end() {},
    },
  )
  events.setEngine({ name: engine, parser: 'cache' })
  const message = `nothing was run: the result is that of run ${from.run_id}, attempt ${from.attempt_number}, stored at ${from.ts}`
  events.write(
    'diagnostic.parser.warning',
    { code: 'RESULT_CACHED', message, severity: 'info', confidence: 1 },
    1,
  )
  events.write('lifecycle.run.result', result, 1)
  // A cache of 0.2 stored no outcome.
  const outcome = outcomeOf(from.completion, result.status)
  events.write('lifecycle.completion.state', { ...from.completion, outcome, ok: isGood(outcome) }, 1)
}
