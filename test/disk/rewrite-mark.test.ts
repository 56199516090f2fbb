import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Mark } from '../../src/disk/tail.ts'

let dir = ''
let path = ''
let fd = 0
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-mark-'))
  path = join(dir, 'file')
  writeFileSync(path, '0123456789')
  fd = openSync(path, 'r')
})
afterEach(() => {
  closeSync(fd)
  rmSync(dir, { recursive: true })
})

/** A mark of four bytes that read these pieces. */
function read(...pieces: [from: number, text: string][]): Mark {
  const mark = new Mark(4)
  for (const [from, text] of pieces) mark.reach(from, Buffer.from(text))
  return mark
}

test('holds where nothing was read, also in an empty file', () => {
  truncateSync(path, 0)
  expect(read().holds(fd)).toBe(true)
})

test.each([
  ['one piece', [[0, '01']]],
  [
    'pieces one after the other',
    [
      [0, '0'],
      [1, '12'],
      [3, '3'],
    ],
  ],
  [
    'pieces that overlap',
    [
      [0, '0123'],
      [2, '234'],
      [4, '45'],
    ],
  ],
  [
    'a piece that was read before',
    [
      [0, '012345'],
      [1, '12'],
    ],
  ],
  [
    'a piece behind a gap',
    [
      [0, '01'],
      [5, '56'],
    ],
  ],
  ['a long piece', [[0, '0123456789']]],
  [
    'a piece that begins long before what is known',
    [
      [6, '67'],
      [0, '0123456789'],
    ],
  ],
] satisfies [string, [number, string][]][])('holds after %s, until the file is another', (_what, pieces) => {
  const mark = read(...pieces)
  expect(mark.at).toBe(Math.max(...pieces.map(([from, text]) => from + text.length)))
  expect(mark.holds(fd)).toBe(true)
  truncateSync(path, mark.at - 1)
  expect(mark.holds(fd)).toBe(false)
  writeFileSync(path, 'xxxxxxxxxx')
  expect(mark.holds(fd)).toBe(false)
  mark.reset()
  expect(mark.holds(fd)).toBe(true)
})

test('compares as many bytes as it is made for, however they came', () => {
  const mark = read([0, '01234'], [5, '5'])
  writeFileSync(path, 'xx2345')
  expect(mark.holds(fd)).toBe(true)
  writeFileSync(path, 'xxx345')
  expect(mark.holds(fd)).toBe(false)
})
