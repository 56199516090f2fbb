import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { drive, join } from '../../src/base/stage.ts'
import { type FrameOptions, frameStage } from '../../src/frames/frames.ts'
import { values } from '../../src/streams/values.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type OutcomeOptions, outcomeStage, valueStage } from '../../src/values/values.ts'
import { expectLinear } from '../growth.ts'
import { slow } from '../pace.ts'
import { brief, outcomes, plain } from './chunked.ts'

const needsA = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }
const codesOf = (text: string, options = {}) =>
  outcomes(text, options).map((outcome) => outcome.notes.map(({ code }) => code).join())

describe('with a tag', () => {
  const tag = 'json'

  test('hands out each block', () => {
    expect(brief('a <json>{"n":1}</json> b {"n":9} <json>{"n":2,}</json>', { tag })).toEqual([
      { n: 1 },
      { n: 2 },
    ])
  })

  test('takes a block in a fence, but not in a think block', () => {
    expect(brief('<think>\n<json>{"n":0}</json></think>\n```\n<json>{"n":1}</json>\n```', { tag })).toEqual([
      { n: 1 },
    ])
  })

  test('takes any tag name', () => {
    expect(brief('<json>{}</json><result>{"n":1}</result>', { tag: 'result' })).toEqual([{ n: 1 }])
  })

  test('takes a value whose closing tag is missing, with a note', () => {
    expect(brief('<json>{"a":1}', { tag })).toEqual([{ a: 1 }])
    expect(codesOf('<json>{"a":1}', { tag })).toEqual(['OUTPUT_REPAIRED_GENERIC,TAG_UNCLOSED'])
  })

  test('never puts a draft in the place of a last block that failed', () => {
    const text = '<json>{"a":1}</json> better: <json>{"a":2'
    expect(brief(text, { tag, pick: 'last' })).toEqual(['TRUNCATED'])
    expect(brief(text, { tag })).toEqual([{ a: 1 }, 'TRUNCATED'])
  })

  test('tells of a block that outgrew its limit, and takes the next', () => {
    const text = `<json>{"a":"${'x'.repeat(100)}"}</json><json>{"a":1}</json>`
    expect(brief(text, { tag, maxFrame: 64 })).toEqual(['FRAME_TOO_LONG', { a: 1 }])
  })
})

describe('with lines', () => {
  test('hands out each line, repaired if need be, and passes over the rest', () => {
    const text = '{"n":1}\r\nnoise {"n":9}\n\n[1]\n{"n":2,}\n{"n":3}'
    expect(brief(text, { lines: true })).toEqual([{ n: 1 }, 'ROOT_NOT_OBJECT', { n: 2 }, { n: 3 }])
    expect(brief(text, { lines: true, root: 'any' })).toEqual([{ n: 1 }, [1], { n: 2 }, { n: 3 }])
  })

  test('strict makes a fault of every line that is no record, but for blank ones', () => {
    const text = '{"n":1}\nnoise\n \t\n\n[INFO] x\n{"n":2}'
    expect(brief(text, { lines: true })).toEqual([{ n: 1 }, { n: 2 }])
    expect(brief(text, { lines: 'strict' })).toEqual([{ n: 1 }, 'INVALID_JSON', 'INVALID_JSON', { n: 2 }])
  })

  test.each(['{"a":[1', '{"a":[1]', '{"a":[{"b":1}]', '{"a":"}'])(
    'a record cut off as %s is truncated',
    (text) => {
      expect(brief(text, { lines: true })).toEqual(['TRUNCATED'])
      const [outcome] = outcomes(text, { lines: true, partial: true })
      expect(outcome).toMatchObject({ ok: true, frame: { open: true } })
      expect(outcome!.notes.map(({ code }) => code)).toContain('TRUNCATED')
    },
  )
})

