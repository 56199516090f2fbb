import { expect, test } from 'vitest'
import { frameOffset, keepOffsets, risingOffsets } from '../../src/frames/frame-offsets.ts'
import { Places } from '../../src/text/offsets.ts'
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
    expect(frameOffset(frame, text.indexOf('^'))).toBe(place)
  }
})

test('behind bytes that are not UTF-8', () => {
  const bytes = Buffer.concat([Buffer.from('{"'), Buffer.of(0xff, 0xe2, 0x82), Buffer.from('":1}\n')])
  const [frame] = scan([bytes])
  expect(frame!.text).toBe('{"\ufffd\ufffd":1}')
  expect(frameOffset(frame!, 4)).toBe(5)
})

test('half a pair is where its character is, and the end of the text is an offset, too', () => {
  const [frame] = scan([Buffer.from('{"😀":1}\n')])
  expect([2, 3, 4].map((units) => frameOffset(frame!, units))).toEqual([2, 2, 6])
  expect(frameOffset(frame!, frame!.text.length)).toBe(10)
})

test('places of runs: where a unit begins, and where the units before it end', () => {
  // The text `aé😀b` in three runs of its channel: `a` at 10, `é😀` from 20, `b` at 40.
  const places = new Places(Buffer.from('aé😀b'), [0, 10, 1, 20, 7, 40])
  const starts = [0, 1, 2, 3, 4, 5].map((units) => places.at(units))
  expect(starts).toEqual([10, 20, 22, 22, 40, 41])
  expect([0, 1, 2, 3, 4, 5].map((units) => places.endOf(units))).toEqual([10, 11, 22, 22, 26, 41])
  // Asked in falling order, it begins again.
  expect([5, 4, 2, 1, 0].map((units) => places.at(units))).toEqual([41, 40, 22, 20, 10])
})

test('places of many runs', () => {
  const runs = Array.from({ length: 9 }, (_, index) => [index, 10 * index]).flat()
  const places = new Places(Buffer.from('abcdefghi'), runs)
  expect([0, 3, 4, 5, 8, 9].map((units) => places.at(units))).toEqual([0, 30, 40, 50, 80, 81])
})

test('places that only begin later, and rising ones that fall', () => {
  const frame = { kind: 'tag', channel: 'stdout', from: 5, to: 30, text: 'é😀b', label: 'json' } as const
  expect([0, 1, 2, 3, 4].map((units) => frameOffset(frame, units))).toEqual([11, 13, 13, 17, 18])
  keepOffsets(frame, 20)
  expect([0, 1, 2, 3, 4].map((units) => frameOffset(frame, units))).toEqual([20, 22, 22, 26, 27])
  const rising = risingOffsets(frame)
  expect([1, 1, 2, 3, 0, 4].map((units) => rising(units))).toEqual([22, 22, 22, 26, 20, 27])
  const fence = { kind: 'fence', channel: 'stdout', from: 5, to: 30, text: 'ab', label: 'é' } as const
  expect([frameOffset(fence, 0), frameOffset(fence, 1)]).toEqual([11, 12])
  const bare = { kind: 'fence', channel: 'stdout', from: 5, to: 30, text: 'ab' } as const
  expect(frameOffset(bare, 1)).toBe(10)
})
