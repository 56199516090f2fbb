import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { isOrdinary } from '../../src/json/plain-value.ts'
import { inspect } from '../../src/json/silent-losses.ts'
import { isDeeper } from '../../src/json/strict.ts'
import { removeProtoKeys } from '../../src/values/attempt.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { runs } from '../pace.ts'

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
    { numRuns: runs(5000) },
  )
  expect(ordinary).toBeGreaterThan(runs(500))
})

/** Texts of which there is nothing to say, in the shortest spelling, with blanks, and with escapes. */
const ordinary = [
  ...['{}', ' [ ] ', '"a scalar"', '12', 'true', 'false', 'null', '[]', '[[]]', '[[[]]]', '[{},{}]'],
  ...['{"a":{"b":{}}}', '{"a":true,"b":false,"c":null}', '[1,-2,3.5,-0.25]', '{"constructors":1}'],
  '{"type":"item.completed","item":{"id":"i","exit_code":-1,"text":"a \\"quoted\\" word, and more than 24 characters"}}',
  '[{"a":1.5,"b":[true,false,null]},{"a":"\\\\"}]',
  '{ "a" : [ true , false , null ] , "b" : { } , "c" : [ ] , "d" : [ { } , [ ] ] }',
  '[\n  true,\n  false,\n  null,\n  1,\n  -2.5,\n  "x"\n]',
  '[\r\n\ttrue\r\n,\tfalse\n,\rnull ]',
  '[    ]',
  '{    }',
  '[      1      ]',
  '[      true      ]',
  '[      false      ]',
  '[      null      ]',
  '[      "x"      ]',
  '{      "x"      :      "y"      }',
  '["\\u0041\\u0042\\u0043"]',
  '["a\\"b\\"c\\"d\\"e\\"f"]',
  '["\\\\\\\\\\\\\\\\\\\\\\\\"]',
  '["\\\\\\"\\\\\\"\\\\\\"\\\\\\""]',
  '{"\\u0041\\u0042":"\\u0043\\n"}',
  '{"a\\"b\\"c\\"":1,"b":"x\\\\"}',
  '[123456789012345     ]',
  '[-12345678901234     ]',
  '[0.1234567890123     ]',
  '[      1,      2,      3      ]',
  `[${'1,'.repeat(300)}1]`,
  `["${'x'.repeat(600)}",1,{"a":"b"}]`,
  `{"a":"${'\\"x'.repeat(5000)}","b":1}`,
  `{"a":"${'x'.repeat(9000)}\\"","b":1}`,
]

test('nothing is unusual about these', () => {
  for (const text of ordinary) expect(isOrdinary(JSON.parse(text), text, 3), text.slice(0, 99)).toBe(true)
})

test('digits that are lost behind an integer are never overlooked', () => {
  for (let digits = 1; digits <= 16; digits++) {
    for (const integer of [10 ** digits - 1, 10 ** (digits - 1), 10 ** (digits - 1) + 10]) {
      for (let zeros = 0; zeros < 20; zeros++) {
        const text = `[${integer}.${'0'.repeat(zeros)}1]`
        const isLost = inspect(text).length > 0
        if (isLost) expect(isOrdinary(JSON.parse(text), text, 3), text).toBe(false)
      }
    }
  }
})

/** Values in their shortest spelling: `"":1,` before one of them is the least that a duplicate key adds. */
const shortest = [
  ...['0', '7', '9', '10', '42', '99', '100', '999', '1e3', '1001', '9999', '12345', '99999', '123456'],
  ...['999999', '1234567', '9e9', '-1', '-99', '-1e3', '0.5', '9.5', '-0.5', '0.25', '4e-2', '-4e-2'],
  ...['1e7', '10000001', '10000010', '999999999', '1234567890', '99999999999', '1763391234561'],
  '1763391234560',
  ...['true', 'false', 'null', '""', '"x"', '"xyz"', '[]', '[1]', '[1,2]', '[[]]', '[1,[2],true]'],
  ...['{}', '{"a":1}', '{"a":1,"b":2}', '[{},{}]', '[{"a":[]}]', '{"":{}}'],
]

test('a key that occurs twice is never overlooked, however short the text is', () => {
  for (const value of shortest) {
    const once = `{"":${value}}`
    expect(isOrdinary(JSON.parse(once), once, 5), once).toBe(true)
    for (const text of [
      `{"":1,"":${value}}`,
      `{"":${value},"":${value}}`,
      `{"a":1,"":1,"":${value}}`,
      `[{"":1,"":${value}}]`,
      `[0,{"":1,"":${value}}]`,
      `{"a":{"":1,"":${value}}}`,
    ])
      expect(isOrdinary(JSON.parse(text), text, 5), text).toBe(false)
  }
})

const unusual = [
  // A key twice.
  ...['{"a":1,"a":1}', '{"a":{},"a":1}', '{ "a": "x", "a": "y" }', '{"a":"x","a":"xy"}', '{"a":[1],"a":[1]}'],
  ...[
    '{"a":1,"b":2,"a":3}',
    '{"b":{"a":1,"a":1}}',
    '[1,{"a":1,"a":1}]',
    '{"":0,"":0}',
    '{"a":1,"\\u0061":1}',
  ],
  `{"a":"${'x'.repeat(600)}","a":1}`,
  `{"a":1,"b":"${'x'.repeat(600)}","a":1}`,
  `{"a":"x","a":"${'y'.repeat(9000)}"}`,
  `{"a":"${'y'.repeat(9000)}","a":"${'z'.repeat(9000)}\\""}`,
  // A number that may have lost something.
  ...[
    '[9007199254740993]',
    '[-9007199254740993]',
    '[1e400]',
    '[-1e400]',
    '[1e-400]',
    '[3e-324]',
    '[-3e-324]',
  ],
  ...['[1.000000000000000005]', '[9007199254740991,1.00000000000000005]', '[0.1234567890123456789]'],
  ...['[1234567890123456     ]', '[-123456789012345     ]', '[    1e3    ]', '[    1E3    ]', '[2e-308]'],
  // A key that may change a prototype.
  ...['{"__proto__":1}', '{"constructor":1}', '[{"__proto__":1}]', '{"a":{"constructor":{}}}'],
  ...['{    "__proto__"   :    1    }', '{    "constructor"   :    1    }', '[[{     "__proto__":   1}]]'],
]

test('these are looked at more closely', () => {
  for (const text of unusual) expect(isOrdinary(JSON.parse(text), text, 3), text.slice(0, 99)).toBe(false)
})

test('a level deeper than allowed is never overlooked', () => {
  for (const blank of ['', '      ']) {
    for (const text of ['[[[1]]]', '{"a":{"b":{"c":1}}}', '[{"a":[]}]', '{"a":[{}]}', '[1,[2,[3]]]']) {
      const wide = text.replaceAll(/([[\]{},:])/g, `$1${blank}`)
      for (const depth of [0, 1, 2]) expect(isOrdinary(JSON.parse(wide), wide, depth), wide).toBe(false)
      for (const depth of [3, 4]) expect(isOrdinary(JSON.parse(wide), wide, depth), wide).toBe(true)
    }
  }
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
    { numRuns: runs(100) },
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
    { numRuns: runs(3000) },
  )
})
