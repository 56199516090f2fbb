import { expect, test } from 'vitest'
import { tryParse } from '../../src/index.ts'
import { expectRows } from './rows.ts'

const F = '```'
const needsA = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } } as const

const drafts = ['Draft {"a":1}', '{"a":1}', `${F}json\n{"a":1}\n${F}`, '<json>{"a":1}</json>']
/** With how much of it opens the correction, so that a cut from there on can be seen. */
const corrections: readonly (readonly [opener: string, rest: string])[] = [
  ['Corrected: {', '"a":2,"b":[3,{"c":"d e"}]}'],
  ['Final：{', ' "a": 2,\n "b": "x" }'],
  ['> {', '"a":2,"b":[3]}'],
  ['- {', '"a": 2, "b": "y"}'],
  ['**Final:** `{', '"a":2,"b":[3]}`'],
  [`Corrected:\n${F}json\n`, `{"a":2,"b":[3]}`],
  [`Corrected: ${F}j`, 'son {"a":2,"b":[3]}'],
  ['Corrected: <j', 'son>{"a":2,"b":[3]}'],
]

test('leaves no draft as a silent success where its correction is cut, at any place', () => {
  const silent: string[] = []
  for (const draft of drafts)
    for (const [opener, rest] of corrections)
      for (let size = 0; size <= rest.lastIndexOf('}'); size++)
        for (const schema of [undefined, needsA]) {
          const text = `${draft}\n${opener}${rest.slice(0, size)}`
          const last = tryParse(text, { pick: 'last', ...(schema && { schema }) })
          if (last.ok) silent.push(`last ${text}`)
          const first = tryParse(text, schema && { schema })
          if (first.ok && !first.notes.some(({ code }) => code === 'AMBIGUOUS')) silent.push(`first ${text}`)
        }
  expect(silent).toEqual([])
})

test('takes a complete correction, and an answer with any other end', () => {
  expectRows({ pick: 'last' }, [
    ['Draft {"a":1}\nFinal: {"a":2}', 'object 21-28 {"a":2} +took an object from prose@21 !AMBIGUOUS@6,21'],
    ['Draft {"a":1}\nfunction f() {', 'object 6-13 {"a":1} +took an object from prose@6'],
    ['A {"a":1}\nNever write {"b": without a value.', 'object 2-9 {"a":1} +took an object from prose@2'],
    [`<json>{"a":1}</json>\n${F}sh\nls\n${F}`, 'tag 0-20 {"a":1}'],
    ['A {"a":1} if x < 3', 'object 2-9 {"a":1} +took an object from prose@2'],
  ])
})

test('reads an opened tag as the last block, however little is in it', () => {
  const block = '<json>{"a":1}</json>\n'
  const found = (body: string) => `${block}<json>${body}`
  const inTag = [
    [found(''), 'tag 21-27 open TRUNCATED@27'],
    [found('\n'), 'tag 21-28 open TRUNCATED@28'],
    [found('\nHere is the result: {"a":2'), 'tag 21-54 open TRUNCATED@54'],
    [found('\nHere is the re'), 'tag 21-42 open TRUNCATED@42'],
    [`${block}Final: <json>\nSo`, 'tag 28-37 open TRUNCATED@37'],
    [
      found('\nHere is the result: {"a":2}'),
      'tag 21-55 open {"a":2} +added a missing closing tag@55 +took an object from prose@48 !TAG_UNCLOSED@55 !AMBIGUOUS@0,21',
    ],
  ] as const
  expectRows({ tag: 'json', pick: 'last' }, inTag)
  expectRows(
    { pick: 'last' },
    inTag.filter(([text]) => !text.includes('Final')),
  )
  expectRows({ tag: 'json', pick: 'last' }, [
    [
      '<json>\nHere is the result: {"a":2}',
      'tag 0-34 open {"a":2} +added a missing closing tag@34 +took an object from prose@27 !TAG_UNCLOSED@34',
    ],
    ['<json>\nHere is the result: {"a":2', 'tag 0-33 open TRUNCATED@33'],
    // Nothing was found at all: the whole output is the comment.
    ['<json>\nI could not do it', 'text 0-24 NO_MATCH'],
    [`${block}I used <json> tags as you asked.`, 'tag 0-20 {"a":1}'],
    [`${block}Then <json> here you`, 'tag 0-20 {"a":1} !AMBIGUOUS@0,26'],
    [`${block}<js`, 'object 21-24 open TRUNCATED@24'],
  ])
})

test('reads past fence marks inside the JSON of a fence in a tag', () => {
  const value = (text: string) => {
    const outcome = tryParse(text, { tag: 'json' })
    return outcome.ok ? outcome.value : outcome.fault.code
  }
  expect(value(`<json>\n${F}\n{"a":\n${F}\n1}\n</json>`)).toEqual({ a: 1 })
  expect(value(`<json>\n${F}json\n{"a":1,\n${F}\n"b":2}\n${F}\n</json>`)).toEqual({ a: 1, b: 2 })
  expect(value('<json>\n~~~\n{"a":\n~~~\n"x"}\n~~~</json>')).toEqual({ a: 'x' })
  expect(value(`<json>\n${F}\n{"a":12\n${F}\n3}\n</json>`)).toBe('TRUNCATED')
  expect(value(`<json>\n${F}\n{"a":1,\n${F}\nThen:\n${F}\n"b":2}\n${F}\n</json>`)).toBe('TRUNCATED')
})
