import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../src/base/fault.ts'
import { tryParse } from '../../src/values/parse.ts'
import { type JsonSchema, jsonSchema } from '../../src/values/schema/json-schema.ts'
import { checkOf, type Schema } from '../../src/values/schema/schema.ts'

const json = {
  type: 'object',
  required: ['name', 'line'],
  properties: { name: { type: 'string', minLength: 1 }, line: { type: 'integer', minimum: 1 } },
}
const schemas: [string, Schema][] = [
  ['zod', z.object({ name: z.string().min(1), line: z.int().min(1) })],
  [
    'valibot',
    v.object({ name: v.pipe(v.string(), v.minLength(1)), line: v.pipe(v.number(), v.minValue(1)) }),
  ],
  ['arktype', type({ name: 'string > 0', line: 'number.integer >= 1' })],
  ['JSON Schema', json],
  ['jsonSchema()', jsonSchema(json)],
]

describe.each(schemas)('%s', (_name, schema) => {
  const check = checkOf(schema)

  test('lets a good value pass', () => {
    expect(check({ name: 'x', line: 1 })).toEqual({ value: { name: 'x', line: 1 } })
  })

  test('says where a bad value is wrong, by which rule, and what was found', () => {
    const checked = check({ name: 'x', line: 0 })
    expect(checked).toEqual({
      errors: [
        { path: '/line', rule: expect.stringMatching(/\w/), message: expect.stringMatching(/1.*, found 0$/) },
      ],
    })
  })

  test('says what is missing', () => {
    const checked = check({ line: 1 })
    if (!('errors' in checked)) throw new Error('it passed')
    expect(JSON.stringify(checked.errors)).toContain('name')
  })
})

test('gives the output of a schema that transforms', () => {
  const schema = z.object({ at: z.string().transform((text) => text.length) })
  expect(checkOf(schema)({ at: 'four' })).toEqual({ value: { at: 4 } })
})

test('lets the issues decide, not the value', () => {
  const both = { value: 1, issues: [{ message: 'no' }] }
  const schema = { '~standard': { version: 1, vendor: 'test', validate: () => both } } as unknown as Schema
  expect(checkOf(schema)(1)).toMatchObject({
    errors: [{ path: '', rule: 'invalid', message: 'no, found 1' }],
  })
})

test('refuses a schema that answers later', () => {
  const schema = z.object({}).refine(async () => true)
  expect(() => checkOf(schema)({})).toThrow(expect.objectContaining({ code: 'BAD_SCHEMA' }))
})

test('takes a schema that throws for a schema that rejects', () => {
  const schema = v.custom(() => {
    throw new Error('boom')
  })
  expect(checkOf(schema)({})).toMatchObject({
    errors: [{ rule: 'threw', message: 'the schema threw: boom' }],
  })
})

test('bounds the number and the length of errors, and their control characters', () => {
  const checked = checkOf({ items: { type: 'string', maxLength: 3 } })(
    Array.from({ length: 1000 }, () => `\u001b[2J${'x'.repeat(1000)}`),
  )
  if (!('errors' in checked)) throw new Error('it passed')
  expect(checked.errors.length).toBe(20)
  expect(JSON.stringify(checked.errors).length).toBeLessThan(20 * 500)
  expect(checked.errors[0]?.message).not.toContain('\u001b')
})

