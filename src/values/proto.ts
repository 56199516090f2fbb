/**
 * Keys that could change a prototype: `__proto__`, and `constructor` with a `prototype` inside. `JSON.parse`
 * makes them plain own properties, which is harmless until other code copies or merges the value.
 */

/**
 * What to do with such keys: `remove` drops them and adds a note, `error` fails the payload, `keep` leaves
 * them as own properties, as `JSON.parse` does.
 */
export type ProtoKeys = 'remove' | 'error' | 'keep'

/**
 * Removes the keys from a parsed value, in place, and returns how many there were. Iterative: the depth of
 * the value does not matter.
 *
 * @example
 * removeProtoKeys(JSON.parse('{"a":1,"__proto__":{}}')) // 1
 */
export function removeProtoKeys(root: unknown): number {
  let removed = 0
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item)
      continue
    }
    const record = value as Record<string, unknown>
    for (const key of Object.keys(record)) {
      if (key === '__proto__' || (key === 'constructor' && holdsPrototype(record[key]))) {
        delete record[key]
        removed++
      } else if (typeof record[key] === 'object') open.push(record[key])
    }
  }
  return removed
}

function holdsPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
