import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Flow } from '../../src/streams/flow.ts'
import { values } from '../../src/streams/values.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { parse, tryParse } from '../../src/values/parse.ts'
import { jsonSchema } from '../../src/values/schema/json-schema.ts'
import type { Schema } from '../../src/values/schema/schema.ts'

test('the schema gives the type', () => {
  expectTypeOf(parse('', { schema: z.object({ a: z.number() }) })).toEqualTypeOf<{ a: number }>()
  expectTypeOf(parse('', { schema: v.object({ a: v.number() }) })).toEqualTypeOf<{ a: number }>()
  expectTypeOf(parse('', { schema: type({ a: 'number' }) })).toEqualTypeOf<{ a: number }>()
  expectTypeOf(parse('', { schema: jsonSchema<{ a: number }>({}) })).toEqualTypeOf<{ a: number }>()
})

test('it is the output of a schema that transforms', () => {
  const schema = z.object({ a: z.string().transform(Number) })
  expectTypeOf(values({ schema })).toEqualTypeOf<Flow<Outcome<{ a: number }>>>()
})

test('without a typed schema the value is unknown', () => {
  expectTypeOf(parse('')).toEqualTypeOf<unknown>()
  expectTypeOf(parse('', { schema: { type: 'object' } })).toEqualTypeOf<unknown>()
  expectTypeOf(tryParse('', { tag: 'json' })).toEqualTypeOf<Outcome<unknown>>()
})

test('ok tells the two kinds of outcome apart', () => {
  const outcome = tryParse('', { schema: z.object({ a: z.number() }) })
  if (outcome.ok) expectTypeOf(outcome.value.a).toEqualTypeOf<number>()
  else expectTypeOf(outcome.fault.code).toBeString()
})

test('parse picks the first or the last', () => {
  expectTypeOf(parse('', { pick: 'last', schema: z.object({ a: z.number() }) })).toEqualTypeOf<{
    a: number
  }>()
  // @ts-expect-error a text gives one value
  parse('', { pick: 'each' })
})

test('parse takes no items, values gives outcomes of them', () => {
  // @ts-expect-error a text gives one value
  parse('', { items: '*' })
  const schema = z.object({ a: z.number() })
  expectTypeOf(values({ items: ['a.*', 'b.*'], schema })).toEqualTypeOf<Flow<Outcome<{ a: number }>>>()
})

test('a schema of a type gives that type', () => {
  const read = <T>(raw: string, schema: Schema<T>): T => parse(raw, { schema })
  expectTypeOf(read('{}', z.object({ a: z.number() }))).toEqualTypeOf<{ a: number }>()
  expectTypeOf(read<{ b: string }>('{}', { type: 'object' })).toEqualTypeOf<{ b: string }>()
  expectTypeOf(parse('{}', { schema: { type: 'object' } as Schema })).toEqualTypeOf<unknown>()
})
