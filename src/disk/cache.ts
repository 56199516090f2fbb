import type { Note } from '../base/fault.ts'
import type { CompletionData } from '../events/event.ts'
import type { RepairLevel } from '../values/outcome.ts'

/**
 * The run that a cached result is from.
 *
 * @example
 * const { cached } = await run({ command, args, schema, cache }).end
 * if (cached) console.log(`kept at ${cached.ts} from run ${cached.run_id}`)
 */
export interface CachedRun {
  readonly run_id: string
  readonly attempt_number: number
  /** When it was stored: ISO 8601, UTC. */
  readonly ts: string
  /** How that run ended. */
  readonly completion: CompletionData
}

/** A stored answer, or result of a run, that passed. */
export interface CacheEntry {
  readonly value: unknown
  readonly repair_level: RepairLevel
  readonly notes: readonly Note[]
  /** For the result of a run: its run. */
  readonly run?: CachedRun | undefined
}

/**
 * A store of answers and results. A cache that throws counts as empty: `ask` and `run` continue, with a note
 * CACHE_FAILED.
 *
 * @example
 * const memory = new Map<string, CacheEntry>()
 * await ask(call, { prompt, schema, cache: memory }) // a Map is a cache
 */
export interface Cache {
  get(key: string): CacheEntry | undefined | Promise<CacheEntry | undefined>
  set(key: string, entry: CacheEntry): unknown
}

/** Whether a value from a cache is a valid entry. */
export function isEntry(entry: unknown): entry is CacheEntry {
  if (typeof entry !== 'object' || entry === null || !('value' in entry)) return false
  // Cast: the fields that are used are checked here.
  const { repair_level, notes } = entry as Partial<CacheEntry>
  const known = repair_level === 'none' || repair_level === 'deterministic_generic'
  return known && Array.isArray(notes)
}
