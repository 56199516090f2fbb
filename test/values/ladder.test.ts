import { describe, expect, test } from 'vitest'
import type { Rules } from '../../src/values/attempt.ts'
import { climb, climbStrictly, type Miss, type Pass } from '../../src/values/ladder.ts'
import { checkOf, type Schema } from '../../src/values/schema/schema.ts'
import { expectLinear } from '../growth.ts'
import { slow } from '../pace.ts'

const base: Rules = {
  check: undefined,
  normalize: [],
  root: 'object',
  scalars: false,
  think: true,
  pick: 'first',
  envelope: 'response',
  partial: false,
  maxRepair: 65_536,
  maxDepth: 512,
  protoKeys: 'remove',
}
const rules = (more: Partial<Rules> & { schema?: Schema } = {}): Rules => {
  const { schema, ...rest } = more
  return { ...base, ...rest, ...(schema && { check: checkOf(schema) }) }
}
const needsA: Schema = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }
const value = (text: string, more?: Parameters<typeof rules>[0]) => {
  const result = climb(text, rules(more))
  return result.ok
    ? { value: result.value, changes: [...new Set(result.changes.map(({ kind }) => kind))] }
    : result.code
}

/** What a text becomes by some rules: its value, changes, notes and unfinished paths; or the fault. */
const outcomes: readonly (readonly [
  string,
  Parameters<typeof rules>[0],
  readonly (readonly [string, string])[],
])[] = [
  [
    'an object',
    {},
    [
      ['{"a":1}', '{"a":1}'],
      ['\ufeff\u0000 \r\n\t{"a":1}\t\u0000\ufeff', '{"a":1}'],
      ['[1]', 'ROOT_NOT_OBJECT: it is an array | strict'],
      ['1', 'ROOT_NOT_OBJECT: it is a number | strict'],
      ['"x"', 'ROOT_NOT_OBJECT: it is a string | strict'],
      ['null', 'ROOT_NOT_OBJECT: it is null | strict'],
      ['{"a":1,}', '{"a":1} | 6 dropped a comma'],
      [' {"a":1,}', '{"a":1} | 7 dropped a comma'],
      ['\ufeff{"a":1,}', '{"a":1} | 7 dropped a comma'],
      ['{"a":', 'TRUNCATED at 5: expected a value'],
      ['  {"a":', 'TRUNCATED at 7: expected a value'],
      [' {"a":} ', 'INVALID_JSON at 6: at "}", expected a value'],
      ['', 'INVALID_JSON: it is blank'],
      ['  ', 'INVALID_JSON: it is blank'],
      ['\t', 'INVALID_JSON: it is blank'],
      ['words', 'INVALID_JSON: it starts with "words"'],
      [' words', 'INVALID_JSON: it starts with "words"'],
      ['{"a":1} and more', '{"a":1} | 7 took an object from prose'],
      ['  {"a":1} and more', '{"a":1} | 9 took an object from prose'],
      ['{"a":1,} and more', '{"a":1} | 8 took an object from prose; 6 dropped a comma'],
      [
        '{a:1} and more',
        'INVALID_JSON at 1: at "a:1} and more", expected a key in double quotes or a closing brace',
      ],
      ['{"a":1},"b":2}', 'INVALID_JSON at 7: at ","b":2}", expected the end of the value'],
      ['{"a":\'x} y\'}', '{"a":"x} y"} | 5 replaced a quote; 10 replaced a quote'],
      ['\u001b[1m{"a":1}', '{"a":1} | 0 dropped an escape sequence'],
      [' \u001b[1m{"a":1,}', '{"a":1} | 1 dropped an escape sequence; 11 dropped a comma'],
      [' {\u001b[1m"a":1,}', '{"a":1} | 2 dropped an escape sequence; 11 dropped a comma'],
      [' {\u001b[1m"a":}', 'INVALID_JSON at 10: at "}", expected a value'],
      ['x {"a":1}', '{"a":1} | 2 took an object from prose'],
      ['x {"a":1,} y', '{"a":1} | 2 took an object from prose; 8 dropped a comma'],
      ['x {"a":} y', 'INVALID_JSON at 7: at "}", expected a value'],
      ['x {"a":1} {"a":2}', '{"a":1} | 2 took an object from prose | AMBIGUOUS at 2,10'],
      ['文 {"a":1} {"a":2}', '{"a":1} | 2 took an object from prose | AMBIGUOUS at 2,10'],
      ['x {"a":} {"a":2}', '{"a":2} | 9 took an object from prose'],
      ['x {"a":1} {"a":}', '{"a":1} | 2 took an object from prose'],
      ['[1,]', 'ROOT_NOT_OBJECT: it is an array | repaired'],
      ['[{"a":1},]', 'ROOT_NOT_OBJECT: it is an array | repaired'],
      ['x [1]', 'INVALID_JSON: it starts with "x [1]"'],
      ['x [{"a":1}]', 'ROOT_NOT_OBJECT: it is an array | repaired'],
      ['12', 'ROOT_NOT_OBJECT: it is a number | strict'],
      ['None', 'INVALID_JSON: it starts with "None"'],
      ['\\"a\\"', 'INVALID_JSON: it starts with "\\"a\\""'],
      ['{"response":"{\\"a\\":1}"}', '{"response":"{\\"a\\":1}"}'],
      ['{"a":1}\n{"b":2}', '{"a":1} | 0 took an object from prose | AMBIGUOUS at 0,8'],
      ['{"a":1}{"b":2} x', '{"a":1} | 0 took an object from prose | AMBIGUOUS at 0,7'],
      ['{"a":1} and {x}', '{"a":1} | 7 took an object from prose'],
      ['[INFO] x', 'INVALID_JSON at 1: at "INFO] x", expected a value or a closing bracket'],
      ['{cmd} x', 'INVALID_JSON at 1: at "cmd} x", expected a key in double quotes or a closing brace'],
      ['{"a" 1}{"b":2}', '{"a":1} | 0 took an object from prose; 4 added a missing colon | AMBIGUOUS at 0,7'],
      ['x <json>{"a":1,}</json> <json>{"a":}</json>', '{"a":1} | 2 took a tag block; 14 dropped a comma'],
      ['{"a":1 "b":x}', 'INVALID_JSON at 7: at ""b":x}", expected a comma or a closing brace'],
      ['{"a":x, y: z}', 'INVALID_JSON at 5: at "x, y: z}", expected a value'],
      ['{"k":1} "m": 2}', 'INVALID_JSON at 7: at " "m": 2}", expected the end of the value'],
    ],
  ],
  [
    'any root',
    { root: 'any' },
    [
      ['[1]', '[1]'],
      ['1', '1'],
      ['"x"', '"x"'],
      ['None', 'null | 0 spelled a literal as JSON'],
      ['True', 'true | 0 spelled a literal as JSON'],
      ['+5', '5 | 0 spelled a number as JSON'],
      ['.5', '0.5 | 0 spelled a number as JSON'],
      ["'x'", '"x" | 0 replaced a quote; 2 replaced a quote'],
      ['“x”', '"x" | 0 replaced a quote; 2 replaced a quote'],
      ['`x`', '"x" | 0 replaced a quote; 2 replaced a quote'],
      ['\\"x\\"', '"x" | 0 removed one level of escapes'],
      ['"a" + "b"', '"ab" | 2 joined two strings'],
      ['word', 'INVALID_JSON: it starts with "word"'],
      ['-Infinity', 'null | 0 spelled a literal as JSON'],
      ['"a\nb"', '"a\\nb" | 2 escaped a control character'],
      ['"a"b"', '"a\\"b" | 2 escaped a quote'],
      ['x', 'INVALID_JSON: it starts with "x"'],
      ['[1,]', '[1] | 2 dropped a comma'],
      [' None ', 'null | 1 spelled a literal as JSON'],
      ['12 34', 'INVALID_JSON: it starts with "12 34"'],
      ['"a", "b"', 'INVALID_JSON: it starts with ""a", "b""'],
      ['[1] x', 'INVALID_JSON at 4: at "x", expected the end of the input'],
      ['[1] [2]', 'INVALID_JSON at 4: at "[2]", expected the end of the input'],
      ['[{"a":1}] x', '[{"a":1}] | 9 took an object from prose'],
      ['[{a:1}] x', 'INVALID_JSON at 2: at "a:1}] x", expected a key in double quotes or a closing brace'],
      ['{"a":1} x', '{"a":1} | 7 took an object from prose'],
      ['', 'INVALID_JSON: it is blank'],
    ],
  ],
  [
    'any root, cut',
    { root: 'any', partial: true },
    [
      ['\ufeff{"a":1}', '{"a":1}'],
      ['\ufeff{"a":1}\ufeff', '{"a":1}'],
      ['{"a":1', '{"a":1} | 6 closed what the input left open | the root, /a'],
      ['{"a":"x', '{"a":"x"} | 7 closed what the input left open | the root, /a'],
      ['{"a":"x ', '{"a":"x "} | 8 closed what the input left open | the root, /a'],
      ['[1,2', '[1,2] | 4 closed what the input left open | the root, /1'],
      ['"x y ', '"x y " | 5 closed what the input left open | the root'],
      ['{a:1', '{"a":1} | 1 quoted a key; 4 closed what the input left open | the root, /a'],
      ['{a:"x', '{"a":"x"} | 1 quoted a key; 5 closed what the input left open | the root, /a'],
      ['{"a":1,', '{"a":1} | 7 closed what the input left open | the root'],
      ['{"a":tru', '{} | 8 closed what the input left open | the root, /a'],
      ['{"a":1}', '{"a":1}'],
      ['{"a":1,}', '{"a":1} | 6 dropped a comma'],
      ['{', '{} | 1 closed what the input left open | the root'],
      ['[', '[] | 1 closed what the input left open | the root'],
      [' [1 ', '[1] | 4 closed what the input left open | the root'],
      [
        '{"a":[1,{"b":"c',
        '{"a":[1,{"b":"c"}]} | 15 closed what the input left open | the root, /a, /a/1, /a/1/b',
      ],
      ['x {"a":1', '{"a":1} | 2 took an object from prose; 8 closed what the input left open | the root, /a'],
      ['{"a":1} x', '{"a":1} | 7 took an object from prose'],
      ['None', 'null | 0 spelled a literal as JSON'],
      ['{"a":1,,', 'INVALID_JSON at 7: at ",", expected a key in double quotes'],
      ['{"a":}', 'INVALID_JSON at 5: at "}", expected a value'],
      ['<json>{"a":1', '{"a":1} | 0 took a tag block; 12 closed what the input left open | the root, /a'],
      [
        '{\u001b[1m"a":1',
        '{"a":1} | 1 dropped an escape sequence; 10 closed what the input left open | the root, /a',
      ],
      [
        '{"a":"b\nc',
        '{"a":"b\\nc"} | 7 escaped a control character; 9 closed what the input left open | the root, /a',
      ],
      ['[1,2}', '[1,2] | 4 replaced a bracket'],
    ],
  ],
  [
    'a schema',
    { root: 'any', schema: needsA },
    [
      ['{"a":1}', '{"a":1}'],
      [
        '{"b":1}',
        'SCHEMA_FAILED: the root must have required property \'a\', found an object with "b" | strict',
      ],
      ['{"a":"x"}', 'SCHEMA_FAILED: /a must be number, found "x" | strict'],
      ['{"a":"x","b":1,}', 'SCHEMA_FAILED: /a must be number, found "x" | repaired'],
      ['[1]', 'SCHEMA_FAILED: the root must be object, found an array of 1 | strict'],
      ['x {"b":1} {"a":1}', '{"a":1} | 10 took an object from prose'],
      ['x {"a":1} {"a":2} {"b":3}', '{"a":1} | 2 took an object from prose | AMBIGUOUS at 2,10'],
      ['{"response":"{\\"a\\":1}"}', '{"a":1} | 0 took the text of an envelope'],
      ['{"response":"{\\"a\\":1,}"}', '{"a":1} | 0 took the text of an envelope; 21 dropped a comma'],
      ['{"response":{"a":1}}', '{"a":1} | 0 took the text of an envelope'],
      [
        '{"response":{"b":1}}',
        'SCHEMA_FAILED at 12: in the field "response": the root must have required property \'a\', found an object with "b" | strict',
      ],
      [
        '{"response":"x"}',
        'SCHEMA_FAILED: the root must have required property \'a\', found an object with "response" | strict',
      ],
      [
        '{"response":null}',
        'SCHEMA_FAILED: the root must have required property \'a\', found an object with "response" | strict',
      ],
      [
        '{"response":[{"a":1}]}',
        'SCHEMA_FAILED at 12: in the field "response": the root must be object, found an array of 1 | strict',
      ],
      [
        '{"response":"x {\\"a\\":1} y"}',
        '{"a":1} | 0 took the text of an envelope; 15 took an object from prose',
      ],
      ['{"response":" {\\"a\\":1}"}', '{"a":1} | 0 took the text of an envelope'],
      [
        '{"response":"[1]"}',
        'SCHEMA_FAILED at 12: in the field "response": the root must be object, found an array of 1 | strict',
      ],
      ['{response:{"a":1}}', '{"a":1} | 1 quoted a key; 0 took the text of an envelope'],
      [
        '{"response":"{\\"response\\":{\\"a\\":1}}"}',
        '{"a":1} | 0 took the text of an envelope; 13 took the text of an envelope',
      ],
      ['{a:1} x', '{"a":1} | 5 took an object from prose; 1 quoted a key'],
      [
        '{b:1} x',
        'SCHEMA_FAILED: the root must have required property \'a\', found an object with "b" | repaired',
      ],
      ['x {a:1} y', '{"a":1} | 2 took an object from prose; 3 quoted a key'],
      ['[{"a":1}] x', 'SCHEMA_FAILED: the root must be object, found an array of 1 | repaired'],
      [
        '{"response":1}',
        'SCHEMA_FAILED: the root must have required property \'a\', found an object with "response" | strict',
      ],
      [
        '{"response":"{\\"b\\":1}"}',
        'SCHEMA_FAILED at 12: in the field "response": the root must have required property \'a\', found an object with "b" | strict',
      ],
      ['[{"response":{"a":1}}]', 'SCHEMA_FAILED: the root must be object, found an array of 1 | strict'],
      ['{"response":"{\\"a\\":1,\\"a\\":2}"}', '{"a":2} | 0 took the text of an envelope | DUPLICATE_KEY'],
    ],
  ],
  [
    'the last candidate',
    { root: 'any', schema: needsA, pick: 'last' },
    [
      ['x {"a":1} {"a":2}', '{"a":2} | 10 took an object from prose | AMBIGUOUS at 2,10'],
      ['x {"a":1} {"b":2}', '{"a":1} | 2 took an object from prose'],
      ['{"a":1} {"a":2}', '{"a":2} | 8 took an object from prose | AMBIGUOUS at 0,8'],
      ['{"a":1} {"b":2}', '{"a":1} | 0 took an object from prose'],
      ['x {"a":1} {"a":}', '{"a":1} | 2 took an object from prose'],
      ['<json>{"a":1}</json> <json>{"a":}</json>', 'INVALID_JSON at 32: at "}", expected a value'],
      ['x {"b":1} {"a":2}', '{"a":2} | 10 took an object from prose'],
      ['x {"a":1}', '{"a":1} | 2 took an object from prose'],
      ['<json>{"a":1}</json> <json>{"a":2}</json>', '{"a":2} | 21 took a tag block | AMBIGUOUS at 6,27'],
    ],
  ],
  [
    'a small maxRepair',
    { root: 'any', maxRepair: 10 },
    [
      ['{"a":123,}', '{"a":123} | 8 dropped a comma'],
      ['{"a":1234,}', 'INVALID_JSON at 10: at "}", expected a key in double quotes | REPAIR_SKIPPED'],
      ['{"a":"x\ny"}', '{"a":"x\\ny"} | 7 escaped a control character'],
      [
        '{"a":"x\n",}',
        'INVALID_JSON at 7: at "\\u000a",}", expected no control character in a string | REPAIR_SKIPPED',
      ],
      ['{"a":"xxxx"', 'TRUNCATED at 11: expected a comma or a closing brace | REPAIR_SKIPPED'],
      ['["a\nb","c"]', '["a\\nb","c"] | 3 escaped a control character'],
    ],
  ],
  [
    'a small maxRepair, cut',
    { root: 'any', maxRepair: 10, partial: true },
    [
      [
        '{"a":12345,"a":[1',
        '{"a":[1]} | 17 closed what the input left open | REPAIR_SKIPPED, DUPLICATE_KEY | the root, /a, /a/0',
      ],
      [
        '{"__proto__":12345,"a":[1',
        '{"a":[1]} | 25 closed what the input left open | REPAIR_SKIPPED, PROTO_KEY | the root, /a, /a/0',
      ],
      ['{"a":123,', '{"a":123} | 9 closed what the input left open | the root'],
      [
        '{"a":12345,"b":[1',
        '{"a":12345,"b":[1]} | 17 closed what the input left open | REPAIR_SKIPPED | the root, /b, /b/0',
      ],
      [
        '{a:12345,b:[1',
        'INVALID_JSON at 1: at "a:12345,b:[1", expected a key in double quotes or a closing brace | REPAIR_SKIPPED',
      ],
      [
        '{"a":"x\ny","b":"z',
        'INVALID_JSON at 7: at "\\u000ay","b":"z", expected no control character in a string | REPAIR_SKIPPED',
      ],
    ],
  ],
  [
    'two levels',
    { root: 'any', maxDepth: 2 },
    [
      ['{"a:[[1]],"b":2}', 'MAX_DEPTH: more than 2 levels'],
      ['[[1]]', '[[1]]'],
      ['[[[1]]]', 'MAX_DEPTH: more than 2 levels'],
      ['[[[1', 'MAX_DEPTH: more than 2 levels'],
      ['[[1', 'TRUNCATED at 3: expected a comma or a closing bracket'],
      ['{a:[[1]]}', 'MAX_DEPTH: more than 2 levels'],
      ['{"a":[[1]]}', 'MAX_DEPTH: more than 2 levels'],
      ['x {"a":[1]}', '{"a":[1]} | 2 took an object from prose'],
      ['x {"a":[[1]]}', 'MAX_DEPTH: more than 2 levels'],
      ['[\u001b[0m[\u001b[0m1]]', '[[1]] | 1 dropped an escape sequence; 6 dropped an escape sequence'],
      ['[[\u001b[0m[1]]]', 'MAX_DEPTH: more than 2 levels'],
      ['{a:[{}]}', 'MAX_DEPTH: more than 2 levels'],
      ['{"a":"[[["}', '{"a":"[[["}'],
      ['{"response":"[[[1]]]"}', '{"response":"[[[1]]]"}'],
      ['{"a":[1]} {"b":[[1]]}', 'MAX_DEPTH: more than 2 levels'],
    ],
  ],
  [
    'two levels and a schema',
    { root: 'any', maxDepth: 2, schema: needsA },
    [
      [
        '{"response":"[[[1]]]"}',
        'SCHEMA_FAILED: the root must have required property \'a\', found an object with "response" | strict',
      ],
      ['{"response":[[1]]}', 'MAX_DEPTH: more than 2 levels'],
      ['{"response":"{\\"a\\":1}"}', '{"a":1} | 0 took the text of an envelope'],
    ],
  ],
]

