import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  checkPath,
  hasMethods,
  isText,
  NOT_TAKEN,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { type Note, orElse } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { unlessAborted } from '../base/unless-aborted.ts'
import type { CompletionData } from '../events/event.ts'
import { jsonValue } from '../json/strict.ts'
import type { RepairLevel } from '../values/outcome.ts'
import { checkOf, type JsonSchema, plainSchemaOf, type Schema } from '../values/schema/schema.ts'
import { writeWhole } from './durable.ts'
import { readPlain } from './plain-file.ts'

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
 * A store of answers and results. One that throws counts as empty, with a note CACHE_FAILED.
 *
 * @example
 * const memory = new Map<string, CacheEntry>()
 * await ask(call, { prompt, schema, cache: memory }) // a Map is a cache
 */
export interface Cache {
  get(key: string): CacheEntry | undefined | Promise<CacheEntry | undefined>
  set(key: string, entry: CacheEntry): unknown
}

/** What `ask` and `run` are told about their cache. */
export const CACHE_OPTIONS = {
  cache: { is: hasMethods('get', 'set'), needs: 'an object with get and set as cache' },
  cacheKey: { is: isText, needs: 'a text as cacheKey' },
  maxCacheWait: { ...DURATION, default: 10_000 },
} as const satisfies OptionTable<{ cache?: Cache; cacheKey?: string; maxCacheWait?: Duration }>

/** Whether a value from a cache is a valid entry. */
function isEntry(entry: unknown): entry is CacheEntry {
  if (typeof entry !== 'object' || entry === null || !('value' in entry)) return false
  // Cast: the fields that are used are checked here.
  const { repair_level, notes } = entry as Partial<CacheEntry>
  const known = repair_level === 'none' || repair_level === 'deterministic_generic'
  return known && Array.isArray(notes)
}

export interface AccessOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds to wait for each call of the cache. */
  readonly maxCacheWait: number
}

/**
 * Opens a cache at a key. A cache is the caller's code: it may throw anything, or never answer. Neither call
 * fails here, unless the signal is aborted: `trouble` has the errors, as notes with the code CACHE_FAILED.
 */
export function cacheAccess(cache: Cache, key: string, options: AccessOptions) {
  const { signal, maxCacheWait } = options
  const trouble: Note[] = []
  const note = (done: 'read' | 'written') => (error: unknown) => {
    signal?.throwIfAborted()
    const why = error instanceof Error ? error.message : String(error)
    const message = `the cache could not be ${done}: ${why.slice(0, 200)}`
    trouble.push({ code: 'CACHE_FAILED', message })
    return undefined
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
    trouble: trouble as readonly Note[],
    get: () => wait(async () => checked(await cache.get(key))).catch(note('read')),
    /** Stores a copy, if the value survives JSON unchanged. */
    async set(entry: CacheEntry): Promise<void> {
      if (!survivesJson(entry.value)) return
      await wait(async () => cache.set(key, copyOf(entry))).catch(note('written'))
    },
  }
}

/** 64 characters for a value, the same for the same JSON: the key of everything that decides an answer. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** A schema as a part of a key, if it is data, and not code. */
export function keyOfSchema(schema: Schema): JsonSchema | undefined {
  const plain = plainSchemaOf(schema)
  return plain && survivesJson(plain) ? plain : undefined
}

/**
 * Whether a cached value passes now. A plain JSON Schema is checked again; any other schema may transform
 * values into something it does not accept itself.
 */
export function stillPasses(schema: Schema | undefined, value: unknown): boolean {
  return schema === undefined || plainSchemaOf(schema) === undefined || 'value' in checkOf(schema)(value)
}

/** Validates what a cache returns. */
function checked(entry: CacheEntry | undefined): CacheEntry | undefined {
  if (entry === undefined) return undefined
  if (isEntry(entry)) return copyOf(entry)
  throw new Error('it returned something that is not an entry')
}

/** A cache in memory keeps the object: without a copy, the next caller would see changes. */
function copyOf({ value, repair_level, notes, run }: CacheEntry): CacheEntry {
  return structuredClone({ value, repair_level, notes, ...(run && { run }) })
}

/** Only values that survive JSON unchanged may be stored: a Date would come back as a string. */
function survivesJson(value: unknown): boolean {
  return orElse(() => isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value), false)
}

/** The options of `fileCache()`. */
export interface FileCacheOptions {
  /** Maximum number of answers; the oldest are removed first. @default 1000 */
  readonly maxEntries?: number | undefined
  /** Maximum size of one answer in bytes; a larger one is not stored. @default 1 MiB */
  readonly maxBytes?: number | undefined
}

const FILE_CACHE_OPTIONS = {
  signal: NOT_TAKEN,
  maxEntries: { default: 1000 },
  maxBytes: { default: 1 << 20 },
} as const satisfies OptionTable<FileCacheOptions>

/**
 * A cache in a directory, one file for each answer. Files are written atomically, so any number of
 * processes can share it; one that cannot be read counts as missing.
 *
 * @example
 * const report = await ask(call, { prompt, schema, cache: fileCache('.cache/answers') })
 */
export function fileCache(dir: string, options: FileCacheOptions = {}): Cache {
  checkPath('fileCache', dir, 'fileCache(".cache")')
  const example = 'fileCache(".cache", { maxEntries: 100 })'
  const { maxEntries, maxBytes } = readOptions('fileCache', options, example, FILE_CACHE_OPTIONS)
  const place = (key: string) => join(dir, `${createHash('sha256').update(key).digest('hex')}.json`)
  return {
    async get(key) {
      try {
        return entryOf(readPlain(place(key), maxBytes), key)
      } catch (error) {
        // Anything but a small file counts as missing.
        if (['ENOENT', 'EFTYPE', 'ELOOP', 'ENXIO', 'EFBIG'].includes(codeOf(error) ?? '')) return undefined
        throw error
      }
    },
    async set(key, entry) {
      const text = JSON.stringify({ key, ...entry })
      if (Buffer.byteLength(text) > maxBytes) return
      await writeWhole(place(key), text)
      await clear(dir, maxEntries)
    },
  }
}

function entryOf(text: string, key: string): CacheEntry | undefined {
  // Cast: its fields are checked here.
  const { key: kept, ...entry } = Object(jsonValue(text)) as Record<string, unknown>
  return kept === key && isEntry(entry) ? entry : undefined
}

/** Removes the oldest answers, and a few more, so that not every new one must list all of them. */
async function clear(dir: string, maxEntries: number): Promise<void> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json'))
  if (names.length <= maxEntries) return
  const aged = names.map((name) => {
    const path = join(dir, name)
    // Another process may have removed it.
    return { path, age: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }
  })
  aged.sort((a, b) => a.age - b.age)
  const spare = Math.floor(maxEntries / 10)
  for (const { path } of aged.slice(0, names.length - maxEntries + spare)) await rm(path, { force: true })
}
