import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { codesOf, run, texts } from '../engines/run.ts'
import { brief, outcomes } from '../values/chunked.ts'

const T = '```'
const only = (text: string | Uint8Array, options: ValuesOptions<Schema | undefined> = {}) => {
  const all = outcomes(text, options)
  expect(all).toHaveLength(1)
  return all[0]!
}
const codes = (text: string | Uint8Array, options: ValuesOptions<Schema | undefined> = {}) =>
  only(text, options).notes.map((note) => note.code)

/** The same JSON on every way into a value. */
const paths: Record<string, readonly [(json: string) => string, ValuesOptions<Schema | undefined>]> = {
  'the whole input': [(json) => json, {}],
  'a tag block': [(json) => `a <json>${json}</json> b`, { tag: 'json' }],
  'a fence': [(json) => `a\n${T}json\n${json}\n${T}\nb`, {}],
  prose: [(json) => `a ${json} b`, {}],
  'an envelope': [(json) => JSON.stringify({ response: json }), { schema: { required: ['a'] } }],
  'a repair': [(json) => `${json.slice(0, -1)},}`, {}],
  'a cut': [(json) => json.slice(0, -1), { partial: true }],
}

test.for(Object.entries(paths))(
  'numbers over 2^53 and 1e400 are flagged PRECISION_LOSS, -0 survives: in %s',
  ([, [dress, options]]) => {
    // There is no option for lossless number text: the log still has the digits.
    for (const number of ['12345678901234567890', '9007199254740993', '1e400', '-1e400', '1e-400'])
      expect(codes(dress(`{"a":${number},"z":0}`), options)).toContain('PRECISION_LOSS')
    for (const number of ['9007199254740991', '1e21', '-0', '0.1', '1E5'])
      expect(codes(dress(`{"a":${number},"z":0}`), options)).not.toContain('PRECISION_LOSS')
    const outcome = only(dress('{"a":-0,"z":0}'), options)
    expect(outcome.ok && Object.is((outcome.value as { a: number }).a, -0)).toBe(true)
  },
)

test.for(Object.entries(paths))(
  'of duplicate keys the last wins, with DUPLICATE_KEY: in %s',
  ([, [dress, options]]) => {
    const outcome = only(dress('{"a":1,"b":{"c":1,"\\u0063":2},"a":3,"z":0}'), options)
    expect(outcome).toMatchObject({ ok: true, value: { a: 3, b: { c: 2 } } })
    expect(outcome.notes.map((note) => note.code)).toContain('DUPLICATE_KEY')
  },
)
test('in lines and in engine records the last wins, too', () => {
  expect(brief('{"a":1,"a":2}\n', { lines: true })).toEqual([{ a: 2 }])
  const stdout =
    '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"no","text":"yes"}}\n'
  expect(JSON.stringify(run(codex, { stdout }))).toContain('"text":"yes"')
})

describe('keys that reach for a prototype never change one', () => {
  const spellings: Record<string, string> = {
    plain: '{"__proto__":{"polluted":1},"a":1}',
    escaped: '{"\\u005f_proto__":{"polluted":1},"a":1}',
    'escaped in the middle': '{"__pr\\u006fto__":{"polluted":1},"a":1}',
    'escaped in capitals': '{"__proto\\u005F\\u005F":{"polluted":1},"a":1}',
    nested: '{"a":1,"b":{"c":{"__proto__":{"polluted":1}}}}',
    'in an array': '{"a":1,"b":[[{"__proto__":{"polluted":1}}]]}',
    'constructor.prototype': '{"constructor":{"prototype":{"polluted":1}},"a":1}',
    'escaped constructor': '{"c\\u006fnstructor":{"prot\\u006ftype":{"polluted":1}},"a":1}',
    twice: '{"__proto__":1,"__proto__":{"polluted":1},"a":1}',
    'within itself': '{"__proto__":{"__proto__":{"polluted":1}},"a":1}',
  }
  const holds = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    (Object.hasOwn(value, '__proto__') ||
      (Object.hasOwn((value as { constructor: object }).constructor, 'prototype') ===
        Object.hasOwn(value, 'constructor') &&
        Object.hasOwn(value, 'constructor')) ||
      Object.values(value).some(holds))

  for (const [name, json] of Object.entries(spellings)) {
    test.for(Object.entries(paths))(`${name}, in %s`, ([place, [dress, options]]) => {
      const text = dress(json)
      const removed = only(text, options)
      expect(removed).toMatchObject({ ok: true, value: { a: 1 } })
      expect(removed.ok && holds(removed.value)).toBe(false)
      expect(removed.ok && Object.getPrototypeOf(removed.value)).toBe(Object.prototype)
      expect(removed.notes.map((note) => note.code)).toContain('PROTO_KEY')
      // Where a rung before it failed for a reason of its own, that reason is told; never a value.
      const refused = only(text, { ...options, protoKeys: 'error' })
      const reason = place === 'an envelope' ? 'SCHEMA_FAILED' : 'PROTO_KEY'
      expect(refused).toMatchObject({ ok: false, fault: { code: reason } })
      const kept = only(text, { ...options, protoKeys: 'keep' })
      expect(kept.ok && Object.getPrototypeOf(kept.value)).toBe(Object.prototype)
      expect(kept.ok && holds(kept.value)).toBe(true)
      expect(({} as Record<string, unknown>)['polluted']).toBe(undefined)
    })
  }
  test('in lines and in engine records', () => {
    for (const json of Object.values(spellings)) {
      const [outcome] = drive(valueStage({ lines: true }), [
        { channel: 'stdout', bytes: Buffer.from(`${json}\n`) },
      ])
      expect(outcome?.ok && holds(outcome.value)).toBe(false)
      const item = `{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","result":${json}},"x":${json}}\n`
      run(codex, { stdout: item })
      expect(({} as Record<string, unknown>)['polluted']).toBe(undefined)
    }
  })
})

