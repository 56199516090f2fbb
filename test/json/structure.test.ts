import { expect, test } from 'vitest'
import { isStructureAt } from '../../src/json/after-value.ts'

test.each([
  ...[
    '}',
    ' ]',
    '\n}',
    ',"m":2}',
    ', {"x":1}',
    ',[',
    ', 5',
    ',-5',
    ', true',
    ', m: 2',
    ', "m"',
    ", 'm'",
    ', “m”',
  ],
  ...[', -5', ', null', ': true}'],
  ...[', m": 2', ': 1', ':"x"', '"m":2', ' "m" : 2', '\ufeff}'],
])('what follows a value belongs to a larger one: %j', (rest) => {
  expect(isStructureAt(`{"k":1}${rest}`, 7)).toBe(true)
})

test.each([
  '',
  ' and more',
  ', as asked',
  '. {"a":1}',
  '\n{"a":1}',
  ' [1]',
  '; x',
  ': as asked',
  ' "quoted" words',
  ', - as asked',
  ', x : 1',
  ', -->',
  ', nullable fields',
  ", false's",
])('prose follows: %j', (rest) => {
  expect(isStructureAt(`{"k":1}${rest}`, 7)).toBe(false)
})
