import { expect, test } from 'vitest'
import { ask } from '../../src/ask/ask.ts'
import type { JsonSchema } from '../../src/values/schema/json-schema.ts'
import { slow } from '../pace.ts'
import { streamingModel } from './model.ts'

/** What is said against the parts of an answer while it comes, before the whole is judged. */
async function told(schema: JsonSchema, answer: object): Promise<string[]> {
  const { call } = streamingModel(3, JSON.stringify(answer))
  const errors: string[] = []
  try {
    for await (const snapshot of ask.stream(call, { prompt: 'x', schema, rounds: 0 })) {
      errors.push(...snapshot.errors.map(({ path, rule }) => `${path} ${rule}`))
    }
  } catch {}
  return errors
}

const count = { type: 'number' }

test.runIf(slow)('follows a reference to a definition, in both spellings', async () => {
  const list = (ref: string, shelf: string) => ({
    [shelf]: { count, more: { $ref: `#/${shelf}/count` } },
    properties: { a: { items: { $ref: ref } } },
  })
  expect(await told(list('#/$defs/count', '$defs'), { a: [1, 'x'] })).toEqual(['/a/1 type'])
  expect(await told(list('#/definitions/more', 'definitions'), { a: ['x'] })).toEqual(['/a/0 type'])
})

test('a definition is followed on the way to its parts', async () => {
  const schema = {
    $defs: { issue: { properties: { line: count } } },
    properties: { a: { $ref: '#/$defs/issue' } },
  }
  expect(await told(schema, { a: { line: 'x' } })).toEqual(['/a/line type'])
})

test.each([
  ['leads nowhere', { $defs: {}, properties: { a: { $ref: '#/$defs/none' } } }],
  ['names what every object has', { $defs: {}, properties: { a: { $ref: '#/$defs/constructor' } } }],
  ['has no shelf', { properties: { a: { $ref: '#/$defs/none' } } }],
  [
    'leads in a circle',
    {
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      properties: { a: { $ref: '#/$defs/a' } },
    },
  ],
  [
    'leads elsewhere in the whole',
    { properties: { b: { properties: { c: count } }, a: { $ref: '#/properties/b' } } },
  ],
])('says nothing of parts whose reference %s', async (_what, schema) => {
  expect(await told(schema as JsonSchema, { a: { c: 'x' } })).toEqual([])
})

test('a part that refers to another place of the whole is left to the whole', async () => {
  const schema = { properties: { b: count, a: { properties: { c: { $ref: '#/properties/b' } } } } }
  expect(await told(schema, { a: { c: 'x' } })).toEqual([])
  await expect(
    ask(streamingModel(5, '{"a":{"c":"x"}}').call, { prompt: 'x', schema, rounds: 0 }),
  ).rejects.toMatchObject({ code: 'SCHEMA_FAILED' })
})

test.runIf(slow)('knows which part speaks about a place: by position, by name, for all others', async () => {
  const tuple = { properties: { a: { prefixItems: [count], items: { type: 'string' } } } }
  expect(await told(tuple, { a: [1, 'x', 2] })).toEqual(['/a/2 type'])
  const others = { properties: { a: { properties: { b: {} }, additionalProperties: count } } }
  expect(await told(others, { a: { b: 'x', c: 'x' } })).toEqual(['/a/c type'])
  const patterns = { properties: { a: { patternProperties: { '^x': {} }, additionalProperties: count } } }
  expect(await told(patterns, { a: { x1: 'x' } })).toEqual([])
})
