import { expect, test } from 'vitest'
import { type Mutant, withMutant, withSwitches } from '../scripts/mutants/sites.ts'

// `npm run mutants` is only worth its word if a mutant that is switched on does what the changed code does.

const code = `
function sum(limit, strict) {
  let all = 0
  for (let n = 1; n < limit; n++) if (!strict || n > 1) all = all + n
  while (all < 0) all++
  return strict === true ? -all : all
}
`

/** The mutants of the code above, by the text before their token. */
function mutant(id: number, before: string, old: string, now: string): Mutant {
  return { id, file: '', line: 0, at: code.indexOf(before) + before.length, old, now }
}

const mutants = [
  mutant(1, '= 1; n ', '<', '<='),
  mutant(2, 'if (', '!', ''),
  mutant(3, '!strict ', '||', '&&'),
  mutant(4, 'n > ', '1', '2'),
  mutant(5, 'all = all ', '+', '-'),
  mutant(6, 'strict === ', 'true', 'false'),
  mutant(7, 'return strict ', '===', '!=='),
]

const calls = [0, 1, 2, 3, 5].flatMap((limit) => [true, false].map((strict) => [limit, strict] as const))
const results = (text: string, active: number) => {
  const make = new Function('__mutant', '__turn', `${text}; return sum`)
  const sum = make(
    (id: number) => id === active,
    () => {},
  )
  return calls.map(([limit, strict]) => sum(limit, strict))
}

test('a mutant that is switched on does what the changed code does', () => {
  const switched = withSwitches(code, mutants)
  const plain = results(code, 0)
  expect(results(switched, 0)).toEqual(plain)
  for (const one of mutants) {
    const changed = results(withMutant(code, one), 0)
    expect(changed, `${one.old} -> ${one.now}`).not.toEqual(plain)
    expect(results(switched, one.id), `${one.old} -> ${one.now}`).toEqual(changed)
  }
})

test('every turn of a loop is counted', () => {
  let turns = 0
  const make = new Function('__mutant', '__turn', `${withSwitches(code, [])}; return sum`)
  make(
    () => false,
    () => turns++,
  )(4, false)
  expect(turns).toBe(3)
})
