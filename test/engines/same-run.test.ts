import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { Engine, Picker } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { asLines, eventsOf, fixtures, recognisable } from './fixture.ts'
import { codesOf, texts } from './run.ts'
import { contentOf } from './run-content.ts'
import { validEvents } from './valid.ts'

const tees = fixtures().filter(({ name }) => /[.-]tee80$/.test(name))

test.each(tees.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  'the PTY of %s adds nothing to the pipes, and alone tells the same',
  (_, fixture) => {
    const own = engines[fixture.engine]
    const read = (logs: readonly Chunk[], profile: Engine | Picker = own): readonly AgentEvent[] =>
      validEvents(eventsOf(fixture, [...logs, fixture.exit], profile))
    const pipes = fixture.logs.filter(({ channel }) => channel !== 'pty')
    const pty = fixture.logs.find(({ channel }) => channel === 'pty')!
    const piped = read(pipes)
    expect(asLines(read(fixture.logs)), 'pipes and PTY').toBe(asLines(piped))

    const withoutPlace = (events: readonly AgentEvent[]) =>
      events.map(({ event, data }) => JSON.stringify([event.type, data])).sort()
    const announced = {
      ...pipes[0]!,
      bytes: new Uint8Array(),
      channels: ['stdout', 'stderr', 'pty'],
    } as const
    const expected = withoutPlace(piped)
    expect(withoutPlace(read([announced, pty, ...pipes])), 'the PTY first').toEqual(expected)
    const step = 1000
    // A PTY that comes alone speaks at once, and of a short log that is all: then the channels must be
    // announced.
    const woven: Chunk[] = pty.bytes.length < 2 * step ? [announced] : []
    for (let at = 0; at < pty.bytes.length; at += step) {
      for (const { channel, bytes } of [pty, ...pipes]) {
        if (at < bytes.length) woven.push({ channel, bytes: bytes.subarray(at, at + step) })
      }
    }
    expect(withoutPlace(read(woven)), 'the PTY in between').toEqual(expected)

    for (const profile of recognisable(fixture) ? [own, auto] : [own]) {
      const alone = read([pty], profile)
      expect(contentOf(alone), `the PTY alone, read by ${profile.name}`).toEqual(contentOf(piped))
      expect(codesOf(alone)).not.toContain('PTY_STREAM_MISMATCH')
      expect(contentOf(read(pipes, profile)), `the pipes alone, read by ${profile.name}`).toEqual(
        contentOf(piped),
      )
    }
  },
)

test.each(
  tees.flatMap((fixture) => {
    const stdout = fixture.logs
      .find(({ channel }) => channel === 'stdout')!
      .bytes.toString()
      .split('\n')
    const at = stdout.findIndex((line) => /"agent_message"|^\{"type":"text"/.test(line))
    return at < 0
      ? []
      : [[`${fixture.engine}/${fixture.name}`, fixture, stdout.toSpliced(at, 1).join('\n')] as const]
  }),
)('the PTY of %s gives back what stdout lost', (_, fixture, rest) => {
  const read = (wanted: (channel: string) => boolean) =>
    eventsOf(fixture, [
      ...fixture.logs
        .filter(({ channel }) => wanted(channel))
        .map((log) => (log.channel === 'stdout' ? { ...log, bytes: Buffer.from(rest) } : log)),
      fixture.exit,
    ])
  const whole = texts(eventsOf(fixture, [...fixture.logs, fixture.exit]))
  expect(texts(read((channel) => channel !== 'pty'))).toHaveLength(whole.length - 1)
  const events = validEvents(read(() => true))
  expect(texts(events).sort()).toEqual(whole.sort())
  expect(codesOf(events).filter((code) => code === 'PTY_STREAM_MISMATCH')).toHaveLength(1)
})
