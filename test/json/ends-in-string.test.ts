import { expect, test } from 'vitest'
import { endsInString } from '../../src/json/after-value.ts'

test('the last bracket is inside a string in other quotes', () => {
  const texts = [
    `{"a": 'x}`,
    `['x]`,
    `{'a}`,
    `{"a":1,'b}`,
    `{"a":1, 'b': 'c}`,
    '{"a": `x}',
    '{"a": “x}',
    '{"a": ‘it’s}',
    // A quote before a letter closes nothing, and neither does one behind a backslash.
    `{"a": 'it's}`,
    `{"a": 'x' y}`,
    String.raw`{"a": 'x\'}`,
    String.raw`{"a": "x\"", 'b}`,
    `{"a": "x' y", 'b}`,
    `{'a': 'x'y}`,
  ]
  expect(texts.filter((text) => !endsInString(text))).toEqual([])
})

test('the last bracket is not inside such a string', () => {
  const texts = [
    '{"a":1}',
    '{"a":"x}',
    `{"a": 'x'}`,
    `{'a': 'x}', 'b': 1}`,
    '{"a": “it’s”}',
    `{'a' : 'x' , 'b' :['y' ]}`,
    `{"a": 'x'`,
    `{"a": 'x' `,
    // Inside a string in double quotes, others are text.
    `{"a": "it's"}`,
    `{"a": "it's}`,
    `{"a":"x'", "b":1}`,
    String.raw`{"a": "x\"'", "b":1}`,
    // A string begins only after a bracket, a comma or a colon.
    `{"a": x'y}`,
    `["a" 'b]`,
    `{"a" 'b}`,
    `'a]`,
  ]
  expect(texts.filter((text) => endsInString(text))).toEqual([])
})
