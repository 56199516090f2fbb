import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { slow } from '../pace.ts'
import { doorsWith, first, type Options, payloadOf, reasonOf } from './door-readers.ts'
import { type Answer, type Row, rows } from './doors.ts'

interface Failure {
  readonly text: string
  readonly expected: Answer
  readonly got: Answer
}

const doors = doorsWith()

describe.each(Object.entries(doors))('%s', (name, door) => {
  test('gives the answer that a person would', async () => {
    const failures: Failure[] = []
    for (const row of some(name)) {
      const { text, original } = row
      const whole = name === 'a run message' ? { value: payloadOf(text) } : answerFor(row, door.options)
      if (reasonOf(door, text, whole) !== undefined) continue
      const isProse = 'fault' in whole && whole.fault === 'NO_MATCH'
      const expected = isProse && door.labelled ? { fault: 'INVALID_JSON' } : whole
      const got = await door.read(text)
      if (!isDeepStrictEqual(got, expected)) failures.push({ text, expected, got })
      else if (
        original !== undefined &&
        'value' in got &&
        name === 'the whole input' &&
        !isDeepStrictEqual(got.value, original)
      )
        failures.push({ text, expected: { value: original }, got })
    }
    if (failures.length > 0) expect.fail(readable(failures))
  })

  test.runIf(slow)('carries what it can', () => {
    const reasons = rows.map((row) => reasonOf(door, row.text, answerFor(row, door.options)))
    // A reason that applies to no text says nothing.
    expect([...new Set(reasons)].sort()).toEqual([undefined, ...door.cannot.map(([why]) => why)].sort())
    expect(reasons.filter((reason) => reason === undefined).length).toBeGreaterThan(100)
  })
})

test.runIf(slow)('there are texts enough', () => {
  expect(rows.length).toBeGreaterThan(400)
})

/**
 * All rows for the whole input; for each other door a tenth of them in `npm test`, but not the same tenth.
 */
function some(name: string): readonly Row[] {
  const door = Object.keys(doors).indexOf(name)
  return slow || door === 0 ? rows : rows.filter((_, index) => index % 10 === door % 10)
}

/** What the table says, or else what the whole input gives. */
function answerFor({ text, answer, last }: Row, options: Options): Answer {
  return (options.pick === 'last' ? (last ?? answer) : answer) ?? first(text, options)
}

/** Few enough to be read, smallest first, each on a line of its own. */
function readable(failures: readonly Failure[]): string {
  const lines = [...failures]
    .sort((one, two) => one.text.length - two.text.length)
    .slice(0, 40)
    .map(({ text, expected, got }) => `  ${short(text)}  expected ${short(expected)}, got ${short(got)}`)
  return [`${failures.length} answers differ, the smallest are`, ...lines].join('\n')
}

function short(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 160 ? `${text.slice(0, 150)}…` : text
}
