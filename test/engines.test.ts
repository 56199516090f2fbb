import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { auto } from '../src/engines/auto.ts'
import { engines } from '../src/engines/engines-by-name.ts'
import type { Event } from '../src/events/event.ts'
import {
  arrival,
  asLines,
  asRead,
  chatOf,
  eventsOf,
  type Fixture,
  fixtures,
  inPieces,
  recognisable,
} from './engines/fixture.ts'
import { endOf, texts } from './engines/run.ts'
import { uncovered } from './engines/uncovered.ts'
import { validChat, validEvents } from './engines/valid.ts'
import { slow } from './pace.ts'

const all = fixtures()

test('every engine has at least eight recorded runs, each with its origin', () => {
  for (const engine of Object.keys(engines)) {
    const own = all.filter((fixture) => fixture.engine === engine)
    expect(own.length, engine).toBeGreaterThanOrEqual(engine.endsWith('-session') ? 4 : 8)
    for (const { path } of own)
      expect(readFileSync(join(path, 'ORIGIN.md'), 'utf8').length).toBeGreaterThan(20)
  }
})

describe.each(all.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  '%s',
  (_, fixture) => {
    const events = eventsOf(fixture, inPieces(fixture))

    test('gives the expected events and conversation (npm run fixtures writes them)', () => {
      expect(asLines(events)).toBe(readFileSync(join(fixture.path, 'events.jsonl'), 'utf8'))
      expect(asLines(chatOf(events))).toBe(readFileSync(join(fixture.path, 'chat.jsonl'), 'utf8'))
    })

    test('gives the same in small pieces, and as it was read', () => {
      const expected = asLines(events)
      expect(asLines(eventsOf(fixture, asRead(fixture))) === expected).toBe(true)
      const size = Math.max(...fixture.logs.map(({ bytes }) => bytes.length))
      const piece = slow || size < 5000 ? 1 : 61
      expect(asLines(eventsOf(fixture, inPieces(fixture, piece))) === expected).toBe(true)
    })

    test('gives the same events in the order of arrival, if in another order', () => {
      const pieces = arrival(fixture)
      // Some runs were recorded with the reads of one channel only.
      if (
        fixture.logs.some(
          ({ channel, bytes }) => bytes.length > 0 && pieces.every((piece) => piece.channel !== channel),
        )
      )
        return
      const arrived = eventsOf(fixture, [...pieces, fixture.exit])
      expect(asBag(arrived)).toEqual(asBag(events))
    })

    test('is valid, and every byte is accounted for', () => {
      validEvents(events)
      validChat(chatOf(events))
      for (const { channel, bytes } of fixture.logs) {
        // What the PTY has twice is told once.
        if (channel === 'pty' && fixture.logs.length > 1) continue
        expect(uncovered(events, channel, bytes.length)).toBe(-1)
      }
    })

    test('is recognised by auto', () => {
      const picked = eventsOf(fixture, inPieces(fixture), auto)
      validEvents(picked)
      if (!recognisable(fixture)) return
      const { name: engine, parser } = engines[indistinct[fixture.engine] ?? fixture.engine]
      expect(picked.at(-1)!.source).toMatchObject({ engine, parser })
      expect(texts(picked)).toEqual(texts(events))
      expect(endOf(picked)).toEqual(endOf(events))
    })
  },
)

/** The events without what depends on their order. */
function asBag(events: readonly Event[]): string[] {
  return events.map(({ event, data, raw_ref }) => JSON.stringify([event.type, data, raw_ref])).sort()
}

/** Engines whose first records could be another's: one dialect, told apart only by name. */
const indistinct: Partial<Record<Fixture['engine'], Fixture['engine']>> = { kilo: 'opencode' }
