import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import type { JsonScalar, Where } from '../../src/values/where/conditions.ts'
import type { DroppedLines } from '../../src/values/where/where.ts'
import { everySplit, inSizes, manyWays } from '../frames/splits.ts'
import { expectLinear } from '../growth.ts'
import { runs, some } from '../pace.ts'
import { plain } from './chunked.ts'

type Options = ValuesOptions<Schema | undefined>

function run(pieces: readonly Uint8Array[], options: Options, channel: Channel = 'stdout', turn?: number) {
  let dropped: DroppedLines | undefined
  const onDropped = (counts: DroppedLines) => {
    dropped = counts
  }
  const stage = valueStage({ lines: true, ...options, onDropped }, turn)
  const chunks = pieces.map((bytes): Chunk => ({ channel, bytes }))
  if (turn === undefined) return { outcomes: drive(stage, chunks), dropped }
  const outcomes: unknown[] = []
  const sink = stage({ write: (outcome) => void outcomes.push(outcome), end() {} })
  for (const chunk of chunks) {
    sink.write(chunk)
    while (sink.more?.());
  }
  sink.end()
  while (sink.more?.());
  return { outcomes: outcomes as ReturnType<typeof drive<Chunk, never>>, dropped }
}

/** The values and the codes, and what was dropped, after making sure that splits change nothing. */
function found(text: string | Buffer, where: Where, options: Options = {}) {
  const bytes = Buffer.from(text as string)
  const whole = run([bytes], { ...options, where })
  for (const pieces of some([...manyWays(bytes)])) {
    const cut = run(pieces, { ...options, where })
    expect(cut.outcomes.map(plain)).toEqual(whole.outcomes.map(plain))
    expect(cut.dropped).toEqual(whole.dropped)
  }
  const values = whole.outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.fault.code))
  return { values, ...whole.dropped }
}

