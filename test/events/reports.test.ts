import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Event } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import type { Picker } from '../../src/events/profile.ts'
import { casesIn, toldIn } from './run-document.ts'
import { scripted } from './scripted.ts'

test('what an engine reports becomes the events of the document', () => {
  const cases = casesIn('test/events/reports.txt')
  expect(cases.length).toBeGreaterThan(90)
  for (const one of cases) expect([one.name, ...toldIn(one)]).toEqual([one.name, ...one.events])
})

const line = (...reports: readonly unknown[][]) => `${JSON.stringify(reports)}\n`
const read = (stdout: string, options: EventOptions = {}, engine: typeof scripted | Picker = scripted) =>
  drive(eventStage(engine, { clock: () => 0, ...options }), [
    { channel: 'stdout', bytes: Buffer.from(stdout) },
  ])
const dataOf = (events: readonly Event[], type: Event['type']) =>
  events.filter((event) => event.type === type).map(({ data }) => data as unknown as Record<string, unknown>)

test('an event id has the run, the attempt, the range, and its number there', () => {
  const idsOf = (stdout: string, options?: EventOptions) =>
    read(stdout, options).map(({ correlation }) => correlation.event_id)
  const two =
    line(['delta', 'm', 'a']) + line(['status', 'x'], ['message', 'm'], ['status', 'y'], ['ended', 'z'])
  // `+` counts what is reported about a range again: the message that the second record closes, and what
  // follows it.
  expect(idsOf(two, { runId: 'r', attempt: 7 })).toEqual([
    'r:7:stdout:0-20:0',
    'r:7:stdout:20-82:0',
    'r:7:stdout:0-20:+0',
    'r:7:stdout:20-82:+0',
    'r:7:stdout:20-82:+1',
    'r:7:end:+0',
  ])
  expect(idsOf(line(['status', 'x'], ['status', 'y'], ['ended', 'z']))).toEqual([
    'run:1:stdout:0-46:0',
    'run:1:stdout:0-46:1',
    'run:1:stdout:0-46:2',
    'run:1:end:+0',
  ])
  expect(idsOf('{}\n{}\n')).toEqual([
    ...['run:1:stdout:0-3:0', 'run:1:stdout:0-3:1', 'run:1:stdout:3-6:0'],
    ...['run:1:stdout:0-3:+0', 'run:1:end:+0', 'run:1:end:+1'],
  ])
  expect(idsOf(line(['return', 'kept']) + line(['giveBack', 0], ['status', 'x']))).toEqual([
    ...['run:1:stdout:0-20:+0', 'run:1:stdout:0-20:+1', 'run:1:stdout:20-52:+0', 'run:1:end:+0'],
  ])
})

test('raw text is cut after 4,096 characters, and says so', () => {
  for (const [length, expected] of [
    [4096, { line: `x${'y'.repeat(4095)}` }],
    [4097, { line: `x${'y'.repeat(4095)}`, truncated: true }],
  ] as const)
    expect(dataOf(read(`x${'y'.repeat(length - 1)}\n`), 'raw.stdout')).toEqual([expected])
})

test('unknown names are counted one by one up to 256, and cut after 80 characters', () => {
  const driftOf = (names: readonly string[]) => {
    const events = read(names.map((name) => line(['unknownType', name], ['return', false])).join(''))
    return [
      dataOf(events, 'diagnostic.parser.warning').filter(({ code }) => code === 'UNKNOWN_TYPE').length,
      (dataOf(events, 'diagnostic.parser.warning').at(-1)!['drift'] as { types: object }).types,
    ]
  }
  const names = Array.from({ length: 256 }, (_, index) => `n${index}`)
  const each = Object.fromEntries(names.map((name) => [name, 1]))
  expect(driftOf(names)).toEqual([256, each])
  expect(driftOf([...names, 'n0', 'more', 'more', 'again'])).toEqual([256, { ...each, n0: 2, '…': 3 }])
  expect(driftOf(['x'.repeat(80), 'y'.repeat(81)])).toEqual([
    2,
    { ['x'.repeat(80)]: 1, [`${'y'.repeat(79)}…`]: 1 },
  ])
})
