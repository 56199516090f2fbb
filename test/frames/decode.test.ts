import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bytes } from '../../src/base/platform.ts'
import { decode } from '../../src/frames/decode.ts'

const piece = fc.oneof(
  fc
    .constantFrom('plain ', '→', '文字', '👍', 'é', '\ufeff', '\u0000', '\ufffd', '\n')
    .map((text) => Bytes.from(text)),
  fc.uint8Array({ minLength: 1, maxLength: 4 }),
)

test('a text of any length, UTF-8 or not, is decoded as Node decodes it', () => {
  const texts = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 700 }))
  fc.assert(
    fc.property(texts, fc.nat(9), fc.nat(9), ([pieces, times], before, behind) => {
      const once = Bytes.concat(pieces.map((bytes) => Bytes.from(bytes)))
      const bytes = Bytes.concat(Array.from({ length: times }, () => once))
      const to = Math.max(before, bytes.length - behind)
      expect(decode(bytes, before, to)).toBe(bytes.toString('utf8', before, to))
    }),
  )
})
