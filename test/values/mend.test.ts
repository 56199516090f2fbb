import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { controlsEscaped } from '../../src/values/ladder/control.ts'
import { mend } from '../../src/values/ladder/repair-search.ts'
import { expectLinear } from '../growth.ts'
import { runs, slow } from '../pace.ts'

/** The value that a text was mended to, or what became of it instead. */
const mended = (text: string): unknown => {
  const made = mend(text)
  return made.kind === 'mended' ? JSON.parse(made.text) : made.kind
}
const kinds = (text: string) => {
  const made = mend(text)
  return made.kind === 'mended' ? [...new Set(made.changes.map(({ kind }) => kind))] : made.kind
}

describe('what has one meaning only', () => {
  test.each([
    ['trailing commas', '{"a": [1, 2,], }', { a: [1, 2] }],
    ['a trailing comma behind a string', '["x",]', ['x']],
    ['leading commas', '[, {, "a": 1}]', [{ a: 1 }]],
    ['keys without quotes', '{key: "val", a-b: 1, 3: 4}', { key: 'val', 'a-b': 1, 3: 4 }],
    ['a key of several words', `{first name: 1, it's: 2}`, { 'first name': 1, "it's": 2 }],
    ['a blank between such a key and its colon', '{"a":"x", b : 1}', { a: 'x', b: 1 }],
    ['single quotes', `{'a': 'say "x"', 'b': 'it\\'s'}`, { a: 'say "x"', b: "it's" }],
    ['an apostrophe in single quotes', `{"a": 'it's'}`, { a: "it's" }],
    ['typographic quotes', '{“a”: ‘b’}', { a: 'b' }],
    ['typographic quotes, mixed up', '[‛a‘, ‘b‛, “c‟, ‟d“, „e”]', ['a', 'b', 'c', 'd', 'e']],
    ['an apostrophe in double typographic quotes', '[“it’s”, ‘say “x” now’]', ['it’s', 'say “x” now']],
    ['backticks', '{`a`: `it\\`s`, "b": "it\\`s"}', { a: 'it`s', b: 'it`s' }],
    ['comments', '{"a":1 /* , */, // "x"\n "b":2 <!-- c -->}//end', { a: 1, b: 2 }],
    ['comments behind strings', '{"a":"x" /* c */, "b":["y", // d\n 1]}', { a: 'x', b: ['y', 1] }],
    ['a comment of Python', '{"a":1, # one\n"b":2}', { a: 1, b: 2 }],
    ['a comment that holds a lone bracket', '{"a":1, // ] }\n"b":2}', { a: 1, b: 2 }],
    ['a comment that holds an odd quote', `{"a":1, // it's 24"\n"b":2}`, { a: 1, b: 2 }],
    ['literals of Python', '{"a":True,"b":False,"c":None}', { a: true, b: false, c: null }],
    ['other spellings of null', '[Null, NULL, NaN, Infinity, -Infinity]', [null, null, null, null, null]],
    [
      'numbers with a plus, without a zero or with too many',
      '{"a":+5,"b":.5,"c":-05}',
      { a: 5, b: 0.5, c: -5 },
    ],
    ['raw control characters in any quotes', `{'a':'x\ty\n'}`, { a: 'x\ty\n' }],
    ['unusual blanks', '{\u00a0"a":\ufeff1\u200b}', { a: 1 }],
    ['CR as a blank', '{"a":1,\r}', { a: 1 }],
    ['an equals sign or an arrow for a colon', '{"a"=1, "b"=>2}', { a: 1, b: 2 }],
    ['full-width punctuation', '{"a"：1，"b"：2}', { a: 1, b: 2 }],
    ['semicolons for commas', '{a:1;b:[2; 3]}', { a: 1, b: [2, 3] }],
    ['joined strings', '{"a":"one " + "two" +\n"three"}', { a: 'one twothree' }],
    ['fence marks inside', '{"a":1,\n```json\n"b":2\n~~~}', { a: 1, b: 2 }],
  ])('%s', (_name, text, value) => {
    expect(mended(text)).toEqual(value)
  })

  test.each([
    '{"a":}',
    '{"a"}',
    '{"a",}',
    '[1,,2]',
    '{"a":-}',
    '{"a":+}',
    '{"a":12.}',
    '{"a":2e}',
    '{"a":1_000}',
    '{"a":0x1F}',
    '[1..5]',
    '[1+2]',
    '[1:2]',
    '[(1)]',
    '[1,2,...]',
    '{"a":[1}]',
    '[[1}',
    '[[1]x]',
    '[/x*/1]',
    '{;:1}',
    '[1;]',
    '{http://x: 1}',
    `{a': 1}`,
    '{"a":1 :2}',
    '{"a":1 /* never closed }',
    // One number, or two.
    '[26,015]',
    // A comment, or a member without its quotes.
    '{"a":1 # "b":2\n}',
    // A string in single quotes, or a lone quote.
    `{"k":1,"a":'1,"b":2'}`,
    `{"a":'x" + "y'}`,
    `[${'w'.repeat(257)}]`,
    ']',
  ])('refuses %s, where a value would be invented or another meaning is possible', (text) => {
    expect(mended(text)).toBe('broken')
  })
})

