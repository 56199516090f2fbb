import { expect, test } from 'vitest'
import { engines } from '../../src/engines/engines-by-name.ts'
import { endOf, lines, only, run, texts } from './run.ts'
import { uncovered } from './uncovered.ts'

const cn = engines.continue

test('an error on stderr fails the run; on stdout it is what the model wrote', () => {
  const record = { status: 'error', message: '429 slow down' }
  const failed = run(cn, { stderr: lines(record), exit: 0 })
  expect(endOf(failed)).toMatchObject({ state: 'interrupted', evidence: { failure: '429 slow down' } })
  const said = run(cn, { stdout: lines(record), exit: 0 })
  expect(texts(said)).toEqual([JSON.stringify(record)])
  expect(endOf(said).state).toBe('unknown')
})

test('other lines on stderr, and what follows the record, are raw', () => {
  const record = { response: 'Hi', status: 'success', note: 'n' }
  const events = run(cn, { stdout: `${lines(record)}more\n`, stderr: 'warning\n', exit: 0 })
  expect(texts(events)).toEqual(['Hi'])
  expect(only(events, 'raw.stdout', 'raw.stderr')).toHaveLength(2)
})

test('blank lines alone, such as those of a terminal, are no message', () => {
  const events = run(cn, { stdout: '\n \n', exit: 0 })
  expect(texts(events)).toEqual([])
  expect(uncovered(events, 'stdout', '\n \n')).toBe(-1)
})

test('an error of a program that nobody knows, as a JSON line on stderr, was of no class', () => {
  const record = { status: 'error', message: '401 Incorrect API key provided: x.' }
  const events = run(engines.text, { stderr: lines(record), exit: 1 })
  expect(endOf(events)).toMatchObject({ outcome: 'failed', failure_class: 'auth' })
})
