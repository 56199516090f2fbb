import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as node from '../../src/base/platform.ts'
import * as web from '../../src/base/platform-web.ts'
import { codePoint } from '../code-point.ts'

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  // Whole and broken UTF-8, and few different bytes, so that something is found.
  fc.string({ unit: codePoint, maxLength: 12 }).map((text) => new Uint8Array(Buffer.from(text))),
  fc
    .array(fc.constantFrom(0x61, 0x62, 0xc3, 0xa9, 0xf0, 0x9f), { maxLength: 24 })
    .map((list) => Uint8Array.from(list)),
)
const place = fc.nat(45)

describe('bytes without Node are the same as Buffers', () => {
  test('as text, and whether they are text', () => {
    fc.assert(
      fc.property(bytes, place, place, (given, a, b) => {
        const [from, to] = [Math.min(a, b, given.length), Math.min(Math.max(a, b), given.length)]
        const [ours, theirs] = [web.Bytes.from(given), node.Bytes.from(given)]
        for (const encoding of ['utf8', 'latin1'] as const)
          expect(ours.toString(encoding, from, to)).toBe(theirs.toString(encoding, from, to))
        expect(web.isUtf8(given)).toBe(node.isUtf8(given))
        expect(web.isAscii(given)).toBe(node.isAscii(given))
      }),
    )
  })

  test('when searched, compared, copied and joined', () => {
    fc.assert(
      fc.property(bytes, bytes, place, (given, sought, from) => {
        const [ours, theirs] = [web.Bytes.from(given), node.Bytes.from(given)]
        for (const needle of [sought, sought.subarray(0, 1), sought.subarray(0, 2)]) {
          if (needle.length === 0) continue
          expect(ours.indexOf(needle, from)).toBe(theirs.indexOf(needle, from))
          expect(ours.lastIndexOf(needle)).toBe(theirs.lastIndexOf(needle))
          expect(ours.indexOf(needle[0]!, from)).toBe(theirs.indexOf(needle[0]!, from))
        }
        expect(ours.compare(sought)).toBe(theirs.compare(sought))
        expect([...web.Bytes.concat([given, sought])]).toEqual([...node.Bytes.concat([given, sought])])
        const size = Math.min(from, given.length + sought.length)
        expect([...web.Bytes.concat([given, sought], size)]).toEqual([
          ...node.Bytes.concat([given, sought], size),
        ])
        const [mine, other] = [new Uint8Array(50), new Uint8Array(50)]
        expect(ours.copy(mine, 3)).toBe(theirs.copy(other, 3))
        expect(mine).toEqual(other)
        expect(ours.subarray(1)).toBeInstanceOf(ours.constructor)
      }),
    )
  })

  test('how long a text is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: codePoint }),
        fc.constantFrom('', '\ud800', '\udc00x', '😀'),
        (text, odd) => {
          expect(web.Bytes.byteLength(text + odd)).toBe(node.Bytes.byteLength(text + odd))
          expect([...web.Bytes.from(text + odd)]).toEqual([...node.Bytes.from(text + odd)])
        },
      ),
    )
  })
})
