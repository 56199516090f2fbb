import { Fault } from '../base/fault.ts'
import { type CacheEntry, cacheAccess, isPlainSchema, keyOf, stillPasses } from '../disk/cache.ts'
import type { Good, Outcome } from '../values/outcome.ts'
import type { Schema, Value } from '../values/schema/schema.ts'
import type { AskOptions } from './options.ts'

/** Reads the cache, and returns how to store an answer. Neither can make the question fail. */
export async function cachedAnswer<S extends Schema | undefined>(options: AskOptions<S>) {
  type T = Value<S>
  const { cache, schema } = options
  if (!cache) return { hit: undefined, keep: async (outcome: Good<T>): Promise<Outcome<T>> => outcome }
  const access = cacheAccess(cache, questionKey(options as AskOptions), options)
  const entry = await access.get()
  return {
    hit: entry && stillPasses(schema, entry.value) ? hitOf<T>(entry) : undefined,
    async keep(outcome: Good<T>): Promise<Outcome<T>> {
      const { value, repair_level, notes } = outcome
      // The incomplete parts of a value were not checked.
      if (!outcome.incomplete?.length) await access.set({ value, repair_level, notes })
      const { trouble } = access
      return trouble.length > 0 ? { ...outcome, notes: [...notes, ...trouble] } : outcome
    },
  }
}

/**
 * The key of a question: everything that decides what a good answer is. A schema or a normalizer that is
 * code cannot be compared, so `cacheKey` must represent it.
 */
function questionKey(options: AskOptions): string {
  const { prompt, system, temperature, schema, normalize, cacheKey } = options
  const plain = schema === undefined || isPlainSchema(schema)
  if (cacheKey === undefined && (!plain || normalize?.length)) {
    throw new Fault('BAD_OPTION', 'a schema or normalizer that is code needs a cacheKey to be cached by')
  }
  const rules = Object.entries(options)
    .filter(([name, value]) => ['string', 'number', 'boolean'].includes(typeof value) && !BESIDES.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return keyOf(['ask/3', prompt, system, temperature, cacheKey, plain ? schema : null, rules])
}

/** Options that do not decide what a good answer is, or are in the key already. */
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

function hitOf<T>({ value, repair_level, notes }: CacheEntry): Good<T> {
  const frame = { kind: 'text', channel: 'stdout', from: 0, to: 0, text: '' } as const
  return { ok: true, value: value as T, repair_level, notes, frame }
}
