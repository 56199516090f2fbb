import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Fault, type Note } from '../base/fault.ts'
import type { RepairLevel } from '../values/outcome.ts'
import type { AskOptions } from './options.ts'

/** What is kept of an answer that passed. */
export interface CacheEntry {
  readonly value: unknown
  readonly repair_level: RepairLevel
  readonly notes: readonly Note[]
}

/**
 * Where answers are kept. A cache that throws is as good as an empty one: `ask` goes on, and notes
 * CACHE_FAILED on the outcome.
 *
 * @example
 * const memory = new Map<string, CacheEntry>()
 * await ask(call, { prompt, schema, cache: memory }) // a Map is a cache
 */
export interface Cache {
  get(key: string): CacheEntry | undefined | Promise<CacheEntry | undefined>
  set(key: string, entry: CacheEntry): unknown
}

/**
 * The key of a question: everything that decides what a good answer is. A schema or a normalizer that is
 * code cannot be compared, so `cacheKey` has to stand for it.
 */
export function keyOf(options: AskOptions): string {
  const { prompt, system, temperature, schema, normalize, cacheKey, tag, lines, root } = options
  if (cacheKey === undefined && ((schema && !isJson(schema)) || normalize?.length)) {
    throw new Fault('BAD_OPTION', 'a schema or normalizer that is code needs a cacheKey to be cached by')
  }
  const { protoKeys, partial, maxDepth, maxRepair, maxFrame } = options
  const rules = [tag, lines, root, protoKeys, partial, maxDepth, maxRepair, maxFrame]
  const parts = [
    'ask/1',
    prompt,
    system,
    temperature,
    cacheKey,
    cacheKey === undefined ? schema : null,
    rules,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Whether something that comes out of a cache can have been put there by us. */
export function isEntry(entry: unknown): entry is CacheEntry {
  if (typeof entry !== 'object' || entry === null || !('value' in entry)) return false
  // The cast is the door: what is used is checked here.
  const { repair_level, notes } = entry as Partial<CacheEntry>
  const known = repair_level === 'none' || repair_level === 'deterministic_generic'
  return known && Array.isArray(notes)
}

/** Only what comes back as it went in may be kept: a Date would come back as a string. */
export function survivesJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}

function isJson(schema: object): boolean {
  return !('~standard' in schema) && survivesJson(schema)
}
