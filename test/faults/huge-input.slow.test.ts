import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import { type FrameOptions, type OpenerRules, scanStage } from '../../src/frames/frames.ts'
import { tryParse } from '../../src/values/parse.ts'
import { jsonSchema } from '../../src/values/schema/json-schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { built } from '../built.ts'
import { inSizes } from '../frames/splits.ts'
import { expectLinear } from '../growth.ts'

const GB = 1024 ** 3
const LIMIT_MB = (16 * 1024 * 1024) / 1e6

async function big(name: string, bytes: number) {
  const args = ['--expose-gc', built('test/faults/big.ts'), name, String(bytes)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

describe('a line of 1 GB without LF: memory stays at the limit + 64 MB, FRAME_TOO_LONG, the next line parses', () => {
  test('frames, 1 GB', async () => {
    const result = await big('line', GB)
    expect(result).toMatchObject({ codes: { FRAME_TOO_LONG: 1 }, last: '{"next":1}', kinds: { line: 1 } })
    expect(result.grown_mb).toBeLessThan(LIMIT_MB + 64)
  })
  test('values, 1 GB', async () => {
    const result = await big('line-values', GB)
    expect(result).toMatchObject({ kinds: { FRAME_TOO_LONG: 1, ok: 1 }, last: { next: 1 } })
    expect(result.grown_mb).toBeLessThan(LIMIT_MB + 64)
  })
  test('events, 1 GB: kept in pieces, each with its range', async () => {
    const result = await big('line-events', GB)
    expect(result.codes['FRAME_TOO_LONG']).toBeGreaterThan(0)
    expect(result.kinds['raw.stdout']).toBe(Math.ceil((GB + 8) / (16 * 1024 * 1024)))
    expect(result.grown_mb).toBeLessThan(LIMIT_MB + 64)
  })
})

describe('a <json> block or a fence of 1 GB that never closes: the same', () => {
  test.for(['tag', 'fence'])('%s, 1 GB', async (name) => {
    const result = await big(name, GB)
    expect(result.codes).toEqual({ FRAME_TOO_LONG: 1 })
    expect(Object.keys(result.kinds)).toEqual(['text'])
    expect(result.grown_mb).toBeLessThan(LIMIT_MB + 64)
  })
  test('values, 1 GB: they say it once', async () => {
    const result = await big('tag-values', GB)
    expect(result.kinds).toEqual({ FRAME_TOO_LONG: 1 })
    expect(result.grown_mb).toBeLessThan(LIMIT_MB + 64)
  })
})

describe('nesting of a million: MAX_DEPTH, no stack overflow, linear', () => {
  const deep: Record<string, (n: number) => string> = {
    'arrays, only opened': (n) => '['.repeat(n),
    'arrays, closed': (n) => '['.repeat(n) + ']'.repeat(n),
    'objects, only opened': (n) => '{"a":'.repeat(n),
    'objects, closed': (n) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`,
  }
  const ways: Record<string, readonly [(text: string) => string, ValuesOptions]> = {
    'whole input': [(text) => text, { root: 'any' }],
    'with partial': [(text) => text, { root: 'any', partial: true }],
    'a tag': [(text) => `<json>${text}</json>`, { root: 'any', tag: 'json' }],
    'a line': [(text) => `${text}\n`, { root: 'any', lines: true }],
  }
  for (const [name, make] of Object.entries(deep))
    test.for(Object.entries(ways))(`${name}: %s`, async ([, [dress, options]]) => {
      await expectLinear(
        'nesting',
        (depth) => {
          const bytes = Buffer.from(dress(make(depth)))
          return () => {
            const outcomes = drive(valueStage(options), [{ channel: 'stdout', bytes }])
            const codes = outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.fault.code))
            expect(codes).toEqual(['MAX_DEPTH'])
          }
        },
        { size: 125_000 },
      )
    })
})

describe('a million keys, and keys without end', () => {
  test('a million keys below maxFrame are a value', () => {
    const text = `{${Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":0`).join(',')}}`
    const outcome = tryParse(text)
    expect(outcome.ok && Object.keys(outcome.value as object).length).toBe(1_000_000)
  })
  test('a block of keys without end (1 GB, 130 million keys) is let go at maxFrame, before the heap grows', async () => {
    const result = await big('keys', GB)
    expect(result).toMatchObject({ kinds: { FRAME_TOO_LONG: 1, ok: 1 }, last: { next: 1 } })
    expect(result.grown_mb).toBeLessThan(LIMIT_MB + 64)
  })
})

describe('a million lookalike openers take linear time', () => {
  const openers: Record<string, string> = {
    tags: '<json>',
    fences: '```\n',
    backticks: '`',
    braces: '{',
    quotes: '"',
  }
  const cases = Object.entries(openers).flatMap(([name, piece]) =>
    [
      {},
      { lines: false, needsPayload: true, loose: true, document: 'any' } as FrameOptions & OpenerRules,
    ].map((options, i) => [`${name}${i ? ' as values' : ''}`, piece, options] as const),
  )
  test.for(cases)('%s', async ([, piece, options]) => {
    await expectLinear(
      'openers',
      (count) => {
        const bytes = Buffer.from(piece.repeat(count))
        const pieces = inSizes(bytes, [65_536])
        return () => {
          let covered = 0
          const stage = scanStage(options)({
            write: (frame) => {
              covered += frame.to - frame.from
            },
            end() {},
          })
          for (const part of pieces) stage.write({ channel: 'stdout', bytes: part })
          stage.end()
          expect(covered).toBe(bytes.length)
        }
      },
      { size: 125_000 },
    )
  })
})

describe('repair is bounded', () => {
  const schema = jsonSchema({})
  const broken: Record<string, (size: number) => string> = {
    'unescaped quotes': (size) => `{"a":"${'x" y '.repeat(size / 5)}"}`,
    quotes: (size) => `{"a":${'"'.repeat(size)}}`,
    'single quotes': (size) => `{${"'a':1,".repeat(size / 6)}}`,
    'bare words': (size) => `{${'a:b,'.repeat(size / 4)}}`,
    commas: (size) => `{"a":[${'1,,'.repeat(size / 3)}]}`,
    comments: (size) => `{"a":${'/*'.repeat(size / 2)}1}`,
    'newlines and quotes': (size) => `{"a":"${'\n"'.repeat(size / 2)}"}`,
  }
  // With raw newlines in its strings a candidate may grow only to the cap in the first place.
  const tooLarge = Object.entries(broken).filter(([name]) => !name.startsWith('newlines'))
  test.for(tooLarge)('above the cap %s are not repaired, and it says so', ([, make]) => {
    const outcome = tryParse(make(70_000), { schema })
    expect(outcome.ok).toBe(false)
    expect(outcome.notes.map((note) => note.code)).toContain('REPAIR_SKIPPED')
  })
  test.for(Object.entries(broken))('below the cap %s take linear time', async ([, make]) => {
    // The large input is just below the cap of 65,536 characters.
    await expectLinear(
      'repair',
      (size) => {
        const text = make(size)
        return () => tryParse(text, { schema })
      },
      { size: 8000 },
    )
  })
})

describe('schemas that are bombs', () => {
  const nested = (depth: number) => {
    let schema: Record<string, unknown> = { type: 'object' }
    for (let i = 0; i < depth; i++) schema = { allOf: [schema] }
    return schema
  }
  const loops: Record<string, Record<string, unknown>> = {
    'to itself': { $ref: '#' },
    'to itself in allOf': { allOf: [{ $ref: '#' }] },
    'to another that refers back': {
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      $ref: '#/$defs/a',
    },
  }
  test.for(Object.entries(loops))(
    'a $ref %s fails the schema or the value, not the process',
    ([, schema]) => {
      let found: string
      try {
        const outcome = tryParse('{"a":1}', { schema })
        found = outcome.ok ? 'ok' : outcome.fault.code
      } catch (error) {
        found = Fault.is(error) ? error.code : String(error)
      }
      expect(['SCHEMA_FAILED', 'BAD_SCHEMA']).toContain(found)
    },
  )
  test.for([1000, 20_000])('allOf nested %i deep is BAD_SCHEMA', (depth) => {
    expect(() => valueStage({ schema: nested(depth) })).toThrow(
      expect.objectContaining({ code: 'BAD_SCHEMA' }),
    )
  })
  test('allOf nested 100 deep is a schema like any other', () => {
    expect(tryParse('{"a":1}', { schema: nested(100) }).ok).toBe(true)
    expect(tryParse('[1]', { root: 'any', schema: nested(100) }).ok).toBe(false)
  })
  test('a catastrophic pattern never sees what maxFrame keeps away', () => {
    const schema = { properties: { a: { pattern: '^(a+)+$' } } }
    // Sixty characters would take this pattern years.
    const text = `<json>${JSON.stringify({ a: `${'a'.repeat(60)}!` })}</json>`
    expect(tryParse(text, { tag: 'json', schema, maxFrame: 40 }).ok).toBe(false)
  })
  const judgedInLinearTime = (list: (length: number) => unknown[], schema: Record<string, unknown>) =>
    expectLinear(
      'items',
      (length) => {
        const text = JSON.stringify({ a: list(length) })
        return () => expect(tryParse(text, { schema }).ok).toBe(true)
      },
      { size: 12_500 },
    )
  test('uniqueItems over 100,000 numbers or strings is judged in linear time; maxFrame caps what it may see', async () => {
    for (const type of ['number', 'string']) {
      const schema = { properties: { a: { type: 'array', items: { type }, uniqueItems: true } } }
      const list = (length: number) => Array.from({ length }, (_, i) => (type === 'number' ? i : `${i}`))
      await judgedInLinearTime(list, schema)
      const made = list(100_000)
      const text = JSON.stringify({ a: made })
      const twice = JSON.stringify({ a: [...made, made[7]] })
      expect(tryParse(twice, { schema })).toMatchObject({ ok: false, fault: { code: 'SCHEMA_FAILED' } })
      expect(tryParse(`x ${text}`, { schema, maxFrame: 1000 })).toMatchObject({ ok: false })
    }
  })
  test('uniqueItems over 100,000 items of any kind is linear, and equal is equal as JSON', async () => {
    const schema = { properties: { a: { uniqueItems: true } } }
    const kinds = [(i: number) => i, (i: number) => ({ i, b: [i] }), (i: number) => (i % 2 ? i : `${i}`)]
    for (const kind of kinds)
      await judgedInLinearTime((length) => Array.from({ length }, (_, i) => kind(i)), schema)
    const same = [
      '[1,1.0]',
      '[{"x":1,"y":2},{"y":2,"x":1}]',
      '[[1,[2]],[1,[2]]]',
      '["a","\\u0061"]',
      '[null,null]',
      '[0,-0]',
    ]
    for (const a of same) expect(tryParse(`{"a":${a}}`, { schema }).ok, a).toBe(false)
    const other = [
      '[1,"1"]',
      '[{},[]]',
      '["{}",{}]',
      '["[1]",[1]]',
      '[null,"null"]',
      '[true,1]',
      '[[1,2],[12]]',
      '["\\"a","a"]',
    ]
    for (const a of other) expect(tryParse(`{"a":${a}}`, { schema }).ok, a).toBe(true)
  })
  test('SECURITY.md and the doc comment of jsonSchema() say that schemas are trusted, and which rules are slow', () => {
    const security = readFileSync('SECURITY.md', 'utf8')
    for (const word of ['catastrophic `pattern`', '`$ref` loop', '`uniqueItems`', '`maxFrame`'])
      expect(security).toContain(word)
    expect(readFileSync('src/values/schema/json-schema.ts', 'utf8')).toMatch(/Schemas are trusted/)
  })
})
