import { expect, test } from 'vitest'
import { Tape } from '../../src/text/tape.ts'
import { Guess } from '../../src/values/items/guess.ts'

const FROM = 10

/** A guess over a text that begins at byte 10; what was before it is no longer held. */
function guessOver(text: string) {
  const tape = new Tape(1 << 20)
  tape.append(Buffer.alloc(FROM))
  tape.settle(FROM)
  tape.append(Buffer.from(text))
  return { guess: new Guess(tape), tape }
}

test.each<[string, end: number, next?: number]>([
  ['{"a":1},{"a":2}', 7, 8],
  ['{"a":1} ,\n {"a":2}', 7, 11],
  ['{ "a" :1},{ "a" :2}', 9, 10],
  ['{"":1},{"":2}', 6, 7],
  ['{"a":1},{"a":2},{"a":3}', 7, 8],
  // The next head is inside the element, or is not there.
  ['{"a":{"a":1}},{"a":2}', -1],
  ['{"a":[{"a":1},{"a":2}]}', -1],
  ['{"a":1},{ "a":2}', -1],
  ['{"a":1},{"b":2}', -1],
  ['{"a":1},{"a"', -1],
  ['{"a":1}', -1],
  // Anything but a brace and a comma comes before it.
  ['{"a":1}{"a":2}', -1],
  ['{"a":1};{"a":2}', -1],
  ['{"a":1],{"a":2}', -1],
  ['{"a":1,{"a":2}', -1],
  // No head to look for.
  ['["a",1],["a",2]', -1],
  ['{a:1},{a:2}', -1],
  ['{"a\\"":1},{"a\\"":2}', -1],
  ['{"a" 1},{"a" 2}', -1],
  ['{"a', -1],
  ['{', -1],
  [`{"${'k'.repeat(252)}":1},{"${'k'.repeat(252)}":2}`, 258, 259],
  [`{"${'k'.repeat(253)}":1},{"${'k'.repeat(253)}":2}`, -1],
  [`{${' '.repeat(251)}"k":1},{${' '.repeat(251)}"k":2}`, 258, 259],
  [`{${' '.repeat(252)}"k":1},{${' '.repeat(252)}"k":2}`, -1],
  [`{"k"${' '.repeat(251)}:1},{"k"${' '.repeat(251)}:2}`, 258, 259],
  [`{"k"${' '.repeat(252)}:1},{"k"${' '.repeat(252)}:2}`, -1],
])('an object ends where its neighbour begins: %j', (text, end, next) => {
  const { guess } = guessOver(text)
  expect(guess.end(FROM, 10_000)).toBe(end < 0 ? -1 : FROM + end)
  if (next !== undefined) expect(guess.next).toBe(FROM + next)
})

test('no guess reaches past the bound', () => {
  const { guess } = guessOver('{"a":1},{"a":2}')
  expect(guess.end(FROM, FROM + 6)).toBe(-1)
  expect(guess.end(FROM, FROM + 7)).toBe(FROM + 7)
})

test('goes from neighbour to neighbour, and takes another head when the objects change', () => {
  const { guess } = guessOver('{"a":1},{"a":2},{"b":1},{"b":2},{"a":3},{"a":4}')
  const ends = [0, 8, 16, 24, 32, 40].map((from) => guess.end(FROM + from, 10_000))
  // The second one is wrong, which only JSON.parse can tell.
  expect(ends).toEqual([FROM + 7, FROM + 31, FROM + 23, -1, FROM + 39, -1])
})

test('finds a neighbour whose head arrives in two chunks', () => {
  const { guess, tape } = guessOver('{"a":1},{"')
  expect(guess.end(FROM, 10_000)).toBe(-1)
  tape.append(Buffer.from('a"'))
  expect(guess.end(FROM, 10_000)).toBe(-1)
  tape.append(Buffer.from(':2}'))
  expect(guess.end(FROM, 10_000)).toBe(FROM + 7)
})

test('wrong guesses are paid for with what was read', () => {
  const { guess } = guessOver('{"a":1},{"a":2}')
  let misses = 0
  while (guess.end(FROM, 10_000) > 0) {
    guess.missed(FROM, FROM + 7)
    misses++
  }
  // A mebibyte of credit, 2,048 bytes and the guess itself for each miss.
  expect(misses).toBe(511)
  guess.read(FROM, FROM + 7)
  expect(guess.end(FROM, 10_000)).toBe(-1)
  guess.read(0, 5000)
  expect(guess.end(FROM, 10_000)).toBe(FROM + 7)
  for (let count = 0; count < 3; count++) guess.missed(FROM, FROM + 7)
  expect(guess.end(FROM, 10_000)).toBe(-1)
})

test('what was searched for in vain costs credit, too', () => {
  const { guess } = guessOver(`{"a":${'1'.repeat((1 << 20) - 20)}`)
  expect(guess.end(FROM, 1 << 21)).toBe(-1)
  const other = guessOver(`{"a":${'1'.repeat(1 << 20)},{"a":2},{"b":1},{"b":2}`)
  expect(other.guess.end(FROM, 1 << 21)).toBe(-1)
  expect(other.guess.end(FROM + (1 << 20) + 14, 1 << 21)).toBe(-1)
})
