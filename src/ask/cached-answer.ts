import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Fault, type Note } from '../base/fault.ts'
import type { Good, Outcome } from '../values/outcome.ts'
import { checkOf, type Schema, type Value } from '../values/schema/schema.ts'
import { unlessAborted } from './answer.ts'
import { type CacheEntry, isEntry } from './cache.ts'
import type { AskOptions } from './options.ts'

/** Looks into the cache, and knows how to put something there. Neither can make the question fail. */
export async function cachedAnswer<S extends Schema | undefined>(options: AskOptions<S>) {
  type T = Value<S>
  const { cache, schema, signal, maxCacheWait = 10_000 } = options
  if (!cache) return { hit: undefined, keep: async (outcome: Good<T>): Promise<Outcome<T>> => outcome }
  const key = keyOf(options as AskOptions)
  const trouble: Note[] = []
  const note = (error: unknown): undefined => {
    signal?.throwIfAborted()
    const message = error instanceof Error ? error.message : String(error)
    trouble.push({ code: 'CACHE_FAILED', message: `the cache failed: ${message.slice(0, 200)}` })
  }
  /** A cache is the caller's code: it may throw anything, or never answer. */
  const wait = async <R>(ask: () => R) => {
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
  const entry = await wait(async () => checked(await cache.get(key))).catch(note)
  return {
    hit: entry && passes(schema, entry) ? hitOf<T>(entry) : undefined,
    async keep(outcome: Good<T>): Promise<Outcome<T>> {
      const { value, repair_level, notes } = outcome
      // An unfinished value passed only as far as it goes.
      if (survivesJson(value) && !outcome.incomplete?.length) {
        await wait(async () => cache.set(key, copyOf({ value, repair_level, notes }))).catch(note)
      }
      return trouble.length > 0 ? { ...outcome, notes: [...notes, ...trouble] } : outcome
    },
  }
}

/**
 * The key of a question: everything that decides what a good answer is. A schema or a normalizer that is
 * code cannot be compared, so `cacheKey` has to stand for it.
 */
function keyOf(options: AskOptions): string {
  const { prompt, system, temperature, schema, normalize, cacheKey } = options
  if (cacheKey === undefined && ((schema && !isJson(schema)) || normalize?.length)) {
    throw new Fault('BAD_OPTION', 'a schema or normalizer that is code needs a cacheKey to be cached by')
  }
  const rules = Object.entries(options)
    .filter(([name, value]) => ['string', 'number', 'boolean'].includes(typeof value) && !BESIDES.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const parts = [
    'ask/3',
    prompt,
    system,
    temperature,
    cacheKey,
    schema && isJson(schema) ? schema : null,
    rules,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Options that do not decide what a good answer is, or have a place of their own in the key. */
const BESIDES: ReadonlySet<string> = new Set<keyof AskOptions>([
  'prompt',
  'system',
  'temperature',
  'cacheKey',
  'maxCacheWait',
  'retries',
  'stopWhenValid',
  'label',
  'maxComment',
])
/** What a cache gives back is looked at before it is believed. */
function checked(entry: CacheEntry | undefined): CacheEntry | undefined {
  if (entry === undefined) return undefined
  if (isEntry(entry)) return copyOf(entry)
  throw new Error('what it gave back is no entry')
}

/** A cache in memory keeps the very value: without a copy, what one caller does to it would be seen by the next. */
function copyOf({ value, repair_level, notes }: CacheEntry): CacheEntry {
  return structuredClone({ value, repair_level, notes })
}

/** A plain JSON Schema is asked again; any other may turn values into something it does not take itself. */
function passes(schema: Schema | undefined, { value }: CacheEntry): boolean {
  return schema === undefined || '~standard' in schema || 'value' in checkOf(schema)(value)
}

function hitOf<T>({ value, repair_level, notes }: CacheEntry): Good<T> {
  const frame = { kind: 'text', channel: 'stdout', from: 0, to: 0, text: '' } as const
  return { ok: true, value: value as T, repair_level, notes, frame }
}

/** Only what comes back as it went in may be kept: a Date would come back as a string. */
function survivesJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}

function isJson(schema: object): boolean {
  return !('~standard' in schema) && survivesJson(schema)
}