describe('where', () => {
  test('hands out the records that match, and counts the others', () => {
    const text = '{"type":"a","n":1}\n{"type":"b"}\nnoise\n\n{"type":"a","n":2}'
    const { values, unread, parsed } = found(text, { type: 'a' })
    expect(values).toEqual([
      { type: 'a', n: 1 },
      { type: 'a', n: 2 },
    ])
    expect([unread, parsed]).toEqual([3, 0])
  })

  test.each<[string, Where, string, number]>([
    ['several values are "or"', { type: ['a1', 'b1'] }, '{"type":"a1"}\n{"type":"b1"}\n{"type":"c1"}', 2],
    [
      'several keys are "and"',
      { type: 'aa', kind: 'bb' },
      '{"type":"aa","kind":"bb"}\n{"type":"aa","kind":"b"}\n{"kind":"bb"}',
      1,
    ],
    [
      'an escape in the value',
      { type: 'turn' },
      '{"type":"t\\u0075rn"}\n{"type":"\\u0074\\u0075\\u0072\\u006E"}',
      2,
    ],
    ['an escape in the key', { type: 'turn' }, '{"t\\u0079pe":"turn"}', 1],
    ['an escape in the key of a number', { exit_code: 1 }, '{"exit\\u005fcode":1}', 1],
    [
      'an escaped slash',
      { path: 'src/main.ts' },
      '{"path":"src\\/main.ts"}\n{"path":"src/main.ts"}\n{"path":"src/main.tsx"}',
      2,
    ],
    ['nothing but slashes', { '/': '//' }, '{"/":"\\/\\/"}\n{"\\/":"//"}\n{"/":"/"}', 2],
    [
      'a quote, a backslash, a line break',
      { a: 'x"y\\z\nw' },
      `${JSON.stringify({ a: 'x"y\\z\nw' })}\n{"a":"x\\u0022y\\u005cz\\u000aw"}`,
      2,
    ],
    [
      'characters of more bytes',
      { a: '完成 ✓😀' },
      '{"a":"完成 ✓😀"}\n{"a":"\\u5b8c成 ✓\\ud83d\\ude00"}\n{"a":"完成 ✓"}',
      2,
    ],
    ['line separators of other kinds', { a: 'x\u2028y' }, '{"a":"x\u2028y"}\n{"a":"x\\u2028y"}', 2],
    ['half a surrogate pair', { a: '\ud83d' }, '{"a":"\\ud83d"}\n{"a":"\\ud83d\\ude00"}', 1],
    ['an empty text', { a: '' }, '{"a":""}\n{"a":null}\n{"b":""}', 1],
    [
      'numbers by value',
      { n: 1 },
      '{"n":1}\n{"n":1.0}\n{"n":1e0}\n{"n":10E-1}\n{"n":0.1e1}\n{"n":"1"}\n{"n":11}\n{"n":true}',
      5,
    ],
    ['zero and minus zero', { n: 0 }, '{"n":-0}\n{"n":0.0}\n{"n":null}', 2],
    ['literals', { a: [true, null] }, '{"a":true}\n{"a":null}\n{"a":false}\n{}', 2],
    ['the last of two equal keys', { a: 'xx' }, '{"a":"xx","a":"yy"}\n{"a":"yy","a":"xx"}', 1],
    [
      'not what is nested, nor in another key',
      { a: 'xx' },
      '{"b":{"a":"xx"}}\n{"b":"xx"}\n["a","xx"]\n[{"a":"xx"}]\n{"a":["xx"]}\n{"a":"xx"}',
      1,
    ],
    [
      'CRLF, blanks, a BOM and NULs',
      { a: 'xx' },
      '\ufeff{"a":"xx"}\r\n\t {"a" :\t"xx"} \r\n\0\0{"a":"xx"}\n',
      3,
    ],
    ['a record that can be repaired', { a: 'xx' }, "{'a':'xx'}\n{a:\"xx\",}\n{'a':'yy'}", 2],
    [
      'a quote that a repair takes the backslash from',
      { a: ["it's", '“x”'] },
      "{'a':'it\\'s'}\n{\"a\":\"it\\'s\"}\n{\"a\":\"it's\"}\n{a:'\\“x\\”'}",
      4,
    ],
    ['colours around it', { a: 'xx' }, '\u001b[32m{"a":"xx"}\u001b[0m\n{"a":\u001b[1m"xx"\u001b[0m}', 2],
    [
      'the name of a method',
      { constructor: 'xx', toString: 'yy' },
      '{"constructor":"xx","toString":"yy"}\n{}',
      1,
    ],
  ])('%s', (_name, where, text, count) => {
    const { values } = found(text, where)
    expect(values.length).toBe(count)
    expect(values.every((value) => typeof value === 'object')).toBe(true)
  })

  test('is a fault of a broken line if that has the bytes, and drops it otherwise', () => {
    const text = '{"type":"turn.completed","x":}\n{"type":"turn.comp\n{"type":}\n{"type":"turn.completed"}\n'
    expect(found(text, { type: 'turn.completed' })).toEqual({
      values: ['INVALID_JSON', { type: 'turn.completed' }],
      unread: 2,
      parsed: 0,
    })
    // For every key.
    const both = '{"type":"turn.completed","kind":\n{"type":"turn.completed","kind":"x-y"\n'
    expect(found(both, { type: 'turn.completed', kind: 'x-y' })).toEqual({
      values: ['TRUNCATED'],
      unread: 1,
      parsed: 0,
    })
  })

  test('says so if nothing matches', () => {
    expect(found('{"a":"x"}\n', { a: 'yy' }).values).toEqual(['NO_MATCH'])
    expect(found('{"a":"x","b":"yy"}\n', { a: 'yy' }).values).toEqual(['NO_MATCH'])
    expect(found('\ufeff \n\r\n\0', { a: 'yy' }).values).toEqual(['EMPTY'])
    expect(found('', { a: 'yy' })).toEqual({ values: ['EMPTY'], unread: 0, parsed: 0 })
  })

  test('reports a line that is longer than maxFrame, whatever is in it', () => {
    const long = `{"a":"${'x'.repeat(40)}"}`
    const text = `{"a":"yy"}\n${long}\n{"a":"yy"}\n${long}\nnoise ${'z'.repeat(40)}\n{"a":"zz"}\n${long}`
    const { values, unread } = found(text, { a: 'yy' }, { maxFrame: 20 })
    const tooLong = 'FRAME_TOO_LONG'
    expect(values).toEqual([{ a: 'yy' }, tooLong, { a: 'yy' }, tooLong, tooLong])
    expect(unread).toBe(1)
  })

  test('judges the record that is in the line, before normalizers, schema and envelope', () => {
    const normalize = [(value: { type: string }) => ({ ...value, type: value.type.toUpperCase() })]
    expect(found('{"type":"aa"}\n{"type":"AA"}', { type: 'aa' }, { normalize }).values).toEqual([
      { type: 'AA' },
    ])
    const schema = { type: 'object', required: ['n'] }
    const enveloped =
      '{"type":"aa","response":"{\\"n\\":1}"}\n{"type":"bb","response":"{\\"type\\":\\"aa\\",\\"n\\":2}"}'
    expect(found(enveloped, { type: 'aa' }, { schema }).values).toEqual([{ n: 1 }])
    const failing = '{"type":"bb","x":"aa"}\n{"type":"aa"}'
    expect(found(failing, { type: 'aa' }, { schema })).toMatchObject({ values: ['SCHEMA_FAILED'], parsed: 1 })
    const throws = [
      () => {
        throw new Error('no')
      },
    ]
    expect(found(failing, { type: 'aa' }, { normalize: throws }).values).toEqual(['NORMALIZE_FAILED'])
  })

  test('of several records in one line, judges the one that is taken', () => {
    const schema = { type: 'object', required: ['n'] }
    const last: Options = { lines: 'strict', pick: 'last' }
    const first = 'x {"a":"xx"} {"a":"yy","n":1}'
    const second = 'x {"a":"yy"} {"a":"xx","n":1}'
    for (const options of [last, { lines: 'strict', schema } as const]) {
      expect(found(first, { a: 'xx' }, options).values).toEqual(['NO_MATCH'])
      expect(found(second, { a: 'xx' }, options).values).toEqual([{ a: 'xx', n: 1 }])
    }
    const template = '{x} {"a":"xx"} {"a":"yy","n":1}'
    expect(found(template, { a: 'xx' }, { schema }).values).toEqual(['NO_MATCH'])
  })

  test('drops a record with a key that is an error, if it does not match', () => {
    const text = '{"a":"yy","b":"xx","__proto__":1}\n{"a":"xx","__proto__":1}'
    const { values, parsed } = found(text, { a: 'xx' }, { protoKeys: 'error' })
    expect([values, parsed]).toEqual([['PROTO_KEY'], 1])
  })

  test('goes with pick, root, partial, strict lines and parse', () => {
    const text = '{"a":"xx","n":1}\n{"a":"yy"}\n{"a":"xx","n":2}\n{"b":"xx"}\n"xx"\n'
    const where = { a: 'xx' }
    expect(found(text, where, { pick: 'last' }).values).toEqual([{ a: 'xx', n: 2 }])
    expect(found(text, where, { pick: 'first' }).values).toEqual([{ a: 'xx', n: 1 }])
    expect(found(text, where, { root: 'any' }).values.length).toBe(2)
    expect(found(text, where, { lines: 'strict' }).values.length).toBe(2)
    expect(found('{"a":"xx","n":[1', where, { partial: true }).values).toEqual([{ a: 'xx', n: [1] }])
  })

  test('reads the sequences of a terminal as a terminal does', () => {
    const bytes = Buffer.from(
      '{"a":"x\u001b[1mx"}\r\n{"a":"\u009b1mxx"}\r\n{"a":"x\u009b0mx"}\r\n{"a":"yy"}\r\n',
    )
    for (const pieces of some([...manyWays(bytes)])) {
      const { outcomes, dropped } = run(pieces, { where: { a: 'xx' } }, 'pty')
      expect(outcomes.map((outcome) => outcome.ok && outcome.value)).toEqual([
        { a: 'xx' },
        { a: 'xx' },
        { a: 'xx' },
      ])
      expect(dropped).toEqual({ unread: 1, parsed: 0 })
    }
  })

  test('finds a character that any invalid byte becomes', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{"a":"\ufffd"}'),
    ])
    expect(found(bytes, { a: '\ufffd' }).values).toEqual([{ a: '\ufffd' }, { a: '\ufffd' }])
  })

  test('takes turns, so that a slow reader is waited for', () => {
    const bytes = Buffer.from('{"a":"xx"}\n{"a":"yy"}\n{"a":"xx"}\n{"a":"xx"}\n'.repeat(50))
    const whole = run([bytes], { where: { a: 'xx' } })
    for (const size of [1, 30, 1000, bytes.length]) {
      const inTurns = run(inSizes(bytes, [size]), { where: { a: 'xx' } }, 'stdout', 2)
      expect(inTurns.outcomes.map(plain)).toEqual(whole.outcomes.map(plain))
      expect(inTurns.dropped).toEqual({ unread: 50, parsed: 0 })
    }
    const sink = valueStage({ lines: true, where: { a: 'xx' } }, 2)({ write: () => void written++, end() {} })
    let written = 0
    sink.write({ channel: 'stdout', bytes })
    while (sink.more?.()) {
      expect(written).toBeLessThanOrEqual(3)
      written = 0
    }
  })

  test('takes input of any size in linear time', async () => {
    const search = (text: string, length: number) => {
      const chunks = inSizes(Buffer.from(text), [length])
      return () => run(chunks, { where: { a: 'wanted' } })
    }
    const noise = '{"a":"\\u001b \\u0041 x"}\n'
    await expectLinear('noise', (size) => search(noise.repeat(size / noise.length), 512))
    expect(search(noise.repeat(2000), 4096)().dropped).toEqual({ unread: 2000, parsed: 0 })
    const one = (size: number) => `{"a":"${'wante'.repeat(size / 5)}"}\n`
    await expectLinear('one long line', (size) => search(one(size), 64))
    expect(search(one(50_000), 64)().dropped).toEqual({ unread: 1, parsed: 0 })
  })
})

