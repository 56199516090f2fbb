import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Rules } from '../../src/values/attempt.ts'
import { candidatesIn, endOfBroken, hasQuotedKey, isPayloadFence } from '../../src/values/candidates.ts'
import { valueStage } from '../../src/values/values.ts'

const rules: Rules = {
  check: undefined,
  normalize: [],
  root: 'any',
  scalars: false,
  think: true,
  pick: 'first',
  envelope: 'response',
  partial: false,
  maxRepair: 65_536,
  maxDepth: 512,
  protoKeys: 'remove',
}
const withSchema: Rules = { ...rules, check: (value) => ({ value }) }
const texts = (text: string, by = rules) => candidatesIn(text, by)?.map((candidate) => candidate.text)

describe('candidates', () => {
  test.each([
    [
      'tags, fences and objects',
      'x {"a":1} <json>{"b":2}</json>\n```json\n{"c":3}\n```',
      ['{"a":1}', '{"b":2}', '{"c":3}'],
    ],
    [
      'all fences with JSON',
      'x\n```\n[1]\n```\n```sh\n{"x":0}\n```\n```sh\necho {x}\n```\n~~~JSONC\n{"c":3}',
      ['[1]', '{"x":0}', '{"c":3}'],
    ],
    ['by the last resort, if there is nothing else', "x {'a':1}", ["{'a':1}"]],
    ['all objects', 'x {"a":1} y {"b":2}', ['{"a":1}', '{"b":2}']],
    ['nothing in a think block', '<think>{"a":0}</think> x {"a":1}', ['{"a":1}']],
    ['no key without quotes', 'x {a:1} {"b":2}', ['{"b":2}']],
    ['no part of something broken', 'x {"a":1}},"b":{"c":2}}', []],
    ['nothing in prose', 'just {cmd} words', []],
    ['no tag before prose', 'use <json> tags </json> {"a":1}', ['{"a":1}']],
    ['no bracket inside a string', `x {"a": 'y} z'`, []],
    ['no array without a schema', 'x [1,2] y', []],
  ])('%s', (_name, text, found) => {
    expect(texts(text)).toEqual(found)
  })

  test('a schema tells an object without quotes from code', () => {
    expect(texts('x {a:1} {"b":2}', withSchema)).toEqual(['{a:1}', '{"b":2}'])
    expect(texts('x [1,2] y [{a:1}]', withSchema)).toEqual(['[1,2]', '[{a:1}]'])
  })

  test('an array has the lowest rank where the root must be an object', () => {
    expect(texts('x [{"a":1}] y')).toEqual(['[{"a":1}]'])
    const forObject: Rules = { ...rules, root: 'object' }
    expect(candidatesIn('x [{"a":1}] y', forObject)).toMatchObject([{ text: '[{"a":1}]', rank: 0 }])
  })

  test('a text that begins with a bracket has no other candidate', () => {
    expect(texts('{"a":1} {"b":2}')).toBeUndefined()
    expect(texts('[{"a":} <json>{"b":2}</json>')).toBeUndefined()
    expect(texts('[INFO] x {"a":1}')).toEqual(['{"a":1}'])
  })

  test('say where they are and how they were found', () => {
    expect(candidatesIn('<think>文</think> 字 {"a":1}', rules)).toEqual([
      {
        text: '{"a":1}',
        at: 19,
        changes: [
          { kind: 'dropped a think block', at: 0, before: '<think>文</think> 字 {"a":1}', after: '' },
          { kind: 'took an object from prose', at: 19, before: '{"a":1}', after: '' },
        ],
        rank: 2,
        notes: [],
      },
    ])
    expect(candidatesIn('x\n```json\n {"a":1}\n```', rules)).toMatchObject([{ at: 11 }])
  })

  test('a text full of them gives the first 64', () => {
    expect(texts('x {"a":1}'.repeat(100))).toHaveLength(64)
  })
})

test.each([
  ['{"a":1}', true],
  ['{ \n"a":1}', true],
  ['[{"a":1}]', true],
  ['[ [ {"a":1}]]', true],
  ['{a:1}', false],
  ["{'a':1}", false],
  ['["a"]', false],
  ['[1]', false],
  ['{}', false],
])('the first key of %s is in double quotes: %s', (text, is) => {
  expect(hasQuotedKey(text)).toBe(is)
})

test.each([
  ['json', '', true],
  ['JSON title=x', '', true],
  ['json5\tx', '', true],
  ['jsonc', '', true],
  ['', ' \n{"a":1}', true],
  ['', '\ufeff[1]', true],
  ['', 'words', false],
  ['jsonl', '{"a":1}', false],
  ['js', '{"a":1}', false],
])('a fence labelled %j with %j is a payload: %s', (label, body, is) => {
  expect(isPayloadFence(label, body)).toBe(is)
})

describe('the end of a broken object', () => {
  test.each([
    ['where prose follows', '{"a":"5" b"} is it', 12],
    ['on another line', '{"a":"5" b",\n"c":1}\n\nDone.', 19],
    ['not inside it', '{"a":"5" b","c":{"d":1}}\nDone.', 24],
    ['not before a bracket too many', '{"a":"5" b"}} is it', -1],
    ['the first one, if the other is none', '{"a":"5" b"} is {"c":"6" d"}, or "e"}', 12],
    ['not of what is no object', '["a","5" b"] is it', -1],
    ['not without a key in double quotes', `{'a':"5" b"} is it`, -1],
    ['not of what is read as a whole', '{"a":"5" b"}', -1],
    ['not of what may be cut', '{"a":"b} is it', -1],
    ['not if its last quote is lost', '{"a":"b "c" d} is it', -1],
  ])('%s', (_name, text, end) => {
    expect(endOfBroken(text)).toBe(end)
  })

  test('is looked for at eight places at most', () => {
    expect(endOfBroken(`{"a":"5" b"}\n${'x {y} z\n'.repeat(7)}`)).toBe(12)
    expect(endOfBroken(`{"a":"5" b"}\n${'x {y} z\n'.repeat(8)}`)).toBe(-1)
  })

  test('is looked for in 64 KiB, and in a channel of at most 1 MiB of them', () => {
    const read = (text: string) =>
      drive(valueStage({}), [{ channel: 'stdout', bytes: Buffer.from(text) }]).filter(({ ok }) => ok).length
    const size = (size: number) => `x {"a":"5" b"} ${'y'.repeat(size - 13)}`
    expect([65_536, 65_537].map((bytes) => read(size(bytes)))).toEqual([1, 0])
    expect([18, 19].map((times) => read(`${size(65_000)}\n`.repeat(times)))).toEqual([18, 18])
  })
})
