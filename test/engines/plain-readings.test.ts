import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines.ts'
import { eventsOf, fixtures } from './fixture.ts'
import { readings } from './plain-readings.ts'
import { readingOf } from './reading-of.ts'

const read = fixtures().filter(({ engine }) => Object.hasOwn(readings, engine))

test.each(read.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  '%s is what a plain reading of its stdout says: from the pipes, with the PTY, from the PTY alone',
  (_, fixture) => {
    const { logs, exit, engine } = fixture
    const stdout = logs.find(({ channel }) => channel === 'stdout')!
    const expected = readings[engine]!(Buffer.from(stdout.bytes).toString(), exit.code)
    const ptys = logs.filter(({ channel }) => channel === 'pty')
    const pipes = logs.filter(({ channel }) => channel !== 'pty')
    for (const profile of [engines[engine], auto]) {
      for (const chunks of [pipes, logs, ...ptys.map((pty) => [pty])])
        expect(readingOf(eventsOf(fixture, [...chunks, exit], profile))).toEqual(expected)
    }
  },
)
