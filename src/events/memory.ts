/** Entries that are remembered, and what their keys and values may measure together, in characters. */
const MAX_ENTRIES = 4096
const MAX_SIZE = 1 << 20

const NONE: readonly never[] = []

/**
 * Remembers small things by id until they are asked for: the name of a call, the message a speaker is in. When there
 * are too many, the oldest is forgotten; what is too large alone is not remembered at all.
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
    /** Gives the value, and forgets it. */
    take,
    /** Remembers a value, and answers with what was forgotten for it. */
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
