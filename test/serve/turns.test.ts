import { expect, test } from 'vitest'
import { turn } from '../../src/serve/turns.ts'

test('many loops share the time between two looks at new requests, and all of them go on', async () => {
  let pieces = 0
  const most: number[] = []
  const look = setInterval(() => {
    most.push(pieces)
    pieces = 0
  }, 0)
  const done: number[] = []
  const loop = async (name: number) => {
    for (let piece = 0; piece < 4; piece++) {
      await turn()
      pieces++
      for (const began = performance.now(); performance.now() - began < 5; );
    }
    done.push(name)
  }
  await Promise.all([1, 2, 3, 4, 5].map(loop))
  clearInterval(look)
  // Two pieces of 5 ms fill the 8 ms; a timer may miss one look.
  expect(Math.max(...most)).toBeLessThanOrEqual(4)
  expect(done.sort()).toEqual([1, 2, 3, 4, 5])
})

test('a loop that never rests lets another one go on', async () => {
  let pieces = 0
  const busy = async () => {
    for (; pieces < 100; pieces++) {
      await turn()
      for (const began = performance.now(); performance.now() - began < 1; );
    }
  }
  const done = busy()
  await turn()
  expect(pieces).toBeLessThan(20)
  await done
})
