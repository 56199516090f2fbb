import { createHash } from 'node:crypto'
import { constants, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkPath, type OptionTable, readOptions } from '../base/check-options.ts'
import { type Cache, type CacheEntry, isEntry } from './cache.ts'
import { writeWhole } from './durable.ts'

export interface FileCacheOptions {
  /** Maximum number of answers; the oldest are removed first. @default 1000 */
  readonly maxEntries?: number | undefined
  /** Maximum size of one answer in bytes; a larger one is not stored. @default 1 MiB */
  readonly maxBytes?: number | undefined
}

const CACHE_OPTIONS = {
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
  const { maxEntries, maxBytes } = readOptions('fileCache', options, example, CACHE_OPTIONS)
  const place = (key: string) => join(dir, `${createHash('sha256').update(key).digest('hex')}.json`)
  return {
    async get(key) {
      const text = await readSmall(place(key), maxBytes)
      return text === undefined ? undefined : entryOf(text, key)
    },
    async set(key, entry) {
      const text = JSON.stringify({ key, ...entry })
      if (Buffer.byteLength(text) > maxBytes) return
      await writeWhole(place(key), text)
      await clear(dir, maxEntries)
    },
  }
}

async function readSmall(path: string, maxBytes: number): Promise<string | undefined> {
  // Non-blocking, because opening a FIFO would wait forever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    },
  )
  if (!file) return undefined
  try {
    const found = await file.stat()
    return !found.isFile() || found.size > maxBytes ? undefined : await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function entryOf(text: string, key: string): CacheEntry | undefined {
  try {
    const { key: kept, ...entry } = JSON.parse(text)
    return kept === key && isEntry(entry) ? entry : undefined
  } catch {
    return undefined
  }
}

/**
 * Removes the oldest answers, a few more than needed, so that not every new answer has to list all of them.
 */
async function clear(dir: string, maxEntries: number): Promise<void> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json'))
  if (names.length <= maxEntries) return
  const aged = await Promise.all(
    names.map(async (name) => {
      const path = join(dir, name)
      return {
        path,
        age: await stat(path).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      }
    }),
  )
  aged.sort((a, b) => a.age - b.age)
  const spare = Math.floor(maxEntries / 10)
  for (const { path } of aged.slice(0, names.length - maxEntries + spare)) await rm(path, { force: true })
}
