import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import type { EndState, Evidence } from '../../src/events/event.ts'
import { completionOf } from '../../src/events/evidence.ts'
import { outcomeOf, outcomeWords, readOutcome } from '../../src/events/run-outcome.ts'
import { events } from '../../src/streams/events.ts'
import { tap } from '../../src/streams/tap.ts'
import { validEvents } from '../engines/valid.ts'
import { rows } from './ends.ts'

test.each(rows)('$name is $outcome', ({ evidence, state, outcome }) => {
  const { data } = completionOf(evidence)
  expect([data.state, outcomeOf(data)]).toEqual([state, outcome])
})

test('evidence that another journal lacks counts as not known', () => {
  const of = (state: EndState, evidence: object) => outcomeOf({ state, evidence: evidence as Evidence })
  expect(of('completed', {})).toBe('succeeded')
  expect(of('awaiting_user_input', { exit_code: null })).toBe('needs_input')
  expect(of('unknown', { stopped: null })).toBe('unknown')
})

test('the program that starts the process says with the exit that it was stopped on request', async () => {
  const exit = { code: null, signal: 'SIGTERM', stopped: 'aborted' }
  const sources = { stdout: Readable.from([Buffer.from('{"type":"turn.started"}\n')]), exit }
  const last = validEvents(await tap(sources).pipe(events(codex)).toArray()).at(-1)
  expect(last?.data).toMatchObject({ state: 'interrupted', evidence: { stopped: 'aborted' } })
  expect(last?.type === 'lifecycle.completion.state' && outcomeOf(last.data)).toBe('cancelled')
})

test('only a known word is read as an outcome', () => {
  expect(Object.keys(outcomeWords).map(readOutcome)).toEqual(Object.keys(outcomeWords))
  expect(['done', 'toString', '__proto__', 5, null, undefined].map(readOutcome)).toEqual(
    new Array(6).fill(undefined),
  )
})

test('a turn that ended well without a done marker reads as finished, waiting for input', () => {
  expect(outcomeWords.needs_input).toBe('turn finished, waiting for input')
})
