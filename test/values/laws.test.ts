import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { tryParse } from '../../src/values/parse.ts'
import { checkOf } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { runs } from '../pace.ts'
import { outcomesOf, plain } from './chunked.ts'

const schema = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }

/** Text made of what can go wrong. */
const hostile = fc
  .array(
    fc.constantFrom(
      ...[
        '{"a":1}',
        '{"a":"x"}',
        '{"a":1,}',
        '{a:2}',
        "{'a':3}",
        '{"b":"\n"}',
        '[{"a":1}]',
        '[1,2]',
        '12',
        'null',
      ],
      ...[
        '<json>',
        '</json>',
        '<think>',
        '</think>',
        '```json\n',
        '```\n',
        '```',
        '\n',
        ' ',
        'words',
        '"',
        '\\',
      ],
      ...[
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        '"a"',
        '{"a":',
        '{"response":"{\\"a\\":4}"}',
        '\ufeff',
        '\u0000',
        '€',
        '😀',
      ],
      ...[
        '\u001b[31m',
        '\u001b]0;x\u0007',
        '\r\n',
        '{"a":9007199254740993}',
        '{"a":1,"a":2}',
        '{"__proto__":1,"a":5}',
      ],
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

const options: fc.Arbitrary<ValuesOptions<typeof schema | undefined>> = fc.record({
  schema: fc.constantFrom(schema, undefined),
  tag: fc.constantFrom('json', undefined),
  pick: fc.constantFrom('each', 'first', 'last'),
  partial: fc.boolean(),
  root: fc.constantFrom('object', 'any'),
  maxFrame: fc.constantFrom(undefined, 20),
  maxComment: fc.constantFrom(undefined, 5),
})
const withLines = options.chain((one) =>
  fc.boolean().map((lines) => (lines && one.tag === undefined ? { ...one, lines } : one)),
)

const pieces = (text: string, cuts: readonly number[]): Chunk[] => {
  const bytes = Buffer.from(text)
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((from, i) => ({
    channel: 'stdout',
    bytes: bytes.subarray(from, at[i] ?? bytes.length),
  }))
}

describe('laws', () => {
  test('Split: outcomes do not depend on where chunks are cut', () => {
    fc.assert(
      fc.property(hostile, withLines, fc.array(fc.nat(200), { maxLength: 4 }), (text, chosen, cuts) => {
        const whole = outcomesOf(text, chosen).map(plain)
        expect(outcomesOf(text, chosen, 1).map(plain)).toEqual(whole)
        expect(drive(valueStage(chosen), pieces(text, cuts)).map(plain)).toEqual(whole)
      }),
      { numRuns: runs(2000) },
    )
  })

  test('Same: tryParse is values() with pick first, in any chunks', () => {
    fc.assert(
      fc.property(hostile, withLines, fc.integer({ min: 1, max: 5 }), (text, { pick, ...chosen }, size) => {
        const streamed = outcomesOf(text, { ...chosen, pick: 'first' }, size)
        expect([plain(tryParse(text, chosen))]).toEqual(streamed.map(plain))
      }),
      { numRuns: runs(1000) },
    )
  })

  test('Schema: ok means that the schema passed, and every input has an outcome', () => {
    const check = checkOf(schema)
    fc.assert(
      fc.property(hostile, withLines, (text, chosen) => {
        const all = outcomesOf(text, { ...chosen, schema })
        expect(all.length).toBeGreaterThan(0)
        for (const outcome of all) {
          if (outcome.ok) expect(check(outcome.value)).toEqual({ value: outcome.value })
          const repaired = outcome.notes.some(({ code }) => code === 'OUTPUT_REPAIRED_GENERIC')
          expect(outcome.repair_level).toBe(repaired ? 'deterministic_generic' : 'none')
          if (!outcome.ok) expect(outcome.repair_level).toBe('none')
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  test('Schema: no number that the end of the input touches is handed out as finished', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10 }), fc.boolean(), (number, inTag) => {
        const text = `${inTag ? '<json>' : ''}{"a":[${number}],"b":${number}`
        for (const outcome of outcomesOf(text, { partial: true })) {
          expect(outcome).toMatchObject({ ok: true, value: { a: [number] } })
          expect(outcome.ok && outcome.incomplete).toContain('/b')
          expect(outcome.ok && outcome.incomplete).not.toContain('/a')
        }
      }),
    )
  })

  test('Order: frames of outcomes follow each other', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        let last = 0
        for (const { frame } of outcomesOf(text, {})) {
          expect(frame.from).toBeGreaterThanOrEqual(last)
          expect(frame.to).toBeGreaterThanOrEqual(frame.from)
          last = frame.to
        }
      }),
      { numRuns: runs(1000) },
    )
  })
})
