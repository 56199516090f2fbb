import { expect, test } from 'vitest'
import { mend } from '../../src/repair/search.ts'
import { unescapeOnce } from '../../src/repair/unescape.ts'

const once = (value: unknown, indent?: number) =>
  JSON.stringify(JSON.stringify(value, null, indent)).slice(1, -1)

test.each([
  ['only its quotes', '{\\"a\\":[1,\\"x\\"]}', { a: [1, 'x'] }],
  ['all that JSON escapes', once({ a: 'x', b: [1] }), { a: 'x', b: [1] }],
  ['line breaks between tokens too', once({ a: 'x', b: [1] }, 2), { a: 'x', b: [1] }],
  ['only its quotes, over several lines', '{\n  \\"a\\": 1\n}', { a: 1 }],
])('a document that was escaped once too often, %s', (_name, text, value) => {
  const made = unescapeOnce(text, mend)
  expect(made).toMatchObject({
    kind: 'mended',
    changes: [{ kind: 'removed one level of escapes', at: text.indexOf('\\"'), before: '\\"', after: '"' }],
  })
  expect(made?.kind === 'mended' && JSON.parse(made.text)).toEqual(value)
})

test('is ambiguous where two readings give two values', () => {
  expect(unescapeOnce('{\\"a\\":\\"x\\\\ny\\"}', mend)).toEqual({ kind: 'ambiguous', at: 1 })
})

test.each([
  '{"a":1}',
  '{\\"a":1}',
  '{\\"a\\":"x"}',
  '{\\"a\\":\\""}',
  '{a:\\"x\\"}',
  '\\"a\\"',
  '{\\"a\\":}',
  '{}',
  '',
])('leaves %j alone', (text) => {
  expect(unescapeOnce(text, mend)).toBeUndefined()
})
