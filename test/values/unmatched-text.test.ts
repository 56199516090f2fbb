import { expect, test } from 'vitest'
import { unmatchedText } from '../../src/values/unmatched-text.ts'

test('keeps the first bytes and says how many there were', () => {
  const kept = unmatchedText(5)
  for (const byte of Buffer.from('abcdefgh')) kept.add(Buffer.of(byte))
  expect(kept.comment()).toEqual({ text: 'abcde', truncated: true, from: 0, to: 5 })
  expect(kept.size()).toBe(8)
})

test('is not truncated when all fits', () => {
  const kept = unmatchedText(5)
  kept.add(Buffer.from('abcde'))
  expect(kept.comment()).toEqual({ text: 'abcde', truncated: false, from: 0, to: 5 })
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
  const kept = unmatchedText(max)
  kept.add(Buffer.from('€😀xy'))
  expect(kept.comment()).toMatchObject({ text, to: Buffer.byteLength(text) })
})

test('lets go of what it kept', () => {
  const kept = unmatchedText(5)
  kept.add(Buffer.from('abc'))
  kept.drop()
  kept.add(Buffer.from('def'))
  expect(kept.comment().text).toBe('')
})

test('keeps more bytes than a comment shows, so that the whole input can be read again', () => {
  const kept = unmatchedText(2, 6)
  kept.add(Buffer.from('abcdefgh'))
  expect(kept.comment()).toEqual({ text: 'ab', truncated: true, from: 0, to: 2 })
  expect(kept.bytes().toString()).toBe('abcdef')
})
