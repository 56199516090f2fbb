import { describe, expect, test } from 'vitest'
import '../plain-schemas.ts'
import { drive } from '../../src/base/stage.ts'
import { tryParse } from '../../src/values/parse.ts'
import { pickedStage } from '../../src/values/values.ts'
import { inSizes } from '../frames/splits.ts'
import { slow } from '../pace.ts'
import { type Answer, answers, REFUSED } from './model-answers.ts'
import { printed } from './printed-answers.ts'
import { told } from './told-answers.ts'
import { varied } from './varied-answers.ts'

const SIZES = slow ? [1, 2, 3, 7, 64] : [1, 7]

const rows = [answers, printed, told, varied].flatMap((table) => Object.entries(table))

describe.each(rows)('%s', (_, rows) => {
  test('is read as a person reads it', () => {
    const others = rows.flatMap(([text, read, options]) => {
      const outcome = tryParse(text, options)
      const isOneOfMany = read === REFUSED && outcome.notes.some(({ code }) => code === 'AMBIGUOUS')
      const got = outcome.ok && !isOneOfMany ? outcome.value : REFUSED
      return got === read || JSON.stringify(got) === JSON.stringify(read)
        ? []
        : [`${JSON.stringify(text)} → ${outcome.ok ? JSON.stringify(got) : outcome.fault.code}`]
    })
    expect(others).toEqual([])
  })

  test('comes the same in pieces', () => {
    for (const [text, , options = {}] of rows.filter(isText)) {
      const { pick = 'first', ...rest } = options
      const whole = tryParse(text, options)
      for (const size of SIZES) {
        const chunks = inSizes(Buffer.from(text), [size]).map(
          (bytes) => ({ channel: 'stdout', bytes }) as const,
        )
        const [outcome] = drive(pickedStage({ ...rest, pick }), chunks)
        expect(outcome, `${JSON.stringify(text)} in pieces of ${size}`).toEqual(whole)
      }
    }
  })
})

/** Half a surrogate pair does not survive as bytes. */
function isText([text]: Answer): boolean {
  return !/\p{Cs}/u.test(text)
}

// With `each`, all that a person would call an answer, in order.
test.each<[string, unknown[]]>([
  ['{"v": 1}\n{"v": 2}', [{ v: 1 }, { v: 2 }]],
  ['```json\n{"v": 1}\n```\nand\n```json\n{"v": 2}\n```', [{ v: 1 }, { v: 2 }]],
  ['- {"v": 1}\n- {"v": 2}\n- {"v": 3}', [{ v: 1 }, { v: 2 }, { v: 3 }]],
  ['Row(d={"v": 1}) {"v": 2}', [{ v: 2 }]],
  ['f(\'{"v": 1}\', {\'w\': 2})\n\n{"v": 2}', [{ v: 2 }]],
  ['<think>{"v": 0}</think>{"v": 1} {"v": 2}', [{ v: 1 }, { v: 2 }]],
  ['| a | {"v": 1} |\n| b | {"v": 2} |', []],
  ['{"v": 1} `{"v": 2}` **{"v": 3}**', [{ v: 1 }, { v: 2 }, { v: 3 }]],
  ['[{"v": 1}, {"v": 2}]', []],
  ['{"v": 1}, {"v": 2}', []],
  ['<tool_call>{"v": 1}</tool_call><tool_call>{"v": 2}</tool_call>', [{ v: 1 }, { v: 2 }]],
  ['1. ```json\n   {"v": 1}```\n2. ```json\n   {"v": 2}```', [{ v: 1 }, { v: 2 }]],
  ['a: {"v": 1}; b: {"v": 2}', [{ v: 1 }, { v: 2 }]],
  ['> {"v": 1}\n\n{"v": 2}', [{ v: 1 }, { v: 2 }]],
])('each answer in %j is told', (text, values) => {
  const outcomes = drive(pickedStage({ pick: 'each' }), [{ channel: 'stdout', bytes: Buffer.from(text) }])
  expect(outcomes.flatMap((outcome) => (outcome.ok ? [outcome.value] : []))).toEqual(values)
})
