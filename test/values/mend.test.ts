import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mend } from '../../src/values/mend.ts'

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
  })
})