// What `where` is: parse every line, keep what matches. Text is made of few letters, so that values are often
// met, whole and in parts, as keys, nested, escaped, in broken lines.
const words = ['ab', 'abc', 'b/a', '完', '', 'a"b', '\\', '\u001f', '😀', '\ufffd', 'é']
const word = fc.constantFrom(...words)
const scalar: fc.Arbitrary<JsonScalar> = fc.oneof(
  word,
  fc.constantFrom<JsonScalar>(0, 1, 12, -1.5, 1e21, true, false, null),
)
const key = fc.constantFrom('k', 'k', 'k/', '😀')

/** One of the ways to spell a text in JSON. */
function spelled(text: string, choice: () => number): string {
  const body = [...Array(text.length).keys()].map((at) => {
    const unit = text.charCodeAt(at)
    const hex = unit.toString(16).padStart(4, '0')
    const pair = unit >= 0xd800 && unit <= 0xdfff
    if (choice() < 0.3) return `\\u${choice() < 0.5 ? hex : hex.toUpperCase()}`
    if (pair) return text[at]
    if (unit === 0x2f && choice() < 0.5) return '\\/'
    return JSON.stringify(text[at]).slice(1, -1)
  })
  return `"${body.join('')}"`
}

function spelledScalar(value: JsonScalar, choice: () => number): string {
  if (typeof value === 'string') return spelled(value, choice)
  if (typeof value !== 'number') return String(value)
  const forms = [
    String(value),
    value.toExponential(),
    `${value}e0`.replace('e+21e0', 'e21'),
    `${value * 10}e-1`.replace(/e\+22e-1/, 'e21'),
  ]
  return forms[Math.floor(choice() * forms.length)]!
}