describe('JSON Schema', () => {
  const passes = (schema: Schema, value: unknown) => 'value' in checkOf(schema)(value)

  test('is 2020-12 unless its $schema says draft-07', () => {
    const tuple = { prefixItems: [{ type: 'string' }] }
    expect(passes(tuple, [1])).toBe(false)
    expect(passes({ ...tuple, $schema: 'https://json-schema.org/draft/2020-12/schema' }, [1])).toBe(false)
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
    expect(passes(old, [1])).toBe(false)
    expect(passes(old, ['x', 1])).toBe(true)
  })

  test('knows which items are equal, as JSON', () => {
    const unique = { uniqueItems: true }
    for (const items of [
      [1, '1'],
      [null, 'null', [null]],
      [{ a: 1 }, { a: 2 }],
      ['{"a":1}', { a: 1 }],
      [[1, 2], [12]],
      [true, 'true', 1],
    ])
      expect(passes(unique, items), JSON.stringify(items)).toBe(true)
    for (const items of [
      [1, 1.0],
      ['a', 'a'],
      [null, null],
      [[1], [1]],
      [
        { a: 1, b: [null] },
        { b: [null], a: 1 },
      ],
    ])
      expect(passes(unique, items), JSON.stringify(items)).toBe(false)
    expect(passes({ uniqueItems: false }, [1, 1])).toBe(true)
  })

  test('says what it found', () => {
    const found = (value: unknown) => {
      const checked = checkOf({ type: 'string' })(value)
      return 'errors' in checked ? checked.errors[0]?.message : 'it passed'
    }
    expect(found([1, 2])).toBe('must be string, found an array of 2')
    expect(found({})).toBe('must be string, found an empty object')
    expect(found({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 })).toBe(
      'must be string, found an object with "a, b, c, d, e"',
    )
    expect(found(null)).toBe('must be string, found null')
  })

  test('knows formats', () => {
    expect(passes({ format: 'date-time' }, '2026-02-14T00:00:00Z')).toBe(true)
    expect(passes({ format: 'date-time' }, 'yesterday')).toBe(false)
  })

  test('changes nothing: no coercion, no defaults, nothing removed', () => {
    const schema = { properties: { a: { type: 'number' }, b: { default: 1 } }, additionalProperties: true }
    expect(passes(schema, { a: '1' })).toBe(false)
    expect(checkOf(schema)({ a: 1, c: 2 })).toEqual({ value: { a: 1, c: 2 } })
  })

  test('does not find what an object inherits', () => {
    expect(passes({ required: ['toString'] }, {})).toBe(false)
  })

  test('takes two schemas with the same $id', () => {
    expect(passes({ $id: 'x', type: 'string' }, 's')).toBe(true)
    expect(passes({ $id: 'x', type: 'number' }, 1)).toBe(true)
  })

  test('is a Standard Schema that names its vendor', async () => {
    const { version, vendor } = jsonSchema({})['~standard']
    expect([version, vendor]).toEqual([1, 'agent-sluice'])
    const later = jsonSchema({ $async: true, type: 'object', properties: { a: { type: 'number' } } })
    expect(later['~standard'].vendor).toBe('agent-sluice, async')
    await expect(later['~standard'].validate({ a: 1 })).resolves.toEqual({ value: { a: 1 } })
    await expect(later['~standard'].validate({ a: 'x' })).resolves.toMatchObject({
      issues: [{ rule: 'type', path: ['a'] }],
    })
  })

  test('reports every error, with a JSON pointer', () => {
    const number = { type: 'number' }
    const paths = (schema: JsonSchema, value: unknown) => {
      const checked = checkOf(schema)(value)
      return 'errors' in checked ? checked.errors.map(({ path }) => path) : []
    }
    expect(paths({ properties: { a: number, b: number } }, { a: 'x', b: 'y' })).toEqual(['/a', '/b'])
    const deep = { properties: { 'a/b': { properties: { 'c~d': number } } } }
    expect(paths(deep, { 'a/b': { 'c~d': 'x' } })).toEqual(['/a~1b/c~0d'])
  })

  test('is compiled once', () => {
    const schema = { type: 'object' }
    expect(jsonSchema(schema)).toBe(jsonSchema(schema))
  })

  test.each([
    ['an unknown draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, /draft-04.*not supported/],
    [
      'a broken rule',
      { type: 'nonsense' },
      /cannot be compiled: \/type must be one of "array", .*, but is "nonsense"$/,
    ],
    ['a reference to nowhere', { $ref: '#/$defs/none' }, /cannot be compiled/],
    ['an array', [] as unknown as Schema, /expected a Standard Schema or a JSON Schema object/],
    ['a string', 'x' as unknown as Schema, /expected a Standard Schema/],
  ])('%s is a fault', (_name, schema, message) => {
    const compile = () => checkOf(schema as Schema)
    expect(compile).toThrow(Fault)
    expect(compile).toThrow(
      expect.objectContaining({ code: 'BAD_SCHEMA', message: expect.stringMatching(message) }),
    )
  })
})

describe('what a JSON Schema says', () => {
  const errorsOf = (schema: object, text: string) => {
    const outcome = tryParse(text, { schema: schema as JsonSchema })
    return outcome.ok ? [] : (outcome.fault.errors ?? []).map(({ message }) => message.split(', found ')[0])
  }

  test('of const and enum has the values as JSON spells them', () => {
    const value = (a: object) => ({ properties: { a }, required: ['a'] })
    expect(errorsOf(value({ const: 1 }), '{"a":2}')).toEqual(['must be 1'])
    expect(errorsOf(value({ const: '1' }), '{"a":2}')).toEqual(['must be "1"'])
    expect(errorsOf(value({ enum: ['a, b', 'c', 1, null] }), '{"a":2}')).toEqual([
      'must be one of "a, b", "c", 1, null',
    ])
    expect(errorsOf({ additionalProperties: false }, '{"k":1}')).toEqual(['must not have the property "k"'])
    // Up to 120 characters of values; the first one is cut if it alone has more.
    const long = (...lengths: number[]) => {
      const values = lengths.map((length) => 'x'.repeat(length - 2))
      const [message] = errorsOf(value({ enum: [...values, 'last'] }), '{"a":2}')
      return message!.replaceAll(/"x*("|(?=…))/g, (text) => `${text.length}`)
    }
    expect(long(119)).toBe('must be one of 119, or 1 more')
    expect(long(120)).toBe('must be one of 120, or 1 more')
    expect(long(121)).toBe('must be one of 120…')
    expect(long(50, 62)).toBe('must be one of 50, 62, "last"')
    expect(long(50, 63)).toBe('must be one of 50, 63, or 1 more')
    expect(long(50, 70)).toBe('must be one of 50, 70, or 1 more')
    expect(long(50, 71)).toBe('must be one of 50, or 2 more')
    const many = errorsOf(value({ enum: Array.from({ length: 99 }, (_, n) => `value ${n}`) }), '{"a":2}')
    expect(many[0]).toMatch(/^must be one of "value 0", .*"value \d+", or \d+ more$/)
  })

  test('with $async is a fault in a stream, never a pass', () => {
    const schema = { $async: true, type: 'object', properties: { a: { type: 'number' } } }
    expect(() => tryParse('{"a":"x"}', { schema })).toThrow(expect.objectContaining({ code: 'BAD_SCHEMA' }))
  })

  test('of an array in prose is told, if it is about what is in it', () => {
    const integers = { type: 'array', items: { type: 'integer' } }
    const code = (text: string, schema: object) => {
      const outcome = tryParse(text, { schema: schema as JsonSchema })
      return outcome.ok ? outcome.value : [outcome.fault.code, outcome.fault.errors?.[0]?.path]
    }
    expect(code('The list is [1, 2].', integers)).toEqual([1, 2])
    expect(code('The list is [1].', integers)).toEqual(['NO_MATCH', undefined])
    expect(code('The list is ["x", 1].', integers)).toEqual(['SCHEMA_FAILED', '/0'])
    expect(code('The list is [1.5, 1], or [2, 3].', integers)).toEqual([2, 3])
    expect(code('As in [1], it works.', { type: 'object' })).toEqual(['NO_MATCH', undefined])
  })
})
