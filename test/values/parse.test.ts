import { expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import { frameOffset } from '../../src/frames/frame-offsets.ts'
import { type ParseOptions, parse, tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { pickedStage } from '../../src/values/values.ts'
import { slow } from '../pace.ts'
import { casesOf, KINDS } from './corrupt.ts'

test('gives the value', () => {
  expect(parse('Sure: <json>{"a": 1,}</json>')).toEqual({ a: 1 })
})

test('throws the fault, with the label of the caller', () => {
  const failed = () => parse('nothing here', { label: 'verdict' })
  expect(failed).toThrow(Fault)
  expect(failed).toThrow('verdict: no payload was found in the input')
})

test('gives the first value that passes, or the first fault', () => {
  const schema = { required: ['a'] }
  expect(tryParse('{"b":1} {"a":1}', { schema })).toMatchObject({ ok: true, value: { a: 1 } })
  expect(tryParse('{"b":1} {"c":1}', { schema })).toMatchObject({ ok: false, frame: { from: 0 } })
})

test('gives the last one, good or bad, if asked for it', () => {
  expect(parse('<json>{"a":1}</json> <json>{"a":2}</json>', { pick: 'last' })).toEqual({ a: 2 })
  const broken = tryParse('<json>{"a":1}</json> <json>{"a":}</json>', { pick: 'last' })
  expect(broken).toMatchObject({ ok: false, fault: { code: 'INVALID_JSON' } })
})

test('one text gives one value: pick each is refused, and so is what is no text', () => {
  const refused = expect.objectContaining({ code: 'BAD_OPTION' })
  expect(() => tryParse('{}', { pick: 'each' as never })).toThrow(refused)
  expect(() => parse(undefined as never)).toThrow(refused)
  expect(() => parse(null as never)).toThrow('parse needs a text, but got null')
  expect(() => tryParse(Buffer.from('{}') as never)).toThrow('tryParse needs a text, but got bytes')
})

test('refuses items, which only values() takes', () => {
  const items = { items: 'a.*' } as never
  expect(() => tryParse('{"a":[1]}', items)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('is a plain function of its text', () => {
  expect(tryParse('{"a":1}')).toEqual(tryParse('{"a":1}'))
  expect(tryParse('')).toMatchObject({ ok: false, fault: { code: 'EMPTY' } })
})

test('parse throws a Fault whose stack begins at its caller', () => {
  function caller() {
    parse('{"a":')
  }
  expect(caller).toThrow(
    expect.objectContaining({ stack: expect.stringMatching(/^Fault: .*\n\s+at caller/) }),
  )
})

/** Nothing around one value but blanks, a tag or a fence. */
const AROUND = [
  '@\n',
  ' @ ',
  '<json>@</json>',
  '\n<json>\n@\n</json>\n',
  '```json\n@\n```',
  '```json\n@\n```\n',
]
const INSIDE = [
  '{"a":1}',
  '{"a":1,}',
  "{a: 'é'}",
  '{}',
  '[{"a":1}]',
  '{"a":}',
  '{"a":1}}',
  '{"a":1}{"b":2}',
  '{"a":"```"}',
  '{"a":"</json>"}',
  '{"a":"\n```\n"}',
  '\u00a0{"a":1}',
]

test('one value in a block, and nothing around it, is what the stages find', () => {
  const schema = { required: ['a'] }
  for (const options of [...OPTIONS, { schema }, { think: ['json'] }])
    for (const around of AROUND)
      for (const inside of INSIDE) {
        const text = around.replace('@', () => inside)
        const [outcome] = drive(pickedStage({ pick: 'first', ...options }), [
          { channel: 'stdout', bytes: Buffer.from(text) },
        ])
        const found = tryParse(text, options)
        expect(found, text).toEqual(outcome)
        expect(frameOffset(found.frame, 1), text).toBe(frameOffset(outcome!.frame, 1))
      }
  expect(tryParse('```json\n{"a":1,}\n```\n')).toMatchObject({
    value: { a: 1 },
    notes: [
      {
        changes: [
          { kind: 'took a fence body', at: 0 },
          { kind: 'dropped a comma', at: 14 },
        ],
      },
    ],
    frame: { kind: 'fence', from: 0, to: 21, label: 'json' },
  })
})

const OPTIONS: readonly ParseOptions<Schema | undefined>[] = [
  {},
  { pick: 'last' },
  { partial: true },
  { root: 'any', label: 'the answer' },
  { schema: { type: 'object', required: ['id'] } },
  { maxRepair: 64, maxDepth: 3 },
]

test.each(OPTIONS)('finds what the stages find, though it mostly goes without them: %j', (options) => {
  const layouts = ['compact', 'pretty'] as const
  const cases = layouts.flatMap((layout) =>
    KINDS.flatMap((kind) => casesOf(kind, { seeds: slow ? 20 : 1, layout })),
  )
  for (const { text } of cases) {
    const chunk = { channel: 'stdout' as const, bytes: Buffer.from(text) }
    const [outcome] = drive(pickedStage({ pick: 'first', ...options }), [chunk])
    expect(tryParse(text, options), text).toEqual(outcome)
  }
})
