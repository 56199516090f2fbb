import { expect, test } from 'vitest'
import { count, isDeeper, isNested } from '../../src/json/strict.ts'

const depths: readonly (readonly [text: string, depth: number])[] = [
  ['1', 0],
  ['"[[["', 0],
  ['null', 0],
  ['[]', 1],
  ['{}', 1],
  ['[1,2,3]', 1],
  ['["[",""]', 1],
  ['["\\"[[",1]', 1],
  ['["\\\\",[1]]', 2],
  ['[[]]', 2],
  ['{"a":{}}', 2],
  ['{"a":[1]}', 2],
  ['[[1],[2]]', 2],
  ['[1,{"a":1}]', 2],
  ['[[],[[]]]', 3],
  ['{"a":[{"b":"{{"}],"c":null}', 3],
  ['[[],[],[],[]]', 2],
  ['{"a":1,"b":{"c":{"d":[]}}}', 4],
]

test('the depth of a text and of its value is known at every limit', () => {
  for (const [text, depth] of depths) {
    for (let max = 0; max < 6; max++) {
      expect(isDeeper(text, max), `${text} at ${max}`).toBe(depth > max)
      expect(isNested(JSON.parse(text), max), `the value of ${text} at ${max}`).toBe(depth > max)
    }
  }
})

test('a broken text has a depth, too', () => {
  // Closing brackets too many do not make room for opening ones, and nothing after an open string counts.
  const broken: readonly (readonly [text: string, depth: number])[] = [
    [']][[[', 3],
    ['}[{', 2],
    ['[}[', 1],
    ['[{"a', 2],
    ['["[[[', 1],
    ['"[[[', 0],
    ['[[[', 3],
  ]
  for (const [text, depth] of broken)
    for (let max = 0; max < 5; max++) expect(isDeeper(text, max), `${text} at ${max}`).toBe(depth > max)
})

test.each([
  ['', 5, 0],
  ['x', 5, 0],
  ['[', 5, 1],
  ['[[x[', 5, 3],
  ['x[[', 5, 2],
  ['[[[[[', 2, 3],
  ['[[[', 2, 3],
  ['[[', 2, 2],
  ['[', 0, 1],
])('the brackets in %j, counted up to %i and one more, are %i', (text, max, found) => {
  expect(count(text, '[', max)).toBe(found)
})
