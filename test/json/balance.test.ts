import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteBalance } from '../../src/json/byte-balance.ts'
import { stringEnd } from '../../src/json/strings.ts'
import { balancedEnd, TextBalance } from '../../src/json/text-balance.ts'
import { runs } from '../pace.ts'

const pieces = fc.array(
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    '/',
    '//',
    '/*',
    '*/',
    '*',
    ':',
    '\n',
    'x',
    '1',
    ',',
    ' ',
    '{"a":',
  ),
  { maxLength: 24 },
)

test('a text and its bytes are closed at the same place', () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 5 }), (parts, size) => {
      const text = `{${parts.join('')}`
      expect(bytesEnd(Buffer.from(text), size)).toBe(balancedEnd(text, 0))
    }),
    { numRuns: runs(5000) },
  )
})

/** One past the closer, walked in steps of `size` bytes as they would come; -1 if there is none. */
function bytesEnd(bytes: Buffer, size: number): number {
  const balance = new ByteBalance()
  let at = 0
  for (let to = size; ; to += size) {
    const end = Math.min(to, bytes.length)
    while (at < end) {
      at = balance.walk(bytes, 0, at, end, 0, false)
      if (balance.stop === 'closed') return at
      // It never goes beyond what it was given.
      if (balance.stop === 'end') expect(at).toBe(end)
    }
    if (end === bytes.length) return -1
  }
}

test('strict reading does not depend on where the text is cut', () => {
  const json = fc.array(
    fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', '1', 'true', ' ', ',', 'x', '/'),
    {
      maxLength: 20,
    },
  )
  fc.assert(
    fc.property(json, fc.nat(20), (parts, cut) => {
      const text = `[${parts.join('')}`
      const whole = new TextBalance()
      const answer = whole.read(text)
      const halves = new TextBalance()
      const first = halves.read(text.slice(0, cut))
      if (first !== 'inside') {
        expect(answer).toBe(first)
        return
      }
      const second = halves.copy().read(text.slice(cut))
      expect(typeof second === 'number' ? second + Math.min(cut, text.length) : second).toBe(answer)
    }),
    { numRuns: runs(5000) },
  )
})

/** A text, `|` where it is cut, and one past the bracket that closes it. */
const ends: readonly (readonly [text: string, strictly: number | string, loosely: number | string])[] = [
  ['[]', 2, 2],
  ['{"a":1} x', 7, 7],
  ['[[]]]', 4, 4],
  ['[}', 2, 2],
  ['["a",{"b":[]}]', 14, 14],
  ['[1', 'inside', 'inside'],
  ['{"a":[1', 'inside', 'inside'],
  [']', 'broken', 'inside'],
  ['][]]', 'broken', 'inside'],
  ['["]"]', 5, 5],
  ['["\\"]"]', 7, 7],
  ['["\\\\"]', 6, 6],
  ['["\\\\\\"]"]', 9, 9],
  ['{"a":"}\\"}', 'inside', 'inside'],
  ['["a|b"]', 6, 6],
  ['["|]"]', 5, 5],
  ['["|"]', 4, 4],
  ['["\\|"]"]', 7, 7],
  ['["\\|\\"]', 6, 6],
  ['["\\\\|"]', 6, 6],
  ['["\\\\\\|"]"]', 9, 9],
  ['["\\"|"]', 6, 6],
  ['["\\|x"]', 6, 6],
  ['["\\|"|]"]', 7, 7],
  ['["a",|"]"]', 9, 9],
  ['[|[|]|]', 4, 4],
  // Only strict reading stops at what JSON does not have.
  ['{x:1}', 'broken', 5],
  ['[\u00e9]', 'broken', 3],
  ['[\\"]', 'broken', 4],
  ['[\\\\"]"]', 'broken', 7],
  ['[\\x"]"]', 'broken', 7],
  ['[/]', 'broken', 3],
  ['[/"]"]', 'broken', 6],
  ['{"a":1 // x', 'broken', 'inside'],
  ['[1 // ]\n]', 'broken', 9],
  ['[//\n]', 'broken', 5],
  ['[//]\n\n]', 'broken', 7],
  ['[1 // "\n]', 'broken', 9],
  ['[/* ] */]', 'broken', 9],
  ['[/**/]', 'broken', 6],
  ['[/*/]*/]', 'broken', 8],
  ['[/* "*/]', 'broken', 8],
  ['[/* ]', 'broken', 'inside'],
  // Not after a colon, as in `http://`; a block comment may be there.
  ['[x://]', 'broken', 6],
  ['[x:/*]', 'broken', 'inside'],
  ['[x:/*]*/]', 'broken', 9],
  ['[x :/ /]', 'broken', 8],
]

