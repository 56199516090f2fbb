import { jsonrepair } from 'jsonrepair'
import { expect, test } from 'vitest'
import { repairGenerally } from '../../src/values/ladder/repair.ts'
import { tryParse } from '../../src/values/parse.ts'

test('takes what jsonrepair makes if only quotes and commas moved', () => {
  const text = '{"date": 2024-01-01, "words": several plain words}'
  expect(JSON.parse(repairGenerally(text)?.text ?? '')).toEqual({
    date: '2024-01-01',
    words: 'several plain words',
  })
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
  expect(repairGenerally(text)).toBeUndefined()
})

test('shows jsonrepair no text that was cut', () => {
  expect(JSON.parse(jsonrepair('{"a":x y, "b":12'))).toEqual({ a: 'x y', b: 12 })
  expect(repairGenerally('{"a":x y, "b":12')).toBeUndefined()
})

test('what needs jsonrepair is repaired up to 16 KiB; above that it says so', () => {
  const text = (words: number) => `{"words": several plain words${' and more'.repeat(words)}}`
  expect(tryParse(text(100))).toMatchObject({ ok: true, repair_level: 'deterministic_generic' })
  expect(tryParse(text(2000))).toMatchObject({
    ok: false,
    fault: { code: 'INVALID_JSON' },
    notes: [{ code: 'REPAIR_SKIPPED' }],
  })
})
