import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { isDeeper } from '../../src/json/depth.ts'
import { isOrdinary } from '../../src/values/ladder/plain-value.ts'
import { removeProtoKeys } from '../../src/values/ladder/proto.ts'
import { inspect } from '../../src/values/ladder/silent-losses.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'

const name = fc.constantFrom(
  '"a"',
  '"b"',
  '"7"',
  '"\\u0061"',
  '"__proto__"',
  '"constructor"',
  '"prototype"',
  '"a\\":"',
)

/** JSON in any spelling, with few names and odd numbers, so that keys meet again and digits get lost. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('0', '-1', '12.5', '1e3', '1e400', '1e-400', '12345678901234567', '123456789012345'),
    fc.constantFrom('1.000000000000000005', '0.12345678901234567', '3e-324', '-1.2e-323', '5e-324', '0.1'),
    fc.constantFrom(
      'true',
      'false',
      'null',
      '""',
      '"a"',
      '"\\""',
      '"\\\\"',
      '"a long string, \\"quoted\\" in part"',
      `"${'a very long one, \\"quoted\\" in part; '.repeat(40)}"`,
      `"${'a very long one, '.repeat(30)}"`,
    ),
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join(' ,')}]`),
    fc
      .array(fc.tuple(name, fc.constantFrom('', ' ', '\n'), tie('json')), { maxLength: 3 })
      .map(
        (members) =>
          `{${members.map(([key, blank, value]) => `${key}${blank}:${blank}${value}`).join(',')}${' '}}`,
      ),
  ),
}))
test('what looks ordinary has nothing that the thorough ways would find', () => {
  let ordinary = 0
  fc.assert(
    fc.property(json, fc.integer({ min: 0, max: 4 }), (text, depth) => {
      const value = JSON.parse(text)
      if (!isOrdinary(value, text, depth)) return
      ordinary++
      expect(inspect(text)).toEqual([])
      expect(isDeeper(text, depth)).toBe(false)
      expect(removeProtoKeys(value)).toBe(0)
    }),
    { numRuns: 5000 },
  )
  expect(ordinary).toBeGreaterThan(500)
})

test.each([
  '{}',
  ' [ ] ',
  '{"type":"item.completed","item":{"id":"i","exit_code":-1,"text":"a \\"quoted\\" word, and more than 24 characters"}}',
  '[{"a":1.5,"b":[true,false,null]},{"a":"\\\\"}]',
  '"a scalar"',
  '12',
])('%s is ordinary', (text) => {
  expect(isOrdinary(JSON.parse(text), text, 3)).toBe(true)
})

test.each([
  ['lines', { lines: true }, (json: string) => `${json}\n`],
  ['items', { items: '*' }, (json: string) => `[${json}]`],
  ['a tag', { tag: 'json' }, (json: string) => `<json>${json}</json>`],
] as const)('a key twice and a lost digit are told in %s', (_, options: ValuesOptions, wrap) => {
  const [outcome] = drive(valueStage(options), [
    { channel: 'stdout', bytes: Buffer.from(wrap('{"a":1,"a":12345678901234567890}')) },
  ])
  expect(outcome?.notes.map(({ code }) => code)).toEqual(['DUPLICATE_KEY', 'PRECISION_LOSS'])
})

test('a long text that occurs twice is told, however long the two are', () => {
  const piece = fc.constantFrom('word ', '\\"said\\", ', '\\n', '\\\\', '\\u2192')
  const long = fc
    .tuple(fc.array(piece, { minLength: 1 }), fc.nat(1500))
    .map(([some, n]) => some.join('').repeat(n))
  fc.assert(
    fc.property(long, long, fc.boolean(), (first, second, more) => {
      const rest = more ? ',"b":1' : ''
      const text = `{"a":"${first}"${rest},"a":"${second}"${rest}}`
      expect(isOrdinary(JSON.parse(text), text, 3)).toBe(false)
    }),
  )
})

/** Values about which there is nothing to say, however they are spelled. */
const { plainValue } = fc.letrec<{ plainValue: unknown }>((tie) => ({
  plainValue: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      0,
      7,
      10,
      99,
      100,
      999,
      1000,
      1001,
      9999,
      12345,
      123456,
      1234567,
      -1,
      -40,
      0.5,
      2.25,
      -0.125,
    ),
    fc.constantFrom(
      true,
      false,
      null,
      '',
      'a',
      '"',
      '\\',
      'a "quoted" word\n',
      'a longer text, without escapes',
      'é',
    ),
    fc.array(tie('plainValue'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'type', 'a "key"', 'ключ'), tie('plainValue'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
}))

test('an ordinary value is known as one, in every spelling, so that the thorough ways are rarely asked', () => {
  fc.assert(
    fc.property(plainValue, fc.constantFrom(undefined, 1, '\t', ' \n'), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      expect(isOrdinary(JSON.parse(text), text, 6)).toBe(true)
    }),
    { numRuns: 3000 },
  )
})
