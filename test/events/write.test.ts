import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { writer } from '../../src/events/write.ts'
import { slow } from '../pace.ts'

test.runIf(slow)('no event id is given twice, though more was given back than is remembered', () => {
  const document = '{"session_id":"s","response":"ok"}\n'
  const bytes = Buffer.from(document + 'x\n'.repeat(66_000))
  const read = () =>
    drive(eventStage(auto, { clock: () => 0 }), [{ channel: 'stdout', bytes, channels: ['stdout'] }]).map(
      ({ correlation }) => correlation.event_id,
    )
  const ids = read()
  expect(ids.length).toBeGreaterThan(66_000)
  expect(new Set(ids).size).toBe(ids.length)
  expect(read()).toEqual(ids)
})

test('a place that is spoken about again has its own numbers, also after it was forgotten', () => {
  const ids: string[] = []
  const write = writer(
    { runId: 'r', attempt: 1, clock: () => 0 },
    { write: ({ correlation }: AgentEvent) => void ids.push(correlation.event_id), end() {} },
  )
  const speak = (from: number) => {
    write.about({ channel: 'stdout', from, to: from + 1 }, true)
    write.write('lifecycle.run.status', { status: 'x' }, 1)
    return ids.at(-1)!
  }
  expect([speak(0), speak(0), speak(0)].map((one) => one.slice(-3))).toEqual([':+0', ':+1', ':+2'])
  for (let from = 1; from < 65_536; from++) speak(from)
  expect([speak(65_535), speak(0)]).toEqual(['r:1:stdout:65535-65536:+1', 'r:1:stdout:0-1:+3'])
  // One too many: all are forgotten, and numbers begin above every one that was used.
  expect([speak(65_536), speak(0), speak(1)]).toEqual([
    ...['r:1:stdout:65536-65537:+4', 'r:1:stdout:0-1:+4', 'r:1:stdout:1-2:+4'],
  ])
})

test('the clock returns milliseconds that a Date can hold', () => {
  const stampOf = (clock: () => unknown) => {
    const [event] = drive(eventStage(auto, { clock: clock as () => number }), [])
    return event!.ts
  }
  expect(stampOf(() => 0)).toBe('1970-01-01T00:00:00.000Z')
  expect(stampOf(() => 8.64e15)).toBe('+275760-09-13T00:00:00.000Z')
  expect(stampOf(() => -8.64e15)).toBe('-271821-04-20T00:00:00.000Z')
  const wrong = 'the clock must return milliseconds since 1970, but returned'
  const rows: [clock: () => unknown, message: string][] = [
    [() => 8.64e15 + 1, `${wrong} 8640000000000001`],
    [() => Number.NaN, `${wrong} NaN`],
    [() => undefined, `${wrong} a undefined`],
    [async () => 0, `${wrong} a object`],
    [() => Promise.reject(new Error('late')), `${wrong} a object`],
    [() => JSON.parse('{'), 'the clock threw; it must return milliseconds since 1970'],
  ]
  for (const [clock, message] of rows)
    expect(() => stampOf(clock)).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message }))
})
