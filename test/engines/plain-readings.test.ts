import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { eventsOf, fixtures, recognisable } from './fixture.ts'
import { readings } from './plain-readings.ts'
import { fromTerminal } from './plain-records.ts'
import { readingOf } from './reading-of.ts'

const read = fixtures().filter(({ engine }) => !engine.endsWith('-session'))

test('every engine has a second reading', () => {
  const names = Object.keys(engines).filter((name) => !name.endsWith('-session'))
  expect(Object.keys(readings).sort()).toEqual(names.sort())
})

test.each(read.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  '%s is what a plain reading says: from the pipes, with the PTY, from the PTY alone',
  (_, fixture) => {
    const { logs, exit, engine } = fixture
    const log = (wanted: string) => logs.find(({ channel }) => channel === wanted)
    const textOf = (channel: string) => Buffer.from(log(channel)?.bytes ?? []).toString()
    const stdout = log('stdout') ? textOf('stdout') : fromTerminal(textOf('pty'))
    const expected = readings[engine]!({ stdout, stderr: textOf('stderr'), exit: exit.code })
    const pipes = logs.filter(({ channel }) => channel !== 'pty')
    const ways = [pipes, logs, logs.filter(({ channel }) => channel === 'pty')]
    for (const profile of recognisable(fixture) ? [engines[engine], auto] : [engines[engine]]) {
      for (const chunks of ways.filter((way) => way.length > 0))
        expect(readingOf(eventsOf(fixture, [...chunks, exit], profile))).toEqual(expected)
    }
  },
)