describe('bytes that are not UTF-8', () => {
  const wrong: Record<string, readonly number[]> = {
    'a lone byte': [0xff],
    'a lone continuation': [0x80],
    'an overlong slash': [0xc0, 0xaf],
    'a surrogate in CESU-8': [0xed, 0xa0, 0x80],
    'a cut character': [0xe2, 0x82],
    'beyond Unicode': [0xf5, 0x80, 0x80, 0x80],
  }
  test.for(Object.entries(wrong))('%s becomes U+FFFD with INVALID_UTF8 at its byte', ([, bytes]) => {
    const text = Buffer.concat([Buffer.from('é {"a":"x'), Buffer.from(bytes), Buffer.from('"} ü')])
    const outcome = only(text)
    expect(outcome.ok && (outcome.value as { a: string }).a).toMatch(/^x\ufffd+$/)
    expect(outcome.notes).toContainEqual(expect.objectContaining({ code: 'INVALID_UTF8', at: 10 }))
    // The range leads to the bytes as they were.
    expect(text.subarray(outcome.frame.from, outcome.frame.to).includes(Buffer.from(bytes))).toBe(true)
  })
  test('engines say it, too', () => {
    const line = Buffer.from(
      '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"?"}}\n',
    )
    line[line.indexOf('?')] = 0xff
    const events = drive(eventStage(codex), [{ channel: 'stdout', bytes: line }])
    expect(codesOf(events)).toContain('INVALID_UTF8')
    expect(texts(events)).toEqual(['\ufffd'])
  })
  test('mojibake and a lone surrogate spelled as an escape are valid, and stay as JSON.parse has them', () => {
    expect(brief('{"a":"Ã©"}')).toEqual([{ a: 'Ã©' }])
    expect(brief('{"a":"\\ud83d"}')).toEqual([{ a: '\ud83d' }])
    expect(JSON.stringify(only('{"a":"\\ud83d"}'))).toContain('\\ud83d')
  })
})

describe('almost JSON is repaired, the level recorded, and the schema decides', () => {
  const almost: Record<string, readonly [string, unknown]> = {
    NaN: ['{"a":NaN}', { a: null }],
    Infinity: ['{"a":-Infinity}', { a: null }],
    comments: ['{"a":1,/* c */"b":2 // d\n}', { a: 1, b: 2 }],
    'single quotes': ["{'a':'x'}", { a: 'x' }],
    'trailing commas': ['{"a":[1,2,],}', { a: [1, 2] }],
    'raw newlines': ['{"a":"x\ny"}', { a: 'x\ny' }],
    'unescaped quotes': ['{"a":"say "hi" now"}', { a: 'say "hi" now' }],
    'bare keys': ['{a:1}', { a: 1 }],
  }
  test.for(Object.entries(almost))('%s', ([, [text, value]]) => {
    const outcome = only(text)
    expect(outcome).toMatchObject({ ok: true, value, repair_level: 'deterministic_generic' })
    const note = outcome.notes.find(({ code }) => code === 'OUTPUT_REPAIRED_GENERIC')
    expect(note?.changes?.length).toBeGreaterThan(0)
    expect(brief(text, { schema: { type: 'object', required: ['absent'] } })).toEqual(['SCHEMA_FAILED'])
  })
})

