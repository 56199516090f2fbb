import { expect, test } from 'vitest'
import { Bytes } from '../../src/base/platform.ts'
import { characterLength, characterStart, decode, firstInvalid } from '../../src/text/decode.ts'
import { seeded } from '../frames/hostile.ts'
import { runs } from '../pace.ts'

test('a text of any length, UTF-8 or not, is decoded as Node decodes it', () => {
  const pieces = ['plain ', '→', '文字', '👍', 'é', '\ufeff', '\u0000', '\ufffd', '\n'].map((text) =>
    Bytes.from(text),
  )
  const random = seeded(1)
  const below = (limit: number) => Math.floor(limit * random())
  for (let left = runs(4000); left > 0; left--) {
    const bad = Bytes.from([below(256), below(256)])
    const from = random() < 0.5 ? pieces : [...pieces, bad]
    const once = Bytes.concat(Array.from({ length: 1 + below(12) }, () => from[below(from.length)]!))
    const bytes = Bytes.concat(Array.from({ length: 1 + below(700) }, () => once))
    const start = below(10)
    const to = Math.max(start, bytes.length - below(10))
    expect(decode(bytes, start, to)).toBe(bytes.toString('utf8', start, to))
  }
})

// The first and the last of each class of lead bytes, with the first and the last second byte they allow.
const characters: readonly (readonly [bytes: readonly number[], length: number])[] = [
  [[0x00], 1],
  [[0x7f, 0x80], 1],
  [[0x80, 0x80], 1],
  [[0xc1, 0x80], 1],
  [[0xc2, 0x80], 2],
  [[0xc2, 0xbf], 2],
  [[0xc2, 0xc0], 1],
  [[0xc2, 0x7f], 1],
  [[0xc2], 1],
  [[0xdf, 0xbf, 0x80], 2],
  [[0xe0, 0x9f, 0x80], 1],
  [[0xe0, 0xa0, 0x80], 3],
  [[0xe0, 0xbf, 0xbf], 3],
  [[0xe0, 0xa0], 2],
  [[0xe1, 0x80, 0x80], 3],
  [[0xe1, 0x80, 0x7f], 2],
  [[0xe1, 0xbf, 0xc0], 2],
  [[0xed, 0x9f, 0xbf], 3],
  [[0xed, 0xa0, 0x80], 1],
  [[0xef, 0xbf, 0xbf, 0x80], 3],
  [[0xf0, 0x8f, 0x80, 0x80], 1],
  [[0xf0, 0x90, 0x80, 0x80], 4],
  [[0xf0, 0x90, 0x80], 3],
  [[0xf1, 0x80, 0x80, 0x80], 4],
  [[0xf1, 0x80, 0x7f, 0x80], 2],
  [[0xf1, 0x80, 0x80, 0xc0], 3],
  [[0xf4, 0x8f, 0xbf, 0xbf], 4],
  [[0xf4, 0x90, 0x80, 0x80], 1],
  [[0xf5, 0x80, 0x80, 0x80], 1],
  [[0xff, 0x80], 1],
]

test('a character has the length that a decoder gives it, or that of what is replaced as one', () => {
  const found = characters.map(([bytes]) => [bytes, characterLength(Buffer.from([0x80, ...bytes]), 1)])
  expect(found).toEqual(characters)
})

test('a cut never goes through a character, and never takes away a whole one', () => {
  const bytes = Buffer.from('aé€😀')
  const starts = Array.from({ length: 11 }, (_, end) => characterStart(bytes, end))
  expect(starts).toEqual([0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10])
  const rows: readonly (readonly [number[], number])[] = [
    [[0xbf], 1],
    [[0xc0], 0],
    [[0xdf, 0x80], 2],
    [[0xe0, 0x80], 0],
    [[0xef, 0x80, 0x80], 3],
    [[0xf0, 0x80, 0x80], 0],
    [[0xf0, 0x80, 0x80, 0x80], 4],
    [[0x61, 0x80, 0x80], 3],
    [[0x80, 0x80, 0x80, 0x80, 0x80, 0x80], 6],
    [[0xf0, 0x80, 0x80, 0x80, 0x80], 5],
  ]
  expect(rows.map(([row]) => [row, characterStart(Buffer.from(row), row.length)])).toEqual(rows)
})

test('the first byte that is not UTF-8 is found behind characters of every length', () => {
  for (const good of [
    '',
    'a',
    '\u007f',
    '\u0080',
    '\u07ff',
    '\u0800',
    '\ufffd',
    '\uffff',
    '\u{10000}',
    '\u{10ffff}',
  ]) {
    for (const bad of [
      [0xff],
      [0x80],
      [0xc2],
      [0xe0, 0xa0],
      [0xf0, 0x90, 0x80],
      [0xc1, 0xbf],
      [0xed, 0xa0, 0x80],
    ]) {
      for (const behind of ['', 'x', '"}']) {
        const bytes = Buffer.concat([Buffer.from(`xx${good}`), Buffer.from(bad), Buffer.from(behind)])
        const at = 2 + Buffer.byteLength(good)
        expect([good, bad, firstInvalid(bytes.toString(), bytes, 2, bytes.length)]).toEqual([good, bad, at])
        expect(firstInvalid(bytes.toString(), bytes, 0, at)).toBe(-1)
      }
    }
  }
})
