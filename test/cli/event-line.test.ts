import { expect, test } from 'vitest'
import { eventLines } from '../../src/cli/commands/events.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { asLines, eventsOf, fixtures, inPieces } from '../engines/fixture.ts'

const plain = (event: AgentEvent) => `${JSON.stringify(event)}\n`

test('prints events as JSON.stringify does', () => {
  const line = eventLines()
  for (const fixture of fixtures().filter((_, at) => at % 8 === 0)) {
    const events = eventsOf(fixture, inPieces(fixture))
    expect(events.map(line).join('')).toBe(asLines(events))
  }
})

test('escapes the ids of runs and sessions, and forgets those of the run before', () => {
  const line = eventLines()
  const [fixture] = fixtures()
  const [first] = eventsOf(fixture!, inPieces(fixture!))
  const ids = ['a"b', 'a\\b', 'a\nb', '\ud800', 'é', 'plain', 'a"b']
  for (const run_id of ids) {
    for (const session_id of [undefined, ...ids]) {
      const event_id = `${run_id}:1:stdout:0-5:0`
      const correlation = session_id === undefined ? { event_id } : { session_id, event_id }
      const event = { ...first!, run_id, correlation }
      expect(line(event)).toBe(plain(event))
    }
  }
})
