import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/events/event.ts'
import type { Chunk } from '../../src/frames/chunk.ts'
import { asLines, eventsOf, type Fixture, fixtures } from './fixture.ts'
import { codesOf, texts } from './run.ts'
import { validEvents } from './valid.ts'

const tees = fixtures().filter(({ name }) => name.endsWith('.tee80'))
const read = (fixture: Fixture, logs: readonly Chunk[]): readonly Event[] =>
  validEvents(eventsOf(fixture, [...logs, fixture.exit]))
const without = (fixture: Fixture, channel: string) => fixture.logs.filter((log) => log.channel !== channel)
const log = (fixture: Fixture, channel: string) => fixture.logs.find((one) => one.channel === channel)!

describe.each(tees.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  'stdout and PTY of %s',
  (_, fixture) => {
    const piped = read(fixture, without(fixture, 'pty'))

    test('give the events of the pipes alone', () => {
      expect(asLines(read(fixture, fixture.logs))).toBe(asLines(piped))
    })

    test('give them too when the PTY comes first, or in between', () => {
      const kinds = (events: readonly Event[]) =>
        events.map(({ event, data }) => JSON.stringify([event.type, data])).sort()
      const expected = kinds(piped)
      const [pty, ...pipes] = [log(fixture, 'pty'), ...without(fixture, 'pty')]
      const announced = {
        ...pipes[0]!,
        bytes: new Uint8Array(),
        channels: ['stdout', 'stderr', 'pty'],
      } as const
      expect(kinds(read(fixture, [announced, pty, ...pipes]))).toEqual(expected)
      const step = 1000
      // A PTY that comes alone speaks at once, and of a short log that is all: then the channels must be
      // announced.
      const woven: Chunk[] = pty.bytes.length < 2 * step ? [announced] : []
      for (let at = 0; at < pty.bytes.length; at += step) {
        for (const { channel, bytes } of [pty, ...pipes]) {
          if (at < bytes.length) woven.push({ channel, bytes: bytes.subarray(at, at + step) })
        }
      }
      expect(kinds(read(fixture, woven))).toEqual(expected)
    })

    test('the PTY alone gives the same messages, unflagged', () => {
      const events = read(fixture, [log(fixture, 'pty')])
      expect(texts(events)).toEqual(texts(piped))
      expect(codesOf(events)).not.toContain('PTY_STREAM_MISMATCH')
    })

    test('the PTY gives back what stdout lost', () => {
      const stdout = log(fixture, 'stdout')
      const lines = stdout.bytes.toString().split('\n')
      const at = lines.findIndex((line) => /"agent_message"|^\{"type":"text"/.test(line))
      if (at < 0) return
      const bytes = Buffer.from(lines.toSpliced(at, 1).join('\n'))
      const lost = read(fixture, [{ channel: 'stdout', bytes }, ...without(fixture, 'pty').slice(1)])
      expect(texts(lost).length).toBe(texts(piped).length - 1)
      const events = read(fixture, [{ channel: 'stdout', bytes }, ...fixture.logs.slice(1)])
      expect(texts(events).sort()).toEqual(texts(piped).sort())
      expect(codesOf(events).filter((code) => code === 'PTY_STREAM_MISMATCH')).toHaveLength(1)
      expect(events.find(({ event }) => event.type === 'diagnostic.parser.warning')).toBeDefined()
    })
  },
)
