import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { simdModule } from '../../scripts/simd-search.ts'
import { simdSearch } from '../../src/base/wasm.ts'
import { TraceSearch, traceOf } from '../../src/values/where/line-trace.ts'
import { runs } from '../pace.ts'

const simd = simdSearch()

function places(search: TraceSearch, bytes: Buffer, step: number): number[] {
  search.enter(bytes)
  const found: number[] = []
  for (let at = search.next(0); at < bytes.length; at = search.next(at + step)) found.push(at)
  return found
}

const piece = fc.constantFrom(
  'turn.completed',
  'turn.complete',
  'item.completed',
  't',
  '\\u0074',
  '\\u001b',
  '\\u5b8c',
  '\\n0',
  '\\u',
  '\u001b',
  '完成',
  '\n',
  'x'.repeat(15),
  ' ',
)

test('the search with SIMD finds what the native one finds', () => {
  expect(simd).toBeDefined()
  const wanted = fc.constantFrom(
    ['turn.completed'],
    ['t'],
    ['ab', 'turn.completed'],
    ['完成'],
    ['x'.repeat(14), 'é'],
    ['te'],
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      wanted,
      fc.integer({ min: 1, max: 20 }),
      (pieces, values, step) => {
        const bytes = Buffer.from(pieces.join(''))
        const trace = traceOf({ key: 'type', scalars: new Set(values) })
        expect(places(new TraceSearch(trace, false, simd), bytes, step)).toEqual(
          places(new TraceSearch(trace, false, null), bytes, step),
        )
      },
    ),
    { numRuns: runs(500) },
  )
})

test('it finds what lies across its windows, while another search has the memory', () => {
  const value = 'w'.repeat(300)
  const trace = traceOf({ key: 'type', scalars: new Set([value]) })
  const bytes = Buffer.alloc(400_000, ' ')
  const expected = [131_072 - 1, 131_072 * 2 - 300, 399_700]
  for (const at of expected) bytes.write(value, at)
  const one = new TraceSearch(trace, false, simd)
  const other = new TraceSearch(trace, false, simd)
  one.enter(bytes)
  other.enter(Buffer.from(`  ${value}`))
  const found = [one.next(0)]
  expect(other.next(0)).toBe(2)
  for (const at of expected.slice(1)) {
    found.push(one.next(found.at(-1)! + 300))
    expect(found.at(-1)).toBe(at)
    other.enter(Buffer.from('wwww'))
    expect(other.next(0)).toBe(Number.POSITIVE_INFINITY)
  }
  expect(found).toEqual(expected)
})

test('its code is what the script makes', () => {
  const source = readFileSync(new URL('../../src/base/wasm.ts', import.meta.url), 'utf8')
  const code =
    source.slice(source.indexOf('const SEARCH_CODE'), source.indexOf('const HASH_CODE')).match(/'[^']+'/g) ??
    []
  expect(code.map((part) => part.slice(1, -1)).join('')).toBe(Buffer.from(simdModule()).toString('base64'))
})
