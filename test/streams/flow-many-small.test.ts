import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { flow } from '../../src/streams/flow.ts'

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

test.each([
  [2884, 39, 10_962],
  [1000, 60, 27_000],
  [700, 20, 40_000],
])(
  'goes on when a full queue meets portions without items: one in %i bytes, %i chunks of %i',
  async (every, chunks, size) => {
    const source = Readable.from(
      Array.from({ length: chunks }, () => Buffer.alloc(size)),
      { highWaterMark: 2 },
    )
    let at = 0
    const stage = flow<Uint8Array, number>(
      (next) => ({
        write(bytes) {
          for (let i = 0; i < bytes.length; i++) if (++at % every === 0) next.write(at)
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
    expect(seen).toBe(Math.floor((chunks * size) / every))
  },
)
