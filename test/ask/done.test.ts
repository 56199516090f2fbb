import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import '../plain-schemas.ts'
import { type SnapshotOptions, snapshots } from '../../src/ask/snapshots.ts'
import { tryParse } from '../../src/values/parse.ts'
import { runs, seed, slow } from '../pace.ts'
import { answers } from '../values/model-answers.ts'
import { printed } from '../values/printed-answers.ts'
import { told } from '../values/told-answers.ts'
import { varied } from '../values/varied-answers.ts'

/** With a line that has ended behind the value, there is nothing to wait for. */
const END = '\n\nDone.\n'

/** What `done` and `tryParse` say of a text, cut in any way; undefined if they agree, or snapshots wait. */
function quarrel(text: string, options: SnapshotOptions, sizes = [text.length]): string | undefined {
  const outcome = tryParse(text, options)
  const parsed = outcome.ok ? JSON.stringify(outcome.value) : outcome.fault.code
  for (const size of sizes) {
    const seen = snapshots(options)
    let value: string | undefined
    for (let at = 0; at < text.length; at += size)
      value = JSON.stringify(seen.push(text.slice(at, at + size))?.value)
    if (seen.done() && value !== parsed) return `${JSON.stringify(text)}: ${value}, but ${parsed}`
  }
  return undefined
}