test.each(outcomes)('what texts become: %s', (_, more, rows) => {
  for (const [text, outcome] of rows)
    expect(told(climb(text, rules(more))), JSON.stringify(text)).toBe(outcome)
})

test('eight envelopes in each other are opened, and not nine', () => {
  let text = '{"a":1}'
  let object = '{"a":1}'
  for (let level = 0; level < 8; level++) {
    text = JSON.stringify({ response: text })
    object = `{"response":${object}}`
  }
  expect(value(text, { schema: needsA })).toMatchObject({ value: { a: 1 } })
  expect(value(object, { schema: needsA })).toMatchObject({ value: { a: 1 } })
  expect(value(JSON.stringify({ response: text }), { schema: needsA })).toBe('SCHEMA_FAILED')
  expect(value(`{"response":${object}}`, { schema: needsA })).toBe('SCHEMA_FAILED')
})

test('an envelope holds a text or an object', () => {
  expect(value('{"response":5}', { schema: { type: 'number' }, root: 'any' })).toBe('SCHEMA_FAILED')
  expect(value('{"response":[5]}', { schema: { type: 'array' }, root: 'any' })).toMatchObject({ value: [5] })
})

test('null has no envelope', () => {
  expect(value('null', { schema: needsA, root: 'any' })).toBe('SCHEMA_FAILED')
})

