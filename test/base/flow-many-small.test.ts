import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { flow } from '../../src/base/flow.ts'

test('goes on when every chunk is one item and the queue is just full', async () => {
  const count = 3000
  const source = Readable.from(
    Array.from({ length: count }, (_, i) => i),
    { highWaterMark: 2 },
  )
  let seen = 0
  for await (const item of source.pipe(flow<number, number>((next) => next))) {
    expect(item).toBe(seen)
    seen++
  }
  expect(seen).toBe(count)
})

test('goes on when a full queue meets portions that give nothing', async () => {
  const rows = 400_000
  const source = Readable.from(
    [Buffer.alloc(rows)].concat(Array.from({ length: 50 }, () => Buffer.alloc(27_000))),
    { highWaterMark: 2 },
  )
  // One item for every 1,000 bytes: some portions have many, some none.
  let at = 0
  const stage = flow<Uint8Array, number>(
    (next) => ({
      write(bytes) {
        for (let i = 0; i < bytes.length; i++) if (++at % 1000 === 0) next.write(at)
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
  let seen = 0
  for await (const _ of source.pipe(stage)) seen++
  expect(seen).toBe(Math.floor((rows + 50 * 27_000) / 1000))
})
