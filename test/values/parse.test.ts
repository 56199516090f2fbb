import { expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import { parse, tryParse } from '../../src/values/parse.ts'

test('gives the value', () => {
  expect(parse('Sure: <json>{"a": 1,}</json>')).toEqual({ a: 1 })
})

test('throws the fault, with the label of the caller', () => {
  const failed = () => parse('nothing here', { label: 'verdict' })
  expect(failed).toThrow(Fault)
  expect(failed).toThrow('verdict: no payload was found in the input')
})

test('gives the first value that passes, or the first fault', () => {
  const schema = { required: ['a'] }
  expect(tryParse('{"b":1} {"a":1}', { schema })).toMatchObject({ ok: true, value: { a: 1 } })
  expect(tryParse('{"b":1} {"c":1}', { schema })).toMatchObject({ ok: false, frame: { from: 0 } })
})

test('is a plain function of its text', () => {
  expect(tryParse('{"a":1}')).toEqual(tryParse('{"a":1}'))
  expect(tryParse('')).toMatchObject({ ok: false, fault: { code: 'EMPTY' } })
})

test('parse throws a Fault whose stack begins at its caller', () => {
  function caller() {
    parse('{"a":')
  }
  expect(caller).toThrow(
    expect.objectContaining({ stack: expect.stringMatching(/^Fault: .*\n\s+at caller/) }),
  )
})
