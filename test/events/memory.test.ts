import { expect, test } from 'vitest'
import { memory } from '../../src/events/memory.ts'

const words = () => memory<string>((word) => word.length)

test('gives back what it was told, once', () => {
  const known = words()
  expect(known.set('a', 'one')).toEqual([])
  expect(known.get('a')).toBe('one')
  expect(known.take('a')).toBe('one')
  expect(known.take('a')).toBe(undefined)
})

test('forgets the oldest of too many', () => {
  const known = words()
  for (let n = 0; n < 4096; n++) expect(known.set(`k${n}`, `v${n}`)).toEqual([])
  expect(known.set('k0', 'again')).toEqual([])
  expect(known.set('more', 'x')).toEqual(['v1'])
  expect([known.get('k0'), known.get('k1'), known.get('k2')]).toEqual(['again', undefined, 'v2'])
})

test('forgets the oldest when the rest would be too large, and never holds what is too large alone', () => {
  const known = memory<number>((size) => size)
  const half = 1 << 19
  known.set('small', 1)
  known.set('a', half - 1)
  expect(known.set('b', half - 1)).toEqual([1])
  expect(known.set('c', 2)).toEqual([half - 1])
  expect([known.get('a'), known.get('b'), known.get('c')]).toEqual([undefined, half - 1, 2])
  expect(known.set('huge', 2 * half)).toEqual([2 * half])
  expect(memory<number>((size) => size).set('k', 2 * half - 1)).toEqual([])
  expect(memory<number>((size) => size).set('k', 2 * half)).toEqual([2 * half])
  const keysCountToo = 'x'.repeat(2 * half)
  expect(known.set(keysCountToo, 3)).toEqual([3])
  expect([known.get('huge'), known.get(keysCountToo), known.get('c')]).toEqual([undefined, undefined, 2])
  known.take('b')
  expect(known.set('d', half)).toEqual([])
})