test('a text that must be JSON as it is gets no repair', () => {
  expect(told(climbStrictly('{"a":1}', rules()))).toBe('{"a":1}')
  expect(told(climbStrictly('\ufeff{"a":1}', rules()))).toBe('{"a":1}')
  expect(told(climbStrictly('{"a":1,}', rules()))).toBe(
    'INVALID_JSON at 7: at "}", expected a key in double quotes',
  )
  expect(told(climbStrictly('[1]', rules()))).toBe('ROOT_NOT_OBJECT: it is an array | strict')
})

test('a scalar is mended up to 16 KiB', () => {
  const scalar = (size: number) => `'${'x'.repeat(size - 2)}'`
  expect(value(scalar(16_384), { root: 'any' })).toMatchObject({ value: 'x'.repeat(16_382) })
  expect(value(scalar(16_385), { root: 'any' })).toBe('INVALID_JSON')
})

test('says what is there, and what JSON allows there', () => {
  const found = (text: string) => {
    const result = climb(text, rules())
    return result.ok ? result.changes : result.broken
  }
  expect(found('  some words and more')).toEqual({
    found: 'some words and more',
    expected: 'an object or an array',
  })
  expect(found('{"a":1,"b":tru,"c":"a longer text"}')).toEqual({
    found: ',"c":"a longer text"',
    expected: 'true, false or null',
  })
  expect(found('{"a":1} and more')).toEqual([
    { kind: 'took an object from prose', at: 7, before: ' and more', after: '' },
  ])
})

