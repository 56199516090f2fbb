import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { tryParse } from '../../src/values/parse.ts'

// A table of broken texts and their answers, so that a change of any guess is a line in a diff:
//
//   # {"a":1,"b":2}                                         what a person reads in the lines below
//   {"a":1,b":2} → right: added a missing quote 7           that, and the changes with their offsets
//   {"a":1,,"b":2} → INVALID_JSON at 7                      or a fault
//
// Each text is one corruption by a kind of corrupt.ts; characters that cannot be seen are spelled as below.
// After a change of a rule: SLUICE_REWRITE=1 npx vitest run test/values/corrupted-answers.test.ts
const path = join(import.meta.dirname, 'corrupted-answers.txt')
const ARROW = ' → '

test('the answers to corrupted texts are those of the table, and never another value', () => {
  const table = readFileSync(path, 'utf8')
  const lines = table.trimEnd().split('\n')
  const now: string[] = []
  let original: unknown
  for (const line of lines) {
    if (line.startsWith('# ')) original = JSON.parse(line.slice(2))
    const [text, answer] = line.split(ARROW)
    now.push(answer === undefined ? line : `${text}${ARROW}${answerTo(hidden(text!), original)}`)
  }
  // Another value is never an answer to write down.
  expect(now.filter((line) => line.includes(`${ARROW}WRONG`))).toEqual([])
  if (process.env['SLUICE_REWRITE']) writeFileSync(path, `${now.join('\n')}\n`)
  else expect(now.filter((line, index) => line !== lines[index])).toEqual([])
})

function answerTo(text: string, original: unknown): string {
  const outcome = tryParse(text, { root: 'any' })
  if (!outcome.ok) return `${outcome.fault.code}${at(outcome.fault.at)}`
  if (!isDeepStrictEqual(outcome.value, original)) return `WRONG: ${JSON.stringify(outcome.value)}`
  const changes = outcome.notes.flatMap((note) => note.changes ?? []).map(({ kind, at }) => `${kind} ${at}`)
  return changes.length === 0 ? 'right' : `right: ${changes.join(', ')}`
}

function at(offset: number | undefined): string {
  return offset === undefined ? '' : ` at ${offset}`
}

//  ␊ is U+000A, and so on up to ␟; ⟨a0⟩ is U+00A0
/** The text that a line of the table shows. */
function hidden(shown: string): string {
  return shown
    .replace(/[\u2400-\u241f]/g, (picture) => String.fromCharCode(picture.charCodeAt(0) - 0x2400))
    .replace(/⟨([0-9a-f]+)⟩/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}
