import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Fault, type Note } from '../base/fault.ts'
import { unlessAborted } from '../base/unless-aborted.ts'
import type { Schema } from '../values/schema/schema.ts'
import { type Cache, type CacheEntry, isEntry } from './cache.ts'

export interface AccessOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds the cache may take for each answer. @default 10,000 */
  readonly maxCacheWait?: number | undefined
}

/** One place of a cache. Neither call fails, unless the signal is aborted: what goes wrong is told in `trouble`. */
export interface CacheAccess {
  get(): Promise<CacheEntry | undefined>
  /** Keeps a copy, if it comes back from JSON as it went in. */
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

export function checkCacheWait(maxCacheWait: number | undefined): void {
  if (maxCacheWait === undefined || (maxCacheWait >= 0 && maxCacheWait < 2 ** 31)) return
  throw new Fault('BAD_OPTION', `maxCacheWait must be milliseconds, but is ${String(maxCacheWait)}`)
}

/** A key of 64 characters for what decides an answer. */
export function keyOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Whether a schema can be part of a key: it is data, not code. */
export function isPlainSchema(schema: Schema): boolean {
  return !('~standard' in schema) && survivesJson(schema)
}

/** What a cache gives back is looked at before it is believed. */
function checked(entry: CacheEntry | undefined): CacheEntry | undefined {
  if (entry === undefined) return undefined
  if (isEntry(entry)) return copyOf(entry)
  throw new Error('what it gave back is no entry')
}

/** A cache in memory keeps the very value: without a copy, what one caller does to it would be seen by the next. */
function copyOf({ value, repair_level, notes, run }: CacheEntry): CacheEntry {
  return structuredClone({ value, repair_level, notes, ...(run && { run }) })
}

/** Only what comes back as it went in may be kept: a Date would come back as a string. */
function survivesJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}
