import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { chosenRuns } from './chosen-runs.ts'
import { type Recorded, recordedRuns } from './fixtures.ts'

test('the chosen runs have every engine, type of record, field, code and end that is recorded', () => {
  const kept = traits(chosenRuns())
  expect(kept.size).toBeGreaterThan(90)
  expect([...traits(recordedRuns())].filter((trait) => !kept.has(trait))).toEqual([])
})

function traits(runs: readonly Recorded[]): Set<string> {
  return new Set(
    runs.flatMap(({ name, events }) => [name.slice(0, name.indexOf('/')), ...events.flatMap(traitsOf)]),
  )
}

function traitsOf({ type, data, raw_ref }: AgentEvent): string[] {
  const fields = Object.keys(data).map((key) => `${type} with ${key}`)
  const values = Object.entries(data).flatMap(([key, value]) =>
    ['code', 'state', 'reason_code'].includes(key) ? `${key} ${value}` : [],
  )
  return [type, ...fields, ...values, `bytes of ${raw_ref?.stream}`]
}
