import fc from 'fast-check'
import { expect, test } from 'vitest'
import { balancedEnd } from '../../src/json/balanced.ts'
import { ByteBalance } from '../../src/json/byte-balance.ts'
import { TextBalance } from '../../src/json/text-balance.ts'
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
      const answer = whole.readStrictly(text)
      const halves = new TextBalance()
      const first = halves.readStrictly(text.slice(0, cut))
      if (first !== 'inside') {
        expect(answer).toBe(first)
        return
      }
      const second = halves.copy().readStrictly(text.slice(cut))
      expect(typeof second === 'number' ? second + Math.min(cut, text.length) : second).toBe(answer)
    }),
    { numRuns: runs(5000) },
  )
})

test.each([
  ['{"a":1} x', 7],
  ['{"a":"}\\"}', 'inside'],
  ['{"a":[1', 'inside'],
  ['{x:1}', 'broken'],
  ['{"a":1 // x', 'broken'],
  [']', 'broken'],
])('strictly, %j is %j', (text, wanted) => {
  expect(new TextBalance().readStrictly(text)).toBe(wanted)
})
