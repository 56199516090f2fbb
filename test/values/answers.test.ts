import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import '../plain-schemas.ts'
import { tryParse } from '../../src/values/parse.ts'
import { rowsOf } from './shown-text.ts'

// Answers as models write them, with what a person reads: a value, or the code of a fault where there is
// nothing to read, or more than one thing.
test.each([
  ['without a schema', { root: 'any' }],
  ['with a schema', { schema: {} }],
] as const)('an answer is read as a person reads it, or is a fault: %s', (_name, options) => {
  const rows = rowsOf(readFileSync(join(import.meta.dirname, 'answers.txt'), 'utf8'))
  const others = rows.flatMap(({ heading, shown, text, answer }) => {
    const outcome = tryParse(text, options)
    const got = outcome.ok ? JSON.stringify(outcome.value) : outcome.fault.code
    return got === answer ? [] : [`${heading}: ${shown} → ${got}, not ${answer}`]
  })
  expect(others).toEqual([])
})

test('an answer in prose is read as a person reads it, or is a fault', () => {
  const rows = rowsOf(readFileSync(join(import.meta.dirname, 'answers-prose.txt'), 'utf8'))
  const others = rows.flatMap(({ heading, shown, text, answer }) => {
    const ways = [
      ...(heading.includes('with a schema') ? [] : [{ root: 'any' } as const]),
      ...(heading.includes('without a schema') ? [] : [{ schema: {} }]),
    ]
    return ways.flatMap((options) => {
      const outcome = tryParse(text, options)
      const got = outcome.ok ? JSON.stringify(outcome.value) : outcome.fault.code
      return got === answer ? [] : [`${heading}: ${shown} ${JSON.stringify(options)} → ${got}, not ${answer}`]
    })
  })
  expect(others).toEqual([])
})

test('a brace too many is dropped only if nothing but blanks follows, however many', () => {
  for (const blanks of [1, 4095, 4096, 5000])
    for (const rest of [',"b":2}', 'and so on', '"'])
      expect(tryParse(`{"a":1}}${' '.repeat(blanks)}${rest}`).ok, `${blanks} ${rest}`).toBe(false)
  expect(tryParse(`{"a":1}}${' '.repeat(5000)}`)).toMatchObject({ ok: true, value: { a: 1 } })
})
