// What asking and running share.
export type { Cache, CachedRun, CacheEntry } from './sinks/cache.ts'
export { type FileCacheOptions, fileCache } from './sinks/file-cache.ts'
export { type JsonSchema, jsonSchema } from './values/schema/json-schema.ts'
