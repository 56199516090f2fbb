import { expect, test } from 'vitest'
import { isHalfBlank } from '../../src/repair/tolerant-reader.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { tryParse } from '../../src/values/parse.ts'
import { READ, REFUSED } from './ladder-rows.ts'

test.each(Object.entries(READ))('reads, and says what it changed: %s', (_, rows) => {
  for (const [text, value, changes] of rows) {
    const outcome = tryParse(text, { root: 'any' })
    const got = outcome.ok ? [outcome.value, changesOf(outcome)] : faultOf(outcome)
    expect(got, JSON.stringify(text)).toStrictEqual([value, changes])
    const made = rewritten(text, outcome)
    if (made !== undefined) expect(JSON.parse(made), `${JSON.stringify(text)}, rewritten`).toEqual(value)
  }
})

test.each(Object.entries(REFUSED))('refuses, and says where: %s', (_, rows) => {
  for (const [text, fault] of rows) {
    const outcome = tryParse(text, { root: 'any' })
    expect(outcome.ok ? outcome.value : faultOf(outcome), JSON.stringify(text)).toBe(fault)
  }
})

test('a change quotes what was there, and what is there now', () => {
  const { notes } = tryParse('{a:\u00a01 /* c */,"b": 2,}', { root: 'any' })
  expect(notes.flatMap((note) => note.changes ?? [])).toEqual([
    { kind: 'quoted a key', at: 1, before: 'a', after: '"a"' },
    { kind: 'replaced a blank', at: 3, before: '\u00a0', after: ' ' },
    { kind: 'dropped a comment', at: 7, before: '/* c */', after: '' },
    { kind: 'dropped a comma', at: 21, before: ',', after: '' },
  ])
})

test.each([
  ['a line break and 99 blanks before the closing quote', `["x\n${' '.repeat(99)}"]`, 'INVALID_JSON at 3'],
  ['100 blanks, which are text', `["x\n${' '.repeat(100)}"]`, [`x\n${' '.repeat(100)}`]],
  ['a number of 256 digits', `[1${'0'.repeat(255)},]`, [1e255]],
  ['one digit more', `[1${'0'.repeat(256)},]`, 'INVALID_JSON at 259'],
])('a limit: %s', (_, text, read) => {
  const outcome = tryParse(text, { root: 'any' })
  expect(outcome.ok ? outcome.value : faultOf(outcome)).toEqual(read)
})

test('a text may break off inside what is not yet a comment or a fence mark', () => {
  const half = [
    '/',
    '#',
    '/*',
    '/* x',
    '/* x *',
    '<',
    '<!',
    '<!-',
    '<!--',
    '<!-- x',
    '<!-- x --',
    '`',
    '``',
    '~',
    '~~~',
  ]
  for (const rest of half) expect(isHalfBlank(`[1 ${rest}`, 3), rest).toBe(true)
  const other = [
    '',
    'x',
    '//',
    '/x',
    '<x',
    '<!x',
    '`~',
    '~`',
    '``x',
    '#x',
    '*/',
    '/* x */',
    '<!-- x -->',
    '"',
    '1',
  ]
  for (const rest of other) expect(isHalfBlank(`[1 ${rest}`, 3), rest).toBe(false)
  // A label, if a line feed follows.
  expect(isHalfBlank('[1 ~~~json\r', 6)).toBe(true)
  expect(isHalfBlank('[1 ```json \r', 6)).toBe(true)
  for (const text of ['[1 ~~~json', '[1 ~~~j-s\r', '[1 ...json\r'])
    expect(isHalfBlank(text, 6), text).toBe(false)
})

/** The text after its changes, if the list quotes them in full. */
function rewritten(text: string, { notes }: Outcome<unknown>): string | undefined {
  const changes = notes.flatMap((note) => note.changes ?? [])
  // Escapes of a whole document are told once; the list shows control characters as `\\u001b`.
  const inFull = changes.every(
    ({ kind, before }) => !kind.endsWith('escapes') && /^(?!.*\\u)[ -~]{0,39}$/.test(before),
  )
  if (!inFull || text.includes('\u001b')) return undefined
  const bytes = Buffer.from(text)
  let made = ''
  let copied = 0
  for (const { at, before, after } of changes) {
    expect(bytes.subarray(at, at + before.length).toString(), JSON.stringify(text)).toBe(before)
    made += bytes.subarray(copied, at).toString() + after
    copied = at + before.length
  }
  return made + bytes.subarray(copied).toString()
}

function changesOf({ notes }: Outcome<unknown>): string {
  const changes = notes.flatMap((note) => note.changes ?? [])
  return changes.map(({ at, kind }) => `${at} ${kind}`).join('; ')
}

function faultOf(outcome: Outcome<unknown>): string {
  if (outcome.ok) return 'none'
  const { code, at } = outcome.fault
  return at === undefined ? code : `${code} at ${at}`
}
