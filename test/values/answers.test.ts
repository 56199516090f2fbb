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