describe('what is cut is partial only when allowed, and half a scalar is never final', () => {
  const cut: Record<string, readonly [string, unknown, string]> = {
    'in a key': ['{"a":1,"bc', { a: 1 }, ''],
    'in a number': ['{"a":12', { a: 12 }, '/a'],
    'in a fraction': ['{"a":1.', {}, '/a'],
    'in an exponent': ['{"a":1e', {}, '/a'],
    'after a minus': ['{"a":-', {}, '/a'],
    'in a literal': ['{"a":tr', {}, '/a'],
    'in an escape': ['{"a":"x\\', { a: 'x' }, '/a'],
    'in a \\u escape': ['{"a":"x\\u00', { a: 'x' }, '/a'],
    'between halves of a pair': ['{"a":"x\\ud83d', { a: 'x' }, '/a'],
  }
  test.for(Object.entries(cut))('%s', ([, [text, value, path]]) => {
    for (const dress of [(json: string) => json, (json: string) => `<json>${json}`]) {
      expect(brief(dress(text))).toEqual(['TRUNCATED'])
      const outcome = only(dress(text), { partial: true })
      expect(outcome).toMatchObject({ ok: true, repair_level: 'deterministic_generic' })
      expect(outcome.ok && outcome.incomplete).toEqual(path === '' ? [''] : ['', path])
      expect(outcome.ok && outcome.value).toEqual(value)
      expect(outcome.notes.map((note) => note.code)).toContain('TRUNCATED')
    }
  })
})

describe('a repair that would change the structure', () => {
  const refused = ['{"a":}', '{"a":1 "b" 2}', '{"a":[[1,2]}', '{"a":(1]}', '{"a":[1,2]]}', '{"a":{"b":1]']
  test.for(refused)('%s is refused, whatever is allowed', (text) => {
    for (const options of [{}, { partial: true }, { schema: {} }, { root: 'any' }] as const) {
      expect(brief(text, options)).toEqual(['INVALID_JSON'])
      expect(brief(`<json>${text}</json>`, { ...options, tag: 'json' })).toEqual(['INVALID_JSON'])
      expect(brief(`${T}json\n${text}\n${T}`, options)).toEqual(['INVALID_JSON'])
    }
    expect(brief(`${text}\n{"b":2}\n`, { lines: true }).at(-1)).toEqual({ b: 2 })
    expect(tryParse(text)).toMatchObject({ ok: false, repair_level: 'none' })
  })
  const swapped: readonly (readonly [text: string, value: unknown])[] = [
    ['{"a":[1,2}]', { a: [1, 2] }],
    ['{"a":{"b":[1}]}', { a: { b: [1] } }],
    ['{"a":1]', { a: 1 }],
    ['[{"a":1]}', [{ a: 1 }]],
  ]
  test.for(swapped)('the closers of %s have one reading, and their repair is told', ([text, value]) => {
    for (const dressed of [text, `<json>${text}</json>`, `${T}json\n${text}\n${T}`]) {
      const outcome = only(dressed, { root: 'any' })
      expect(outcome).toMatchObject({ ok: true, value, repair_level: 'deterministic_generic' })
      const note = outcome.notes.find(({ code }) => code === 'OUTPUT_REPAIRED_GENERIC')
      expect(note?.changes?.map(({ kind }) => kind)).toContain('replaced a bracket')
    }
  })
  test('a bracket too many is a fault, a brace too many is dropped; too few closers, where partial is allowed, is flagged with what was done', () => {
    expect(brief('{"a":1}]')).toEqual(['INVALID_JSON'])
    expect(brief('<json>{"a":1}]</json>', { tag: 'json' })).toEqual(['INVALID_JSON'])
    expect(brief('<json>{"a":1}}</json>', { tag: 'json' })).toEqual([{ a: 1 }])
    const outcome = only('{"a":[1,2', { partial: true })
    expect(outcome).toMatchObject({ ok: true, value: { a: [1, 2] }, repair_level: 'deterministic_generic' })
    const note = outcome.notes.find(({ code }) => code === 'OUTPUT_REPAIRED_GENERIC')
    expect(note?.changes?.map(({ kind }) => kind)).toEqual(['closed what the input left open'])
    expect(brief('{"a":[1,2')).toEqual(['TRUNCATED'])
  })
})
