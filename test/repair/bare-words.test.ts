import { describe, expect, test } from 'vitest'
import { isJsonWord, isPlainText, spellingOf } from '../../src/repair/bare-words.ts'

test('literals and numbers of other languages, as JSON spells them', () => {
  const rows = [
    ['True', 'true', 'literal'],
    ['TRUE', 'true', 'literal'],
    ['False', 'false', 'literal'],
    ['FALSE', 'false', 'literal'],
    ['None', 'null', 'literal'],
    ['Null', 'null', 'literal'],
    ['NULL', 'null', 'literal'],
    ['NaN', 'null', 'literal'],
    ['Infinity', 'null', 'literal'],
    ['-Infinity', 'null', 'literal'],
    ['+5', '5', 'number'],
    ['.5', '0.5', 'number'],
    ['+.5', '0.5', 'number'],
    ['-.5e3', '-0.5e3', 'number'],
    [`+${'1'.repeat(399)}`, '1'.repeat(399), 'number'],
  ]
  const spelled = rows.map(([word]) => [word, spellingOf(word!)?.text, spellingOf(word!)?.kind])
  expect(spelled).toEqual(rows.map(([word, text, kind]) => [word, text, `spelled a ${kind} as JSON`]))
})

test('what is no number and no literal of any language', () => {
  const words = [
    ...['', '-', '+', '.', 'e5', '-e5', '5.', '5.e1', '2e', '2e+', '1_000', '0x1F', '1..5', '--5', '1,5'],
    ...['tru', 'nil', 'undefined', 'tRUE', 'nan', `+${'1'.repeat(400)}`],
  ]
  expect(words.filter((word) => isJsonWord(word) || spellingOf(word))).toEqual([])
})

test('numbers and literals of JSON', () => {
  const words = ['0', '-0', '10', '1.5', '-0.5', '1e5', '1E+5', '1.5e-5', 'true', 'false', 'null']
  expect(words.filter((word) => !isJsonWord(word))).toEqual([])
})

describe('a text that may have lost its quotes', () => {
  test('is words, dates and what else reads as text', () => {
    const texts = [
      ...[
        'high',
        'two words',
        '文字',
        '😀 ok',
        '_x',
        '$x',
        'Ada',
        'x',
        'one; two',
        `it's`,
        'a\\\\b',
        'a\\nb',
      ],
      ...['2024-01-02', '2024-01-02T10:00', '2024-01-02T10:00:00.5Z', '2024-01-02T10:00:00+01:00'],
      ...['3 small red hens', 'w'.repeat(256), 'trueabcdefghi'],
      // Far enough from a literal: a letter was replaced, or three are missing or out of place.
      ...words('truth trust full fall note eu al brue nula aull trux'),
    ]
    expect(texts.filter((text) => !isPlainText(text, false))).toEqual([])
  })

  test.each([
    ['half a literal', words('tru fals nul un undef No Na inf ue ru ll lse fse ase')],
    ['a literal with a letter too many', words('trrue nulll nulls falsey truae atrue xnull Tarue')],
    ['a literal with more after it, or its own letters again', words('trueabcdefgh trurue nullul')],
    ['a literal with two letters swapped', words('ture treu flase Ture rtue unll afsle rteu')],
    ['a literal among words', ['x tru y', 'a or null']],
    ['a number with its unit', ['5px', '5 px', '1 000', '3rd', '3 red hens']],
    ['what has quotes or brackets in it', ['a "b"', 'a {b', 'a]', 'a `b`', 'a “b”']],
    ['what has other structure in it', ['a, b', 'a: b', 'a;b', 'a\\b', 'a\tb']],
    ['what does not begin like a word', ['-x', '(a)', '#3', '...', '']],
    ['half a date', words('2024-01 2024-01-02T 2024-01-02T10 2024-1-2 2024-01-02T10:00:00.1234567890Z')],
    ['what is too long', ['w'.repeat(257)]],
  ])('is not %s', (_name, texts) => {
    expect(texts.filter((text) => isPlainText(text, false))).toEqual([])
  })

  test('may have a colon before a blank, if the writer puts keys in quotes', () => {
    expect(isPlainText('note: this', true)).toBe(true)
    expect(isPlainText('note:this', true)).toBe(false)
  })
})

function words(list: string): string[] {
  return list.split(' ')
}
