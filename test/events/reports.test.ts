import { expect, test } from 'vitest'
import type { Fault } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import { guarded } from '../../src/events/check-engine.ts'
import type { Engine, Picker } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
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
const dataOf = (events: readonly AgentEvent[], type: AgentEvent['type']) =>
  events.filter((event) => event.type === type).map(({ data }) => data as unknown as Record<string, unknown>)

test('an event id has the run, the attempt, the range, and its number there', () => {
  const idsOf = (stdout: string, options?: EventOptions) =>
    read(stdout, options).map(({ correlation }) => correlation.event_id)
  const two =
    line(['piece', 'message', 'm', 'a']) +
    line(['status', 'x'], ['message', 'm'], ['status', 'y'], ['ended', 'z'])
  // `+` counts what is reported about a range again: the message that the second record closes, and what
  // follows it.
  expect(idsOf(two, { runId: 'r', attempt: 7 })).toEqual([
    'r:7:stdout:0-30:0',
    'r:7:stdout:30-92:0',
    'r:7:stdout:0-30:+0',
    'r:7:stdout:30-92:+0',
    'r:7:stdout:30-92:+1',
    'r:7:end:+0',
  ])
  expect(idsOf(line(['status', 'x'], ['status', 'y'], ['ended', 'z']))).toEqual([
    'run:1:stdout:0-46:0',
    'run:1:stdout:0-46:1',
    'run:1:stdout:0-46:2',
    'run:1:end:+0',
  ])
  // Raw after a report about a record that was kept: the number 0 is taken.
  const drifting = line(['status', 'x'], ['about', 0], ['fields', { b: 1 }, ''])
  expect(idsOf(line(['return', 'kept']) + drifting).filter((id) => id.includes(':20-'))).toEqual([
    ...['run:1:stdout:20-71:0', 'run:1:stdout:20-71:+0'],
  ])
  expect(idsOf('{}\n{}\n')).toEqual([
    ...['run:1:stdout:0-3:0', 'run:1:stdout:0-3:1', 'run:1:stdout:3-6:0'],
    ...['run:1:stdout:0-3:+0', 'run:1:end:+0', 'run:1:end:+1'],
  ])
  expect(idsOf(line(['return', 'kept']) + line(['giveBack', 0], ['status', 'x']))).toEqual([
    ...['run:1:stdout:0-20:+0', 'run:1:stdout:0-20:+1', 'run:1:stdout:20-52:+0', 'run:1:end:+0'],
  ])
  expect(
    idsOf(line(['return', 'kept']) + line(['about', 0], ['status', 'x'], ['about', 1], ['status', 'y'])),
  ).toEqual([...['run:1:stdout:0-20:+0', 'run:1:stdout:20-76:+0', 'run:1:end:+0']])
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

/** Picks the scripted engine at the line `pick`, and guesses another one at `guess`. */
const picker: Picker = {
  name: 'picker',
  parser: 'picker_any',
  cut: { stdout: 'records' },
  pick: ({ text }) => (text === 'pick' ? scripted : undefined),
  guess: ({ text }) => (text.startsWith('guess') ? { ...scripted, name: text } : undefined),
  fallback: { ...scripted, name: 'fallback' },
}

test('a picker holds the frames until one is certain, and then nothing is lost', () => {
  const pickedIn = (...lines: string[]) =>
    read(lines.map((line) => `${line}\n`).join(''), {}, picker).map(({ type, source, data, raw_ref }) =>
      type === 'lifecycle.run.status' && data.status === 'engine_picked'
        ? `${source.engine}: ${data.reason}`
        : `${source.engine} ${type.split('.')[0]} ${raw_ref?.byte_from ?? 'end'}`,
    )
  const three = (engine: string) => [
    `${engine}: picker picked ${engine}`,
    `${engine} raw 0`,
    `${engine} diagnostic 0`,
  ]
  const noted = (engine: string) => [`${engine} diagnostic end`, `${engine} lifecycle end`]
  expect(pickedIn('pick')).toEqual([...three('scripted'), 'scripted lifecycle end'])
  expect(pickedIn('x', 'guess 1', 'guess 2', 'pick')).toEqual([
    ...three('scripted'),
    ...['scripted raw 2', 'scripted raw 10', 'scripted raw 18', ...noted('scripted')],
  ])
  expect(pickedIn('x', 'guess 1', 'guess 2')).toEqual([
    ...three('guess 1'),
    ...['guess 1 raw 2', 'guess 1 raw 10', ...noted('guess 1')],
  ])
  expect(pickedIn('x', 'y')).toEqual([...three('fallback'), 'fallback raw 2', ...noted('fallback')])
  expect(pickedIn()).toEqual(['fallback: picker picked fallback', 'fallback lifecycle end'])
})

test('a picker decides after 1,024 frames, or 2^18 characters of them', () => {
  const heldOf = (frames: number, text: string) => {
    const types: string[] = []
    const sink = eventStage(picker, { clock: () => 0 })({
      write: ({ type }) => void types.push(type),
      end() {},
    })
    sink.write({ channel: 'stdout', bytes: Buffer.from(`${text}\n`.repeat(frames)) })
    return types.length === 0
  }
  expect([heldOf(1023, 'x'), heldOf(1024, 'x')]).toEqual([true, false])
  const [half, less] = ['x'.repeat(2 ** 17), 'x'.repeat(2 ** 17 - 1)]
  expect([heldOf(1, half + less), heldOf(2, less), heldOf(2, half)]).toEqual([true, true, false])
})

test('a guarded engine that breaks its contract is misuse', () => {
  const broken = (engine: Partial<Picker> | object, input = '[]\n') => {
    try {
      read(input, {}, guarded({ ...scripted, ...engine } as Engine))
      return undefined
    } catch (error) {
      return [(error as Fault).code, (error as Fault).message]
    }
  }
  const rows: [engine: object, wrong?: string][] = [
    [{ open: () => ({ read: () => true }) }],
    [{ open: () => ({ read: () => 'kept' }) }],
    [{ open: () => ({ read: () => 5 }) }, "must return true, false or 'kept' from read, synchronously"],
    [
      { open: () => ({ read: async () => true }) },
      "must return true, false or 'kept' from read, synchronously",
    ],
    [{ open: () => ({}) }, 'must return an object with a read method from open'],
    [{ open: () => undefined }, 'must return an object with a read method from open'],
    [{ open: () => JSON.parse('{') }, 'threw in open'],
    [picker],
    [{ ...picker, pick: () => scripted }],
    [{ ...picker, pick: () => 5 }, 'must pick an engine, or undefined'],
    [{ ...picker, guess: () => ({}) }, 'must guess an engine, or undefined'],
    [{ ...picker, guess: undefined }],
    [{ ...picker, pick: () => JSON.parse('{') }, 'threw in pick'],
  ]
  for (const [engine, wrong] of rows) {
    const name = 'name' in engine ? 'picker' : 'scripted'
    expect(broken(engine)).toEqual(
      wrong === undefined ? undefined : ['BAD_OPTION', `the engine "${name}" ${wrong}`],
    )
  }
})
