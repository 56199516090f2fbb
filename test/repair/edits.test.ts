import { expect, test } from 'vitest'
import { applyEdits, type Edit, Rewriter } from '../../src/repair/edits.ts'
import { tryParse } from '../../src/values/parse.ts'

const KIND = 'dropped a comma'

/** Edits in the order in which a reading makes them: each is linked to the one before. */
function linked(...edits: readonly (readonly [from: number, to: number, by: string])[]): Edit | undefined {
  let last: Edit | undefined
  for (const [from, to, by] of edits) last = { from, to, by, kind: KIND, before: last }
  return last
}

test('edits are applied at once, and listed in the order of the text', () => {
  const cases = [
    applyEdits('abcdef', undefined),
    applyEdits('abcdef', linked([0, 1, 'X'], [1, 2, 'Y'], [4, 6, ''])),
    applyEdits('abcdef', linked([0, 0, 'X'], [6, 6, 'Y'])),
    // Found late: the second is before the first, and the third between them.
    applyEdits('abcdef', linked([4, 5, 'X'], [1, 2, 'Y'], [2, 3, 'Z'])),
    // At one place, what is added comes before what is replaced.
    applyEdits('abcdef', linked([2, 4, 'X'], [2, 2, 'Y'])),
  ]
  expect(cases.map(({ text, changes }) => [text, ...changes.map(({ at }) => at)])).toEqual([
    ['abcdef'],
    ['XYcd', 0, 1, 4],
    ['XabcdefY', 0, 6],
    ['aYZdXf', 1, 2, 4],
    ['abYXef', 2, 2],
  ])
})

test('a change quotes at most 40 characters, and none that control a terminal', () => {
  const long = 'x'.repeat(100)
  const [cut] = applyEdits(long, linked([0, 100, `${long}y`])).changes
  expect([cut!.before, cut!.after]).toEqual(Array(2).fill(`${'x'.repeat(39)}…`))
  const [whole] = applyEdits(long, linked([10, 50, 'x'.repeat(40)])).changes
  expect([whole!.before, whole!.after]).toEqual(Array(2).fill('x'.repeat(40)))
  const [hidden] = applyEdits('\u001b[2J', linked([0, 4, ''])).changes
  expect(hidden!.before).toBe('\\u001b[2J')
})

test('only the first 100 changes are listed, all are made', () => {
  const edits = Array.from({ length: 101 }, (_, at) => [at, at + 1, ''] as const)
  const applied = applyEdits('x'.repeat(101), linked(...edits))
  const rewriter = new Rewriter('x'.repeat(101))
  for (const [from, to, by] of edits) rewriter.replace(from, to, by, KIND)
  for (const { text, changes } of [applied, rewriter.done()]) {
    expect([text, changes.length, changes.at(-1)!.at]).toEqual(['', 100, 99])
  }
})

test('a rewritten text knows where each of its positions was', () => {
  const rewriter = new Rewriter('ab--cd+e')
  expect(rewriter.done()).toEqual({ text: 'ab--cd+e', changes: [] })
  rewriter.replace(2, 4, '', KIND)
  expect(rewriter.done().text).toBe('abcd+e')
  rewriter.replace(6, 7, 'PLUS', KIND)
  expect(rewriter.done().text).toBe('abcdPLUSe')
  //  ab--cd+e      abcdPLUSe
  //  ^^  ^^ ^  to  ^^^^    ^
  expect([0, 1, 2, 3, 8, 9].map((at) => rewriter.origin(at))).toEqual([0, 1, 4, 5, 7, 8])
  expect(rewriter.done().changes).toEqual([
    { kind: KIND, at: 2, before: '--', after: '' },
    { kind: KIND, at: 6, before: '+', after: 'PLUS' },
  ])
})

test('after escape sequences, faults and changes still have the offsets of the input', () => {
  const esc = '\u001b[32m'
  const fault = tryParse(`{"a":${esc}1,${esc}"b":}`)
  expect(fault.ok ? undefined : fault.fault.at).toBe(21)
  const mended = tryParse(`{"a":${esc}1,${esc}b:2,}`)
  const changes = mended.notes.flatMap((note) => note.changes ?? [])
  expect(changes.map(({ kind, at }) => `${kind} ${at}`)).toEqual([
    'dropped an escape sequence 5',
    'dropped an escape sequence 12',
    'quoted a key 17',
    'dropped a comma 20',
  ])
})