describe('a missing comma', () => {
  test.each([
    ['between members', '{"a":1 "b":{} "c":3}', { a: 1, b: {}, c: 3 }],
    ['at a line break', '{"a":"x"\n"b":"y"}', { a: 'x', b: 'y' }],
    ['between objects', '[{"x":1}{"y":2}]', [{ x: 1 }, { y: 2 }]],
    ['between arrays', '[[1][2]]', [[1], [2]]],
    ['between strings', '["x""y" "z"]', ['x', 'y', 'z']],
    ['between literals', '[nulltrue]', [null, true]],
    ['between numbers on lines of their own', '[1\n2]', [1, 2]],
    ['on both sides, not an inner quote', '["a" 1 "b" {} "c"]', ['a', 1, 'b', {}, 'c']],
    ['beside a comment', '[{}/**/"a"]', [{}, 'a']],
    ['before a key without quotes', '{"a":1 b:2}', { a: 1, b: 2 }],
  ])('%s', (_name, text, value) => {
    expect([mended(text), kinds(text)]).toEqual([value, expect.arrayContaining(['added a missing comma'])])
  })

  test.each([
    ['one number, or two', '[1 2]'],
    ['one number with a sign, or two', '[1 -2]'],
    ['the comma at the end of a string may be the one that is missing', '["a," "b"]'],
    ['so may the one at the start', '["a" ",b"]'],
    ['no key follows', '{"a":1 2}'],
    ['a colon follows', '["a":1]'],
  ])('is not added where it may not be meant: %s', (_name, text) => {
    expect(mended(text)).toBe('broken')
  })
})

describe('a missing colon', () => {
  test.each([
    ['before a number', '{"a" 1}', { a: 1 }],
    ['before a string', '{"a""x"}', { a: 'x' }],
    ['before an object', '{"a" {"b":1}}', { a: { b: 1 } }],
  ])('%s', (_name, text, value) => {
    expect([mended(text), kinds(text)]).toEqual([value, ['added a missing colon']])
  })

  test.each([
    ['no value follows', '{"a" x}'],
    ['the colon may be the one in the key', '{"a:" 1}'],
    ['or the one in the value', '{"a" ":x"}'],
  ])('is not added where %s', (_name, text) => {
    expect(mended(text)).toBe('broken')
  })
})

describe('a quote that was not escaped', () => {
  test.each([
    ['one', '{"a":"24" tall","b":1}', { a: '24" tall', b: 1 }],
    ['a pair', '{"a":"he said "hi" twice","b":1}', { a: 'he said "hi" twice', b: 1 }],
    ['a pair before a comma', '{"a":"he said "hi", ok","b":1}', { a: 'he said "hi", ok', b: 1 }],
    ['before a slash that begins no comment', '{"a":"x"/y"}', { a: 'x"/y' }],
    ['a pair around a number', '["the "24" models", "b"]', ['the "24" models', 'b']],
    ['in a key', '{"a "b" c":1}', { 'a "b" c': 1 }],
  ])('%s', (_name, text, value) => {
    expect([mended(text), kinds(text)]).toEqual([value, ['escaped a quote']])
  })

  test.each([
    ['two strings beside each other', '{"a":"x" "y"}'],
    ['the string would swallow a key', '{"a":"x" y":1}'],
    ['the string would swallow a closing bracket', '{"a":["x" y"], "b":"z" w"]}'],
    ['a key is short and on one line', '{"a" b, c":1}'],
    ['a colon and a comma may be missing', '{"a" 1 "b":2}'],
    ['strings are joined with plus', `{"a":'x' "y" + "z"'}`],
  ])('is not taken for one: %s', (_name, text) => {
    expect(mended(text)).toBe('broken')
  })
})

