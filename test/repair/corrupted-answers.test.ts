import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { tryParse } from '../../src/values/parse.ts'
import { rowsOf } from '../values/shown-text.ts'

// A table of broken texts and their answers, so that a change of any guess is a line in a diff:
//
//   # {"a":1,"b":2}                                         what a person reads in the lines below
//   {"a":1,b":2} → right: added a missing quote 7           that, and the changes with their offsets
//   {"a":1,,"b":2} → INVALID_JSON at 7                      or a fault
//
// Each text is one corruption by a kind of corrupt.ts; more can be added by hand. After a change of a rule:
//
//   SLUICE_REWRITE=1 npx vitest run --project quick test/repair/corrupted-answers.test.ts
const path = join(import.meta.dirname, 'corrupted-answers.txt')

test('the answers to corrupted texts are those of the table, and never another value', () => {
  const table = readFileSync(path, 'utf8')
  const rows = rowsOf(table)
  const answers = rows.map(({ text, heading }) => answerTo(text, JSON.parse(heading)))
  const changed = rows.flatMap(({ shown, answer }, index) =>
    answer === answers[index] ? [] : [`${shown} → ${answers[index]}, not ${answer}`],
  )
  // Another value is never an answer to write down.
  expect(changed.filter((line) => line.includes(' → WRONG'))).toEqual([])
  if (process.env['SLUICE_REWRITE']) rewrite(table, answers)
  else expect(changed).toEqual([])
})

function answerTo(text: string, original: unknown): string {
  const outcome = tryParse(text, { root: 'any' })
  if (!outcome.ok) return `${outcome.fault.code}${at(outcome.fault.at)}`
  if (!isDeepStrictEqual(outcome.value, original)) return `WRONG: ${JSON.stringify(outcome.value)}`
  const changes = outcome.notes.flatMap((note) => note.changes ?? []).map(({ kind, at }) => `${kind} ${at}`)
  return changes.length === 0 ? 'right' : `right: ${changes.join(', ')}`
}

function rewrite(table: string, answers: readonly string[]): void {
  let row = 0
  writeFileSync(
    path,
    table.replace(/^(.* → ).*$/gm, (_, shown: string) => shown + answers[row++]),
  )
}

function at(offset: number | undefined): string {
  return offset === undefined ? '' : ` at ${offset}`
}
