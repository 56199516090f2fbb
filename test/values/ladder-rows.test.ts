import { expect, test } from 'vitest'
import type { Outcome } from '../../src/values/outcome.ts'
import { tryParse } from '../../src/values/parse.ts'
import { READ, REFUSED } from './ladder-rows.ts'

test.each(Object.entries(READ))('reads, and says what it changed: %s', (_, rows) => {
  for (const [text, value, changes] of rows) {
    const outcome = tryParse(text, { root: 'any' })
    const got = outcome.ok ? [outcome.value, changesOf(outcome)] : faultOf(outcome)
    expect(got, JSON.stringify(text)).toStrictEqual([value, changes])
  }
})

test.each(Object.entries(REFUSED))('refuses, and says where: %s', (_, rows) => {
  for (const [text, fault] of rows) {
    const outcome = tryParse(text, { root: 'any' })
    expect(outcome.ok ? outcome.value : faultOf(outcome), JSON.stringify(text)).toBe(fault)
  }
})

function changesOf({ notes }: Outcome<unknown>): string {
  const changes = notes.flatMap((note) => note.changes ?? [])
  return changes.map(({ at, kind }) => `${at} ${kind}`).join('; ')
}

function faultOf(outcome: Outcome<unknown>): string {
  if (outcome.ok) return 'none'
  const { code, at } = outcome.fault
  return at === undefined ? code : `${code} at ${at}`
}