describe('a missing closing quote', () => {
  test.each([
    ['before the next member', '{"a":"Ada,"b":1}', { a: 'Ada', b: 1 }],
    ['behind a comma of the text', '{"a":"x, y,"b":1}', { a: 'x, y', b: 1 }],
    ['at the end', '{"a":"Ada}', { a: 'Ada' }],
    ['at the end of a line', '{"a":"Ada\n,"b":"x"}', { a: 'Ada', b: 'x' }],
    ['of a key', '{"a:1,"b":2}', { a: 1, b: 2 }],
  ])('%s', (_name, text, value) => {
    expect([mended(text), kinds(text)]).toEqual([value, ['added a missing quote']])
  })

  test.each([
    ['a number, which may have a quote too many', '{"a":"12,"b":1}'],
    ['a literal', '{"a":"true,"b":1}'],
    ['an array', '{"a":"[1],"b":1}'],
    ['brackets that are not closed', '{"a":"x [y,"b":1}'],
    ['brackets that are not opened', '{"a":"x (y],"b":1}'],
    ['an ellipsis', '{"a":"x, ...,"b":1}'],
    ['another quote at its end', `{"a":"x',"b":1}`],
    ['another quote before a comma', `{"a":"x', y,"b":1}`],
  ])('is not added behind %s', (_name, text) => {
    expect(mended(text)).toBe('broken')
  })

  test('is not added to nothing at all: that text was cut', () => {
    expect(mended('{"a":"}')).toBe('cut')
  })
})

describe('a missing opening quote', () => {
  test.each([
    ['of a value', '{"a":Ada","b":1}', { a: 'Ada', b: 1 }],
    ['of a key', '{"a":1,b":2}', { a: 1, b: 2 }],
    ['of an element', '["a", b", "c"]', ['a', 'b', 'c']],
    ['of what looks like a comment', '["a",\n//cdn.example/x",\n"b"]', ['a', '//cdn.example/x', 'b']],
    ['of a text that begins with a number', '{"a":12 px","b":1}', { a: '12 px', b: 1 }],
  ])('%s', (_name, text, value) => {
    expect([mended(text), kinds(text)]).toEqual([value, ['added a missing quote']])
  })

  test.each([
    ['a number, which may have a quote too many', '{"a":12","b":1}'],
    ['a literal', '{"a":true","b":1}'],
    ['a bracket', '{"a":[1]","b":1}'],
    ['a key that holds punctuation', '{"a":1,b, c":2}'],
    ['a text over several lines', '{"a":x\ny","b":1}'],
    ['an apostrophe, which may be the quote itself', `{"a":'x","b":1}`],
  ])('is not added before %s', (_name, text) => {
    expect(mended(text)).toMatch(/^(?:broken|cut)$/)
  })
})

describe('a text without quotes', () => {
  test.each([
    ['a word', '{"severity": high}', { severity: 'high' }],
    ['several words', '{"a": several plain words, "b": 1}', { a: 'several plain words', b: 1 }],
    ['words with a colon', '{"a":note: this}', { a: 'note: this' }],
    ['words with signs in them', '[a@b/c.d]', ['a@b/c.d']],
    ['a date', '{"a":2024-01-02, "b":2024-01-02T10:00:00Z}', { a: '2024-01-02', b: '2024-01-02T10:00:00Z' }],
    ['a URL', '{"a":http://x.y/z?q=1,"b":2}', { a: 'http://x.y/z?q=1', b: 2 }],
    ['alone between other elements', '["x", y, "z"]', ['x', 'y', 'z']],
    ['on lines of their own', '[a,\nb]', ['a', 'b']],
    ['before a comment', '{"a":x # y\n}', { a: 'x' }],
    ['the longest', `[${'w'.repeat(256)}]`, ['w'.repeat(256)]],
  ])('%s', (_name, text, value) => {
    expect(mended(text)).toEqual(value)
  })

  test.each([
    ['beside another: the comma may be in the text', '[a, b]'],
    ['where commas look different', '["x", y,"z"]'],
    ['with a colon, where keys have no quotes', '{a:note: this}'],
    ['before a member that may be its own text', '{"a":x, y: z}'],
    ['where some keys have quotes and some do not', '{"b":1, a:x}'],
    ['that is half a literal', '{"a":tru}'],
    ['that is a number with its unit', '{"a":5px}'],
  ])('is not quoted %s', (_name, text) => {
    expect(mended(text)).toBe('broken')
  })
})

