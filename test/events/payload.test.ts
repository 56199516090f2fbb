import fc from 'fast-check'
import { expect, test } from 'vitest'
import { payloadFinder } from '../../src/events/payload.ts'
import { AT_END } from '../../src/events/position.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { rankOf } from '../../src/values/pick.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { valueParts } from '../../src/values/values.ts'
import { runs } from '../pace.ts'

const pieces = [
  '{',
  '}',
  '[',
  ']',
  '"a"',
  "'a'",
  'a',
  ':',
  '1',
  ',',
  ' ',
  '\n',
  '\0',
  '\ufeff',
  '{cmd}',
  '{cmd} it ',
  '[INFO] it ',
  '{"a":1}',
  '{a:1}',
  'prose',
  '<json>',
  '</json>',
  '<think>',
  '</think>',
  '```json\n',
  '```\n',
  '~~~',
  '\u001b[0m',
  '\u009b1m',
]
const message = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((list) => list.join(''))
const when = { at: AT_END, nth: 1 }
const READING = { pick: 'last', maxFrame: 1 << 20, maxRepair: 65_536 } as const

const found = (text: string, schema?: Schema) => {
  const finder = payloadFinder({ ...READING, schema })
  return [
    ...finder.find(text, when, false).payloads.map(({ value }) => value),
    finder.find(text, when, false).fault,
  ]
}

test('a message has the payloads of the table, and the fault of its last one', () => {
  const rows: [text: string, ...payloads: unknown[]][] = [
    ['', undefined],
    ['Hello.', undefined],
    ['fn() { }', undefined],
    ['Use {name}.', undefined],
    ['{cmd} it', undefined],
    ['[', undefined],
    ['{}', {}, undefined],
    [' \n\0{"a":1}', { a: 1 }, undefined],
    ['{', 'TRUNCATED'],
    ['{{', 'INVALID_JSON'],
    ['[{cmd} it', 'INVALID_JSON'],
    ['[{"a":1}]', 'ROOT_NOT_OBJECT'],
    ['{cmd} it {"a":1}', { a: 1 }, undefined],
    ['[INFO] it {"a":1}', { a: 1 }, undefined],
    ['[1] is {"a":1}', { a: 1 }, undefined],
    ['a{{"a":1}', { a: 1 }, undefined],
    ['See {"a":1}. See {"b":2}.', { a: 1 }, { b: 2 }, undefined],
    ['See {"a":1}. See {"b":', { a: 1 }, 'TRUNCATED'],
    // Of objects in words only the last one counts, and what is before the last but one is not searched.
    ['Is {"a":1} or {"a":2} or {"a":3}.', { a: 2 }, { a: 3 }, undefined],
    ['Is {"a":1} or {"a":2} or {"a":', { a: 2 }, 'TRUNCATED'],
    ['```\n{', 'TRUNCATED'],
    ['~~~\n{}\n~~~', {}, undefined],
    ['<json>{"a":1}</json>', { a: 1 }, undefined],
    ['<think>{"a":1}</think>', undefined],
    ['<think>x</think>{"a":1}', { a: 1 }, undefined],
    ['x \u001b[1m{"a"\u001b[0m:1}', { a: 1 }, undefined],
    ['x {\u009b1m"a":1}', undefined],
  ]
  for (const [text, ...payloads] of rows) expect([text, ...found(text)]).toEqual([text, ...payloads])
})

test('a schema may want any root', () => {
  const resultOf = (text: string, type: string) => {
    const finder = payloadFinder({ ...READING, schema: { type } })
    finder.find(text, when, false)
    const { value, warnings } = finder.result(true)!
    return value ?? warnings[0]
  }
  const rows: [text: string, type: string, result: unknown][] = [
    ['5', 'number', 5],
    [' \n\0-1.5', 'number', -1.5],
    ['"x"', 'string', 'x'],
    ['true', 'boolean', true],
    ['[1]', 'array', [1]],
    ['It is 5', 'number', 'NO_MATCH'],
    ['{a:1}', 'object', { a: 1 }],
    ['x {a:1}', 'object', { a: 1 }],
    [`${'x'.repeat(70_000)} {"a":1}`, 'object', { a: 1 }],
    ['', 'number', 'NO_MATCH'],
  ]
  for (const [text, type, result] of rows) expect([text, resultOf(text, type)]).toEqual([text, result])
})

/** The outcomes of a text, but for those that a lone closer behind them makes thoughts. */
function outcomesOf(stage: ReturnType<typeof valueParts>['stage'], text: string) {
  let outcomes: Outcome<unknown>[] = []
  const sink = stage({
    write: (outcome) => void outcomes.push(outcome),
    end() {},
    forget() {
      outcomes = []
    },
  })
  sink.write({ channel: 'stdout', bytes: Buffer.from(text) })
  sink.end()
  return outcomes
}

