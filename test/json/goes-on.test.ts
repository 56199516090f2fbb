import { expect, test } from 'vitest'
import { goesOnAt } from '../../src/json/goes-on.ts'

test.each([
  ['a key', '"m":2}'],
  ['a key after a blank', ' "m" : 2}'],
  ['a key on the next line', '\n  "m": 2\n}'],
  ['a key in single quotes', "'m':2}"],
  ['a key without its first quote', 'm":2}'],
  ['the end of a string, and a key', ' y","m":2}'],
  ['the end of a string in single quotes', " y', 'm': 2}"],
  ['the end of a string in curly quotes', ' y”, “m”: 2}'],
  ['the end of a string with an apostrophe', " isn't y', 'm': 2}"],
  ['the end of a string at once', "','m':2}"],
  ['the end of a string, and the bracket', ' y"}'],
  ['the end of a string, and a bracket below', ' y"\n}'],
  ['the end of a string, and a key below', ' y",\n  "m": 2\n}'],
  ['the end of a string, and an element', ' y", {"m":2}}'],
  ['the end of a string, and a key without its colon', ` y','m' 2}`],
  ['the end of a string, and a bare key', " y', m: 2"],
  ['the end of a number', '2}'],
  ['the end of a number, and a key', '23,"m":2}'],
  ['the end of a number with an exponent', 'e5}'],
  ['the end of a literal', 'rue}'],
  ['a key, and a bracket too many', ' y, "d": ["e"]}'],
  ['a key below, in curly quotes', ' x”,\n“m”:2}'],
  ['the end of a fraction, and a bracket below', '.5\n}'],
  ['bare keys and a bracket too many', 'b: 2}'],
])('%s: %j', (_, rest) => {
  expect(goesOnAt(`{"k":1}${rest}`, 7)).toBe(true)
})

test.each([
  '',
  ' ',
  '\n',
  ' and more',
  ', as asked.',
  ' and "m": 2',
  ', the "key": 1 of "it", done',
  ', the “key”: 1 of ‘it’, done',
  ', see "a": ["b"]',
  '，其中“a”: 数量',
  ' 其中"a":数量',
  '（"a": 数量）',
  '->"a": x',
  '200,0.05,127.0.0.1',
  '200 0.05, ok',
  '1,234 tokens',
  '.]',
  '..., "x"',
  '.\n}',
  '); h("x: y"); }',
  " isn't it",
  " it's the users' choice",
  " it's the users' choice: both",
  '"',
  "' | jq .",
  '" is it',
  '": as asked',
  '`: as asked',
  '200',
  '2024-01-01 done',
  ' {"m":2}',
  ', {x} and [1]',
  ' use [x] or {y}',
  ' in [a list]',
  ']',
  '\n"quoted", words',
  ' a "quoted",\n"line"',
])('prose: %j', (rest) => {
  expect(goesOnAt(`{"k":1}${rest}`, 7)).toBe(false)
})

test.each([
  "', cwd: /tmp",
  "', headers={'Content-Type': 'x'})",
  "'], check=True",
  "')['a']",
  "'); console.log('a', x['a'])",
  "')).toEqual({ ok: 'x' })",
  "', said he: 'done'",
])('a value in quotes, then %j', (rest) => {
  expect(goesOnAt(`{"k":1}${rest}`, 7, true)).toBe(false)
})

test('only the near rest of a line is read', () => {
  expect(goesOnAt(`{"k":1} ${'x'.repeat(600)}","m":2}`, 7)).toBe(false)
})