describe('with neither', () => {
  test('takes the whole input as one document, unrepaired', () => {
    expect(outcomes('\ufeff \n{"a":1}\n')).toMatchObject([
      { value: { a: 1 }, repair_level: 'none', notes: [] },
    ])
    expect(outcomes('{a:1,}')).toMatchObject([{ value: { a: 1 }, repair_level: 'deterministic_generic' }])
    expect(brief('{}')).toEqual([{}])
    expect(brief('{"a":}')).toEqual(['INVALID_JSON'])
  })

  test('takes a document behind closed think blocks as the whole input, repaired', () => {
    const [outcome] = outcomes('<think>{"a":0}</think>\n{a:1}')
    expect(outcome).toMatchObject({
      value: { a: 1 },
      notes: [
        {
          code: 'OUTPUT_REPAIRED_GENERIC',
          changes: [{ kind: 'dropped a think block' }, { kind: 'quoted a key', at: 24 }],
        },
      ],
    })
  })

  test('takes payloads by position, whatever their kind', () => {
    const text = 'x {"n":1} y\n```json\n{"n":2}\n```\n<json>{"n":3}</json>\n{"n":4}'
    expect(brief(text)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
    expect(outcomes(text).map((outcome) => outcome.repair_level)).toEqual([
      'deterministic_generic',
      'deterministic_generic',
      'none',
      'deterministic_generic',
    ])
  })

  test('takes a first object for an object in prose as soon as something follows', () => {
    expect(brief('{"n":1}\n{"n":2}')).toEqual([{ n: 1 }, { n: 2 }])
    expect(brief('{n:x} and more')).toEqual(['NO_MATCH'])
    expect(brief('{} and more')).toEqual(['NO_MATCH'])
    expect(brief('{n:1} and more', { schema: { required: ['n'] } })).toEqual([{ n: 1 }])
  })

  test('takes the bracket that the input begins with for the payload, good or bad', () => {
    expect(brief('[{"n":1}] and more')).toEqual(['ROOT_NOT_OBJECT'])
    expect(brief('[tool call')).toEqual(['NO_MATCH'])
    expect(brief('12')).toEqual(['ROOT_NOT_OBJECT'])
    expect(brief('"words"')).toEqual(['ROOT_NOT_OBJECT'])
    expect(brief('x [{"n":1}] and more')).toEqual(['ROOT_NOT_OBJECT'])
  })

  test('hands out no part of something broken', () => {
    expect(brief('{"k":1}},"m":2}')).toEqual(['INVALID_JSON'])
    expect(brief('x {"k":1}},"m":{"n":2}} y')).toEqual(['INVALID_JSON'])
    expect(brief('{"k":1}, as asked')).toEqual([{ k: 1 }])
  })

  test('counts an object in prose if its first key is in double quotes or the schema passes it', () => {
    const text = 'a {"b":1} {"a":1,} {"a":"x"} {c:1} {"c":1,} {a:2} end'
    expect(brief(text)).toEqual([{ b: 1 }, { a: 1 }, { a: 'x' }, { c: 1 }])
    const failed = 'SCHEMA_FAILED'
    expect(brief(text, { schema: needsA })).toEqual([failed, { a: 1 }, failed, failed, { a: 2 }])
  })

  test.each([
    ['json', true],
    [' JSON title=x', true],
    ['json5', true],
    ['jsonc', true],
    ['', true],
    ['js', false],
    ['jsonl', false],
  ])('knows a fence labelled %j as a payload: %s', (info, is) => {
    expect(brief(`x\n\`\`\`${info}\n{a:1,b:c}\n\`\`\``)).toEqual([is ? { a: 1, b: 'c' } : 'NO_MATCH'])
  })

  test('takes a fence of another kind if it is JSON, and reads it as prose if it is not', () => {
    const text = 'x\n```js\n{"a":1}\n```\n```js\n{"a":2,} // {"a":3}\n```\n```js\n{"a":"x"}\n```\n'
    expect(brief(text, { schema: needsA })).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, 'SCHEMA_FAILED'])
    expect(brief(text)).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 'x' }])
  })

  test('opens no tag in "use <json> tags"', () => {
    expect(brief('use <json> tags: {"a":1}')).toEqual([{ a: 1 }])
  })

  test('says that the input was cut only where it was in the middle of JSON', () => {
    expect(brief('x {"a":[1,2')).toEqual(['TRUNCATED'])
    expect(brief('{"a":[1,2')).toEqual(['TRUNCATED'])
    expect(brief('{a:[1,2')).toEqual(['TRUNCATED'])
    expect(brief('x {"a" is a key')).toEqual(['NO_MATCH'])
    expect(brief('x [tool call')).toEqual(['NO_MATCH'])
    expect(brief('<json>{"a":[1,2</json> done', { tag: 'json' })).toEqual(['TRUNCATED'])
  })

  test('reads an unclosed think block again, with a note', () => {
    expect(codesOf('<think>hm {"a":1}')).toEqual(['OUTPUT_REPAIRED_GENERIC,THINK_UNCLOSED'])
  })
})

