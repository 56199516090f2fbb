import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { tryParse } from '../../src/values/parse.ts'
import { rowsOf } from './shown-text.ts'

// The rules of repair in rows, with texts on both sides of each: what a person reads, or a fault where there
// are two readings. Written by hand.
test('every rule of repair gives the value a person reads, or a fault', () => {
  const rows = rowsOf(readFileSync(join(import.meta.dirname, 'repair-rows.txt'), 'utf8'))
  const others = rows.flatMap(({ heading, shown, text, answer }) => {
    const outcome = tryParse(text, { root: 'any' })
    const fault = outcome.ok ? undefined : `${outcome.fault.code} at ${outcome.fault.at}`
    const same = outcome.ok ? answer[0] === '[' || answer[0] === '{' : answer === fault
    if (same && (!outcome.ok || isDeepStrictEqual(outcome.value, JSON.parse(answer)))) return []
    return [`${heading}: ${shown} → ${outcome.ok ? JSON.stringify(outcome.value) : fault}, not ${answer}`]
  })
  expect(others).toEqual([])
})