function told(result: Pass | Miss): string {
  const notes = result.notes.map(({ code, places }) => (places ? `${code} at ${places}` : code)).join(', ')
  if (!result.ok) {
    const { code, at, detail, strict, repaired } = result
    const what = `${code}${at === undefined ? '' : ` at ${at}`}: ${detail}`
    return [what, strict && 'strict', repaired && 'repaired', notes].filter(Boolean).join(' | ')
  }
  const changes = result.changes.map(({ at, kind }) => `${at} ${kind}`).join('; ')
  const unfinished = result.incomplete?.map((path) => path || 'the root').join(', ')
  return [JSON.stringify(result.value), changes, notes, unfinished].filter(Boolean).join(' | ')
}

describe('the rungs', () => {
  test('takes clean JSON as it is, with blanks and a BOM around it', () => {
    expect(value('{"a":1}')).toEqual({ value: { a: 1 }, changes: [] })
    expect(value('\ufeff \n{"a":1}\u0000\ufeff\r\n')).toEqual({ value: { a: 1 }, changes: [] })
  })

  test.each([
    ['envelope', '{"session":"x","response":"{\\"a\\":1}"}', ['took the text of an envelope']],
    [
      'envelope with a fence',
      '{"response":"Done:\\n```json\\n{\\"a\\":1}\\n```"}',
      ['took the text of an envelope', 'took a fence body'],
    ],
    ['think', '<think>{"a":0}</think>\n{"a":1}', ['dropped a think block', 'took an object from prose']],
    [
      'think twice',
      '<thinking>x</thinking> <think>y</think>{"a":1}',
      ['dropped a think block', 'took an object from prose'],
    ],
    ['fence', 'Here:\n```json\n{"a":1}\n```\nBye', ['took a fence body']],
    ['fence that is not closed', '~~~\n{"a":1}', ['took a fence body']],
    [
      'fence after a fence of another kind',
      '```sh\nx {"a":0}\n```\n```JSON5\n{"a":1}\n```',
      ['took a fence body'],
    ],
    ['first object', 'see {cmd}: {"a":1} and so on', ['took an object from prose']],
    ['object before prose', '{"a":1} and so on', ['took an object from prose']],
    ['escape sequences', '{"a":\u001b[32m1\u001b[0m}', ['dropped an escape sequence']],
    ['control characters', '{"a":1,"b":"x\ny\tz"}', ['escaped a control character']],
    ['fence marks', '{"a":1,\n```json\n"b":2}', ['dropped a fence mark']],
    ['mends', '{a:1,}', ['quoted a key', 'dropped a comma']],
    [
      'several at once',
      'x {"a":1, "b":"p\nq",} y',
      ['took an object from prose', 'escaped a control character', 'dropped a comma'],
    ],
  ])('%s', (_name, text, changes) => {
    const made = value(text, { schema: needsA })
    expect(made).toMatchObject({ value: { a: 1 }, changes })
  })

  test('keeps think tags and fences inside strings', () => {
    const text = '{"a":1,"md":"\n<think>x</think>\n```json\n{}\n```\n",}'
    expect(value(text)).toMatchObject({ value: { a: 1, md: '\n<think>x</think>\n```json\n{}\n```\n' } })
  })

  test('does not look inside a document that is JSON but does not pass', () => {
    expect(value('[{"a":1}]')).toBe('ROOT_NOT_OBJECT')
    expect(value('{"b":{"a":1}}', { schema: needsA })).toBe('SCHEMA_FAILED')
    expect(value('{"b":"```json\\n{\\"a\\":1}\\n```"}', { schema: needsA })).toBe('SCHEMA_FAILED')
    expect(value('[{"a":1},]')).toBe('ROOT_NOT_OBJECT')
    expect(value('[{"a":2}] {"a":1}', { schema: needsA, root: 'any' })).toBe('SCHEMA_FAILED')
    expect(value('{"a":1}}')).toEqual({ value: { a: 1 }, changes: ['dropped a brace'] })
    expect(value('{"b":{"a":1}},"c":2}', { schema: needsA })).toBe('INVALID_JSON')
    expect(value('[{"a":1}]', { root: 'any' })).toEqual({ value: [{ a: 1 }], changes: [] })
  })

  test('carries the errors of the payload in an envelope', () => {
    const result = climb('{"response":"{\\"a\\":\\"x\\"}"}', rules({ schema: needsA }))
    expect(result).toMatchObject({
      ok: false,
      code: 'SCHEMA_FAILED',
      errors: [{ path: '/a', rule: 'type' }],
    })
  })
})

