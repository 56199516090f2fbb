import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { auto } from '../src/engines/auto.ts'
import { engines } from '../src/engines/engines-by-name.ts'
import type { AgentEvent } from '../src/events/event.ts'
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
import { endOf, only } from './engines/run.ts'
import { contentOf } from './engines/run-content.ts'
import { uncovered } from './engines/uncovered.ts'
import { validChat, validEvents } from './engines/valid.ts'
import { slow } from './pace.ts'

const all = fixtures()

test('every engine has at least eight recorded runs, each with its origin', () => {
  for (const engine of Object.keys(engines)) {
    const own = all.filter((fixture) => fixture.engine === engine)
    expect(own.length, engine).toBeGreaterThanOrEqual(engine.endsWith('-session') ? 4 : 8)
    for (const { path } of own)
      expect(readFileSync(join(path, 'ORIGIN.md'), 'utf8').length, path).toBeGreaterThan(20)
  }
})

test.each(all.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  '%s gives the events and the conversation of its files, however it is read',
  (_, fixture) => {
    const events = eventsOf(fixture, inPieces(fixture))
    const chat = chatOf(events)
    const golden = (file: string) => readFileSync(join(fixture.path, file), 'utf8')
    expect(asLines(events), 'npm run fixtures writes events.jsonl').toBe(golden('events.jsonl'))
    expect(asLines(chat), 'npm run fixtures writes chat.jsonl').toBe(golden('chat.jsonl'))
    validEvents(events)
    validChat(chat)
    expectSameInPieces(fixture, events)
    expectEveryByte(fixture, events)
    expectSumOfSteps(events)
    expectRecognised(fixture, events)
  },
)

function expectSameInPieces(fixture: Fixture, events: readonly AgentEvent[]): void {
  const expected = asLines(events)
  const size = Math.max(...fixture.logs.map(({ bytes }) => bytes.length))
  const piece = slow || size < 700 ? 1 : 61
  expect(asLines(eventsOf(fixture, inPieces(fixture, piece))), `in pieces of ${piece}`).toBe(expected)
  expect(asLines(eventsOf(fixture, asRead(fixture))), 'as it was read').toBe(expected)
  const pieces = arrival(fixture)
  const read = new Set(pieces.map(({ channel }) => channel))
  // Some runs were recorded with the reads of one channel only.
  if (fixture.logs.some(({ channel, bytes }) => bytes.length > 0 && !read.has(channel))) return
  const arrived = eventsOf(fixture, [...pieces, fixture.exit])
  expect(withoutOrder(arrived), 'in the order of arrival').toEqual(withoutOrder(events))
}

/** The events without what depends on their order. */
function withoutOrder(events: readonly AgentEvent[]): string[] {
  return events.map(({ event, data, raw_ref }) => JSON.stringify([event.type, data, raw_ref])).sort()
}

function expectEveryByte(fixture: Fixture, events: readonly AgentEvent[]): void {
  for (const { channel, bytes } of fixture.logs) {
    // Where there are pipes, the PTY repeats them, and no event refers to it.
    if (channel === 'pty' && fixture.logs.length > 1) continue
    expect(uncovered(events, channel, bytes), `a byte of ${channel} without an event`).toBe(-1)
  }
}

function expectSumOfSteps(events: readonly AgentEvent[]): void {
  const { tokens } = endOf(events)
  const steps = only(events, 'lifecycle.run.status').flatMap(({ data }) => data.tokens ?? [])
  for (const kind of ['input', 'output'] as const) {
    const sum = steps.reduce((all, step) => all + (step[kind] ?? 0), 0)
    expect(sum, `${kind} tokens of all steps`).toBe(tokens?.[kind] ?? 0)
  }
}

function expectRecognised(fixture: Fixture, events: readonly AgentEvent[]): void {
  const picked = eventsOf(fixture, inPieces(fixture), auto)
  validEvents(picked)
  if (!recognisable(fixture)) return
  const { name: engine, parser } = engines[indistinct[fixture.engine] ?? fixture.engine]
  expect(picked.at(-1)!.source, 'what auto picks').toMatchObject({ engine, parser })
  expect(contentOf(picked), 'what auto reads').toEqual(contentOf(events))
  expect(endOf(picked), 'the end for auto').toEqual(endOf(events))
}

/** Engines whose first records could be another's: one dialect, told apart only by name. */
const indistinct: Partial<Record<Fixture['engine'], Fixture['engine']>> = { kilo: 'opencode' }
