import { expect, test } from 'vitest'
import { placeOf } from '../../src/frames/place.ts'
import type { CutOptions } from './reference.ts'
import { byteByByte, scan } from './splits.ts'

const T = '```'

/** The character before which the caret is, in a text and in the channel it came from. */
const rows: readonly (readonly [string, CutOptions, string, string])[] = [
  ['a line', {}, 'log\n{"ä":^1}\n', '{"ä":^1}'],
  ['an object', { lines: false }, 'x {"😀":^1} y', '{"😀":^1}'],
  ['a tag', {}, 'x <json>{"ä":^1}</json>', '{"ä":^1}'],
  ['a tag with an escape in its opener', {}, '<js\u001b[1mon>{"a":^1}</json>', '{"a":^1}'],
  ['a plain fence', {}, `${T}json title\n{"a":\n^1}\n${T}`, '{"a":\n^1}'],
  ['a quoted fence', {}, `> ${T}\n> {"a":\n>  ^1}\n> ${T}`, '{"a":\n ^1}'],
  ['an indented fence', {}, `- ${T}\n  {"a":\n  ^1}\n  ${T}`, '{"a":\n^1}'],
  ['a PTY line with escapes', { channel: 'pty' }, '{"a"\u001b[1m:\u001b[0m^1}\n', '{"a":^1}'],
  ['a piped line with escapes', {}, '{"a"\u001b[1m:^1}\n', '{"a"\u001b[1m:^1}'],
]

test.each(rows)('in %s', (_, options, channel, text) => {
  const place = Buffer.from(channel.slice(0, channel.indexOf('^'))).length
  const bytes = Buffer.from(channel.replace('^', ''))
  for (const pieces of [[bytes], byteByByte(bytes)]) {
    const frame = scan(pieces, options).find(({ kind }) => kind !== 'text')!
    expect(frame.text).toBe(text.replace('^', ''))
    expect(placeOf(frame, text.indexOf('^'))).toBe(place)
  }
})

test('behind bytes that are not UTF-8', () => {
  const bytes = Buffer.concat([Buffer.from('{"'), Buffer.of(0xff, 0xe2, 0x82), Buffer.from('":1}\n')])
  const [frame] = scan([bytes])
  expect(frame!.text).toBe('{"\ufffd\ufffd":1}')
  expect(placeOf(frame!, 4)).toBe(5)
})

test('half a pair is where its character is, and the end of the text is an offset, too', () => {
  const [frame] = scan([Buffer.from('{"😀":1}\n')])
  expect([2, 3, 4].map((units) => placeOf(frame!, units))).toEqual([2, 2, 6])
  expect(placeOf(frame!, frame!.text.length)).toBe(10)
})