describe('the edges of the rungs', () => {
  test.each([
    ['an indent of three', '   ```\n{"a":1}\n   ```', 1],
    ['an indent of four', '    ```\n[1]\n    ```', undefined],
    ['more marks at the end', '```\n{"a":1}\n`````', 1],
    ['marks of the other kind', '```\n{"a":1}\n~~~\n```', 1],
    ['blanks behind the closer', '```\n{"a":1}\n``` \t\nx', 1],
    ['a backtick in the label of tildes', '~~~json `\n{"a":1}\n~~~', 1],
    ['a label and more', '``` JSONC x=1\n{"a":1}\n```', 1],
    ['quotation marks before its lines', '> ```json\n> {"a":\n> 1}\n> ```', 1],
    ['an array in it', 'x {"a":1}\n```\n[1]\n```', 1],
    ['a value before it', '{"a":1,"b":"\n```json\n{\\"a\\":2}\n```"}', 1],
  ])('a fence with %s', (_name, text, a) => {
    const result = climb(text, rules({ schema: needsA }))
    expect(result.ok ? (result.value as { a: number }).a : undefined).toBe(a)
  })

  test.each([' ', '\n', '\r', '\t', '\ufeff'])(
    'an object in prose may have %j before its first key',
    (blank) => {
      expect(value(`see {${blank}"a":1} and so on`)).toMatchObject({ value: { a: 1 } })
      // A byte order mark is none between the brackets of an array.
      if (blank !== '\ufeff')
        expect(value(`see [${blank}{"a":1}] and so on`, { root: 'any' })).toMatchObject({ value: [{ a: 1 }] })
    },
  )

  test('an escaped quote in prose does not open a string', () => {
    expect(value('it said \\" here: {"a":1} ok')).toMatchObject({ value: { a: 1 } })
    expect(value('C:\\{"a":1} ok')).toMatchObject({ value: { a: 1 } })
  })

  test.each([
    ['<think>{"a":0}</think>{"a":1}', 1],
    ['\t <think>{"a":0}</think>{"a":1}', 1],
    ['x\r\n<think>{"a":0}</think>{"a":1}', 1],
    ['\ufeff<think>{"a":0}</think>{"a":1}', 1],
    ['x <think>{"a":0}</think>{"a":1}', 1],
    [`${' '.repeat(1024)}<think>{"a":0}</think>{"a":1}`, 1],
    ['<thinkx>{"a":0}</thinkx>{"a":1}', 0],
    ['<think>{"a":0}</thinking></think>{"a":1}', 1],
    ['<thinking>{"a":0}</think></thinking>{"a":1}', 1],
  ])('a think block hides what is in it, wherever it opens: %j', (text, a) => {
    expect(value(text)).toMatchObject({ value: { a } })
  })

  test('what failed says how it begins, or that it is blank', () => {
    const detail = (text: string, more = {}) => {
      const result = climb(text, rules(more))
      return result.ok ? undefined : result.detail
    }
    expect(detail('words')).toBe('it starts with "words"')
    expect(detail('')).toBe('it is blank')
    expect(detail(`${'['.repeat(600)}`)).toBe('more than 512 levels')
    expect(detail('null')).toBe('it is null')
    expect(detail('[1]')).toBe('it is an array')
    expect(detail('1')).toBe('it is a number')
    expect(detail('{}', { schema: needsA })).toBe(
      "the root must have required property 'a', found an empty object",
    )
    const two: Schema = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } }
    expect(detail('{"a":"x","b":"y"}', { schema: two })).toMatch(/^\/a must be number.* \(and 1 more\)$/)
  })
})

