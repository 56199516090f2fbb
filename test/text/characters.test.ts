import { expect, test } from 'vitest'
import {
  beginsLiteral,
  bomAt,
  hexValue,
  isBlank,
  isBracket,
  isDigit,
  isHighSurrogate,
  isProtected,
  isWordCharacter,
  quoteFamily,
} from '../../src/text/characters.ts'

const ASCII = Array.from({ length: 128 }, (_, code) => code)

/** The ASCII characters that belong to a class. */
const members = (is: (code: number) => boolean) => String.fromCharCode(...ASCII.filter(is))

test('every class has its characters, and no others', () => {
  expect(members(isBlank)).toBe('\t\n\r ')
  expect(members(isDigit)).toBe('0123456789')
  expect(members(isBracket)).toBe('[{')
  expect(members(beginsLiteral)).toBe('fnt')
  expect(members(isWordCharacter)).toBe('$-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz')
  expect([0x80, 0xff, 0x4e00].map(isWordCharacter)).toEqual([true, true, true])
  expect([isBlank, isBracket, beginsLiteral, isWordCharacter].map((is) => is(undefined))).not.toContain(true)
  expect([0xd7ff, 0xd800, 0xdbff, 0xdc00].map(isHighSurrogate)).toEqual([false, true, true, false])
})

test('hex digits have their values', () => {
  expect([...'0123456789abcdefABCDEF'].map((digit) => hexValue(digit.charCodeAt(0)))).toEqual(
    [...'0123456789abcdefABCDEF'].map((digit) => Number.parseInt(digit, 16)),
  )
  expect(members((code) => hexValue(code) >= 0)).toBe('0123456789ABCDEFabcdef')
  expect(hexValue('g'.charCodeAt(0))).toBe(-1)
})

test('every quote is a variant of a plain one', () => {
  const variants = { '"': '"\u201c\u201d\u201e\u201f', "'": "'\u2018\u2019\u201a\u201b", '`': '`\u00b4' }
  const wrong: number[] = []
  for (let code = 0; code < 0x2100; code++) {
    const char = String.fromCharCode(code)
    const [plain = '\0'] = Object.entries(variants).find(([, all]) => all.includes(char)) ?? []
    if (quoteFamily(code) !== plain.charCodeAt(0)) wrong.push(code)
  }
  expect(wrong).toEqual([])
})

test.each([
  [[0xef, 0xbb, 0xbf], 0, 3],
  [[0x20, 0xef, 0xbb, 0xbf], 1, 3],
  [[0xef, 0xbb, 0xbf], 1, 0],
  [[0xef, 0xbb], 0, 0],
  [[0xef, 0xbb, 0xbe], 0, 0],
  [[0xef, 0xba, 0xbf], 0, 0],
  [[0xee, 0xbb, 0xbf], 0, 0],
  [[0xef, 0x00, 0xbb, 0xbf], 0, 0],
])('the BOM in %j at %i is %i bytes long', (bytes, at, length) => {
  expect(bomAt(Uint8Array.from(bytes), at)).toBe(length)
})

test.each([
  ['"', 0, 0, false],
  ['\\"', 1, 0, true],
  ['\\\\"', 2, 0, false],
  ['\\\\\\"', 3, 0, true],
  ['\\\\\\\\\\"', 5, 0, true],
  ['x\\"', 2, 0, true],
  ['x\\\\"', 3, 0, false],
  // Nothing before the floor is looked at.
  ['\\"', 1, 1, false],
  ['\\\\"', 2, 1, true],
  ['\\\\\\"', 3, 1, false],
])('in %j the quote at %i, read from %i, is protected: %s', (text, at, floor, is) => {
  expect(isProtected(Buffer.from(text), at, floor)).toBe(is)
})
