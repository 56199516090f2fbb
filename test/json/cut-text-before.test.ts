import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeCut, isBeginning } from '../../src/json/cut-text.ts'
import * as before from '../../src/json/cut-text-before.ts'

test('closes and judges every beginning as the scanner before it did', () => {
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom('', ',', '"', '\\', '{', ']', '0', '.', 'e', '\n', '\\ud83d'),
  )
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 2), change, (json, indent, [place, put]) => {
      const whole = JSON.stringify(JSON.parse(json), null, indent)
      const at = place % (whole.length + 1)
      const text = whole.slice(0, at) + put + whole.slice(at)
      for (let end = 0; end <= text.length; end++) {
        const part = text.slice(0, end)
        const was = before.closeCut(part)
        const now = closeCut(part)
        expect(now?.incomplete).toEqual(was?.incomplete)
        if (!was || !now) continue
        expect(isBeginning(part)).toBe(true)
        expect(JSON.parse(now.text)).toEqual(JSON.parse(was.text))
      }
    }),
    { numRuns: 500 },
  )
})