describe('pick', () => {
  const text = '<json>{"a":"x"}</json><json>{"a":1}</json><json>{"a":2}</json><json>{"a":"y"}</json>'
  const options = { tag: 'json', schema: needsA }
  test('each, first and last', () => {
    expect(brief(text, options)).toEqual(['SCHEMA_FAILED', { a: 1 }, { a: 2 }, 'SCHEMA_FAILED'])
    expect(brief(text, { ...options, pick: 'first' })).toEqual([{ a: 1 }])
    expect(brief(text, { ...options, pick: 'last' })).toEqual(['SCHEMA_FAILED'])
  })

  test('first gives the first fault at the end if nothing passes', () => {
    const all = outcomes('<json>{"a":"x"}</json><json>{}</json>', { ...options, pick: 'first' })
    expect(all).toMatchObject([{ ok: false, fault: { code: 'SCHEMA_FAILED' }, frame: { from: 0 } }])
  })

  test('first and last come at the end, because only then it is known whether others pass', () => {
    const seen: unknown[] = []
    const sink = valueStage({ tag: 'json', pick: 'first' })({
      write: (outcome) => void seen.push(outcome),
      end() {},
    })
    sink.write({ channel: 'stdout', bytes: Buffer.from('<json>{"a":1}</json>') })
    expect(seen).toHaveLength(0)
    sink.end()
    expect(seen).toHaveLength(1)
  })

  test('says how many candidates pass and where, if one had to be chosen', () => {
    const notes = (chosen: 'each' | 'first' | 'last', input = text) =>
      outcomes(input, { ...options, pick: chosen }).map((outcome) => outcome.notes)
    const message = '2 candidates pass, at byte 22, 42; the first was taken'
    expect(notes('first')).toEqual([[{ code: 'AMBIGUOUS', message, places: [22, 42] }]])
    expect(notes('last')).toEqual([[]])
    expect(notes('last', text.slice(0, 62))).toMatchObject([[{ code: 'AMBIGUOUS', places: [22, 42] }]])
    expect(notes('each').flat()).toEqual([])
    expect(notes('first', text.slice(0, 42))).toEqual([[]])
  })

  test('names the first sixteen places only', () => {
    const [outcome] = outcomes('<json>{"a":1}</json>'.repeat(20), { ...options, pick: 'last' })
    const places = Array.from({ length: 16 }, (_, i) => 20 * i)
    const message = expect.stringMatching(/^20 candidates pass/)
    expect(outcome?.notes).toEqual([{ code: 'AMBIGUOUS', message, places }])
  })
})

describe('the root', () => {
  test('may be anything if there is a schema, which then decides, and else is an object', () => {
    expect(brief('[1]')).toEqual(['ROOT_NOT_OBJECT'])
    expect(brief('[1]', { root: 'any' })).toEqual([[1]])
    expect(brief('[1]', { schema: { type: 'array' } })).toEqual([[1]])
    expect(brief('"x"', { schema: { type: 'string' } })).toEqual(['x'])
    expect(brief('[1]', { schema: { type: 'array' }, root: 'object' })).toEqual(['ROOT_NOT_OBJECT'])
  })
})

