import { describe, expect, test } from 'vitest'
import { closes } from '../../src/json/strings.ts'
import { applyEdits } from '../../src/repair/edits.ts'
import { closingQuote, isApostrophe, isCleanString, spellString } from '../../src/repair/quotes.ts'

/** What a text in double quotes means once its backslashes are spelled as JSON does. */
const meaning = (content: string): unknown => {
  const text = `"${content}"`
  const place = { from: 0, to: text.length - 1, opened: true, closed: true }
  const spelled = spellString(text, place, undefined)
  return spelled && JSON.parse(applyEdits(text, spelled.edits).text)
}

describe('backslashes', () => {
  test.each([
    ['a path with a drive', String.raw`C:\Users\new`, String.raw`C:\Users\new`],
    ['a path inside a sentence', String.raw`see D:\tmp\x now`, String.raw`see D:\tmp\x now`],
    ['a path on a host', String.raw`\\server\share`, String.raw`\\server\share`],
    ['a pattern', String.raw`^\d+\s*$`, String.raw`^\d+\s*$`],
    ['one class', String.raw`a\d`, String.raw`a\d`],
    ['several foreign escapes', String.raw`\alpha and \gamma`, String.raw`\alpha and \gamma`],
    ['a hexadecimal escape', String.raw`x\x41y\xe9`, 'xAyé'],
    ['a needless one before a quote', String.raw`it\'s`, "it's"],
    ['escapes as JSON has them', String.raw`a\n\t\"b\"\\ \u00e9`, 'a\n\t"b"\\ é'],
  ])('%s', (_name, content, value) => {
    expect(meaning(content)).toBe(value)
  })

  test.each([
    ['half a unicode escape', String.raw`\u12`],
    ['one with a letter that is no digit', String.raw`\u00g9`],
    ['a lone foreign escape, which may have been a line break', String.raw`x\z`],
    ['so it is at the start', String.raw`\z`],
    ['a foreign escape beside one that is known', String.raw`\d+\n`],
    ['a path that is escaped in part', String.raw`C:\dir\\x`],
  ])('their meaning is not known: %s', (_name, content) => {
    expect(meaning(content)).toBeUndefined()
  })
})

describe('closing quotes', () => {
  test.each([
    [`"a\\"b"`, 5],
    [`'it's'`, 5],
    [`'it\\'s'`, 6],
    ['“a”', 2],
    ['“a"', 2],
    ['‘a’', 2],
    [`‘a'`, 2],
    [`"a'`, -1],
    ['`a"', -1],
    ['"a\\', -1],
  ])('of %s', (text, at) => {
    expect(closingQuote(text, 0)).toBe(at)
  })

  test('a plain quote is closed by its own kind only', () => {
    expect(closes(0x201d, 0x22)).toBe(false)
    expect(closes(0x22, 0x201c)).toBe(true)
  })

  test('an apostrophe is between two letters, of any script with capitals', () => {
    expect(isApostrophe("it's", 2)).toBe(true)
    expect(isApostrophe('l’été', 1)).toBe(true)
    const between = (one: string, two: string) => isApostrophe(`${one}'${two}`, one.length)
    for (const letter of ['a', 'z', 'A', 'Z', '\u00c0', '\u1fff'])
      expect([between(letter, 'm'), between('m', letter)], letter).toEqual([true, true])
    for (const other of ['`', '{', '@', '[', '5', '_', ' ', '', '\u00bf', '\u2000'])
      expect([between(other, 'm'), between('m', other)], other).toEqual([false, false])
    expect(isApostrophe('a"b', 1)).toBe(false)
  })
})

test.each([
  ['""', true],
  ['"a b"', true],
  [String.raw`"a\n\"\\ \u00e9"`, true],
  [`'a'`, false],
  [`'a"`, false],
  [`"a'`, false],
  ['"a"b"', false],
  [String.raw`"\d"`, false],
  [String.raw`"x\d"`, false],
  [String.raw`"\u00"`, false],
  ['"\u001f"', false],
  ['"x\t"', false],
  ['"\u0020"', true],
  // After a drive even an escape may be part of a path.
  [String.raw`"C:\n"`, false],
  [String.raw`"x C:\n"`, false],
  [String.raw`"z:\n"`, false],
  [String.raw`":\n"`, true],
  [String.raw`"1:\n"`, true],
  [String.raw`"C;\n"`, true],
  [String.raw`"C \n"`, true],
])('%s is a string of JSON as it is: %s', (text, is) => {
  expect(isCleanString(text, 0, text.length - 1)).toBe(is)
})
