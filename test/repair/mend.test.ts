import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { controlsEscaped } from '../../src/repair/control-characters.ts'
import { mend } from '../../src/repair/search.ts'
import { expectLinear } from '../growth.ts'
import { runs, slow } from '../pace.ts'

/** The value that a text was mended to, or what became of it instead. */
const mended = (text: string): unknown => {
  const made = mend(text)
  return made.kind === 'mended' ? JSON.parse(made.text) : made.kind
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
      'numbers with a plus, without a zero, with a dot or with underscores',
      '{"a":+5,"b":.5,"c":12.,"d":1_000}',
      { a: 5, b: 0.5, c: 12, d: 1000 },
    ],
    ['raw control characters in any quotes', `{'a':'x\ty\n'}`, { a: 'x\ty\n' }],
    ['unusual blanks', '{\u00a0"a":\ufeff1\u200b}', { a: 1 }],
    ['CR as a blank', '{"a":1,\r}', { a: 1 }],
    ['an equals sign or an arrow for a colon', '{"a"=1, "b"=>2}', { a: 1, b: 2 }],
    ['full-width punctuation', '{"a"：1，"b"：2}', { a: 1, b: 2 }],
    ['semicolons for commas', '{a:1;b:[2; 3]}', { a: 1, b: [2, 3] }],
    ['joined strings', '{"a":"one " + "two" +\n"three"}', { a: 'one twothree' }],
    ['fence marks inside', '{"a":1,\n```json\n"b":2\n~~~}', { a: 1, b: 2 }],
    ['a number behind a fence mark', '[```1\n]', [1]],
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
    '{"a":-05}',
    '{"a":2e}',
    '{"a":02134}',
    '[1..5]',
    '[1+2]',
    '[1:2]',
    '[(1)]',
    '[1,2,...]',
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
    // An inner quote, or the opening one of the next string.
    '["a\n  " "b"]',
    '["a\n ""b"]',
    '["x" + “y” z"]',
    '{"a":"\n "]',
    `["a"'\n'1]`,
    '[\n",\n"\'b\']',
    ']',
  ])('refuses %s, where a value would be invented or another meaning is possible', (text) => {
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
        // Behind a drive, a backslash may belong to a path: only a text that is JSON as a whole says which.
        fc.pre(!/[A-Za-z]:\\/.test(text))
        expect(mend(text)).toMatchObject({ kind: 'mended', text, changes: [] })
      }),
    )
  })

  test('makes JSON, or nothing, of any text', () => {
    const piece = fc.constantFrom(...'{}[]"\',: \na1-.\\“’;=#+', 'true', '//', '/*', '*/', '```')
    const around = fc.constantFrom(['', ''], ['[', ']'], ['{"":', '}'])
    fc.assert(
      fc.property(around, fc.array(piece, { maxLength: 30 }), ([before, after], pieces) => {
        const made = mend(before + pieces.join('') + after)
        if (made.kind === 'mended') JSON.parse(made.text)
      }),
      { numRuns: runs(3000) },
    )
  })

  test('says what it changed, and where', () => {
    expect(mend("{a: 'b',}")).toMatchObject({
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

  //  The work for one of them must not grow with the text before it.
  test.each([
    ['a text without its first quote', (n: number) => `"m${n}": word ${n}"`, (n: number) => `word ${n}`],
    ['a text without its last quote', (n: number) => `"m${n}": "word ${n}`, (n: number) => `word ${n}`],
    ['quotes in a text', (n: number) => `"m${n}": "a "word" ${n}"`, (n: number) => `a "word" ${n}`],
    ['a lost colon', (n: number) => `"m${n}" ${n}`, (n: number) => n],
    ['one after u""', (n: number) => `"l${n}": u'a', "m${n}" ${n}`, (n: number) => n],
    ['one after three quotes', (n: number) => `"l${n}": '''a''', "m${n}" ${n}`, (n: number) => n],
    ['a lost bracket', (n: number) => `"m${n}": [1, ${n}`, (n: number) => [1, n]],
  ])('mends a hundred errors at the end of a long text: %s', (_, broken, value) => {
    const hundred = Array.from({ length: 100 }, (_, n) => n)
    const long = `"k": "${'x'.repeat(99_999)}"`
    expect(mended(`{${[long, ...hundred.map(broken)].join(', ')}}`)).toMatchObject(
      Object.fromEntries(hundred.map((n) => [`m${n}`, value(n)])),
    )
  })

  test('lists the changes in the order of the text', () => {
    const made = mend('{"a":[1 ,/*x*/ ],b:2}')
    expect(made.kind === 'mended' && made.changes.map(({ at }) => at)).toEqual([8, 9, 17])
  })

  test.each([
    ['{a: 1, b: "par', '{"a": 1, "b": "par'],
    ['{a: [True, Fal', '{"a": [true, '],
    ['{a: [True, hel', '{"a": [true, "hel'],
    ['{a: no', '{"a": '],
    ['{a: np.fl', '{"a": '],
    ['{a: 1, ab', '{"a": 1, '],
    ['{a: "x\\', '{"a": "x\\'],
    ['{a: "x",', '{"a": "x",'],
    ['{a: 1 /* hal', '{"a": 1 '],
    ["{'a': 'x\ny", '{"a": "x\\ny'],
    ["{'a': 'x\\", '{"a": "x\\'],
    ["{'a': 'x\\\\", '{"a": "x\\\\'],
    ["{'a': 'x\\u00", '{"a": "x\\u00'],
    ["{'a': 'x\\u0041", '{"a": "x\\u0041'],
    ["{'a': 'x\\ny", '{"a": "x\\ny'],
    [`{'a': 'x\\n"y`, '{"a": "x\\n\\"y'],
    ["{'a': '\\", '{"a": "\\'],
    ["{'a': 'x\\\\\\", '{"a": "x\\\\\\'],
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
    ...[
      '(',
      '(1,',
      "u'",
      "u'x',",
      '"C:\\\\",',
      '"C:\\x\\",',
      '\\",',
      '"k":"a"\n"b"\n',
      '``',
      '1_0',
      '1.2.3,',
    ],
    ...['"k":10:30:', '"a" // "\n', '"k":"x "y", ', '"a" | ', '""', '"a "b", ', ', b: ', '[[(1,2),'],
  ]
  const around = [
    ['', ''],
    ['[', ']'],
    ['{', '}'],
    ['{"', '" x}'],
    ['{"a":"', '"}'],
    ['{"k":"v","a":“', '}'],
  ] as const
  test.runIf(slow).each(around)('much of anything between %j and %j', async (before, after) => {
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