describe('envelopes', () => {
  const inner = '{"a":1}'
  const text = JSON.stringify({ response: inner })
  test.each([
    ['a text', text, {}],
    ['an object', `{"response":${inner}}`, {}],
    ['nested ones', JSON.stringify({ response: text }), {}],
    ['one in a repaired text', `{"session":1,"response":${JSON.stringify(inner)},}`, {}],
    ['one around a broken text', JSON.stringify({ response: '{"a":1,}' }), {}],
    ['one around a fence', JSON.stringify({ response: 'Done:\n```json\n{"a":1}\n```' }), {}],
    ['one in another field', JSON.stringify({ result: inner }), { envelope: 'result' }],
  ])('are opened: %s', (_name, input, more) => {
    expect(outcomes(input, { schema: needsA, ...more })).toMatchObject([
      { value: { a: 1 }, repair_level: 'deterministic_generic' },
    ])
  })

  test('are opened only if the schema rejects them as they are', () => {
    expect(brief(text)).toEqual([{ response: inner }])
    expect(brief(text, { schema: needsA, envelope: 'result' })).toEqual(['SCHEMA_FAILED'])
    expect(brief('{"response":"{\\"a\\":\\"x\\"}"}', { schema: needsA })).toEqual(['SCHEMA_FAILED'])
  })

  test('are not opened without end', () => {
    const nested = (times: number): string =>
      times === 0 ? inner : JSON.stringify({ response: nested(times - 1) })
    expect(brief(nested(8), { schema: needsA })).toEqual([{ a: 1 }])
    expect(brief(nested(9), { schema: needsA })).toEqual(['SCHEMA_FAILED'])
  })
})

describe('nothing found', () => {
  test('gives the input as a comment', () => {
    expect(outcomes('just words €', { tag: 'json', label: 'audit' })).toMatchObject([
      {
        ok: false,
        fault: { code: 'NO_MATCH', message: 'audit: no payload was found in the input' },
        comment: { text: 'just words €', truncated: false, from: 0, to: 14 },
        frame: { kind: 'text', from: 0, to: 14 },
      },
    ])
  })

  test('bounds the comment', () => {
    const comment = { text: 'just', truncated: true, from: 0, to: 4 }
    expect(outcomes('just words', { tag: 'json', maxComment: 4 })).toMatchObject([{ comment }])
  })

  test('knows empty and blank input', () => {
    expect(brief('')).toEqual(['EMPTY'])
    expect(brief(' \r\n\t\ufeff')).toEqual(['EMPTY'])
    expect(outcomes('')[0]).not.toHaveProperty('comment')
    expect(['', ' ', 'x'].map((text) => outcomes(text)[0]?.frame.blank)).toEqual([true, true, false])
  })
})

describe('notes', () => {
  test('tell of bytes that are not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff), Buffer.from('"}')])
    expect(outcomes(bytes)).toMatchObject([{ value: { a: '\ufffd' }, notes: [{ code: 'INVALID_UTF8' }] }])
  })

  test('tell of duplicate keys and lost digits, in lines too', () => {
    expect(codesOf('{"a":1,"a":12345678901234567890}')).toEqual(['DUPLICATE_KEY,PRECISION_LOSS'])
    expect(codesOf('{"a":1,"a":2}', { lines: true })).toEqual(['DUPLICATE_KEY'])
  })
})