describe('mend', () => {
  test('makes guesses of one kind only', () => {
    expect(mended('{"a":1 "b":2 "c":3}')).toEqual({ a: 1, b: 2, c: 3 })
    expect(mended('{"a":1 "b":high}')).toBe('broken')
    expect(mended('{"a" 1, "b":x}')).toBe('broken')
  })

  test('says what became of the rest', () => {
    expect(mend('{"a":1')).toEqual({ kind: 'cut', at: 6 })
    expect(mend('{"a":"x')).toEqual({ kind: 'cut', at: 5 })
    expect(mend('')).toEqual({ kind: 'cut', at: 0 })
    expect(mend('{"a":1} and so on')).toEqual({ kind: 'followed', at: 7 })
    expect(mend('{"a":1}}')).toEqual({ kind: 'followed', at: 7 })
    expect(mend('{"a":}')).toEqual({ kind: 'broken', at: 5 })
  })

  test('leaves JSON as it is', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent)
        expect(mend(text)).toEqual({ kind: 'mended', text, changes: [] })
      }),
    )
  })

  test('makes JSON, or nothing, of any text', () => {
    const piece = fc.constantFrom(...'{}[]"\',: \na1-.\\“;=#+', 'true', '//', '/*', '*/', '```')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const made = mend(pieces.join(''))
        if (made.kind === 'mended') JSON.parse(made.text)
      }),
      { numRuns: runs(3000) },
    )
  })

  test('says what it changed, and where', () => {
    expect(mend("{a: 'b',}")).toEqual({
      kind: 'mended',
      text: '{"a": "b"}',
      changes: [
        { kind: 'quoted a key', at: 1, before: 'a', after: '"a"' },
        { kind: 'replaced a quote', at: 4, before: "'", after: '"' },
        { kind: 'replaced a quote', at: 6, before: "'", after: '"' },
        { kind: 'dropped a comma', at: 7, before: ',', after: '' },
      ],
    })
  })

  test('lists the changes in the order of the text', () => {
    const made = mend('{"a":[1 ,/*x*/ ],b:2}')
    expect(made.kind === 'mended' && made.changes.map(({ at }) => at)).toEqual([8, 9, 17])
  })

  test.each([
    ['{a: 1, b: "par', '{"a": 1, "b": "par'],
    ['{a: [True, Fal', '{"a": [true, '],
    ['{a: 1, ab', '{"a": 1, '],
    ['{a: "x\\', '{"a": "x\\'],
    ['{a: "x",', '{"a": "x",'],
    ['{a: 1 /* hal', '{"a": 1 '],
    ["{'a': 'x\ny", '{"a": "x\\ny'],
    ["{'a': 'x\\", '{"a": "x\\'],
    ["{'a': 'x\\\\", '{"a": "x\\\\'],
    ["{'a': 'x\\u00", '{"a": "x\\u00'],
  ])('mends the beginning of a text that was cut: %s', (text, beginning) => {
    expect(mend(text, true)).toMatchObject({ kind: 'mended', text: beginning })
  })

  test.each(['{a: 1 x', '{a: [1}', '{a: 1:'])('mends no beginning that is broken: %s', (text) => {
    expect(mend(text, true).kind).toBe('broken')
  })
})

describe('linear time', () => {
  const pieces = [
    ...['"', "'", '“', ',', ':', '[', '{', '\\', '"a,', "'a,", '"x" ', '"x"', '{"a":"b,"', '"a":"b"c",'],
    ...['a:1 ', '1\n', 'x, ', '//', '"//', "' # ", '"+"', 'C:\\', '"k":xx ru tre ,', '"a:b:c', "'a',"],
  ]
  const around = [
    ['', ''],
    ['[', ']'],
    ['{', '}'],
    ['{"', '" x}'],
    ['{"a":"', '"}'],
    ['{"k":"v","a":“', '}'],
  ] as const
  test.each(slow ? around : around.slice(-2))('much of anything between %j and %j', async (before, after) => {
    for (const piece of pieces) {
      await expectLinear(piece, (size) => {
        const text = before + piece.repeat(size / piece.length) + after
        return () => [mend(text), mend(text, true)]
      })
    }
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
    const made = controlsEscaped(text)
    expect([made.text, made.changes.length]).toEqual([escaped, count])
  })
})
