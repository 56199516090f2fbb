import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { controlsEscaped } from '../../src/values/ladder/control.ts'
import { mend } from '../../src/values/ladder/mend.ts'

const mended = (text: string) => {
  const made = mend(text)
  return made && JSON.parse(made.text)
}

describe('mend', () => {
  test.each([
    ['trailing commas', '{"a": [1, 2,], }', { a: [1, 2] }],
    ['missing commas', '{"a":1 "b":[1 2]}', { a: 1, b: [1, 2] }],
    ['a missing comma at a line break', '{"a":"x"\n"b":"y"}', { a: 'x', b: 'y' }],
    ['missing commas between objects', '[{"x":1}{"y":2}]', [{ x: 1 }, { y: 2 }]],
    ['a missing comma where a comment stands', '[{}/**/"a"]', [{}, 'a']],
    ['unquoted keys', '{key: "val", a-b: 1, 3: 4}', { key: 'val', 'a-b': 1, 3: 4 }],
    ['unquoted words', '{"severity": high, "xs": [a, b]}', { severity: 'high', xs: ['a', 'b'] }],
    ['single quotes', `{'a': 'say "x"', 'b': 'it\\'s'}`, { a: 'say "x"', b: "it's" }],
    ['an apostrophe in single quotes', `{"a": 'it's'}`, { a: "it's" }],
    ['typographic quotes', '{“a”: ‘b’}', { a: 'b' }],
    ['comments', '{"a":1 /* , */, // "x"\n "b":2}//end', { a: 1, b: 2 }],
    ['Python literals', '{"a":True,"b":False,"c":None}', { a: true, b: false, c: null }],
    ['quotes that were not escaped', '{"a":"he said "hi", ok","b":1}', { a: 'he said "hi", ok', b: 1 }],
    ['backslashes that were not escaped', '{"a":"C:\\dir\\x41 \\u12"}', { a: 'C:\\dir\\x41 \\u12' }],
    ['raw control characters in any quotes', `{'a':'x\ty\n'}`, { a: 'x\ty\n' }],
    ['numbers with a plus or without a zero', '[+5, .5]', [5, 0.5]],
    ['unusual blanks', '{\u00a0"a":\ufeff1}', { a: 1 }],
    ['CR as a blank', '{"a":1,\r}', { a: 1 }],
    ['missing commas between arrays', '[[1][2]]', [[1], [2]]],
    ['a missing comma before a string', '[[1]"a"]', [[1], 'a']],
    ['two strings in a line as one: where the first ends is not known', '{"a":"x" "y"}', { a: 'x" "y' }],
    ['comments behind strings', '{"a":"x" /* c */, "b":["y", // d\n 1]}', { a: 'x', b: ['y', 1] }],
    ['a quote before a slash that begins no comment', '{"a":"x"/y"}', { a: 'x"/y' }],
    ['a trailing comma behind a string', '["x",]', ['x']],
    ['a quote before a comma that no value follows', '["a", b", "c"]', ['a", b', 'c']],
    ['a blank between an unquoted key and its colon', '{"a":"x", b : 1}', { a: 'x', b: 1 }],
    ['backticks', '{`a`: `it\\`s`, "b": "it\\`s"}', { a: 'it`s', b: 'it`s' }],
    ['typographic quotes, mixed up', '[‛a‘, ‘b‛, “c‟, ‟d“, „e”]', ['a', 'b', 'c', 'd', 'e']],
    ['an apostrophe in double typographic quotes', '[“it’s”, ‘say “x” now’]', ['it’s', 'say “x” now']],
    ['backslashes before what is no escape', '["\\u00e9", "\\u00g9", "\\u12"]', ['é', '\\u00g9', '\\u12']],
    ['words with signs in them', '[a@b/c.d, -x, x1]', ['a@b/c.d', '-x', 'x1']],
    ['the longest word', `[${'w'.repeat(256)}]`, ['w'.repeat(256)]],
  ])('mends %s', (_name, text, value) => {
    expect(mended(text)).toEqual(value)
  })

  test.each([
    '{"a":}',
    '{"a":tru}',
    '{"a":Fals}',
    '{"a":nul}',
    '{"a":undefined}',
    '[1,,2]',
    '[,1]',
    '{"a"}',
    '{"a",}',
    '{"a":12.}',
    '{"a":-}',
    '{"a":2e}',
    '[1,2,...]',
    '{"a":[1}]',
    '{"a":1',
    '{"a":"x',
    '{"a":1}}',
    '{"a" 1}',
    '{a:1;b:2}',
    '{"a":1 /* never closed }',
    '[1] /* never closed',
    '[{}1]',
    '[[1]x]',
    '{"a":1 :2}',
    ']',
    '[/x*/1]',
    '{;:1}',
    '[[1}',
    '[1+2]',
    '[a+1]',
    '[1..5]',
    '[x.+1]',
    `[${'w'.repeat(257)}]`,
    '',
  ])('refuses %s, where a value would be invented or the structure changed', (text) => {
    expect(mend(text)).toBeUndefined()
  })

  test('leaves JSON as it is', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent)
        expect(mend(text)).toEqual({ text, changes: [] })
      }),
    )
  })

  test('makes JSON, or nothing, of any text', () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        '"',
        "'",
        ',',
        ':',
        ' ',
        '\n',
        'a',
        'true',
        '1',
        '-',
        '.',
        '\\',
        '//',
        '/*',
        '*/',
        '“',
      ],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const made = mend(pieces.join(''))
        if (made) JSON.parse(made.text)
      }),
      { numRuns: 3000 },
    )
  })

  test('says what it changed', () => {
    expect(mend("{a: 'b',}")?.changes).toEqual([
      'quoted keys (1)',
      'replaced other quotes (2)',
      'dropped trailing commas (1)',
    ])
  })

  test('mends the beginning of a text that was cut', () => {
    expect(mend('{a: 1, b: "par', true)?.text).toBe('{"a": 1, "b": "par')
    expect(mend('{a: [True, Fal', true)?.text).toBe('{"a": [true, ')
    expect(mend('{a: 1, ab', true)?.text).toBe('{"a": 1, ')
    expect(mend('{a: "x\\', true)?.text).toBe('{"a": "x\\')
    expect(mend('{a: "x",', true)?.text).toBe('{"a": "x",')
    expect(mend('{a: 1 /* hal', true)?.text).toBe('{"a": 1 /* hal')
  })
})

describe('controlsEscaped', () => {
  test.each([
    ['"\n"', '"\\n"', 1],
    ['{"a b":"\u0001\u001f\u007f"}', '{"a b":"\\u0001\\u001f\u007f"}', 2],
    ['{"a":"\b\t\n\f\r"}', '{"a":"\\b\\t\\n\\f\\r"}', 5],
    ['{\n"a":"cut\n', '{\n"a":"cut\\n', 1],
    ['{\n"a": " "\n}', '{\n"a": " "\n}', 0],
  ])('of %j', (text, escaped, count) => {
    expect(controlsEscaped(text)).toEqual({ text: escaped, count })
  })
})
