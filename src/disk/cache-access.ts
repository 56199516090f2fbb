import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Note } from '../base/fault.ts'
import { unlessAborted } from '../base/unless-aborted.ts'
import type { Schema } from '../values/schema/schema.ts'
import { type Cache, type CacheEntry, isEntry } from './cache.ts'

export interface AccessOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds to wait for each call of the cache. @default 10,000 */
  readonly maxCacheWait?: number | undefined
}

/**
 * One key of a cache. Neither call fails, unless the signal is aborted: errors are collected in `trouble`.
 */
export interface CacheAccess {
  get(): Promise<CacheEntry | undefined>
  /** Stores a copy, if the value survives JSON unchanged. */
  set(entry: CacheEntry): Promise<void>
  /** Notes with the code CACHE_FAILED. */
  readonly trouble: readonly Note[]
}

/** Opens a cache at a key. A cache is the caller's code: it may throw anything, or never answer. */
export function cacheAccess(cache: Cache, key: string, options: AccessOptions): CacheAccess {
  const { signal, maxCacheWait = 10_000 } = options
  const trouble: Note[] = []
  const note = (error: unknown): undefined => {
    signal?.throwIfAborted()
    const message = error instanceof Error ? error.message : String(error)
    trouble.push({ code: 'CACHE_FAILED', message: `the cache failed: ${message.slice(0, 200)}` })
  }
  const wait = async <R>(ask: () => Promise<R>): Promise<R> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${maxCacheWait} ms`)), maxCacheWait)
    })
    try {
      return await unlessAborted(() => Promise.race([ask(), late]), signal)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    trouble,
    get: () => wait(async () => checked(await cache.get(key))).catch(note),
    async set(entry) {
      if (!survivesJson(entry.value)) return
      await wait(async () => cache.set(key, copyOf(entry))).catch(note)
    },
  }
}

/** A key of 64 characters, derived from everything that decides an answer. */
export function keyOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Whether a schema can be part of a key: it is data, not code. */
export function isPlainSchema(schema: Schema): boolean {
  return !('~standard' in schema) && survivesJson(schema)
}

/** Validates what a cache returns. */
function checked(entry: CacheEntry | undefined): CacheEntry | undefined {
  if (entry === undefined) return undefined
  if (isEntry(entry)) return copyOf(entry)
  throw new Error('it returned something that is not an entry')
}

/**
 * A cache in memory keeps the same object: without a copy, changes by one caller would be visible to the
 * next.
 */
function copyOf({ value, repair_level, notes, run }: CacheEntry): CacheEntry {
  return structuredClone({ value, repair_level, notes, ...(run && { run }) })
}

/** Only values that survive JSON unchanged may be stored: a Date would come back as a string. */
function survivesJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}
