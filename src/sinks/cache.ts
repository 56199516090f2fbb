import type { Note } from '../base/fault.ts'
import type { CompletionData } from '../events/event.ts'
import type { RepairLevel } from '../values/outcome.ts'

/**
 * Which run a kept result is of.
 *
 * @example
 * const { cached } = await run({ command, args, schema, cache }).end
 * if (cached) console.log(`kept at ${cached.ts} from run ${cached.run_id}`)
 */
export interface CachedRun {
  readonly run_id: string
  readonly attempt_number: number
  /** When it was kept: ISO 8601, UTC. */
  readonly ts: string
  /** How that run ended. */
  readonly completion: CompletionData
}

/** What is kept of an answer, or of the result of a run, that passed. */
export interface CacheEntry {
  readonly value: unknown
  readonly repair_level: RepairLevel
  readonly notes: readonly Note[]
  /** For the result of a run: which one. */
  readonly run?: CachedRun | undefined
}

/**
 * Where answers and results are kept. A cache that throws is as good as an empty one: `ask` and `run` go on, and note
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

/** Whether something that comes out of a cache can have been put there by us. */
export function isEntry(entry: unknown): entry is CacheEntry {
  if (typeof entry !== 'object' || entry === null || !('value' in entry)) return false
  // The cast is the door: what is used is checked here.
  const { repair_level, notes } = entry as Partial<CacheEntry>
  const known = repair_level === 'none' || repair_level === 'deterministic_generic'
  return known && Array.isArray(notes)
}