describe('channels', () => {
  const bytes = (text: string) => Buffer.from(text)
  test('reads stdout, not stderr, and needs no exit', () => {
    const chunks: Chunk[] = [
      { channel: 'stderr', bytes: bytes('<json>{"a":0}</json>') },
      { channel: 'stdout', bytes: bytes('<json>{"a"') },
      { channel: 'stderr', bytes: bytes('<json>{"a":0}</json>') },
      { channel: 'pty', bytes: bytes('<json>{"a":1}</json>') },
      { channel: 'stdout', bytes: bytes(':1}</json>') },
      { channel: 'exit', code: 0, signal: null },
    ]
    const seen = drive(valueStage({ tag: 'json' }), chunks)
    expect(seen).toMatchObject([{ ok: true, value: { a: 1 } }])
  })
})

describe('options', () => {
  test.each([
    [{ tag: 'json', lines: true }, /exclude each other/],
    [{ pick: 'all' as never }, /pick must be one of each, first, last/],
    [{ root: 'array' as never }, /root must be one of/],
    [{ protoKeys: 'x' as never }, /protoKeys must be one of/],
    [{ lines: 'loose' as never }, /lines must be true, false or 'strict'/],
    [{ envelope: '' }, /envelope must be the name of a field/],
    [{ items: 'a.*', lines: true }, /exclude each other/],
    [{ maxDepth: Number.NaN }, /maxDepth must be a whole number/],
    [{ normalize: [1] as never }, /normalize must be an array of functions/],
    [{ tag: 'a b' }, /tag/],
    [{ schema: { type: 'nonsense' } }, /JSON Schema cannot be compiled/],
  ])('%j is refused before any byte flows', (options, message) => {
    expect(() => values(options)).toThrow(message)
  })
})

test('a fault says where, on which line and column of the payload, and what was expected', () => {
  const rows = [
    ['{"a":}', 5, '1:6', 'at "}", expected a value'],
    ['{"é":1,"b":tru}', 15, '1:15', 'at "}", expected true, false or null'],
    ['{\n"a":}', 6, '2:5', 'at "}", expected a value'],
    ['{\n\n  "a": 1 x}', 12, '3:10', 'at "x}", expected a comma or a closing brace'],
    ['{"a":\n1 2}', 8, '2:3', 'at "2}", expected a comma or a closing brace'],
    ['{"a":1,\n"b"\n:}', 13, '3:2', 'at "}", expected a value'],
    ['[1\n}', 3, '2:1', 'at "}", expected a comma or a closing bracket'],
    ['\n\n{"a":}', 7, '1:6', 'at "}", expected a value'],
    ['文 <json>{"a":[1,2)}</json>', 19, '1:10', 'at ")}", expected a comma or a closing bracket'],
    ['<json>\n{"a":\n}</json>', 13, '3:1', 'at "}", expected a value'],
    ['> ```json\n> {"a":\n>  }\n> ```', 21, '2:2', 'at "}", expected a value'],
    ['x {"a":1}},"b":{"c":2}}', 9, '1:8', 'at "}", expected the end of the value'],
    ['{"a":[1,', 8, '1:9', 'expected a value'],
    ['{"a":\n"b', 8, '2:3', 'expected the end of the string'],
    ['12', 0, '', 'it is a number'],
  ] as const
  const found = rows.map(([text]) => {
    const [outcome] = outcomes(text)
    const fault = outcome?.ok === false ? outcome.fault : undefined
    const { line, column } = fault?.broken ?? {}
    return [text, fault?.at, line ? `${line}:${column}` : '', fault?.message.split(': ').slice(1).join(': ')]
  })
  expect(found).toEqual(rows)
})

