import { expect, test } from 'vitest'
import { inspect } from '../../src/json/silent-losses.ts'
import { removeProtoKeys } from '../../src/values/attempt.ts'
import { tryParse } from '../../src/values/parse.ts'

const messages = (text: string) => inspect(text).map(({ message }) => message)
const lost = (token: string) => `"${token}" cannot be represented exactly as a JavaScript number`
const twice = (key: string) => `the key "${key}" occurs twice; the last value was taken`

test('a number that cannot be represented exactly is told', () => {
  for (const token of [
    ...['12345678901234567890', '9007199254740993', '-9007199254740993', '12345678901234567'],
    ...['1e400', '-1e400', '1e-400', '1E400', '1e+400', '3e-324', '4e-324', '1000000000000000000001'],
    ...['1.000000000000000005', '-1.000000000000000005', '0.123456789012345678', '1.0000000000000001'],
  ]) {
    expect(messages(`{"a":[${token}]}`)).toEqual([lost(token)])
    expect(messages(token)).toEqual([lost(token)])
  }
})

test('a number that is exact, or that JavaScript prints with the same digits, is not', () => {
  for (const token of [
    ...['0', '-0', '0.0', '0e5', '0e0', '-0.0e-99999', '0.1', '1.50', '1e3', '1E+3', '1.0e5', '100', '10.0'],
    ...['100000000000000000000000', '0.30000000000000004', '5e-324', '1.7976931348623157e308', '1.5e300'],
    ...['123456789012345', '1234567890123456', '9007199254740992', '0.000000000000000000001'],
    ...['0.10000000000000000000', '1.0000000000000000', '0.00000000000000000000', '-12.5e-3', '1e22'],
    // Exact, though JavaScript writes both with fewer digits.
    '1152921504606846976',
    '0.1000000000000000055511151231257827021181583404541015625',
  ])
    expect(messages(`{"a":[${token}]}`), token).toEqual([])
})

test('a key that occurs twice is told, however it is spelled', () => {
  const rows: readonly (readonly [text: string, key: string | undefined])[] = [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"a":{},"a":1}', 'a'],
    ['{"a":[],"a":1}', 'a'],
    ['{"a":[1,"x"],"a":1}', 'a'],
    ['{"":1,"":2}', ''],
    ['{"a":{"b":1,"b":2},"c":1}', 'b'],
    ['[{"b":1},{"b":1,"c":[2],"b":2}]', 'b'],
    ['{"a":1,"b":2,"b":3,"a":4}', 'b'],
    ['{"b":[],"c":1,"c":2}', 'c'],
    ['{"b":{},"c":1,"c":2}', 'c'],
    ['{"a":1}', undefined],
    ['{"a":"a","b":"b"}', undefined],
    ['{"a":{"a":1},"b":[{"a":1}]}', undefined],
    ['{"a":{"b":1},"b":2}', undefined],
    ['{"a":[{"b":1},{"b":2}]}', undefined],
    ['{"a":[1,"a"],"b":"a"}', undefined],
    ['{"a":["b","b"],"b":1}', undefined],
    ['["a","a",["a"],"a"]', undefined],
    ['{"a":[],"b":["a","a"]}', undefined],
    ['{"x":[["a","a"],"a"],"a":1}', undefined],
    ['"a"', undefined],
  ]
  for (const [text, key] of rows) expect(messages(text), text).toEqual(key === undefined ? [] : [twice(key)])
})

test('numbers in strings and keys are texts', () => {
  expect(messages('["1e400",{"1e400":"12345678901234567890"}]')).toEqual([])
})

test('each is told once, the key first', () => {
  const { notes } = tryParse('{"__proto__":1,"a":1,"a":2}')
  expect(notes.map(({ code }) => code)).toEqual(['PROTO_KEY', 'DUPLICATE_KEY'])
  expect(messages('{"b":1e400,"a":1,"a":1e401,"b":2}')).toEqual([twice('a'), lost('1e400')])
})

test('texts longer than 1 MiB are not checked', () => {
  const text = (size: number) => `{"a":1,"a":"${'x'.repeat(size - 14)}"}`
  expect(messages(text(1 << 20))).toEqual([twice('a')])
  expect(messages(text((1 << 20) + 1))).toEqual([])
})

/** A text, what is left of it, and how many keys were removed. */
const prototypes: readonly (readonly [text: string, left: string, removed: number])[] = [
  ['{"__proto__":1}', '{}', 1],
  ['{"a":1,"__proto__":{"b":2}}', '{"a":1}', 1],
  ['{"__proto__":1,"a":{"__proto__":2},"b":[{"__proto__":3}]}', '{"a":{},"b":[{}]}', 3],
  ['{"constructor":{"prototype":1},"a":1}', '{"a":1}', 1],
  ['{"a":{"b":{"constructor":{"prototype":{}},"c":3}}}', '{"a":{"b":{"c":3}}}', 1],
  ['{"constructor":{"constructor":{"prototype":1}}}', '{"constructor":{}}', 1],
  ['{"constructor":{"a":{"__proto__":1}}}', '{"constructor":{"a":{}}}', 1],
  ['[[{"__proto__":1,"a":2}]]', '[[{"a":2}]]', 1],
  ['{"a":[1,null,"x",{"__proto__":{}}]}', '{"a":[1,null,"x",{}]}', 1],
  ['{"constructor":{"x":1}}', '{"constructor":{"x":1}}', 0],
  ['{"constructor":null,"prototype":1}', '{"constructor":null,"prototype":1}', 0],
  ['{"constructor":"prototype"}', '{"constructor":"prototype"}', 0],
  ['{"a":{"prototype":1},"__proto__x":1}', '{"a":{"prototype":1},"__proto__x":1}', 0],
  ['[null,1,"x"]', '[null,1,"x"]', 0],
  ['null', 'null', 0],
  ['1', '1', 0],
]

test('keys that could change a prototype are removed, and counted', () => {
  for (const [text, left, removed] of prototypes) {
    const value: unknown = JSON.parse(text)
    expect([removeProtoKeys(value), JSON.stringify(value)], text).toEqual([removed, left])
    const notes = removed === 0 ? [] : [`removed ${removed} key(s) that could change a prototype`]
    const outcome = tryParse(text, { root: 'any' })
    expect(outcome.ok && JSON.stringify(outcome.value), text).toBe(left)
    expect(outcome.notes.map(({ message }) => message)).toEqual(notes)
    const kept = tryParse(text, { root: 'any', protoKeys: 'keep' })
    expect([kept.ok && JSON.stringify(kept.value), kept.notes], text).toEqual([text, []])
    const refused = tryParse(text, { root: 'any', protoKeys: 'error' })
    expect(refused.ok ? 'ok' : refused.fault.code, text).toBe(removed === 0 ? 'ok' : 'PROTO_KEY')
  }
})
