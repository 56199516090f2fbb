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

test('gives the last one, good or bad, if asked for it', () => {
  expect(parse('<json>{"a":1}</json> <json>{"a":2}</json>', { pick: 'last' })).toEqual({ a: 2 })
  const broken = tryParse('<json>{"a":1}</json> <json>{"a":}</json>', { pick: 'last' })
  expect(broken).toMatchObject({ ok: false, fault: { code: 'INVALID_JSON' } })
})

test('one text gives one value: pick each is refused, and so is what is no text', () => {
  const refused = expect.objectContaining({ code: 'BAD_OPTION' })
  expect(() => tryParse('{}', { pick: 'each' as never })).toThrow(refused)
  expect(() => parse(undefined as never)).toThrow(refused)
  expect(() => parse(null as never)).toThrow('parse needs a text, but got null')
  expect(() => tryParse(Buffer.from('{}') as never)).toThrow('tryParse needs a text, but got an object')
})

test('refuses items, which only values() takes', () => {
  const items = { items: 'a.*' } as never
  expect(() => tryParse('{"a":[1]}', items)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
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