describe('a thought', () => {
  const long = 'x'.repeat(70_000)
  const draft = `Ok <thinking>${long}<json>{"a":0}</json></thinking> sorry`

  /** In every way at full length; at once in the quick set, because each way takes half a second. */
  const read = (text: string, options = {}) =>
    slow
      ? outcomes(text, options)
      : drive(valueStage(options), [{ channel: 'stdout', bytes: Buffer.from(text) }])
  const shown = (text: string, options = {}) =>
    read(text, options).map((outcome) => (outcome.ok ? outcome.value : outcome.fault.code))
  const noted = (text: string) => read(text).map(({ notes }) => notes.map(({ code }) => code).join())

  test('hides what is in it at any length, where the answer comes at the end', () => {
    for (const pick of ['first', 'last'] as const) {
      expect(shown(draft, { pick })).toEqual(['NO_MATCH'])
      expect(shown(`${draft} {"a":1}`, { pick })).toEqual([{ a: 1 }])
    }
  })

  test('that is still open after 64 KiB does not hold back what comes one by one', () => {
    expect(shown(draft)).toEqual([{ a: 0 }])
    expect(noted(draft)).toEqual(['OUTPUT_REPAIRED_GENERIC,THINK_OPEN'])
    expect(noted(`Ok <thinking>${long}</thinking> <json>{"a":1}</json>`)).toEqual([''])
  })
})

test.runIf(slow)('what the last resort reads again takes linear time', async () => {
  const families = {
    dicts: "x {'a': 1}\n",
    'bare keys': '{a: 1}\n',
    assignments: 'x = {k: 2} ',
    'brackets without an end': 'x {[',
    braces: 'x {y} ',
    quotes: 'x {"',
    structure: '{}:,[',
  }
  for (const [name, piece] of Object.entries(families)) {
    await expectLinear(name, (size) => {
      const bytes = Buffer.from(piece.repeat(size / piece.length))
      return () => drive(valueStage({ pick: 'first' }), [{ channel: 'stdout', bytes }])
    })
  }
})

test.runIf(slow)('takes linear time for quotes without an end behind a first object', async () => {
  const quotes = (size: number) => `{"a":1,} x: "${'\\"'.repeat(size / 2)}`
  await expectLinear('quotes', (size) => {
    const chunks = [{ channel: 'stdout', bytes: Buffer.from(quotes(size)) }] as const
    return () => drive(valueStage(), chunks)
  })
  expect(outcomes(quotes(50_000))).toMatchObject([{ value: { a: 1 } }])
})

describe('the ledger', () => {
  const ledger = (text: string, options = {}) =>
    outcomes(text, options)[0]?.notes.find(({ code }) => code === 'OUTPUT_REPAIRED_GENERIC')?.changes

  test('has the kind, the byte in the channel, and what was there before and after', () => {
    expect(ledger('{"é":1,}')).toEqual([{ kind: 'dropped a comma', at: 7, before: ',', after: '' }])
    expect(ledger('文字 <json>{a:1}</json>')).toEqual([
      { kind: 'quoted a key', at: 14, before: 'a', after: '"a"' },
    ])
    expect(ledger('<json>{"文":"字" "b":1}</json>')).toEqual([
      { kind: 'added a missing comma', at: 18, before: '', after: ',' },
    ])
  })

  test('counts the marks that were taken off the lines of a fence in a quotation', () => {
    const text = '> ```json\n> {"a":1,\n> "b":[2,]}\n> ```'
    const changes = ledger(text)
    expect(changes).toMatchObject([{ kind: 'took a fence body' }, { kind: 'dropped a comma', at: 28 }])
    expect(text[28]).toBe(',')
  })

  test('is bounded: forty characters of each piece, a hundred changes', () => {
    const long = ledger(`{${'k'.repeat(200)}:1}`)
    expect(long?.[0]?.before.length).toBeLessThanOrEqual(41)
    expect(ledger(`[${'[1,],'.repeat(150)}1]`, { root: 'any' })).toHaveLength(100)
  })
})

test('outcomeStage judges the frames of frameStage as valueStage does', () => {
  const text = 'a <json>{"a":1}</json> {"a":9} <json>{a:2,}</json> <json>{"a":"x"}</json> <json>{"a":'
  const chunks: Chunk[] = [{ channel: 'stdout', bytes: Buffer.from(text) }]
  const options = { schema: needsA, label: 'x' }
  for (const pick of ['each', 'first', 'last'] as const) {
    const joined = join(
      frameStage({ tags: ['json'], fences: false, lines: false, objects: false }),
      outcomeStage({ ...options, pick }),
    )
    expect(drive(joined, chunks).map(plain)).toEqual(
      drive(valueStage({ ...options, pick, tag: 'json' }), chunks).map(plain),
    )
  }
})

