import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { tryParse } from '../../src/values/parse.ts'
import { slow, some } from '../pace.ts'
import { isJson, KINDS } from './corrupt.ts'
import { type Json, layOut, pickOne, type Random, randomDocument, randomFrom } from './random-document.ts'

const FENCE = '```'

const doors: [string, (text: string) => string][] = [
  ['the whole input', (text) => text],
  ['a tag', (text) => `Sure: <json>${text}</json> Bye.`],
  ['a fence', (text) => `Sure:\n${FENCE}json\n${text}\n${FENCE}\nBye.`],
  ['prose', (text) => `Sure, it is: ${text}\nBye.`],
  ['the start of prose', (text) => `${text} That's it: "done".\nBye.`],
]
const schemas = [undefined, { type: 'object' }]
const schemasOfAny = [undefined, { type: ['object', 'array'] }]

test.each(doors)('%s: brackets in strings do not end a broken document', (_, put) => {
  const wrong: unknown[] = []
  for (const kind of some(KINDS)) {
    for (const layout of ['compact', 'pretty'] as const) {
      for (let seed = 1; seed <= (slow ? 25 : 2); seed++) {
        const original = withBrackets(randomDocument(randomFrom(seed)), randomFrom(7919 * seed))
        const text = kind.corrupt(layOut(original, layout), randomFrom(31 * seed))
        if (text === undefined || isJson(text)) continue
        for (const schema of schemas) {
          const outcome = tryParse(put(text), { schema })
          if (outcome.ok && !isDeepStrictEqual(outcome.value, original)) wrong.push([kind.name, text])
        }
      }
    }
  }
  expect(wrong).toEqual([])
})

/** Strings whose brackets end a document if the string is not seen. */
const STRINGS = [
  ...['x} y', 'x}, y', 'a], b', 'if (a) { b', '} else {', 'see {name} and }', 'end }', '{ start', 'x}]'],
  ...['f(x)]', 'a: {b', '}', ']', "it's }, ok", 'he said "}" x', '1}2', 'k": {"v"'],
]

function withBrackets(value: Json, random: Random): Json {
  if (typeof value === 'string') return random() < 0.3 ? pickOne(STRINGS, random)! : value
  if (Array.isArray(value)) return value.map((one) => withBrackets(one, random))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withBrackets(one, random)]))
}

const abc = (b: unknown) => ({ a: 1, b, c: 2 })
const documents: readonly (readonly [document: string, value: unknown])[] = [
  [`{'a':"it's",'b':'x}y','c':[1,2]}`, { a: "it's", b: 'x}y', c: [1, 2] }],
  [`{'a':"its",'b':'x}y','c':[1,2]}`, { a: 'its', b: 'x}y', c: [1, 2] }],
  [`{'a':"the boss' }",'b':"{",'c':'"'}`, { a: "the boss' }", b: '{', c: '"' }],
  [`{'p':'C:\\\\','q':"don't"}`, { p: 'C:\\', q: "don't" }],
  [`{"a":1,'b':'x}y','c':2}`, abc('x}y')],
  [`{"a":1,'b':'x}, y','c':2}`, abc('x}, y')],
  [`{'a':1,'b':'x}, y','c':2}`, abc('x}, y')],
  [`{a:1,b:'x}, y',c:2}`, abc('x}, y')],
  [`{a:1,b:"x}, y",c:2}`, abc('x}, y')],
  [`{"a":1,"b":"x}, y","c":2}`, abc('x}, y')],
  [`{“a”:1,“b”:“x}, y”,“c”:2}`, abc('x}, y')],
  [`{"a":1,“b”:“x}, y”,"c":2}`, abc('x}, y')],
  ['{`a`:1,`b`:`x}, y`,`c`:2}', abc('x}, y')],
  [`{'a': 1, 'b': 'x} y', 'c': 2}`, abc('x} y')],
  [`{'a': 1, 'b': {'k': 'see {x} y'}, 'c': 2}`, abc({ k: 'see {x} y' })],
  [`{"a": 1, "b": {"k": "see {x} y"}, "c": 2}`, abc({ k: 'see {x} y' })],
  [`[{'a':1,'b':'x}, y','c':2}]`, [abc('x}, y')]],
  [`[{'a':1,'b':'x}], y','c':2}]`, [abc('x}], y')]],
  [`[{"a":1,'b':'x}], y','c':2}]`, [abc('x}], y')]],
  [`{'name':'fn() { return 1 }','ok':True,'n':None}`, { name: 'fn() { return 1 }', ok: true, n: null }],
]

test('a bracket in a string of a whole document ends nothing', () => {
  for (const [document, value] of documents) {
    const outcome = tryParse(document, { schema: schemasOfAny[1], root: 'any' })
    expect(outcome.ok ? outcome.value : outcome.fault.code, document).toEqual(value)
  }
})

test('in prose, one character more or less gives no other value', () => {
  const wrong: unknown[] = []
  for (const [document] of documents) {
    for (const text of some(editsOf(document))) {
      for (const schema of schemasOfAny) {
        const prose = tryParse(`Sure: ${text}\nBye.`, { schema })
        // A bracket before the whole document does not change it.
        const whole = tryParse(text.replace(/^\{\{/, '{'), { schema })
        if (prose.ok && !(whole.ok && isDeepStrictEqual(prose.value, whole.value)))
          wrong.push([text, prose.value])
      }
    }
  }
  expect(wrong).toEqual([])
})

test.each([
  `{"k":'x}\ny'}`,
  `{\n"k": 'x} y',\nm: 2\n}`,
  '{\n"k": “x} y”,\n“m”: 2\n}',
  `{"k": 'x} y'\n,"m": 2}`,
  `{"k": 'x} y', // c\n"m": 2}`,
  '{"k": `x} y`}',
  `{"k": 'x} ["z"] w', 'm': 2}`,
  `{"k": 'x} {"z":1} w', 'm': 2}`,
  `{"k": 'x} y, "d": ["e"]}`,
  `{"k": 'x} ${'y'.repeat(600)}', 'm': 2}`,
  `{"k": "x"} y, "d": ["e"]}`,
  `{"k":'x} y{, "m":"it's"}`,
  '{"k":t}rue}',
])('in prose, a bracket in a string ends nothing: %j', (document) => {
  for (const schema of schemasOfAny) {
    const outcome = tryParse(`Sure: ${document}\nBye.`, { schema })
    expect(outcome.ok && outcome.value).toBe(false)
  }
})

function editsOf(document: string): readonly string[] {
  const puts = ['', "'", '"', '}', '{', ',', '\\', ' ', ':']
  const all = Array.from(document, (_, at) =>
    puts.flatMap((put) => [0, 1].map((drop) => document.slice(0, at) + put + document.slice(at + drop))),
  ).flat()
  // A prime, so that all kinds of edits are among the few.
  return slow ? all : all.filter((_, index) => index % 41 === 0)
}