describe('limits', () => {
  // More than is parsed before the depth is known.
  const great = slow ? 1e6 : 40_000
  test.each([
    ['closed', '['.repeat(great) + ']'.repeat(great)],
    ['open', '['.repeat(great)],
    ['objects', `${'{"a":'.repeat(great)}1${'}'.repeat(great)}`],
    ['in an envelope', JSON.stringify({ response: '['.repeat(great) + ']'.repeat(great) })],
  ])('survives a great depth: %s', (name, text) => {
    const result = climb(text, rules({ root: 'any', schema: { required: ['a'] } }))
    expect(result.ok ? 'ok' : result.code).toBe(name === 'in an envelope' ? 'SCHEMA_FAILED' : 'MAX_DEPTH')
  })

  test('counts depth, not brackets', () => {
    const flat = `[${'[],'.repeat(2000)}"${'['.repeat(2000)}"]`
    expect(climb(flat, rules({ root: 'any' })).ok).toBe(true)
    const deep = (levels: number) =>
      climb('['.repeat(levels) + ']'.repeat(levels), rules({ root: 'any', maxDepth: 3 })).ok
    expect([deep(3), deep(4)]).toEqual([true, false])
  })

  const hostile = [
    '{',
    '"',
    '<json>',
    '`',
    '```\n',
    '{"',
    '{"a":',
    '<think>',
    '<think></think>',
    '{"a":"',
    "{'a':'",
    '{"a":1}',
    '\\"',
    '[{',
    '~~~',
    '"\n',
    '/*',
    '“',
  ]
  test.each([
    ['', { partial: true, schema: needsA }],
    ['{"a":', { partial: true }],
    ['{"a":"', { partial: true }],
  ])('needs linear time for anything again and again behind %j', async (before, options) => {
    for (const piece of hostile) {
      await expectLinear(piece, (size) => {
        const text = before + piece.repeat(size / piece.length)
        return () => {
          // The last short text that is not JSON is remembered: no run may gain by the one before.
          climb('[x', rules({}))
          return climb(text, rules(options))
        }
      })
    }
  })
})

