import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mend } from '../../src/repair/search.ts'
import { tryParse } from '../../src/values/parse.ts'
import { rowsOf } from '../values/shown-text.ts'

// The rules of repair in rows, written by hand, with texts on both sides of each: what a person reads, below
// the kind of change that makes it so; or a fault, where there are two readings.
test('every rule of repair gives the value a person reads, or a fault', () => {
  const rows = rowsOf(readFileSync(join(import.meta.dirname, 'repair-rows.txt'), 'utf8'))
  const others = rows.flatMap(({ heading, shown, text, answer }) => {
    const got = answerTo(text, heading.split(': ')[0]!)
    return got === answer ? [] : [`${heading}: ${shown} → ${got}, not ${answer}`]
  })
  expect(others).toEqual([])
})

function answerTo(text: string, rule: string): string {
  const outcome = tryParse(text, { root: 'any' })
  if (!outcome.ok) return `${outcome.fault.code} at ${outcome.fault.at}`
  const kinds = outcome.notes.flatMap((note) => note.changes ?? []).map(({ kind }) => kind)
  return kinds.includes(rule) || rule.startsWith('not ') ? JSON.stringify(outcome.value) : `not ${rule}`
}

test('the limits of repair: the last text that is repaired, and the first that is not', () => {
  const limits: readonly [name: string, text: (count: number) => string, last: number][] = [
    ['inner quotes of a string', (count) => `{"a":"${'x 5" y '.repeat(count)}z"}`, 256],
    ['length of a key with inner quotes', (count) => `{"${'k'.repeat(count - 7)} "b" c":1}`, 256],
    ['length of a key after a missing comma', (count) => `{"x":1 ${'k'.repeat(count)}:1}`, 256],
    ['the same in quotes', (count) => `{"x":1 "${'k'.repeat(count - 1)}":1}`, 255],
    ['length of a word', (count) => `{"a":${'w'.repeat(count)}}`, 256],
    ['length of a URL', (count) => `{"b":1,"a":http://${'x'.repeat(count - 7)},"c":1}`, 2048],
    ['brackets after a missing quote', (count) => `${'['.repeat(count)}"x${']'.repeat(count)}`, 12],
    ['colons in a key without its closing quote', (count) => `{"${'a:'.repeat(count)}1,"c":2}`, 12],
    ['missing commas', (count) => `[${'{"abcd":1}'.repeat(count + 1)}]`, 2000],
  ]
  const repaired = limits.map(([name, text, last]) => [
    name,
    ...[last, last + 1].map((count) => tryParse(text(count), { root: 'any' }).ok),
  ])
  expect(repaired).toEqual(limits.map(([name]) => [name, true, false]))
})

test('a long number is not taken for a text without its closing quote', () => {
  const texts = [`{"a":"${'1'.repeat(256)},"b":1}`, `{"a":"${'1,'.repeat(127)}11,"b":1}`]
  expect(texts.map((text) => tryParse(text).ok)).toEqual([false, false])
})

test('a text that takes too many tries is ambiguous', () => {
  const text = (commas: number) => `{"a":"${'x,'.repeat(commas)}"b":1}`
  expect([mend(text(300)).kind, mend(text(400)).kind]).toEqual(['mended', 'ambiguous'])
})
