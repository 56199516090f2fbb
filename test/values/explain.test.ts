import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { explainStage } from '../../src/values/explain.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import type { ValuesOptions } from '../../src/values/values.ts'

const needsA = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }
const strings = { type: 'array', items: { type: 'string' } }

/** A line for each candidate: its place, and its value, the code of its fault, or why it was skipped. */
function explained(text: string, options: ValuesOptions<Schema | undefined>, size: number): string[] {
  const bytes = Buffer.from(text)
  const chunks = []
  for (let at = 0; at < bytes.length; at += size)
    chunks.push({ channel: 'stdout', bytes: bytes.subarray(at, at + size) } as const)
  return drive(explainStage(options), chunks).map((one) => {
    const { kind, from, to } = one.frame
    if ('skipped' in one) return `${kind} ${from}-${to} ${one.skipped}`
    return `${kind} ${from}-${to} ${one.outcome.ok ? JSON.stringify(one.outcome.value) : one.outcome.fault.code}`
  })
}

const rows: [string, ValuesOptions<Schema | undefined>, ...string[]][] = [
  [
    '{"a":1}{b:1} {"c":2}',
    {},
    'object 0-7 {"a":1}',
    'object 7-12 it is not JSON, and its first key has no double quotes',
    'object 13-20 {"c":2}',
  ],
  [
    '<json>{"a":1}</json>{b:1}<json>{"c":2}</json>',
    {},
    'tag 0-20 {"a":1}',
    'object 20-25 it is not JSON, and its first key has no double quotes',
    'tag 25-45 {"c":2}',
  ],
  ['{"a":1}', {}, 'object 0-7 {"a":1}'],
  ['x {"a":1} y', {}, 'object 2-9 {"a":1}'],
  ['', {}, 'text 0-0 EMPTY'],
  [
    'x {b:1} {"a":1} y',
    {},
    'object 2-7 it is not JSON, and its first key has no double quotes',
    'object 8-15 {"a":1}',
  ],
  ['x {b:1} y', {}, 'object 2-7 it is not JSON, and its first key has no double quotes', 'text 0-9 NO_MATCH'],
  ['x {"a":} {"a":1} y', {}, 'object 2-8 it is not JSON, and cannot be repaired', 'object 9-16 {"a":1}'],
  [
    'x {"a":} y {"b":} z',
    {},
    'object 2-8 it is not JSON, and cannot be repaired',
    'object 11-17 it is not JSON, and cannot be repaired',
    'text 0-19 NO_MATCH',
  ],
  [
    '{"a":1} {b:2} {"c":3}',
    {},
    'object 0-7 {"a":1}',
    'object 8-13 it is not JSON, and its first key has no double quotes',
    'object 14-21 {"c":3}',
  ],
  ['x {"a":1}},"b":{"c":2}} y', {}, 'object 2-9 INVALID_JSON'],
  ['x {"a":1}},"b":{"c":2}} y {"d":3}', {}, 'object 2-9 INVALID_JSON', 'object 26-33 {"d":3}'],
  ['"k": {"a":1}', {}, 'object 5-12 it looks like the inside of something broken', 'text 0-12 NO_MATCH'],
  [
    'x "k": {"a":1} {"b":2}',
    {},
    'object 7-14 it looks like the inside of something broken',
    'object 15-22 {"b":2}',
  ],
  [
    '```js\nlet x = {y: 1}\n```\n{"a":1}',
    {},
    'object 14-20 it is not JSON, and its first key has no double quotes',
    'object 25-32 {"a":1}',
  ],
  ['```\nlet x\n```\n{"a":1}', {}, 'object 14-21 {"a":1}'],
  ['```json\n{"a":1}\n```', {}, 'fence 0-19 {"a":1}'],
  [
    'x [1,"a"] {"a":1}',
    { schema: needsA },
    'object 2-9 an array in prose, and no schema passes it',
    'object 10-17 {"a":1}',
  ],
  ['x [1] y: ["s"]', { schema: strings }, 'object 2-5 a citation, an index or a link', 'object 9-14 ["s"]'],
  ['12\n{"a":1}', { lines: true }, 'line 3-10 {"a":1}'],
  ['{"a":1}\nx\n{"a":}', { lines: true }, 'line 0-8 {"a":1}', 'line 10-16 INVALID_JSON'],
  [
    '{"a":1}\n{"a":2}\n{"b":1}',
    { lines: true, where: { a: 1 } },
    'line 0-8 {"a":1}',
    'line 8-16 it does not match where',
  ],
  [
    '<json>{"a":1}</json> {b:1} <json>{"a":}</json>',
    {},
    'tag 0-20 {"a":1}',
    'object 21-26 it is not JSON, and its first key has no double quotes',
    'tag 27-46 INVALID_JSON',
  ],
  ['<out>{"a":1}</out> {"b":1}', { tag: 'out' }, 'tag 0-18 {"a":1}'],
  ['{x} {"a":1}', {}, 'object 4-11 {"a":1}'],
  [
    '{x} {y:1} {"a":1} {z:1}',
    {},
    'object 4-9 it is not JSON, and its first key has no double quotes',
    'object 10-17 {"a":1}',
    'object 18-23 it is not JSON, and its first key has no double quotes',
  ],
  [
    'x {b:1} {"a":1,}',
    { schema: needsA },
    'object 2-7 it is not JSON, and its first key has no double quotes',
    'object 8-16 {"a":1}',
  ],
  [
    "x {'b':1} y",
    { schema: needsA },
    'object 2-9 it is not JSON, and its first key has no double quotes',
    'text 0-11 NO_MATCH',
  ],
  ['12\n{"a":1}', { lines: true, schema: needsA }, 'line 0-3 a scalar on a line', 'line 3-10 {"a":1}'],
]

test('every candidate has its outcome or its reason, in the order of the input', () => {
  for (const size of [Number.POSITIVE_INFINITY, 1]) {
    const found = rows.map(([text, options]) => [text, options, ...explained(text, options, size)])
    expect(found, `in pieces of ${size}`).toEqual(rows)
  }
})