const line = fc
  .record({
    members: fc.array(
      fc.tuple(
        key,
        fc.oneof({ weight: 5, arbitrary: scalar }, { weight: 1, arbitrary: fc.constant('nested' as const) }),
      ),
      {
        maxLength: 4,
      },
    ),
    numbers: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 60, maxLength: 60 }),
    before: fc.constantFrom('', '', '', ' ', '\t', '\ufeff', '\0', 'noise ', '\u001b[1m'),
    after: fc.constantFrom('', '', '', '\r', ' ', '}', ', ab', '\u001b[0m'),
    cut: fc.constantFrom(0, 0, 0, 0, 1, 3, 9),
    invalid: fc.constantFrom(false, false, false, false, true),
  })
  .map(({ members, numbers, before, after, cut, invalid }) => {
    let at = 0
    const choice = () => numbers[at++ % numbers.length]!
    const body = members.map(([name, value]) => {
      const text =
        value === 'nested'
          ? `{"k":${spelled('ab', choice)},"ab":[1]}`
          : spelledScalar(value as JsonScalar, choice)
      return `${spelled(name, choice)}:${choice() < 0.2 ? ' ' : ''}${text}`
    })
    const text = `{${body.join(',')}}`
    const bytes = Buffer.from(`${before}${text.slice(0, text.length - cut)}${after}`)
    if (invalid && bytes.length > 8) bytes[8] = 0xff
    return bytes
  })

const input = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 9, arbitrary: line },
        {
          weight: 1,
          arbitrary: fc.constantFrom('', 'noise ab', '[1]', '"ab"', '12').map((text) => Buffer.from(text)),
        },
      ),
      { maxLength: 8 },
    ),
    fc.boolean(),
  )
  .map(([lines, closed]) => {
    const pieces = lines.flatMap((one) => [one, Buffer.from('\n')])
    return Buffer.concat(closed ? pieces : pieces.slice(0, -1))
  })

const where = fc
  .dictionary(key, fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 8 })), {
    minKeys: 1,
    maxKeys: 2,
  })
  .map((conditions): Where => conditions)