describe('keys that reach for a prototype', () => {
  const texts = [
    ['as is', '{"a":1,"__proto__":{"polluted":1}}'],
    ['escaped', '{"a":1,"\\u005f_proto__":{"polluted":1}}'],
    ['nested', '{"a":1,"b":[{"__proto__":{"polluted":1}}]}'],
    ['constructor', '{"a":1,"constructor":{"prototype":{"polluted":1}}}'],
    ['in an envelope', JSON.stringify({ response: '{"a":1,"__proto__":{"polluted":1}}' })],
    ['repaired', '{a:1,__proto__:{polluted:1},}'],
    ['cut', '{"a":1,"__proto__":{"polluted":1},"c":"x'],
  ] as const
  test.each(texts)('are removed: %s', (_name, text) => {
    const result = climb(text, rules({ schema: needsA, partial: true }))
    expect(result).toMatchObject({ ok: true, value: { a: 1 }, notes: [{ code: 'PROTO_KEY' }] })
    expect(JSON.stringify(result.value)).not.toContain('polluted')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test.each(texts)('fail the payload if wanted: %s', (_name, text) => {
    const result = climb(text, rules({ schema: needsA, partial: true, protoKeys: 'error' }))
    expect(result.ok ? 'ok' : result.code).toBe(text.includes('response') ? 'SCHEMA_FAILED' : 'PROTO_KEY')
  })

  test.each(texts)('are kept as own properties if wanted: %s', (_name, text) => {
    const result = climb(text, rules({ schema: needsA, partial: true, protoKeys: 'keep' }))
    expect(result.ok && Object.getPrototypeOf(result.value)).toBe(Object.prototype)
    expect(JSON.stringify(result.ok && result.value)).toContain('polluted')
    expect((result.ok ? (result.value as { polluted?: number }) : {}).polluted).toBeUndefined()
  })
})

describe('normalizers', () => {
  test('run in order, before the schema', () => {
    const normalize = [(v: { A: number }) => ({ a: v.A }), (v: { a: number }) => ({ a: v.a + 1 })]
    expect(value('{"A":1}', { normalize, schema: needsA })).toEqual({ value: { a: 2 }, changes: [] })
  })

  test('fail their rung only', () => {
    const normalize = [
      (v: { a?: number }) => {
        if (v.a === undefined) throw new Error('no a')
        return v
      },
    ]
    expect(value('{"response":"{\\"a\\":1}"}', { normalize })).toMatchObject({ value: { a: 1 } })
    const failed = climb('{"b":1}', rules({ normalize }))
    expect(failed).toMatchObject({
      ok: false,
      code: 'NORMALIZE_FAILED',
      detail: 'normalizer 1: no a',
      value: { b: 1 },
    })
  })

  test('must answer at once', () => {
    expect(value('{"a":1}', { normalize: [async (v: unknown) => v] })).toBe('NORMALIZE_FAILED')
  })
})

test.each(['{a:1,} ', '{"a":1,} ', '```\n{}\n```\n'])('a text full of %j stays cheap', async (piece) => {
  // The scanner cuts them all, some are tried.
  await expectLinear(piece, (size) => {
    const text = `x ${piece.repeat(size / piece.length)}`
    return () => climb(text, rules())
  })
})
