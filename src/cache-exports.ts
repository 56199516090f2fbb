// What asking and running share.
export type { Cache, CachedRun, CacheEntry } from './disk/cache.ts'
export { type FileCacheOptions, fileCache } from './disk/file-cache.ts'
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
