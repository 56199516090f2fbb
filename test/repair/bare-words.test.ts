import { describe, expect, test } from 'vitest'
import { codeEnd, isJsonWord, isPlainText, spellingOf } from '../../src/repair/bare-words.ts'

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
    ['5.', '5', 'number'],
    ['-12.', '-12', 'number'],
    ['1_000', '1000', 'number'],
    ['-82_461_110.5', '-82461110.5', 'number'],
    ['5.e1', '5e1', 'number'],
    ['0x1F', '31', 'number'],
    ['-0XfF', '-255', 'number'],
    [`+${'1'.repeat(399)}`, '1'.repeat(399), 'number'],
  ]
  const spelled = rows.map(([word]) => [word, spellingOf(word!)?.text, spellingOf(word!)?.kind])
  expect(spelled).toEqual(rows.map(([word, text, kind]) => [word, text, `spelled a ${kind} as JSON`]))
})

test('what is no number and no literal of any language', () => {
  const words = [
    ...['', '-', '+', '.', 'e5', '-e5', '2e', '2e+', '0x', '0x1G', '1..5', '--5', '1,5'],
    ...['1_', '_1', '1__0', '1_000_', '1._5', '02134', '007', '-05', '00', '0_1', '01.5'],
    ...['tru', 'nil', 'undefined', 'tRUE', 'nan', `+${'1'.repeat(400)}`],
  ]
  expect(words.filter((word) => isJsonWord(word) || spellingOf(word))).toEqual([])
})

test('numbers and literals of JSON', () => {
  const words = ['0', '-0', '10', '1.5', '-0.5', '1e5', '1E+5', '1.5e-5', 'true', 'false', 'null']
  expect(words.filter((word) => !isJsonWord(word))).toEqual([])
})

describe('a text that may have lost its quotes', () => {
  test('is words and what else reads as text', () => {
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
      ...['3 small red hens', 'w'.repeat(256), 'trueabcdefghi', 'src/a.ts', 'user@x.io', 'a-b', 'strings'],
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
    [
      'an expression',
      ['f(x)', 'a || 3', 'a && b', 'a ? b', 'x + 1', '2 * x', 'x = 1', 'a <b', 'a > b', 'C++'],
    ],
    [
      'the name of a type',
      words('string number Boolean integer object array any str int float bool list dict'),
    ],
    ['what has a quote at the edge of a word', [`rock 'n' roll`, `users' names`, `'tis`, 'x’']],
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

describe('a date, a time, a version, an address or an id without quotes', () => {
  const end = (text: string, inArray = false) => codeEnd(`${text},`, 0, inArray)

  test.each([
    ['dates', ['2024-01-02', '2024-01-02T10:00', '2024-01-02T10:00:00.5Z', '2024-01-02T10:00:00+01:00']],
    ['dates with blanks or slashes', ['2024-01-02 10:00', '2024-01-02 10:00:00 UTC', '2024/1/2', '1/2/2024']],
    ['times', ['10:30', '9:30', '10:30:00', '10:30:00.125', '9:30 AM', '10:30pm']],
    ['versions', ['1.2.3', 'v1.2.3', '1.2.3-beta.1', '10.20.30+build.5', '1.2.3.4-rc']],
    ['addresses', ['10.0.0.1', '192.168.0.1:8080', '10.0.0.0/8']],
    ['a UUID', ['550e8400-e29b-41d4-a716-446655440000', 'A50E8400-E29B-41D4-A716-44665544000F']],
  ])('%s', (_name, texts) => {
    expect(texts.filter((text) => end(text) !== text.length)).toEqual([])
  })

  test('a part of one, or something more, is none', () => {
    const halves = words(
      '2024-01 2024-01-02T 2024-01-02T10 2024-1-2 2024-01-02T10:00:00.1234567890Z 10:3 1:2',
    )
    const others = [...words('1.2 1.2. 550e8400-e29b-41d4-a716 5px 12:30x 1:2:3'), '2024-01-02 or later']
    expect([...halves, ...others].filter((text) => end(text) === text.length)).toEqual([])
  })

  test('in an array a time has seconds, or it may be a range', () => {
    expect([end('10:30', true), end('10:30:00', true)]).toEqual([-1, 8])
  })
})

function words(list: string): string[] {
  return list.split(' ')
}
