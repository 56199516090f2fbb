import { expect, test } from 'vitest'
import { readStrictly } from '../../src/json/strict.ts'

test('a text is JSON if JSON.parse says so, though it is not always asked', () => {
  const different: string[] = []
  const compare = (text: string) => {
    if ((readStrictly(text, 128).kind === 'value') !== isParsed(text)) different.push(text)
    if (text.length < 4) for (const unit of '{}[],:"1 \ufeff') compare(text + unit)
  }
  compare('')
  expect(different).toEqual([])
})

test.each(['{"a":1,}', '{"a":1', '[1,2,] \n', '["x}', '{"a":1 "b":2}'])(
  'tells what JSON.parse throws: %j',
  (text) => {
    expect(readStrictly(text, 128)).toMatchObject({ kind: 'broken', cause: thrown(text) })
  },
)

test('a bracket that is not closed is too deep if it holds too many others', () => {
  expect(readStrictly('[[[', 2)).toEqual({ kind: 'deep' })
  expect(readStrictly('[[[', 3).kind).toBe('broken')
})

function isParsed(text: string): boolean {
  return thrown(text) === undefined
}

function thrown(text: string): unknown {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error
  }
}
