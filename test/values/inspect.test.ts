import { expect, test } from 'vitest'
import { inspect } from '../../src/values/ladder/silent-losses.ts'

const codes = (text: string) => inspect(text).map(({ code }) => code)

test.each([
  '12345678901234567890',
  '9007199254740993',
  '1e400',
  '-1e400',
  '1e-400',
  '1.000000000000000005',
  '-1.000000000000000005',
  '0.123456789012345678',
  '3e-324',
])('%s cannot be represented exactly as a JavaScript number', (token) => {
  expect(codes(`{"a":[${token}]}`)).toEqual(['PRECISION_LOSS'])
})

test.each([
  '0',
  '-0',
  '0.0',
  '0e5',
  '0.1',
  '1.50',
  '1e3',
  '1E+3',
  '100',
  '100000000000000000000000',
  '0.30000000000000004',
  '5e-324',
  '1.7976931348623157e308',
  // Exact, though JavaScript writes both with fewer digits.
  '1152921504606846976',
  '0.1000000000000000055511151231257827021181583404541015625',
])('%s survives', (token) => {
  expect(codes(`{"a":[${token}]}`)).toEqual([])
})

test('a key that occurs twice is told, however it is spelled', () => {
  expect(codes('{"a":1,"\\u0061":2}')).toEqual(['DUPLICATE_KEY'])
  expect(codes('[{"a":{"a":1}},{"a":1}]')).toEqual([])
})
