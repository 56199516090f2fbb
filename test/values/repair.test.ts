import { jsonrepair } from 'jsonrepair'
import { expect, test } from 'vitest'
import { repair } from '../../src/values/repair.ts'

test('takes what jsonrepair makes if only quotes and commas moved', () => {
  const text = '{"date": 2024-01-01, "words": several plain words}'
  expect(JSON.parse(repair(text)?.text ?? '')).toEqual({ date: '2024-01-01', words: 'several plain words' })
})

test.each([
  '{"a":}',
  '{"a":tru, "b": x y}',
  '{"a":12., "b": x y}',
  '[1,2,...]',
  '{"a":[1}]',
  '{"a":undefined, "b": x y}',
])('refuses what jsonrepair invents in %s', (text) => {
  expect(() => JSON.parse(jsonrepair(text))).not.toThrow()
  expect(repair(text)).toBeUndefined()
})

test('shows jsonrepair no text that was cut', () => {
  expect(JSON.parse(jsonrepair('{"a":x y, "b":12'))).toEqual({ a: 'x y', b: 12 })
  expect(repair('{"a":x y, "b":12')).toBeUndefined()
})
