import { expect, test } from 'vitest'
import { tryParse } from '../../src/values/parse.ts'

const schema = { type: 'object', required: ['a', 'b'], properties: { a: { type: 'number' } } }
const wrapped = (text: string) => JSON.stringify({ session_id: 'x', response: text })

/** What a failed outcome says: code, place, and the paths and rules of the schema. */
function fault(text: string, more: object = {}) {
  const outcome = tryParse(text, { schema, ...more })
  if (outcome.ok) return outcome.value
  const { code, at, errors = [] } = outcome.fault
  return [code, at, ...errors.map(({ path, rule, message }) => `${path} ${rule} ${message}`.trim())]
}

test.each([
  ['a text', '{"session_id":"x","response":"{\\"a\\":1}"}', 29],
  ['an object', '{"session_id":"x","response": {"a":1}}', 30],
  ['prose around it', '{"session_id":"x","response":"ok: {\\"a\\":1}"}', 29],
  ['an envelope in an envelope', wrapped(wrapped('{"a":1}')), 65],
  ['an envelope in prose', 'Sure: {"session_id":"x","response":"{\\"a\\":1}"} ok', 35],
  ['an envelope that is repaired', '{session_id:"x","response":"{\\"a\\":1}",}', 27],
])('the payload in a failed envelope is what the schema errors are about: %s', (_, text, at) => {
  expect(fault(text)).toEqual(['SCHEMA_FAILED', at, expect.stringContaining('b')])
})

test('an envelope that breaks fewer rules than its content is the payload itself', () => {
  const own = { type: 'object', required: ['id', 'response'] }
  expect(fault('{"response":{"x":1}}', { schema: own })).toEqual([
    'SCHEMA_FAILED',
    0,
    expect.stringContaining('id'),
  ])
})

test.each([
  ['{"response":"{\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  ['{"x":"é","response":"{\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  ['{"response":"\\u007b\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  ['{"response":"\\n{\\"a\\":1,\\"b\\":\\"é\\\\n\\",}"}', ',', 1],
  ['{"response":"old","response":"{\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  ['{"n":{"response":"x"},"response":"{\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  ['{response:"{\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  ['<json>{"response":"{\\"a\\":1,\\"b\\":2,}"}</json>', ',', 1],
  ['Here: {"response":"{\\"a\\":1,\\"b\\":2,}"}', ',', 1],
  [wrapped('{"response":"{\\"a\\":1,\\"b\\":2,}"}'), ',', 1],
  ['{"response":"{\\"a\\":1,\\"b\\": None}"}', 'N', 4],
])('a change inside an envelope is where the input has it: %s', (text, first, length) => {
  const outcome = tryParse(text, { schema })
  const changes = outcome.notes.flatMap((note) => note.changes ?? [])
  const { at, before } = changes.at(-1)!
  expect(outcome.ok).toBe(true)
  expect(before).toHaveLength(length)
  expect(
    Buffer.from(text)
      .subarray(at, at + before.length)
      .toString(),
  ).toBe(before)
  expect(before[0]).toBe(first)
})

test.each([
  ['<json>{"a":1', 12],
  ['{"a":1', 6],
  ['{"a":1,"x":"y', 13],
  ['```json\n{"a":1', 14],
])('a cut value that the schema rejects is TRUNCATED, with the reasons: %s', (text, at) => {
  expect(fault(text, { partial: true })).toEqual(['TRUNCATED', at, expect.stringContaining('b')])
})

test('a whole value that the schema rejects is not TRUNCATED', () => {
  expect(fault('{"a":1}', { partial: true })).toMatchObject(['SCHEMA_FAILED', 0, {}])
})

test.each([
  ['a text', '{"a":{"n":1}}', { a: { n: 1 } }],
  ['a repaired text', "{'a':{'n':1}}", { a: { n: 1 } }],
  ['the object in an envelope', '{"response":{"a":{"n":1}}}', { a: { n: 1 } }],
])('a normalizer that changes its argument and throws leaves the value as it was: %s', (_, text, value) => {
  const normalize = [
    (found: { a?: { n?: number } }) => {
      if (found.a) delete found.a.n
      throw new Error('no')
    },
  ]
  const outcome = tryParse(text, { normalize })
  expect(outcome.ok ? outcome.value : outcome.fault).toMatchObject({ code: 'NORMALIZE_FAILED', value })
})

test('an outer normalizer that changes the object in the envelope does not change what is judged next', () => {
  const normalize = [
    (found: { response?: { a: number; b: number } }) => {
      if (!found.response) return found
      found.response.a = 99
      throw new Error('not an answer')
    },
  ]
  expect(tryParse('{"response":{"a":1,"b":2}}', { schema, normalize })).toMatchObject({
    value: { a: 1, b: 2 },
  })
})

test('a fault has the label as a field, too', () => {
  const outcome = tryParse('nothing', { label: 'triage' })
  expect(outcome.ok || outcome.fault).toMatchObject({
    label: 'triage',
    message: expect.stringMatching(/^triage: /),
  })
})