test('outcomeStage, which does not see the bytes, judges each frame by itself', () => {
  const judged = (text: string, options: OutcomeOptions<Schema | undefined> = {}, cut: FrameOptions = {}) => {
    const chunks: Chunk[] = [{ channel: 'stdout', bytes: Buffer.from(text) }]
    return drive(join(frameStage(cut), outcomeStage(options)), chunks).map((outcome) => [
      outcome.ok ? outcome.value : outcome.fault.code,
      outcome.frame.from,
      outcome.frame.to,
    ])
  }
  const schema = needsA
  expect(judged('x "k": {"a":1} y')).toEqual([[{ a: 1 }, 7, 14]])
  expect(judged('x `y {a:1}', { schema })).toEqual([[{ a: 1 }, 5, 10]])
  expect(judged('{"a":1,} x', { pick: 'first' })).toEqual([[{ a: 1 }, 0, 8]])
  expect(judged('{"a":} x', { schema })).toEqual([['INVALID_JSON', 0, 6]])
  expect(judged('{"a":\n```json\n{"a":2}\n```')).toEqual([[{ a: 2 }, 6, 25]])
  expect(judged('"k": 1\n```json\n{"a":2}\n```')).toEqual([[{ a: 2 }, 7, 26]])
  expect(judged('x {"a":1}},"b":{"a":2}} y')).toEqual([['INVALID_JSON', 2, 9]])
  expect(judged('words')).toEqual([['NO_MATCH', 0, 0]])
  expect(judged('')).toEqual([['EMPTY', 0, 0]])
  const lines = { lines: true, objects: false, fences: false, tags: [] } as const
  expect(judged('{"a":1}\n{"a":}\n', { lines: true }, lines)).toEqual([
    [{ a: 1 }, 0, 8],
    ['INVALID_JSON', 8, 15],
  ])
})

describe('as a flow', () => {
  test('reads the output of a process', async () => {
    const child = spawn(process.execPath, ['-e', `console.log('hm <json>{"a":1}</json>')`])
    const seen: unknown[] = []
    for await (const outcome of child.stdout.pipe(values({ tag: 'json' }))) {
      if (outcome.ok) seen.push(outcome.value)
    }
    expect(seen).toEqual([{ a: 1 }])
  })

  test('does not queue without bound when its reader is slow', async () => {
    const flow = values({ lines: true })
    flow.write('{}\n'.repeat(20_000))
    await once(flow, 'readable')
    expect(flow.readableLength).toBeLessThan(5000)
    flow.destroy()
  })

  test('does not stall when its queue was full as the reader asked', async () => {
    const chunks = Array.from({ length: 300 }, () => ['words\n', '<json>{"a":1}</json>'])
    let seen = 0
    for await (const outcome of Readable.from(chunks.flat()).pipe(values({ tag: 'json' }))) {
      if (outcome.ok) seen++
    }
    expect(seen).toBe(300)
  })

  test('a schema that answers later fails the stream, once', async () => {
    const later = {
      '~standard': { version: 1, vendor: 'test', validate: async () => ({ value: 1 }) },
    } as const
    const run = pipeline(Readable.from(['{"a":1}']), values({ schema: later }), async (all) => {
      for await (const _ of all);
    })
    await expect(run).rejects.toMatchObject({ code: 'BAD_SCHEMA' })
  })

  test('can be aborted', async () => {
    const stop = new AbortController()
    const flow = values({ signal: stop.signal })
    flow.write('{"a":')
    stop.abort()
    await expect(once(flow, 'close')).rejects.toMatchObject({ name: 'AbortError' })
  })
})
