import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { dialectsOf } from '../../src/frames/thought-dialects.ts'
import { tryParse } from '../../src/values/parse.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { inSizes } from '../frames/splits.ts'

/** What `each` tells of a text in chunks of a size: values, faults and notes about thoughts. */
function told(text: string, size: number, options: ValuesOptions = {}): string[] {
  const chunks = inSizes(Buffer.from(text), [size]).map((bytes) => ({ channel: 'stdout', bytes }) as const)
  return drive(valueStage(options), chunks).map((outcome) => {
    const notes = outcome.notes.filter(({ code }) => code.startsWith('THINK')).map(({ code }) => ` ${code}`)
    return `${outcome.ok ? JSON.stringify(outcome.value) : outcome.fault.code}${notes.join('')}`
  })
}

test.each([
  [
    'the next outcome says it',
    'So {"a":0}\n</think>\n{"a":1} {"a":2}',
    ['{"a":0}', '{"a":1} THINK_LATE', '{"a":2}'],
  ],
  ['or that nothing followed', 'It is {"a":0}.</think>No.', ['{"a":0}', 'NO_MATCH THINK_LATE']],
  ['with blanks behind it it hides nothing', '{"a":1}\n</think>\n \n', ['{"a":1}']],
  ['what may be the whole input was not told yet', '{"a":0}\n</think>\n{"a":1}', ['{"a":1}']],
  ['if nothing was told, nothing is said', 'Hm.\n</think>\n{"a":1}', ['{"a":1}']],
  [
    'a second one is a word',
    'So {"a":0}</think>{"a":1}</think>{"a":2}',
    ['{"a":0}', '{"a":1} THINK_LATE', '{"a":2}'],
  ],
  ['after a thought it is a word', '<think>x</think>{"a":1}</think>{"a":2}', ['{"a":1}', '{"a":2}']],
  ['amid words it is a word', '{"a":1} and </think> ends {"a":2}', ['{"a":1}', '{"a":2}']],
  ['in code it is a word', '{"a":1}\n```xml\n</think>\n```\n{"a":2}', ['{"a":1}', '{"a":2}']],
])('each tells what was before a lone closer: %s', (_, text, wanted) => {
  for (const size of [1, 2, 5, 1000]) expect(told(text, size), `${size}`).toEqual(wanted)
})

test('every dialect hides a draft, in a tag block, a fence and prose, whole and in pieces', () => {
  for (const { name, opener, closers } of dialectsOf(true)) {
    const shown = (mark: (typeof closers)[number]) => `${mark.bytes.toString()}${mark.free ? '>' : ''}`
    for (const draft of ['{"a":0}', '<json>{"a":0}</json>', '```json\n{"a":0}\n```\n'])
      for (const closer of closers) {
        const text = `Well. ${shown(opener)}${draft}${shown(closer)}{"a":1}`
        for (const size of [1, 3, 1000]) expect(told(text, size), `${name} ${text}`).toEqual(['{"a":1}'])
      }
  }
})

test.each([
  ['think: false hides nothing', { think: false }, ['{"a":0}', '{"a":1}']],
  ['think names other tags', { think: ['notes'] }, ['{"a":0}', '{"a":1}']],
  ['think names this tag', { think: ['x', 'Think'] }, ['{"a":1}']],
] as const)('%s', (_, options, wanted) => {
  expect(told('<think>{"a":0}</think>{"a":1}', 4, options)).toEqual(wanted)
})

test('a tag that is looked for is no thought', () => {
  expect(tryParse('<analysis>{"a":1}</analysis>', { tag: 'analysis' })).toMatchObject({ value: { a: 1 } })
})

test('what follows a thought with a value in it is read, though its text is no longer kept', () => {
  const text = '```json\n{"a":0}```</think>{"a":1}{"a":2}'
  expect(tryParse(text)).toMatchObject({ ok: true, value: { a: 1 } })
  expect(tryParse(text, { pick: 'last' })).toMatchObject({ ok: true, value: { a: 2 } })
})

test('a document in a tag may have a lone closer, too', () => {
  const text = '<json>Maybe {"a":0}.\n</think>\n{"a":1}</json>'
  expect(tryParse(text, { tag: 'json' })).toMatchObject({ ok: true, value: { a: 1 } })
})
