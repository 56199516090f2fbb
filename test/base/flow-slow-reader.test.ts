import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { flow } from '../../src/base/flow.ts'

// Found by a pipeline into an HTTP response: the flow paused while Node was asking for more, and was never asked again.
test.each([1, 63, 64, 65, 1000])('hands %i items on to a reader that takes one at a time', async (count) => {
  const same = flow<number, number>((next) => ({ write: (n) => next.write(n), end: () => next.end() }))
  const taken: number[] = []
  const slow = new Writable({
    objectMode: true,
    highWaterMark: 1,
    write(n, _encoding, done) {
      taken.push(n)
      setImmediate(done)
    },
  })
  const sent = Array.from({ length: count }, (_, i) => i)
  await pipeline(Readable.from(sent), same, slow)
  expect(taken).toEqual(sent)
})
