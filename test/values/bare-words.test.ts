import { describe, expect, test } from 'vitest'
import { isJsonWord, isPlainText, spellingOf } from '../../src/values/ladder/bare-words.ts'

test.each([
  ['True', 'true'],
  ['FALSE', 'false'],
  ['None', 'null'],
  ['NaN', 'null'],
  ['-Infinity', 'null'],
  ['+5', '5'],
  ['.5', '0.5'],
  ['-.5e3', '-0.5e3'],
  ['007', '7'],
  ['-00', '-0'],
])('%s is %s in JSON', (word, text) => {
  expect(spellingOf(word)?.text).toBe(text)
})

test.each([
  ...['', '-', '+', '.', 'e5', '-e5', '5.', '5.e1', '2e', '2e+', '1_000', '0x1F', '1..5', '--5', '1,5'],
  ...['tru', 'nil', 'undefined', 'tRUE', 'nan'],
])('%j is no number and no literal', (word) => {
  expect([isJsonWord(word), spellingOf(word)]).toEqual([false, undefined])
})

describe('a text that may have lost its quotes', () => {
  test.each([
    ...[
      'high',
      'two words',
      'C++',
      '文字',
      '😀 ok',
      '_x',
      '$x',
      'truth',
      'trust',
      'full',
      'fall',
      'note',
      'Ada',
    ],
    ...['2024-01-02', '2024-01-02T10:00:00.5Z', 'one; two', `it's`],
  ])('%s', (text) => {
    expect(isPlainText(text, false)).toBe(true)
  })

  test.each([
    ['half a literal', ['tru', 'fals', 'nul', 'un', 'undef', 'No']],
    ['a literal with a slip', ['ture', 'treu', 'trrue', 'flase', 'nulll', 'nulls', 'Ture', 'falsey']],
    ['a literal among words', ['x tru y', 'a or null']],
    ['a number with its unit', ['5px', '5 px', '1 000', '3rd']],
    ['what has structure in it', ['a "b"', 'a {b', 'a]', 'a, b', 'a: b', 'a;b', 'a\\b', 'a\tb']],
    ['what does not begin like a word', ['-x', '(a)', '#3', '...', '']],
    ['what is too long', ['w'.repeat(257)]],
  ])('is not %s', (_name, texts) => {
    expect(texts.filter((text) => isPlainText(text, false))).toEqual([])
  })

  test('may have a colon before a blank, if the writer puts keys in quotes', () => {
    expect(isPlainText('note: this', true)).toBe(true)
    expect(isPlainText('note:this', true)).toBe(false)
  })
})
