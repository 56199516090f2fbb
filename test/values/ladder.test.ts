import { describe, expect, test } from 'vitest'
import type { Rules } from '../../src/values/ladder/attempt.ts'
import { climb } from '../../src/values/ladder/ladder.ts'
import { checkOf, type Schema } from '../../src/values/schema/schema.ts'
import { expectLinear } from '../growth.ts'

const base: Rules = {
  check: undefined,
  normalize: [],
  root: 'object',
  scalars: false,
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

  test('opens envelopes in envelopes, and only if the schema wants it', () => {
    const inner = JSON.stringify({ response: '{"a":1}' })
    expect(value(JSON.stringify({ response: inner }), { schema: needsA })).toMatchObject({ value: { a: 1 } })
    expect(value(inner)).toEqual({ value: { response: '{"a":1}' }, changes: [] })
  })

  test('does not look inside a document that is JSON but does not pass', () => {
    expect(value('[{"a":1}]')).toBe('ROOT_NOT_OBJECT')
    expect(value('{"b":{"a":1}}', { schema: needsA })).toBe('SCHEMA_FAILED')
    expect(value('{"b":"```json\\n{\\"a\\":1}\\n```"}', { schema: needsA })).toBe('SCHEMA_FAILED')
    expect(value('[{"a":1},]')).toBe('ROOT_NOT_OBJECT')
    expect(value('[{"a":2}] {"a":1}', { schema: needsA, root: 'any' })).toBe('SCHEMA_FAILED')
    expect(value('{"a":1}}')).toBe('INVALID_JSON')
    expect(value('{"b":{"a":1}},"c":2}', { schema: needsA })).toBe('INVALID_JSON')
    expect(value('[{"a":1}]', { root: 'any' })).toEqual({ value: [{ a: 1 }], changes: [] })
  })

  test('carries the errors of the first rung that parsed', () => {
    const result = climb('{"response":"{\\"a\\":\\"x\\"}"}', rules({ schema: needsA }))
    expect(result).toMatchObject({
      ok: false,
      code: 'SCHEMA_FAILED',
      errors: [{ path: '', rule: 'required' }],
    })
  })

  test('refuses a repair that would invent a value', () => {
    expect(value('{"a":}')).toBe('INVALID_JSON')
    expect(value('{"a":tru}')).toBe('INVALID_JSON')
    expect(value('tru', { root: 'any' })).toBe('INVALID_JSON')
  })

  test('closes a cut text only with partial', () => {
    expect(value('{"a":1,"b":[1,2')).toBe('TRUNCATED')
    expect(climb('{"a":1,"b":[1,2', rules({ partial: true }))).toMatchObject({
      value: { a: 1, b: [1, 2] },
      incomplete: ['', '/b', '/b/1'],
    })
    expect(climb("{a: 1, 'b': [True, 'x", rules({ partial: true }))).toMatchObject({
      value: { a: 1, b: [true, 'x'] },
      incomplete: ['', '/b', '/b/1'],
    })
  })

  test('says where a text is broken, or that it is cut', () => {
    expect(climb('{"a":1,"b":[1,2', rules())).toMatchObject({ code: 'TRUNCATED', at: 15 })
    expect(climb(' {"a":1,"b":[1,x y z:]}', rules())).toMatchObject({ code: 'INVALID_JSON', at: 15 })
    expect(climb('x\n```json\n{"a":}\n```', rules())).toMatchObject({ code: 'INVALID_JSON', at: 15 })
    expect(climb('{"b":[1', rules({ partial: true, schema: needsA }))).toMatchObject({
      code: 'SCHEMA_FAILED',
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
    ['an array in it', 'x {"a":1}\n```\n[1]\n```', undefined],
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

  test('a text may have several candidates: the first that passes, or the last, good or bad', () => {
    const text = 'x {"b":0} {"a":1} {"a":2} {"a":"y"}'
    expect(value(text, { schema: needsA })).toMatchObject({ value: { a: 1 } })
    expect(value(text, { schema: needsA, pick: 'last' })).toBe('SCHEMA_FAILED')
    expect(value(text.slice(0, 25), { schema: needsA, pick: 'last' })).toMatchObject({ value: { a: 2 } })
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
  test('skips the repair of a text above maxRepair, with a note', () => {
    const result = climb(`{"a":"${'x'.repeat(100)}",}`, rules({ maxRepair: 100 }))
    expect(result).toMatchObject({ ok: false, code: 'INVALID_JSON', notes: [{ code: 'REPAIR_SKIPPED' }] })
  })

  test.each([
    ['closed', '['.repeat(1e6) + ']'.repeat(1e6)],
    ['open', '['.repeat(1e6)],
    ['objects', `${'{"a":'.repeat(1e6)}1${'}'.repeat(1e6)}`],
    ['in an envelope', JSON.stringify({ response: '['.repeat(1e6) + ']'.repeat(1e6) })],
  ])('survives a depth of a million: %s', (name, text) => {
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
        return () => climb(text, rules(options))
      })
    }
  })
})

describe('notes', () => {
  test('tells when a second candidate in the frame passes too', () => {
    const codes = (text: string, schema?: Schema) => {
      const result = climb(text, rules(schema && { schema }))
      return result.ok && result.notes.map(({ code }) => code)
    }
    expect(codes('x {"a":1} {"a":2}')).toEqual(['AMBIGUOUS'])
    expect(codes('x {"a":1} {"b":2}', needsA)).toEqual([])
    expect(codes('```json\n{"a":1}\n```\n```json\n{"a":2}\n```', needsA)).toEqual(['AMBIGUOUS'])
  })

  test('tells of duplicate keys and lost digits', () => {
    const codes = (text: string) => {
      const result = climb(text, rules())
      return result.ok && result.notes.map(({ code }) => code)
    }
    expect(codes('{"a":1,"b":{"a":2},"\\u0061":3}')).toEqual(['DUPLICATE_KEY'])
    expect(codes('{"a":["a","a"],"b":[{"c":1},{"c":2}]}')).toEqual([])
    expect(codes('{"a":9007199254740993}')).toEqual(['PRECISION_LOSS'])
    expect(codes('{"a":1e400}')).toEqual(['PRECISION_LOSS'])
    expect(codes('{"a":1e-400}')).toEqual(['PRECISION_LOSS'])
    expect(codes('{"a":-9007199254740993}')).toEqual(['PRECISION_LOSS'])
    expect(codes('{"a":0.00000000000000000000}')).toEqual([])
    expect(codes('{"a":-0.0e-99999}')).toEqual([])
    expect(codes('{"a":9007199254740994}')).toEqual([])
    expect(codes('{"a":["a","a"],"b":[{"a":1},{"a":1}],"c":{}}')).toEqual([])
    expect(codes('{"b":[],"c":1,"c":2}')).toEqual(['DUPLICATE_KEY'])
    expect(codes('{"a":[9007199254740992, 1e22, -12.5e-3, 0e0, 0.10000000000000000000]}')).toEqual([])
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

  test('a key named constructor is nothing bad by itself', () => {
    expect(value('{"constructor":"Ada"}')).toEqual({ value: { constructor: 'Ada' }, changes: [] })
    const text =
      '{"constructor":{"x":1},"b":{"prototype":1},"c":[null,{"constructor":null}],"d":{"constructor":1}}'
    expect(value(text)).toEqual({ value: JSON.parse(text), changes: [] })
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
