import { describe, expect, test } from 'vitest'
import { type ParseOptions, tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { brief } from './chunked.ts'

const code = (text: string, options: ParseOptions<Schema | undefined> = {}) => {
  const outcome = tryParse(text, options)
  return outcome.ok ? outcome.value : outcome.fault.code
}

describe('the whole input', () => {
  test('a string with many raw line breaks may be joined to another', () => {
    const text = `{"a":"x" + "${'\n'.repeat(12_000)}"}`
    expect(code(text)).toEqual({ a: `x${'\n'.repeat(12_000)}` })
  })

  test('a deep document that was escaped once too often is a fault, and nothing is thrown', () => {
    const text = `{\\"a\\":${'['.repeat(5000)}${']'.repeat(5000)}}`
    expect(['MAX_DEPTH', 'INVALID_JSON']).toContain(code(text))
  })

  test('with a tag, only blocks of that tag count', () => {
    expect(code('{"a":1}', { tag: 'json' })).toBe('NO_MATCH')
    expect(code('I think: {"a":1}', { tag: 'json', schema: {} })).toBe('NO_MATCH')
    expect(brief('{"type":"log"}\n<json>{"a":1}</json>\nmore', { tag: 'json' })).toEqual([{ a: 1 }])
  })

  test('is empty only if it is blank', () => {
    for (const text of ['[]}', '{}}']) expect(code(text)).not.toBe('EMPTY')
    expect(code(`{"a":"x\n${'y'.repeat(1_100_000)}"}`)).toBe('INVALID_JSON')
    expect(code(' \n')).toBe('EMPTY')
  })

  test('the sequences of a terminal are no levels', () => {
    const outcome = tryParse(`{"a":[${'\u001b[m1,'.repeat(600)}1]}`)
    expect(outcome.ok && (outcome.value as { a: number[] }).a).toHaveLength(601)
  })

  test('a limit holds for a document that is held to its end', () => {
    expect(brief('{"a":"xxxxxxxxxxxxxxxxxxxx"}', { maxFrame: 10 })).toContain('FRAME_TOO_LONG')
    expect(brief('{aaaaaaaaaaa:1}', { maxFrame: 5 })).toContain('FRAME_TOO_LONG')
  })

  test('prose that begins like a scalar gives no object inside its quotes', () => {
    for (const text of ['None of "{a:1}" works', '1. Do "x {a:1} y"'])
      expect(code(text, { schema: {} })).toBe('NO_MATCH')
  })

  test('words without quotes are a text only if the schema lists it', () => {
    const listed = { enum: ['approve', 'needs work', 3] }
    const texts = [
      'approve',
      ' needs work\n',
      '```json\napprove\n```',
      'Approve',
      'approve it',
      '"approve',
      '3',
    ]
    expect(texts.map((text) => code(text, { schema: listed }))).toEqual([
      ...['approve', 'needs work', 'approve', 'NO_MATCH', 'NO_MATCH', 'NO_MATCH', 3],
    ])
    const open = [
      { type: 'string' },
      { type: 'string', pattern: '[a-z]' },
      { type: 'string', maxLength: 9 },
      {},
    ]
    expect(open.map((schema) => code('approve', { schema }))).toEqual(open.map(() => 'NO_MATCH'))
    expect(code('approve', { schema: { anyOf: [{ const: 'approve' }, { type: 'object' }] } })).toBe('approve')
    expect(code('approve', { root: 'any' })).toBe('NO_MATCH')
  })

  test('with a schema, too, no object inside a broken document is handed out', () => {
    for (const text of [
      "{'age': 'x}', 'line': 0, 'm': {'d': -78}, 'key': 0]}",
      "{'s': 'a],b', 'report': {'n': 'x'}, , 'ok': false}",
      "{'s': 'a],b', 'report': {'n': 'x', 'ok': false}",
      '{"items":"parser {name}"], # a [b\n"name":"fn(a, b) => {x: 1}"}',
    ])
      expect(code(text, { schema: { type: 'object' } })).toBe('INVALID_JSON')
  })

  test('a brace too many at the very end has one reading, whatever the quotes', () => {
    expect(code("{'n': 'a', 'file': 'x}'}}", { schema: { type: 'object' } })).toEqual({ n: 'a', file: 'x}' })
  })

  test('two elements that each lost a quote are not one string with a line break', () => {
    expect(code('{\n  "a": [\n    "TODO,\n    42"\n  ]\n}')).toBe('INVALID_JSON')
    expect(code('{\n  "a": [\n    "TODO,\n42"\n  ]\n}')).toEqual({ a: ['TODO,\n42'] })
  })

  test('the ledger and the fault count bytes of the channel, also behind escape sequences', () => {
    const text = '{"a":\u001b[31m1\u001b[0m,}'
    const [note] = tryParse(text).notes
    expect(note?.changes?.at(-1)).toEqual({ kind: 'dropped a comma', at: 15, before: ',', after: '' })
    const broken = tryParse('{"a":\u001b[31m1\u001b[0m,"b":}')
    expect(!broken.ok && broken.fault.at).toBe(20)
  })

  test('the places of several candidates are those of the channel', () => {
    const [note] = tryParse('<json>\n\n\n text {"a":1} {"a":2}</json>', { tag: 'json' }).notes.slice(-1)
    expect(note).toMatchObject({ code: 'AMBIGUOUS', places: [15, 23] })
  })
})
