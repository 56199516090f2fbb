import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import type { Event } from '../../src/events/event.ts'
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

test.runIf(slow)(
  'a place that is spoken about again and again has its own numbers, also after it was forgotten',
  () => {
    const ids: string[] = []
    const write = writer(
      { runId: 'r', attempt: 1, clock: () => 0 },
      { write: (event: Event) => void ids.push(event.correlation.event_id), end() {} },
    )
    const speak = (from: number) => {
      write.about({ channel: 'stdout', from, to: from + 1 }, true)
      write.write('lifecycle.run.status', { status: 'x' }, 1)
    }
    for (let round = 0; round < 3; round++) for (let from = 0; from < 70_000; from++) speak(from)
    speak(0)
    expect(new Set(ids).size).toBe(210_001)
    expect(ids.slice(0, 2)).toEqual(['r:1:stdout:0-1:+0', 'r:1:stdout:1-2:+0'])
  },
)