test('a message is passed over only if no payload is in it', () => {
  fc.assert(
    fc.property(message, (text) => {
      const finder = payloadFinder({ ...READING, schema: undefined })
      const { payloads, fault } = finder.find(text, when, false)
      // A message is there as a whole, so it is read as `parse` reads a text.
      const parts = valueParts({}, undefined, undefined, true)
      // An array in prose is a fault of the lowest rank, which is no fault of a message.
      const outcomes = outcomesOf(parts.stage, text).filter(
        (outcome) => rankOf(outcome) > 0 || (!outcome.ok && outcome.fault.code === 'NO_MATCH'),
      )
      const values = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.value] : []))
      expect(payloads.map(({ value }) => value)).toEqual(text.includes('{') ? values : [])
      const last = outcomes.at(-1)
      const code =
        !last || last.ok || ['NO_MATCH', 'EMPTY'].includes(last.fault.code) ? undefined : last.fault.code
      expect(fault).toBe(text.includes('{') ? code : undefined)
    }),
    { numRuns: runs(1000) },
  )
})

test('so it is with a schema, which opens braces before bare keys too', () => {
  const schema = { type: 'object', required: ['a'] }
  fc.assert(
    fc.property(message, (text) => {
      const finder = payloadFinder({ ...READING, schema })
      finder.find(text, when, false)
      const parts = valueParts({ schema, pick: 'last', maxComment: 0 })
      const outcomes = outcomesOf(parts.stage, text)
      const good = text.includes('{') ? outcomes.filter((outcome) => outcome.ok) : []
      const result = finder.result(true)!
      if (good.length === 0) expect(result.status).toBe('failed')
      else if (good.length === outcomes.length)
        expect(result).toMatchObject({ status: 'success', value: good.at(-1)!.value })
      else if (result.status === 'success')
        expect(good.map(({ value }) => value)).toContainEqual(result.value)
    }),
    { numRuns: runs(500) },
  )
})

test('a message that is one marked object is read as the scanner reads it', () => {
  const part = (...list: string[]) => fc.constantFrom(...list)
  const text = fc
    .tuple(
      part('', '', '<think>{"a":0}</think>\n\n', '<thinking><json></thinking>', '<think>\u001b[1m</think>'),
      part('', 'Here: ', 'Done.\n', '任务已完成。\n', 'a\n\n    ', 'not `this` ', '{'),
      part('', '<json>', '<json>\n', '```json\n', '```\n', '<think>'),
      part(
        '{"a":1}',
        '{}',
        '{"a":1,"a":2}',
        '{"a":"<b>"}',
        '{"a":"<json>"}',
        '{"a":"\ud800"}',
        '{a:1}',
        '{"__proto__":1}',
        '{"a":1,}',
        "{'a': [1,],}",
        '{"a":"x}',
        '{"a":1}}',
      ),
      part('', '</json>', '\n</json>', '\n```', '```', '</think>'),
      part('', '\n', '\nThat is all.', ' {"b":2}', '\n```', '}'),
    )
    .map((list) => list.join(''))
  fc.assert(
    fc.property(text, fc.boolean(), (given, enveloped) => {
      const find = (maxFrame: number) =>
        payloadFinder({ ...READING, schema: undefined, maxFrame }).find(given, when, enveloped)
      // Near the limit of a frame every message goes through the scanner.
      expect(find(READING.maxFrame)).toEqual(find(Math.max(1, given.length * 3 - 1)))
    }),
    { numRuns: runs(500) },
  )
})

test('the last payload of many in words is that of a message which is searched from its start', () => {
  const part = (...list: string[]) => fc.constantFrom(...list)
  const one = fc.tuple(
    part('Is ', 'or ', '数据 ', '\n\nAnd. ', '[1] is ', ', ', ': ', '"a": ', '<think> ', '`x '),
    part(
      '{"a":1}',
      '{"a":"\\"", "b":true}',
      '{"__SKILL_DONE__":true}',
      '{"a":{}}',
      '{"a":1,}',
      '{x}',
      '{"a":',
    ),
    part(' ', ' ', ' [2] ', '. ', '}', ', ', ''),
  )
  const text = fc.array(one, { minLength: 2, maxLength: 6 }).map((list) => list.flat().join(''))
  const { find } = payloadFinder({ ...READING, schema: undefined })
  fc.assert(
    fc.property(text, (given) => {
      const [some, all] = [find(`So ${given}`, when, false), find(`So - ${given}`, when, false)]
      const told = ({ payloads, fault }: typeof all) => [
        payloads.at(-1),
        payloads.filter(({ final }) => final),
        fault,
      ]
      expect(told(some)).toEqual(told(all))
    }),
    { numRuns: runs(500) },
  )
})
