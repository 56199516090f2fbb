import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Chunk } from '../../src/frames/chunk.ts'
import { valueStage, values } from '../../src/values/values.ts'
import { brief, outcomes } from './chunked.ts'

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
      notes: [{ code: 'OUTPUT_REPAIRED_GENERIC', changes: ['dropped the think block', 'quoted keys (1)'] }],
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
    expect(brief('{n:1} and more')).toEqual(['NO_MATCH'])
    expect(brief('{} and more')).toEqual(['NO_MATCH'])
    expect(brief('[{"n":1}] and more')).toEqual(['NO_MATCH'])
    expect(brief('{n:1} and more', { schema: { required: ['n'] } })).toEqual([{ n: 1 }])
  })

  test('counts an object in prose if it is JSON, or passes the schema after repair', () => {
    const text = 'a {"b":1} {"a":1,} {"a":"x"} {"c":1,} end'
    expect(brief(text)).toEqual([{ b: 1 }, { a: 'x' }])
    expect(brief(text, { schema: needsA })).toEqual(['SCHEMA_FAILED', { a: 1 }, 'SCHEMA_FAILED'])
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
    expect(brief(`x\n\`\`\`${info}\n{"a":1,}\n\`\`\``)).toEqual([is ? { a: 1 } : 'NO_MATCH'])
  })

  test('takes a fence of another kind only if it is JSON and passes the schema', () => {
    const text = 'x\n```js\n{"a":1}\n```\n```js\n{"a":1,}\n```\n```js\n{"a":"x"}\n```\n'
    expect(brief(text, { schema: needsA })).toEqual([{ a: 1 }])
    expect(brief(text)).toEqual(['NO_MATCH'])
  })

  test('opens no tag in "use <json> tags"', () => {
    expect(brief('use <json> tags: {"a":1}')).toEqual([{ a: 1 }])
  })

  test('says that the input was cut only where it was in the middle of JSON', () => {
    expect(brief('x {"a":[1,2')).toEqual(['TRUNCATED'])
    expect(brief('{"a":[1,2')).toEqual(['TRUNCATED'])
    expect(brief('{a:[1,2')).toEqual(['TRUNCATED'])
    expect(brief('x {"a" is a key')).toEqual(['NO_MATCH'])
    expect(brief('[tool call')).toEqual(['NO_MATCH'])
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

  test('first does not wait for the end, and looks no further', () => {
    const seen: unknown[] = []
    const sink = valueStage({ tag: 'json', pick: 'first' })({
      write: (outcome) => void seen.push(outcome),
      end() {},
    })
    sink.write({ channel: 'stdout', bytes: Buffer.from('<json>{"a":1}</json>') })
    expect(seen).toHaveLength(1)
    sink.write({ channel: 'stdout', bytes: Buffer.from('<json>{"a":2}</json>') })
    sink.end()
    expect(seen).toHaveLength(1)
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
    [{ maxDepth: Number.NaN }, /maxDepth must be a whole number/],
    [{ normalize: [1] as never }, /normalize must be an array of functions/],
    [{ tag: 'a b' }, /tag/],
    [{ schema: { type: 'nonsense' } }, /JSON Schema cannot be compiled/],
  ])('%j is refused before any byte flows', (options, message) => {
    expect(() => values(options)).toThrow(message)
  })
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

  test('does not stand still when its queue was full as the reader asked', async () => {
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
