import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Channel } from '../../src/text/chunk.ts'
import { type Line, lines, shownText } from '../../src/text/lines.ts'

function linesOf(
  input: Uint8Array | string,
  size = Number.POSITIVE_INFINITY,
  maxFrame = 1 << 20,
  channel: Channel = 'pty',
): Line[] {
  const out: Line[] = []
  const splitter = lines(channel, maxFrame, (line) => void out.push(line))
  const bytes = Buffer.from(input as string)
  for (let at = 0; at < bytes.length; at += size) splitter.write(bytes.subarray(at, at + size))
  splitter.end()
  return out
}

const textsOf = (input: Uint8Array | string, channel?: Channel) =>
  linesOf(input, undefined, undefined, channel).map((line) => line.text)

/** A line without its places, which remember where they were asked last. */
const shape = ({ places, ...line }: Line) => ({
  ...line,
  places: places && [...line.text].map((_, at) => places.endOf(line.skip! + at + 1)),
})

describe('lines', () => {
  test('end at LF only, and the CRs before it belong to the end', () => {
    expect(textsOf('a\r\nb\rc\u2028d\u0085e\n\nf\r\r\n')).toEqual(['a', 'b\rc\u2028d\u0085e', '', 'f'])
  })

  test('lose escape sequences, leading NULs (with a note) and a BOM, and keep their offsets', () => {
    const input = '\u001b[31mred\u001b[0m\n\u0000\ufeff{"a":1}\n\u001b]0;title\u0007x\n'
    expect(linesOf(input)).toMatchObject([
      { text: 'red', from: 0, to: 13, open: false },
      { text: '{"a":1}', from: 13, to: 25, open: false, note: 'NUL_BYTES' },
      { text: 'x', from: 25, to: 37, open: false },
    ])
  })

  test('know where their characters stood', () => {
    const places = ([line]: Line[]) =>
      [...line!.text].map((_, at) => line!.places?.endOf(line!.skip! + at + 1))
    // Each place is one past the character’s last byte; the escapes before it belong to it.
    expect(places(linesOf('\u001b[1mé\u001b[0mx\u001b[Ky\n'))).toEqual([6, 11, 15])
    expect(places(linesOf('\u009b1m{a\u009bx}\u009b0m\n'))).toEqual([5, 6, 10])
    expect(places(linesOf('\0\u001b[1mx\n'))).toEqual([6])
    const [line] = linesOf('\u001b[1mabc\n')
    expect([3, 1, 2].map((units) => line!.places!.endOf(units))).toEqual([7, 5, 6])
  })

  test('of a pipe keep C1 controls: a CLI left them in its JSON', () => {
    const line = '{"t":"it\u0092s \u009b31mb"}\u009b0m'
    for (const channel of ['stdout', 'stderr'] as const) expect(textsOf(`${line}\n`, channel)).toEqual([line])
  })

  test('of a terminal keep those C1 controls that introduce no sequence', () => {
    expect(textsOf('{"t":"it\u0092s \u0085\u009b31mb\u009d0;t\u009c"}\n')).toEqual([
      '{"t":"it\u0092s \u0085b"}',
    ])
  })

  test('of a pipe are shown without what a terminal takes for a sequence', () => {
    expect(shownText('{"t":"é\u0092 \u009b31mb"}')).toBe('{"t":"é\u0092 b"}')
    expect(shownText('\u009b31\nm')).toBe('\nm')
    expect(shownText('plain')).toBe('plain')
  })

  test('tell of bytes that are no UTF-8', () => {
    expect(linesOf(Buffer.from([0x61, 0xff, 0x0a]))).toMatchObject([
      { text: 'a\ufffd', from: 0, to: 3, open: false, note: 'INVALID_UTF8' },
    ])
    expect(linesOf('a\ufffd\n')[0]).not.toHaveProperty('note')
  })

  test('of a terminal lose C1 sequences around a record, and keep C1 characters inside it', () => {
    const record = '{"a":"x\u0099y"}'
    for (const line of [`\u009b2m${record}\u009b0m`, `${record}\u009b0m`, `\u009b2m${record}`, record])
      expect(linesOf(`${line}\n`).map(({ text }) => text)).toEqual([record])
    expect(linesOf('\u009b2mwords £\n').map(({ text }) => text)).toEqual(['words £'])
  })

  test('that outgrow the limit come in pieces, and the next one is whole', () => {
    const pieces = linesOf(`${'x'.repeat(25)}\nok\n`, 7, 10)
    expect(pieces.map(({ from, to, note }) => [from, to, note])).toEqual([
      [0, 10, 'FRAME_TOO_LONG'],
      [10, 20, 'FRAME_TOO_LONG'],
      [20, 26, 'FRAME_TOO_LONG'],
      [26, 29, undefined],
    ])
    expect(pieces.at(-1)!.text).toBe('ok')
  })

  test('that are known by their bytes are skipped; blank lines, open ones and pieces are not looked up', () => {
    for (const size of [1, 3, 100]) {
      const asked: string[] = []
      const told: string[] = []
      const splitter = lines(
        'pty',
        8,
        ({ text }) => void told.push(text),
        (bytes) => {
          asked.push(bytes.toString())
          return bytes.toString() === 'known'
        },
      )
      const bytes = Buffer.from('one\r\n\nknown\nmuch too long\nknown\r\r\ntwo\nknown')
      for (let at = 0; at < bytes.length; at += size) splitter.write(bytes.subarray(at, at + size))
      splitter.end()
      expect(asked).toEqual(['one', 'known', 'known', 'two'])
      expect(told).toEqual(['one', '', 'much too', ' long', 'two', 'known'])
    }
  })

  test('law Split and law Keep: they tile the input, wherever it is cut', () => {
    const byte = fc.constantFrom(0x0a, 0x0d, 0x1b, 0x5b, 0x6d, 0x7b, 0x61, 0xc3, 0xa9, 0x00)
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.array(byte, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (noise, shaped, size) => {
          for (const input of [noise, Uint8Array.from(shaped)]) {
            const whole = linesOf(input, Number.POSITIVE_INFINITY, 16)
            expect(linesOf(input, size, 16).map(shape)).toEqual(whole.map(shape))
            let at = 0
            for (const { from, to } of whole) {
              expect(from).toBe(at)
              at = to
            }
            expect(at).toBe(input.length)
          }
        },
      ),
    )
  })
})
