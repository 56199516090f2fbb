import { expect, test } from 'vitest'
import { headOf } from '../../src/values/unmatched-text.ts'

test('keeps the first bytes and says how many there were', () => {
  const head = headOf(5)
  for (const byte of Buffer.from('abcdefgh')) head.add(Buffer.of(byte))
  expect(head.comment()).toEqual({ text: 'abcde', truncated: true, from: 0, to: 5 })
  expect(head.size()).toBe(8)
})

test('is not truncated when all fits', () => {
  const head = headOf(5)
  head.add(Buffer.from('abcde'))
  expect(head.comment()).toEqual({ text: 'abcde', truncated: false, from: 0, to: 5 })
})

test.each([
  [1, ''],
  [2, ''],
  [3, '€'],
  [4, '€'],
  [6, '€'],
  [7, '€😀'],
  [8, '€😀x'],
])('cuts no character in two at %i bytes', (max, text) => {
  const head = headOf(max)
  head.add(Buffer.from('€😀xy'))
  expect(head.comment()).toMatchObject({ text, to: Buffer.byteLength(text) })
})

test('lets go of what it kept', () => {
  const head = headOf(5)
  head.add(Buffer.from('abc'))
  head.drop()
  head.add(Buffer.from('def'))
  expect(head.comment().text).toBe('')
})
