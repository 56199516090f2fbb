import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutTo, widthOf, wordsOf } from '../../src/cli/draw/width.ts'
import { expectLinear } from '../growth.ts'

const mixed = 'The fox, 数据行 0 {"k":0} é 👨‍👩‍👧 '

test('a long line takes time in proportion to its length', async () => {
  // With the whole line in one segmenter, the time is quadratic.
  await expectLinear('a long line', (size) => {
    const line = mixed.repeat(size / mixed.length)
    return () => [[...wordsOf(line)], cutTo(line, 40), widthOf(line)]
  })
  const line = mixed.repeat(800)
  expect([...wordsOf(line)].map(({ text }) => text).join('')).toBe(line)
  expect(cutTo(line, 40).join('')).toBe(line)
  expect(widthOf(line)).toBe(800 * widthOf(mixed))
})

test('graphemes stay whole wherever a long text is taken apart', () => {
  const units = fc.constantFrom('a', ' ', '数', 'e\u0301', '👨‍👩‍👧', '🇩🇪', '\ud83d')
  fc.assert(
    fc.property(fc.array(units, { maxLength: 40 }), fc.nat(1100), (parts, before) => {
      const end = `${parts.join('')}xx`
      // Behind two ASCII characters nothing depends on what was before.
      expect(widthOf(`é${'x'.repeat(before)}${end}`)).toBe(1 + before + widthOf(end))
    }),
  )
})

test('a long text without ASCII is taken apart between code points', () => {
  const line = '👍'.repeat(3000)
  expect(widthOf(line)).toBe(6000)
  expect(cutTo(line, 10).every((piece) => widthOf(piece) === 10)).toBe(true)
})

test.each([
  ['数据', 4],
  ['한글', 4],
  ['\u{1f1e9}\u{1f1ea}', 2],
  ['e\u0301', 1],
  ['\u4dc0', 2],
  ['\u2329', 2],
  ['\u{17000}', 2],
  ['\u{1b000}', 2],
  ['\u{1f210}', 2],
  ['\uff71', 1],
])('%s takes %i columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns)
})

test('characters are taken apart as the segmenter of the platform does it', () => {
  const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const units = fc.constantFrom(
    ...[
      'a',
      ' ',
      '\u00a9',
      '\u00ad',
      'é',
      'e\u0301',
      'ä',
      'ж',
      '数',
      'か',
      'か\u3099',
      '한',
      '한\u11a8',
      'ᄀ',
      '\ufffd',
    ],
    ...[
      '👨\u200d👩\u200d👧',
      '🇩🇪',
      '🇩',
      '👍🏽',
      '❤\ufe0f',
      '\u0600',
      'ก\u0e33',
      '\ud83d',
      '\u200d',
      '\ufe0f',
      '…',
    ],
    ...['\u0301', '\u05b0', '\u0710', '\u070f', '\u07b0', '\u20e3', '⌚', '❤'],
  )
  fc.assert(
    fc.property(fc.array(units, { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      const expected = [...segments.segment(text)].reduce((sum, { segment }) => sum + widthOf(segment), 0)
      expect(widthOf(text)).toBe(expected)
      expect(cutTo(text, 1).join('')).toBe(text)
      expect([...wordsOf(text)].reduce((sum, { width }) => sum + width, 0)).toBe(expected)
    }),
  )
})