const options = fc.record({
  schema: fc.constantFrom(undefined, undefined, { type: 'object', properties: { k: { type: 'string' } } }),
  root: fc.constantFrom(undefined, 'any' as const),
  lines: fc.constantFrom(true as const, true as const, 'strict' as const),
  maxFrame: fc.constantFrom(undefined, undefined, 30),
})

function matches(conditions: Where, record: unknown): boolean {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return false
  return Object.entries(conditions).every(([name, wanted]) => {
    const value = (record as Record<string, unknown>)[name]
    return Object.hasOwn(record, name) && [wanted].flat().some((one) => one === value)
  })
}

function strictly(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text.replace(/^[\ufeff\0 \t\r\n]+|[\ufeff\0 \t\r\n]+$/g, '')) }
  } catch {
    return undefined
  }
}

test('is parse-then-filter: what is JSON is judged by its value, and no repaired record or fault is made up', () => {
  fc.assert(
    fc.property(input, where, options, (bytes, conditions, rest) => {
      const all = run([bytes], rest).outcomes
      // What a raw line break has cut is put together only if no line is left out.
      fc.pre(!all.some(({ frame }) => frame.text.includes('\n')))
      const { outcomes, dropped } = run([bytes], { ...rest, where: conditions })
      const kept = new Set(outcomes.map((outcome) => JSON.stringify(plain(outcome))))
      let judged = 0
      for (const outcome of all) {
        if (outcome.frame.kind !== 'line') continue
        const text = JSON.stringify(plain(outcome))
        const parsed = strictly(outcome.frame.text)
        if (parsed) {
          expect(kept.has(text), outcome.frame.text).toBe(matches(conditions, parsed.value))
          judged++
        } else if (kept.has(text)) judged++
      }
      // Nothing comes out that was not there, but for the one outcome that says so.
      const some = outcomes.filter(({ frame }) => frame.kind === 'line')
      const before = new Set(all.map((outcome) => JSON.stringify(plain(outcome))))
      for (const outcome of some) expect(before).toContain(JSON.stringify(plain(outcome)))
      if (some.length === 0 && outcomes.length > 0) expect(outcomes.at(-1)!.ok).toBe(false)
      const count =
        bytes.toString('latin1').split('\n').length - (bytes.length === 0 || bytes.at(-1) === 10 ? 1 : 0)
      expect(dropped!.unread + dropped!.parsed + some.length).toBeLessThanOrEqual(count)
      expect(judged).toBeGreaterThanOrEqual(some.length)
    }),
    { numRuns: runs(300) },
  )
})

test('is the same for every split', () => {
  fc.assert(
    fc.property(
      input,
      where,
      options,
      fc.array(fc.nat(40), { minLength: 1 }),
      (bytes, conditions, rest, sizes) => {
        const whole = run([bytes], { ...rest, where: conditions })
        const ways = [...some([...everySplit(bytes)]), inSizes(bytes, [1]), inSizes(bytes, sizes)]
        for (const pieces of ways) {
          const cut = run(pieces, { ...rest, where: conditions })
          expect(cut.outcomes.map(plain)).toEqual(whole.outcomes.map(plain))
          expect(cut.dropped).toEqual(whole.dropped)
        }
        const inTurns = run(inSizes(bytes, sizes), { ...rest, where: conditions }, 'stdout', 1)
        expect(inTurns.outcomes.map(plain)).toEqual(whole.outcomes.map(plain))
        expect(inTurns.dropped).toEqual(whole.dropped)
      },
    ),
    { numRuns: runs(30) },
  )
})

test.each<[string, unknown, object?]>([
  ['a text', 'type=a'],
  ['an array', ['a']],
  ['null', null],
  ['no keys', {}],
  ['no values', { a: [] }],
  ['undefined', { a: undefined }],
  ['an object', { a: {} }],
  ['an array in an array', { a: [['b']] }],
  ['NaN', { a: Number.NaN }],
  ['a bigint', { a: 1n }],
  ['no lines', { a: 'b' }, { lines: undefined }],
  ['a tag', { a: 'b' }, { lines: undefined, tag: 'json' }],
  ['items', { a: 'b' }, { lines: undefined, items: '*' }],
  ['a callback that is none', { a: 'b' }, { onDropped: 7 }],
])('takes no where that is none: %s', (_name, where, rest = {}) => {
  const options = { lines: true, where, ...rest } as never
  expect(() => valueStage(options)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('parse, which gives one value of one text, takes no where', () => {
  const options = { lines: true, where: { a: 'b' } } as never
  expect(() => tryParse('{"a":"b"}\n', options)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})
