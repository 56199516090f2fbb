import { expect, test } from 'vitest'
import { opensAs, opensInProse } from '../../src/frames/opening-bracket.ts'

// Whether the text opens in prose, with a schema, and at the very start of an input.
const rows: readonly (readonly [text: string, strict: unknown, loose: unknown, document: unknown])[] = [
  ['{"a":1}', true, true, true],
  ["{'a':1}", true, true, true],
  ['{\u201ca\u201d:1}', true, true, true],
  ['{a:1}', true, true, true],
  ['{a :1}', true, true, true],
  ['{a, b}', false, false, false],
  ['{a b: 1}', false, false, true],
  ['{a": 1}', false, false, true],
  ['{}', false, false, true],
  ['{ ', undefined, undefined, undefined],
  ['{a', undefined, undefined, undefined],
  ['{', undefined, undefined, undefined],
  ['[{"a":1}]', true, true, true],
  ['[1]', false, true, true],
  ['["a"]', false, true, true],
  ["['a']", false, false, true],
  ['[\u201ca\u201d]', false, false, true],
  ['[]', false, false, true],
  ['[a, b]', false, false, true],
  ['[a]', false, false, false],
  ['[INFO] x', false, false, false],
]

test('an opening bracket is judged by what follows it', () => {
  const kinds = ['strict', 'loose', 'document'] as const
  expect(rows.map(([text]) => [text, ...kinds.map((kind) => opensAs(kind, text))])).toEqual(rows)
  for (const [text, strict, loose] of rows) {
    expect([text, opensInProse(text, false)]).toEqual([text, strict === true])
    expect([text, opensInProse(text, true)]).toEqual([text, loose === true])
  }
})
