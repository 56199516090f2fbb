import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drive, type Stage } from '../../src/base/stage.ts'
import { payloadFinder } from '../../src/events/payload.ts'
import { AT_END } from '../../src/events/position.ts'
import type { Chunk } from '../../src/frames/chunk.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { valueParts, valueStage } from '../../src/values/values.ts'
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

test('a message is passed over only if no payload is in it', () => {
  fc.assert(
    fc.property(message, (text) => {
      const finder = payloadFinder({ schema: undefined, maxFrame: 1 << 20 })
      const { payloads, fault } = finder.find(text, when, false)
      const outcomes = drive(valueStage({ maxComment: 0 }), [{ channel: 'stdout', bytes: Buffer.from(text) }])
      const values = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.value] : []))
      expect(payloads.map(({ value }) => value)).toEqual(text.includes('{') ? values : [])
      const last = outcomes.at(-1)!
      const code = last.ok || ['NO_MATCH', 'EMPTY'].includes(last.fault.code) ? undefined : last.fault.code
      expect(fault).toBe(text.includes('{') ? code : undefined)
    }),
    { numRuns: runs(1000) },
  )
})

test('so it is with a schema, which opens braces before bare keys too', () => {
  const schema = { type: 'object', required: ['a'] }
  fc.assert(
    fc.property(message, (text) => {
      const finder = payloadFinder({ schema, maxFrame: 1 << 20 })
      finder.find(text, when, false)
      const parts = valueParts({ schema, pick: 'last', maxComment: 0 })
      const all: Stage<Chunk, Outcome<unknown>> = (next) => parts.stage(next)
      const outcomes = drive(all, [{ channel: 'stdout', bytes: Buffer.from(text) }])
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
