import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { ValuesOptions } from '../../src/values/values.ts'
import { valueStage } from '../../src/values/values.ts'
import { runs, seed } from '../pace.ts'

// A record that raw line breaks cut in two or more pieces, among whole ones: all doors tell the same.

const record = (text: string) =>
  `{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"${text}"}}`

const word = fc.stringMatching(/^[a-z .]{0,6}$/).map((text) => `w${text}w`)
const line = fc.record({
  words: fc.array(word, { minLength: 1, maxLength: 4 }),
  between: fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\r\n'),
})
const input = fc.record({
  lines: fc.array(line, { minLength: 1, maxLength: 4 }),
  end: fc.constantFrom('\n', '\r\n'),
  last: fc.boolean(),
  size: fc.integer({ min: 1, max: 40 }),
})

const pieces = (text: string, size: number) => {
  const bytes = Buffer.from(text)
  const chunks = []
  for (let at = 0; at < bytes.length; at += size)
    chunks.push({ channel: 'stdout' as const, bytes: bytes.subarray(at, at + size) })
  return chunks
}

const values = (text: string, size: number, options: ValuesOptions) =>
  drive(valueStage(options), pieces(text, size)).map((outcome) =>
    // cast: the records of this file
    outcome.ok ? (outcome.value as { item: { text: string } }).item.text : outcome.fault.code,
  )

const said = (text: string, size: number) =>
  drive(eventStage(codex, { clock: () => 0 }), pieces(text, size)).flatMap((event) =>
    event.type === 'agent.message.final' ? [event.data.text] : [],
  )

test('values(), values({ lines }) and events() read the same from records with raw line breaks', () => {
  fc.assert(
    fc.property(input, ({ lines, end, last, size }) => {
      const raw = lines.map(({ words, between }) => words.join(between))
      const text = raw.map(record).join(end) + (last ? end : '')
      expect(values(text, size, {})).toEqual(raw)
      expect(values(text, size, { lines: true })).toEqual(raw)
      expect(said(text, size)).toEqual(raw)
    }),
    { numRuns: runs(2000), seed },
  )
})
