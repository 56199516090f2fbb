import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashModule } from '../../scripts/keyed-hash.ts'
import { digest } from '../../src/base/platform.ts'
import { keyedHash } from '../../src/base/wasm.ts'
import { codePoint } from '../code-point.ts'

/** SipHash-2-4 with 128 bits, as its authors describe it, on big integers: slow, and easy to read. */
function plainHash(key: Uint8Array, data: Uint8Array): string {
  const word = (bytes: Uint8Array, at: number) => Buffer.from(bytes).readBigUInt64LE(at)
  const cut = (value: bigint) => BigInt.asUintN(64, value)
  const turn = (value: bigint, bits: bigint) => cut((value << bits) | (value >> (64n - bits)))
  const [k0, k1] = [word(key, 0), word(key, 8)]
  let v0 = k0 ^ 0x736f6d6570736575n
  let v1 = k1 ^ 0x646f72616e646f6dn ^ 0xeen
  let v2 = k0 ^ 0x6c7967656e657261n
  let v3 = k1 ^ 0x7465646279746573n
  const rounds = (count: number) => {
    for (let n = 0; n < count; n++) {
      v0 = cut(v0 + v1)
      v1 = turn(v1, 13n) ^ v0
      v0 = turn(v0, 32n)
      v2 = cut(v2 + v3)
      v3 = turn(v3, 16n) ^ v2
      v0 = cut(v0 + v3)
      v3 = turn(v3, 21n) ^ v0
      v2 = cut(v2 + v1)
      v1 = turn(v1, 17n) ^ v2
      v2 = turn(v2, 32n)
    }
  }
  const padded = Buffer.alloc(data.length - (data.length % 8) + 8)
  padded.set(data)
  padded[padded.length - 1] = data.length % 256
  for (let at = 0; at < padded.length; at += 8) {
    const m = word(padded, at)
    v3 ^= m
    rounds(2)
    v0 ^= m
  }
  const out = Buffer.alloc(16)
  v2 ^= 0xeen
  rounds(4)
  out.writeBigUInt64LE(v0 ^ v1 ^ v2 ^ v3, 0)
  v1 ^= 0xddn
  rounds(4)
  out.writeBigUInt64LE(v0 ^ v1 ^ v2 ^ v3, 8)
  return out.toString('hex')
}

const hexOf = (hashed: string | undefined) => Buffer.from(hashed!, 'utf16le').toString('hex')
const count = (length: number) => Uint8Array.from({ length }, (_, index) => index)

describe('the keyed hash', () => {
  test.each([
    [0, 'a3817f04ba25a8e66df67214c7550293'],
    [1, 'da87c1d86b99af44347659119b22fc45'],
    [63, '5150d1772f50834a503e069a973fbd7c'],
  ])('of %i bytes is the one that its authors publish', (length, expected) => {
    expect(hexOf(keyedHash(count(16))!(count(length)))).toBe(expected)
    expect(plainHash(count(16), count(length))).toBe(expected)
  })

  test('is the same for a text and its bytes, whatever was hashed before', () => {
    const hash = keyedHash(count(16))!
    fc.assert(
      fc.property(
        fc.string({ unit: codePoint, maxLength: 60 }),
        fc.uint8Array({ maxLength: 99 }),
        (text, bytes) => {
          expect(hexOf(hash(bytes))).toBe(plainHash(count(16), bytes))
          expect(hexOf(hash(text))).toBe(plainHash(count(16), Buffer.from(text)))
        },
      ),
    )
  })

  test('takes what fits its memory and leaves the rest to the cryptographic one', () => {
    const hash = keyedHash(count(16))!
    expect(hexOf(hash('x'.repeat(65_536)))).toBe(plainHash(count(16), Buffer.alloc(65_536, 'x')))
    expect(hash('x'.repeat(65_537))).toBeUndefined()
    expect(hash('é'.repeat(32_769))).toBeUndefined()
    expect(hash(Buffer.alloc(65_537))).toBeUndefined()
    for (const text of ['x'.repeat(65_537), 'é'.repeat(32_769), 'short', ''])
      expect(digest(Buffer.from(text))).toBe(digest(text))
    expect(digest('x'.repeat(65_537))).not.toBe(digest('x'.repeat(65_538)))
  })

  test('depends on its key', () => {
    expect(keyedHash(count(16))!('a')).not.toBe(keyedHash(new Uint8Array(16))!('a'))
  })

  test('is assembled by its script', () => {
    const source = readFileSync(new URL('../../src/base/wasm.ts', import.meta.url), 'utf8')
    const code = source.slice(source.indexOf('const HASH_CODE')).match(/'[^']*'/g)!
    expect(code.map((part) => part.slice(1, -1)).join('')).toBe(Buffer.from(hashModule()).toString('base64'))
  })
})
