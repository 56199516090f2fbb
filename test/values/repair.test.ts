import { jsonrepair } from 'jsonrepair'
import { expect, test } from 'vitest'
import { commasMoved } from '../../src/values/ladder/repair.ts'
import { tryParse } from '../../src/values/parse.ts'

test('takes what jsonrepair makes if only commas moved', () => {
  expect(JSON.parse(commasMoved('[{"a":1},{"b":2},,]')?.text ?? '')).toEqual([{ a: 1 }, { b: 2 }])
  expect(JSON.parse(commasMoved('[{"a":1} {"b":[2,]}]')?.text ?? '')).toEqual([{ a: 1 }, { b: [2] }])
})

test.each([
  '{"a":}',
  '{"a":tru, "b": x y}',
  '{"a":12., "b": x y}',
  '[1,2,...]',
  '{"a":[1}]',
  '{"a":undefined, "b": x y}',
  '{"a":NaN}',
  '[1 000]',
  '["a," "b"]',
])('refuses what jsonrepair invents in %s', (text) => {
  expect(() => JSON.parse(jsonrepair(text))).not.toThrow()
  expect(commasMoved(text)).toBeUndefined()
})

test('shows jsonrepair no text that was cut', () => {
  expect(JSON.parse(jsonrepair('{"a":1 "b":12'))).toEqual({ a: 1, b: 12 })
  expect(commasMoved('{"a":1 "b":12')).toBeUndefined()
})

test('words without quotes need no jsonrepair; what does is tried up to 16 KiB, and above that it says so', () => {
  const words = (more: number) => `{"words": several plain words${' and more'.repeat(more)}}`
  expect(tryParse(words(10))).toMatchObject({ ok: true, repair_level: 'deterministic_generic' })
  expect(tryParse(words(100))).toMatchObject({ ok: false, fault: { code: 'INVALID_JSON' }, notes: [] })
  expect(tryParse(words(2000))).toMatchObject({
    ok: false,
    fault: { code: 'INVALID_JSON' },
    notes: [{ code: 'REPAIR_SKIPPED' }],
  })
})
