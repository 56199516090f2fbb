import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { flow } from '../../src/streams/flow.ts'

// Found by a pipeline into an HTTP response: the flow paused while Node was asking for more, and was never
// asked again.
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

test('large items do not pile up before a slow reader: what waits is bounded in bytes, too', async () => {
  const large = 1 << 18
  let fed = 0
  let taken = 0
  let ahead = 0
  const stage = flow<Uint8Array, number>(
    (next) => ({
      write(bytes) {
        const before = fed
        fed += bytes.length
        if (Math.floor(fed / large) > Math.floor(before / large)) next.write(large)
      },
      end: () => next.end(),
    }),
    {
      intake: () => ({
        take: (written) => written as Uint8Array,
        size: (bytes) => bytes.length,
        portion: (bytes, from, to) => bytes.subarray(from, to),
      }),
    },
  )
  const slow = new Writable({
    objectMode: true,
    highWaterMark: 1,
    write(size, _encoding, done) {
      ahead = Math.max(ahead, fed - taken)
      taken += size
      setImmediate(done)
    },
  })
  await pipeline(Readable.from(Array.from({ length: 256 }, () => Buffer.alloc(1 << 16))), stage, slow)
  expect(taken).toBe(256 << 16)
  expect(ahead).toBeLessThan(4 * large)
})
