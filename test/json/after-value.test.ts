import { expect, test } from 'vitest'
import { goesOnAt } from '../../src/json/after-value.ts'

const more: readonly (readonly [what: string, rest: string])[] = [
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
  ['the end of a string, and an element below', " y',\n  {'m': 2}\n]"],
  ['the end of a string, and a number below', " y',\n  -2\n]"],
  ['the end of a string, and a key without its colon', ` y','m' 2}`],
  ['the end of a string, and a bare key', " y', m: 2"],
  ['a comment, and a key', ' /* one */, "m": 2}'],
  ['a comment of HTML, and a key below', '<!-- one -->,\n"m": 2}'],
  ['the end of a number', '2}'],
  ['the end of a number, and a key', '23,"m":2}'],
  ['the end of a number with an exponent', 'e5}'],
  ['the end of a literal', 'rue}'],
  ['a key, and a bracket too many', ' y, "d": ["e"]}'],
  ['a key below, in curly quotes', ' x”,\n“m”:2}'],
  ['the end of a fraction, and a bracket below', '.5\n}'],
  ['bare keys and a bracket too many', 'b: 2}'],
  ['a bare key, and brackets in its value', ' a: {}}'],
  ['a key, and an array', ' "a": [b]}'],
  ['the quote of a string', '"}'],
  ['the single quote of a string', "'}"],
  ['the curly quote of a string', '”}'],
  ['a quote after a blank', ' "}'],
  ['a quote before a colon', ' ": 2'],
  ['a curly quote before a colon', ' ”: 2'],
  ['a curly quote before a blank and a colon', ' ” : 2'],
  ['a quote before a comma', ' ", "m": 2}'],
  ['a quote without a partner', ' "a}'],
  ['a bracket and a quote before a colon', '{": 2'],
  ['an empty key', ' "": 2'],
  ['a key after a bracket that opens no value', ' [m": 2'],
  ['a key after an equals sign', '="a": 2}'],
  ['a key in curly quotes', ' “a”: 2'],
  ['a key in two kinds of curly quotes', ' “a": 2}'],
  ['the end of a number, and a key after a blank', '1, "m"'],
  ['the end of a number, and a key below', '1,\n"m"'],
  ['the end of a fraction alone', '.5}'],
  ['two strings, and a bracket below', '"x"\n}'],
  ['the end of a string, and an array of strings', ' y" ["a"]'],
  ['a quote at the end of what is read', `${'x'.repeat(511)}"}`],
  ['a quote after a bracket of prose', ')"a" b}'],
  ['a full-width comma, and a key below', '，\n"m": 2}'],
  ['a semicolon, and a key below', ' ;\n  "m": 2\n}'],
  ['a stray sign and a comma, and a key below', '!,\n  "m": 2\n}'],
  ['a comma and a stray sign, and a key below', ',|\n  "m": 2\n}'],
  ['a comment, and a key below', ' // one\n  "m": 2\n}'],
  ['a comment with brackets, and a key after a comma', '/* { or [ */,"m":2}'],
  ['a comment, and the bracket', ' /* one */ }'],
  ['the name of a member in brackets', '["m"]'],
  ['the same in single quotes', "['m']"],
  ['the name of a member after a dot', '.m'],
  ['the name of a member that may be missing', '?.m'],
  ['a string far below', `${' '.repeat(600)}y"}`],
]

test('a document goes on', () => {
  // The blank at the end: what follows a value is rarely the end of the input.
  for (const [what, rest] of more)
    for (const end of ['', ' ']) expect(goesOnAt(`{"k":1}${rest}${end}`, 7), what).toBe(true)
})

test('an index takes an element of an array', () => {
  for (const rest of ['[0]', '[-1]', '[1:]', '[:2]', '.length', '.map(f)'])
    expect(goesOnAt(`[1,2]${rest}`, 5), rest).toBe(true)
  for (const rest of [' [0]', '["m"]', '[x]', '[1, 2]']) expect(goesOnAt(`[1,2]${rest}`, 5), rest).toBe(false)
})

const prose = [
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
  '.\n"quoted" words',
  ')\n"quoted" words',
  ';\n}',
  ' // one\nwords',
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
  ' }',
  ':{}',
  ' {}}',
  '{"m": 2',
  ' ["m"]',
  '[1]',
  '.M',
  '. m',
  '{ {',
  '("a": 2',
  ' ""}',
  ' "a" b}',
  ' “a” b}',
  ' "a" b: 2',
  'a"a}',
  "it's}",
  '1 }',
  '1 ,"m"',
  ' 1,"m"',
  '1,m',
  '.}',
  '1.x}',
  '1\nx',
  '1,\nx',
  ' 1\n}',
  ' y"\n"m"',
  ' y"\nx',
  'y: 1]',
  ' y z: 1}',
  ', the "a": {{b}}',
  ' {"m":2}}',
  ' {"a,b":2}}',
  ' {{"m":2}}}',
  `${'x'.repeat(512)}"}`,
]

test('prose follows', () => {
  for (const rest of prose) expect(goesOnAt(`{"k":1}${rest}`, 7), JSON.stringify(rest)).toBe(false)
})

test('a bracket below a comment closes the document, or the code around an object', () => {
  for (const rest of [' // one\n}', ' # one\n]', '; // one\n}']) {
    expect(goesOnAt(`{"k":1}${rest}`, 7, 'document'), rest).toBe(true)
    expect(goesOnAt(`{"k":1}${rest}`, 7, 'prose'), rest).toBe(false)
  }
})

const enclosed = [
  "', cwd: /tmp",
  "', headers={'Content-Type': 'x'})",
  "'], check=True",
  "')['a']",
  "'); console.log('a', x['a'])",
  "')).toEqual({ ok: 'x' })",
  "', said he: 'done'",
  '"}',
  "'}",
]

test('a quote after a value in quotes belongs to it', () => {
  for (const rest of enclosed)
    expect(goesOnAt(`{"k":1}${rest}`, 7, 'after a quote'), JSON.stringify(rest)).toBe(false)
})
