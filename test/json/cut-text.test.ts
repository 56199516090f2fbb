import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { closeCut } from '../../src/json/cut-text.ts'
import { runs } from '../pace.ts'

const closed = (text: string) => {
  const made = closeCut(text)
  return made && { value: JSON.parse(made.text), incomplete: made.incomplete }
}

describe('closeCut', () => {
  test.each([
    ['{', {}, ['']],
    ['{"a', {}, ['']],
    ['{"a"', {}, ['', '/a']],
    ['{"a":', {}, ['', '/a']],
    ['{"a":1', { a: 1 }, ['', '/a']],
    ['{"a":1.', {}, ['', '/a']],
    ['{"a":1e', {}, ['', '/a']],
    ['{"a":-', {}, ['', '/a']],
    ['{"a":12,', { a: 12 }, ['']],
    ['{"a":12 ', { a: 12 }, ['']],
    ['{"a":tru', {}, ['', '/a']],
    ['{"a":true', { a: true }, ['']],
    ['{"a":"par', { a: 'par' }, ['', '/a']],
    ['{"a":"x\\', { a: 'x' }, ['', '/a']],
    ['{"a":"x\\u00', { a: 'x' }, ['', '/a']],
    ['{"a":"x\\ud83d', { a: 'x' }, ['', '/a']],
    ['{"a":"x\\ud83d\\ude', { a: 'x' }, ['', '/a']],
    ['{"a":"x\\ud83d\\ude00', { a: 'x😀' }, ['', '/a']],
    ['{"a":[1,2', { a: [1, 2] }, ['', '/a', '/a/1']],
    ['{"a":[1,', { a: [1] }, ['', '/a']],
    ['{"a":[{"b":"c"},{"d/~":-', { a: [{ b: 'c' }, {}] }, ['', '/a', '/a/1', '/a/1/d~1~0']],
    ['[', [], ['']],
    ['[1,2', [1, 2], ['', '/1']],
    ['[1,2,', [1, 2], ['']],
    ['[[1],[2', [[1], [2]], ['', '/1', '/1/0']],
    ['[{},{"a":[[],[', [{}, { a: [[], []] }], ['', '/1', '/1/a', '/1/a/1']],
    [' {"a":1} ', { a: 1 }, []],
    ['{"":"x', { '': 'x' }, ['', '/']],
    ['["', [''], ['', '/0']],
    ['{"a":1}', { a: 1 }, []],
    ['"par', 'par', ['']],
    ['[\r\t1,', [1], ['']],
    ['{"a":[],"b":{},"c', { a: [], b: {} }, ['']],
    ['[tru', [], ['', '/0']],
    ['[1E5,-0.5e+1,0,', [1e5, -5, 0], ['']],
    ['["\\u0d8a', ['\u0d8a'], ['', '/0']],
    ['["x\ud83d', ['x'], ['', '/0']],
    ['["x\udbff', ['x'], ['', '/0']],
    ['["x\ud800', ['x'], ['', '/0']],
    ['["\ue000', ['\ue000'], ['', '/0']],
    ['{"__proto__":{"x":"y', JSON.parse('{"__proto__":{"x":"y"}}'), ['', '/__proto__', '/__proto__/x']],
  ])('closes %s', (text, value, incomplete) => {
    expect(closed(text)).toEqual({ value, incomplete })
  })

  test.each([
    '',
    '  ',
    '12',
    'tru',
    '{a',
    '{"a" 1',
    '{"a":01',
    '{"a":1.x',
    '{"a":-x',
    '{"a":trx',
    '{"a":"\\x',
    '{"a":"\n',
    '[,',
    '{,',
    '{"a":1]',
    '{} x',
    '[1 2',
    '[1.,',
    '[-,',
    '[1e,',
    '[1e+]',
    '[1,]',
    '{"a":1,}',
    '["\\x',
    '["\\u1g',
    '["\\ug1',
    '{"\n":1',
  ])('knows that %j is not the beginning of a JSON container', (text) => {
    expect(closeCut(text)).toBeUndefined()
  })

  test('closes every beginning of every document, and hands out nothing that is not in it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1), (whole, indent) => {
        const text = JSON.stringify({ root: whole }, null, indent)
        for (let end = 1; end < text.length; end++) {
          const made = closed(text.slice(0, end))
          if (!made) throw new Error(`no answer for ${text.slice(0, end)}`)
          isPartOf(made.value, JSON.parse(text), '', made.incomplete)
        }
      }),
      { numRuns: runs(100) },
    )
  })

  test('is not troubled by depth', () => {
    expect(closeCut('['.repeat(100_000))?.incomplete.length).toBe(100_000)
  })
})

/** Every value is equal to the one in the whole, unless its path is listed as incomplete. */
function isPartOf(part: unknown, whole: unknown, path: string, incomplete: readonly string[]): void {
  if (!incomplete.includes(path)) {
    expect(part).toEqual(whole)
    return
  }
  if (typeof part === 'string') {
    expect(typeof whole === 'string' && whole.startsWith(part)).toBe(true)
    return
  }
  if (typeof part === 'number') {
    expect(typeof whole).toBe('number')
    return
  }
  expect(typeof part).toBe('object')
  for (const key of Object.keys(part as object)) {
    expect(Object.hasOwn(whole as object, key)).toBe(true)
    isPartOf(
      (part as Record<string, unknown>)[key],
      (whole as Record<string, unknown>)[key],
      `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      incomplete,
    )
  }
}