describe('snapshots().done()', () => {
  const rows = [answers, printed, told, varied].flatMap((table) => Object.values(table).flat())

  test('is true of no other value than that of tryParse', () => {
    const quarrels = rows.flatMap(([text, , { pick, ...options } = {}]) => {
      // Half a surrogate pair does not survive as bytes; `last` may be another one.
      if (/\p{Cs}/u.test(text) || pick === 'last') return []
      return quarrel(text + END, options) ?? []
    })
    expect(quarrels).toEqual([])
  })

  test('is true of one value, wherever it is', () => {
    const VALUES = ['{"a":1}', '{"b":[2,{}]}', '{"t":"</think>"}', '{"t":"```"}', '{"t":\n"y"\n}']
    const AROUND = [
      ['', ''],
      ['```json\n', '\n```'],
      ['```\n', '```'],
      ['```python\n', '\n```'],
      ['> ```json\n> ', '\n> ```'],
      ['<json>', '</json>'],
      ['<think>{"d":0}</think>', ''],
      ['So: ', ' as asked'],
      ['- ', ''],
      ['`', '`'],
      ['{"d":0}?\n</think>\n', ''],
      ['User(name="x") made ', '.'],
      ['[1] says\n', ''],
      ['{x} ', ' {y}'],
    ] as const
    const text = fc
      .tuple(
        fc.constantFrom(...VALUES),
        fc.constantFrom(...AROUND),
        fc.constantFrom('', 'Sure:\n\n', 'Well, '),
      )
      .filter(([value, [before]]) => !(before.startsWith('> ') && value.includes('\n')))
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), ([value, [before, after], first], size) => {
        const whole = `${first}${before}${value}${after}${END}`
        const seen = snapshots()
        for (let at = 0; at < whole.length; at += size) seen.push(whole.slice(at, at + size))
        const outcome = tryParse(whole)
        expect([whole, outcome.ok && seen.done()]).toEqual([whole, outcome.ok])
        expect(quarrel(whole, {})).toBeUndefined()
      }),
      { numRuns: runs(600) },
    )
  })

  const F = '```'
  const PARTS = [
    ...['{"a":1}', '{"b":2}', '[{"c":3}]', '{}', '{a:1}', "{'a':1}", '{"t":"}"}', '{"t":"```"}', '{"a":1,}'],
    ...['\n', '\n\n', ' ', ': ', '. ', 'So: ', 'x = ', '\n- ', '\n> ', '\n// ', '\n1. ', '{x}'],
    ...['`{"a":1}`', '**{"b":2}**', 'f({"a":1})', 'User(a={"b":2})', '{% x = {"a":1} %}', '\ny = 2\n'],
    ...[`\n${F}json\n{"a":1}\n${F}\n`, `\n${F}\n{"b":2}${F}\n`, `\n${F}diff\n+ {"a":1}\n- {"b":2}\n${F}\n`],
    ...[`\n${F}py\n{"a":1}\n${F}\n`, `\n${F}json\n{a:1}\n${F}\n`, '\n| {"a":1} | b |\n'],
    ...[
      '<json>{"b":2}</json>',
      '<json>{b:2,}</json>',
      '<answer>{"a":1}</answer>',
      '<answer>{"a":1,}</answer>',
    ],
    ...['<json>', '</json>', '<answer>', '<think>', '</think>', `${F}json\n`, `${F}`, `\n${F}\n`, `${F}${F}`],
    ...['"', '}', ']', '{', '[', '(', ')', ',', ',{"a":1}', '"k":', 'word', '<', '>'],
    ...['"[1]"', '[1] ', '[2, 3]'],
    ...['<think>{"z":0}</think>', '{"z":0}\n</think>\n', '◁think▷ {"z":0} ◁/think▷'],
  ]
  const parts = fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 9 })
  const each: SnapshotOptions[] = [{}, { root: 'any' }, { schema: {} }, { tag: 'answer' }]

  test.each(each)(
    'is true of no other value than that of tryParse, whatever is in the text: %j',
    (options) => {
      const texts = parts.map((parts) => parts.join('') + END)
      fc.assert(
        fc.property(texts, (text) => {
          expect(quarrel(text, options, [1000, 1 + (text.length % 7)])).toBeUndefined()
        }),
        { numRuns: slow ? runs(5000) : 100, seed },
      )
    },
  )

  test.each(each)('is true of no other value at any beginning of a text: %j', (options) => {
    fc.assert(
      fc.property(parts, (parts) => {
        const seen = snapshots(options)
        let text = ''
        for (const piece of parts.join('')) {
          text += piece
          const value = JSON.stringify(seen.push(piece)?.value)
          if (!seen.done()) continue
          const outcome = tryParse(text, options)
          expect([text, outcome.ok && JSON.stringify(outcome.value)]).toEqual([text, value])
        }
      }),
      { numRuns: runs(250), seed },
    )
  })

  test.each<[string, SnapshotOptions, boolean]>([
    ['[2, 3]', { schema: {} }, false],
    ['[2, 3] ', { schema: {} }, false],
    ['[2, 3]\n', { schema: {} }, true],
    ['["x"]', { root: 'any' }, false],
    ['See [1] and [2, 3, 4]', { schema: {} }, false],
    ['the scores: [2, 3, 4]', { schema: {} }, true],
    ['<json>[1]', {}, false],
    ['<json>[1]</json>', { schema: {} }, true],
    ['[1]\n', { lines: true, root: 'any' }, true],
    ['[{"a":1}]', { root: 'any' }, true],
    ['["x","y"]', { schema: {} }, true],
    // Anything that comes behind it counts more than this.
    ['[2, 3]\n\nDone.\n', { root: 'any' }, false],
    ['[2, 3]\n', { root: 'any' }, false],
  ])('waits while words behind an array may make it a citation: %j', (text, options, done) => {
    const seen = snapshots(options)
    seen.push(text)
    expect(seen.done()).toBe(done)
  })

  test.each(each)('is not true of an array that words on its line take back: %j', (options) => {
    const LISTS = [
      '[1]',
      '[2, 3]',
      '["x"]',
      '["x","y"]',
      '[4,5,6]',
      '[{"a":1}]',
      '[]',
      'See ',
      'the: ',
      'x = ',
    ]
    const BETWEEN = [' ', '\n', ' and ', ', ', '. ', '- ', '**', '<answer>', '</answer>', `\n${F}\n`]
    const lists = fc.array(fc.constantFrom(...LISTS, ...BETWEEN), { minLength: 1, maxLength: 6 })
    const words = fc.constantFrom(' Jones\n[7,8]', ' and [1] say so\n[7,8]', ' says\n\n[{"a":1}]\n')
    fc.assert(
      fc.property(lists, words, (parts, words) => {
        const text = parts.join('')
        const seen = snapshots(options)
        const value = JSON.stringify(seen.push(text)?.value)
        if (!seen.done()) return
        const outcome = tryParse(text + words, options)
        expect([text, outcome.ok ? JSON.stringify(outcome.value) : value]).toEqual([text, value])
      }),
      { numRuns: runs(2000), seed },
    )
  })

  test.each<[string, SnapshotOptions, boolean]>([
    ['{"a": "x"}', { schema: { type: 'object', properties: { a: { type: 'integer' } } } }, false],
    ['{"b": 1}\n{"a": 1}', { schema: { type: 'object', required: ['a'] } }, true],
    ['```json\n{}\n\nNothing.\n```', {}, false],
    ['```json\n[1] {"a":0}\n```', {}, false],
    ['```json\n{}\n```', {}, true],
    ['> ```json\n> {"a": 1}\n> ```', {}, true],
    ['```python\n{"a": 1}\n```', {}, true],
    ['{"a": 1}\n```\n{"b": 2}\n```', {}, true],
    ['{"a": 1}\n```\nno {"b": 2}\n```', {}, true],
    ['// {"a": 1}\n{"b": 2}', {}, true],
    ['```diff\n- {"a": 1}\n+ {"a": 2}\n```', {}, true],
    ['```diff\n- {"a": 1}\n```\n{"b": 2}', {}, true],
    ['```\n{a: 1}\n```\n```json\n[2, 3]\n```', { root: 'any' }, false],
    ['{"a": 1}\n```json\n{b: 1}\n```', {}, false],
    ['```py\n{"a": 1}\n```\n<json>{"b": 2}</json>', { schema: {} }, true],
    ['{\'a\': 1} {"b": 2}', { schema: {} }, false],
    ['[x {"a":1}', { schema: {} }, true],
    ['So: <answer>{a:1}<json>{"b":2}</json>', { schema: {} }, true],
    ['{"a":1}<json>{b:1}\n```\n', { root: 'any' }, true],
    ['{"a":1}"\ny = 2\n{"t":"```"}{"a":1}', {}, false],
    ['```json\n]<json>{"a":1}<json>\n. ', {}, false],
    ['[1]\n```json\n````json ', { schema: {} }, false],
    ['```json\n```json\n: {"a":1} ', {}, false],
    ['{"b":2}So: ><think>\n```\n]', {}, false],
    ['[\n> ,{"a":1}', { root: 'any' }, false],
    ['{"t":"```"}{\'a\':1}word}\nf({"a":1}). ', { root: 'any' }, false],
  ])('agrees with tryParse: %j', (text, options, done) => {
    for (const size of [1, 3, 1000]) {
      const seen = snapshots(options)
      for (let at = 0; at < text.length + END.length; at += size) seen.push((text + END).slice(at, at + size))
      expect(seen.done(), `in pieces of ${size}`).toBe(done)
    }
    expect(quarrel(text + END, options)).toBeUndefined()
  })

  test('goes on being told when a long text is asked about after every piece', () => {
    const seen = snapshots()
    seen.push('{"a":1}\n\n')
    let told = 0
    for (let count = 0; count < 3000; count++) {
      seen.push('Some more words. ')
      if (seen.done()) told++
    }
    expect(told).toBe(3000)
  })

  test.runIf(slow)('is true of no text that is too long for tryParse', () => {
    const seen = snapshots()
    seen.push(`{"a":"${'x'.repeat(17 << 20)}"}`)
    expect(seen.done()).toBe(false)
  })
})