test('the end of a value is where its bracket closes', () => {
  for (const [row, strictly, loosely] of ends) {
    const pieces = row.split('|')
    expect(endIn(pieces), `${row}, strictly`).toBe(strictly)
    const text = pieces.join('')
    if (row.startsWith('[') || row.startsWith('{')) {
      const end = loosely === 'inside' ? -1 : loosely
      expect(balancedEnd(text, 0), `${row}, whole`).toBe(end)
      const bytes = Buffer.from(text)
      for (const size of [1, 2, 100])
        expect(bytesEnd(bytes, size), `${row} in bytes`).toBe(
          typeof end === 'number' && end > 0 ? Buffer.byteLength(text.slice(0, end)) : -1,
        )
    }
  }
})

function endIn(pieces: readonly string[]): number | string {
  let balance = new TextBalance()
  let before = 0
  for (const piece of pieces) {
    // A copy goes on as the original would.
    balance = balance.copy()
    const end = balance.read(piece)
    if (end !== 'inside') return typeof end === 'number' ? before + end : end
    before += piece.length
  }
  return 'inside'
}

/** Bytes from position 100 on, where the walk begins, how far back it looks, and where and why it stops. */
const walks: readonly (readonly [text: string, from: number, floor: number, torn: boolean, stops: string])[] =
  [
    ['{"a\n[","b":{}}', 100, 100, false, '104 line-end, depth 1, in a string; 114 closed, depth 0'],
    ['{"a\n[","b":{}}', 100, 100, true, '104 bracket, depth 1, in a string; 114 closed, depth 0'],
    ['{"a', 100, 100, false, '103 end, depth 1, in a string'],
    ['[/*/ ] */]', 100, 100, false, '110 closed, depth 0'],
    ['[a://b]', 100, 100, false, '107 closed, depth 0'],
    ['[//]', 100, 100, false, '104 end, depth 1'],
    // The backslash counts only if it is not before the floor.
    ['[\\"a"', 102, 102, false, '105 end, depth 0'],
    ['[\\"a"', 102, 101, false, '105 end, depth 0, in a string'],
    ['["\\"', 101, 103, false, '104 end, depth 0'],
    ['["\\"', 101, 101, false, '104 end, depth 0, in a string'],
  ]

test('a walk over bytes says why it stopped', () => {
  for (const [text, from, floor, torn, stops] of walks) {
    const bytes = Buffer.from(text)
    const end = 100 + bytes.length
    const balance = new ByteBalance()
    const seen: string[] = []
    let at = from
    do {
      at = balance.walk(bytes, 100, at, end, floor, torn)
      const where = balance.inString ? ', in a string' : ''
      seen.push(`${at} ${balance.stop}, depth ${balance.depth}${where}`)
      if (balance.stop === 'bracket') at++
    } while (at < end)
    expect(seen.join('; '), text).toBe(stops)
  }
})

test('a balance that starts over is inside as many brackets as it is told', () => {
  const bytes = Buffer.from('"]]]')
  const balance = new ByteBalance()
  balance.walk(bytes, 0, 0, 1, 0, false)
  balance.reset(2)
  expect([balance.walk(bytes, 0, 1, 4, 0, false), balance.stop, balance.inString]).toEqual([
    3,
    'closed',
    false,
  ])
})

test.each([
  ['"a"', 0, 2],
  ['""', 0, 1],
  ['"a', 0, -1],
  ['"\\""', 0, 3],
  ['"\\\\"', 0, 3],
  ['"\\\\\\""', 0, 5],
  ['"\\"\\"x"', 0, 6],
  ['\\"a"', 1, 3],
  ['x"a"b"', 1, 3],
  ['"\\"', 0, -1],
])('the string in %j that opens at %i closes at %i', (text, open, close) => {
  expect(stringEnd(text, open)).toBe(close)
})

test('a search for the closing quote may begin later', () => {
  expect(stringEnd('"a\\"b"', 0, 3)).toBe(5)
  expect(stringEnd('"a\\"b"', 0, 5)).toBe(5)
  expect(stringEnd('"a\\"b"', 0, 6)).toBe(-1)
})
