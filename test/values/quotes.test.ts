import { describe, expect, test } from 'vitest'
import { applyEdits } from '../../src/values/ladder/edits.ts'
import { closes, closingQuote, isApostrophe, spellString } from '../../src/values/ladder/quotes.ts'

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
    expect(isApostrophe("5'x", 1)).toBe(false)
  })
})
