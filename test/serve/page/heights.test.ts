import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heights } from '../../../src/serve/page/heights.ts'

test('tells the same as adding up, while heights come and change', () => {
  const height = fc.integer({ min: 1, max: 500 })
  fc.assert(
    fc.property(
      fc.array(height, { minLength: 1, maxLength: 200 }),
      fc.array(fc.tuple(fc.nat(), height), { maxLength: 50 }),
      (given, changes) => {
        const heights = new Heights()
        for (const one of given) heights.push(one)
        const plain = [...given]
        for (const [at, changed] of changes) {
          plain[at % plain.length] = changed
          heights.set(at % plain.length, changed)
        }
        let top = 0
        for (const [index, one] of plain.entries()) {
          expect(heights.top(index)).toBe(top)
          expect(heights.at(top)).toBe(index)
          expect(heights.at(top + one - 1)).toBe(index)
          top += one
        }
        expect(heights.total).toBe(top)
        expect([heights.at(-5), heights.at(top + 5)]).toEqual([0, plain.length - 1])
      },
    ),
  )
})
