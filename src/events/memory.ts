/** Limits of the number of entries, and of the size of their keys and values together, in characters. */
const MAX_ENTRIES = 4096
const MAX_SIZE = 1 << 20

const NONE: readonly never[] = []

/**
 * Stores small values by id until they are needed: the name of a call, the current message of a speaker. When
 * there are too many, the oldest is dropped; a value that is too large by itself is not stored at all.
 */
export function memory<Value>(sizeOf: (value: Value) => number) {
  const known = new Map<string, Value>()
  let size = 0

  const take = (key: string): Value | undefined => {
    const value = known.get(key)
    if (value === undefined) return undefined
    known.delete(key)
    size -= key.length + sizeOf(value)
    return value
  }

  return {
    get: (key: string): Value | undefined => known.get(key),
    /** Oldest first. */
    entries: () => known.entries(),
    /** Returns the value, and removes it. */
    take,
    /** Stores a value, and returns those that were dropped for it. */
    set(key: string, value: Value): readonly Value[] {
      take(key)
      const cost = key.length + sizeOf(value)
      if (cost > MAX_SIZE) return [value]
      known.set(key, value)
      size += cost
      if (known.size <= MAX_ENTRIES && size <= MAX_SIZE) return NONE
      const forgotten: Value[] = []
      for (const oldest of known.keys()) {
        if (known.size <= MAX_ENTRIES && size <= MAX_SIZE) break
        forgotten.push(take(oldest)!)
      }
      return forgotten
    },
  }
}
