import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { eventsOf, fixtures } from './fixture.ts'
import { plainFacts } from './plain-facts.ts'
import { endOf, only } from './run.ts'

const read = fixtures().filter(({ engine }) => Object.hasOwn(plainFacts, engine))

test.each(read.map((fixture) => [`${fixture.engine}/${fixture.name}`, fixture] as const))(
  '%s spent and was asked what a plain reading of its log says: from the pipes, with the PTY, from the PTY alone',
  (_, fixture) => {
    const { logs, exit, engine } = fixture
    const log =
      logs.find(({ channel }) => channel === 'stdout') ?? logs.find(({ channel }) => channel === 'pty')
    const expected = plainFacts[engine]!(Buffer.from(log!.bytes).toString())
    const ptys = logs.filter(({ channel }) => channel === 'pty')
    const pipes = logs.filter(({ channel }) => channel !== 'pty')
    for (const profile of [engines[engine], auto]) {
      for (const chunks of [pipes, logs, ...ptys.map((pty) => [pty])].filter(({ length }) => length > 0)) {
        const events = eventsOf(fixture, [...chunks, exit], profile)
        const { tokens } = endOf(events)
        expect(tokens).toEqual(expected.tokens)
        expect(only(events, 'user.message').map(({ data }) => data.text)).toEqual(expected.prompts)
        // The sum of the steps is the sum of the run.
        const steps = only(events, 'lifecycle.run.status').flatMap(({ data }) => data.tokens ?? [])
        for (const kind of ['input', 'output'] as const)
          expect(steps.reduce((all, step) => all + (step[kind] ?? 0), 0)).toBe(tokens?.[kind] ?? 0)
      }
    }
  },
)
