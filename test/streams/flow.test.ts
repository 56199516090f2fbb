import { once } from 'node:events'
import { PassThrough, Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ask } from '../../src/ask/ask.ts'
import { Fault } from '../../src/base/fault.ts'
import type { Intake, Stage } from '../../src/base/stage.ts'
import { type Flow, flow } from '../../src/streams/flow.ts'
import { tap } from '../../src/streams/tap.ts'
import { slow } from '../pace.ts'

/** One item per LF: the densest input is twice as many bytes as items. */
const lineNumbers: Stage<Uint8Array, number> = (next) => {
  let count = 0
  return {
    write(bytes) {
      for (const byte of bytes) if (byte === 10) next.write(++count)
    },
    end: () => next.end(),
  }
}

const same: Stage<number, number> = (next) => next

function bytesIntake(): Intake<Uint8Array> {
  return {
    take(written) {
      if (written instanceof Uint8Array) return written
      throw new Fault('BAD_CHUNK', 'only bytes here')
    },
    size: (bytes) => bytes.length,
    portion: (bytes, from, to) => bytes.subarray(from, to),
  }
}

function counted(): Flow<number> {
  return flow(lineNumbers, { intake: bytesIntake })
}

/** One item, its place, in so many bytes. */
function oneIn(every: number, onBytes: (count: number) => void = () => {}): Flow<number> {
  let at = 0
  const stage: Stage<Uint8Array, number> = (next) => ({
    write(bytes) {
      onBytes(bytes.length)
      const from = at
      at += bytes.length
      for (let place = from - (from % every) + every; place <= at; place += every) next.write(place)
    },
    end: () => next.end(),
  })
  return flow(stage, { intake: bytesIntake })
}

/** Takes one item per turn of the event loop. */
function slowSink(take: (item: number) => void): Writable {
  return new Writable({
    objectMode: true,
    highWaterMark: 1,
    write(item, _encoding, done) {
      take(item)
      setImmediate(done)
    },
  })
}

async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Reads one item per turn of the event loop, and says how long the queue ever was. */
async function longestQueue(slow: Flow<number>): Promise<{ items: number; longest: number }> {
  let items = 0
  let longest = 0
  for await (const _ of slow) {
    items++
    longest = Math.max(longest, slow.readableLength)
    await nextTurn()
  }
  return { items, longest }
}

describe('backpressure', () => {
  test.runIf(slow)(
    'a slow reader never sees more than a short queue, however much one chunk holds',
    async () => {
      const numbers = counted()
      numbers.end(Buffer.from('a\n'.repeat(32_768)))
      const { items, longest } = await longestQueue(numbers)
      expect(items).toBe(32_768)
      expect(longest).toBeLessThan(1000)
    },
  )

  test('the queue stays bounded when a long quiet start is followed by dense input', async () => {
    const numbers = counted()
    numbers.end(Buffer.concat([Buffer.alloc(4 << 20, 'x'), Buffer.from('\n'.repeat(40_000))]))
    const { items, longest } = await longestQueue(numbers)
    expect(items).toBe(40_000)
    expect(longest).toBeLessThanOrEqual(64 + 16 * 1024)
  })

  test.each([1, 63, 64, 65, 66, 128, 512, 513, 5000])('%i items in one chunk all arrive', async (size) => {
    const numbers = counted()
    numbers.end(Buffer.from('\n'.repeat(size)))
    expect((await readAll(numbers)).length).toBe(size)
  })

  test('goes on when every chunk is one item and the queue is just full', async () => {
    const sent = Array.from({ length: 3000 }, (_, index) => index)
    expect(await readAll(Readable.from(sent, { highWaterMark: 2 }).pipe(flow(same)))).toEqual(sent)
  })

  test.each([
    [2884, 39, 10_962],
    [1000, 60, 27_000],
    [700, 20, 40_000],
  ])(
    'goes on when a full queue meets portions without items: one in %i bytes, %i chunks of %i',
    async (every, chunks, size) => {
      const sent = Array.from({ length: chunks }, () => Buffer.alloc(size))
      const found = await readAll(Readable.from(sent, { highWaterMark: 2 }).pipe(oneIn(every)))
      expect(found).toHaveLength(Math.floor((chunks * size) / every))
    },
  )

  // Found by a pipeline into an HTTP response: the flow paused while Node was asking for more, and was never
  // asked again.
  test.each([1, 63, 64, 65, 1000])(
    'hands %i items on to a reader that takes one at a time',
    async (count) => {
      const sent = Array.from({ length: count }, (_, index) => index)
      const taken: number[] = []
      await pipeline(
        Readable.from(sent),
        flow(same),
        slowSink((item) => taken.push(item)),
      )
      expect(taken).toEqual(sent)
    },
  )

  test('large items do not pile up before a slow reader: what waits is bounded in bytes, too', async () => {
    const large = 1 << 18
    let fed = 0
    let taken = 0
    let ahead = 0
    const sink = slowSink((at) => {
      ahead = Math.max(ahead, fed - taken)
      taken = at
    })
    const sent = Array.from({ length: 256 }, () => Buffer.alloc(1 << 16))
    await pipeline(
      Readable.from(sent),
      oneIn(large, (bytes) => {
        fed += bytes
      }),
      sink,
    )
    expect(taken).toBe(256 << 16)
    expect(ahead).toBeLessThan(4 * large)
  })

  test('a producer is told to wait while the reader is away', async () => {
    const numbers = counted()
    const dense = Buffer.from('\n'.repeat(1000))
    let accepted = 0
    while (numbers.write(dense) && accepted < 100) accepted++
    expect(accepted).toBeLessThan(100)
    await nextTurn()
    expect(numbers.readableLength).toBeLessThan(1000)

    const drained = once(numbers, 'drain')
    const reader = readAll(numbers)
    await drained
    numbers.end()
    expect((await reader).length).toBe((accepted + 1) * 1000)
  })

  test('timers get their turn while one big chunk is in work', async () => {
    const busy = flow<Uint8Array, number>(
      (next) => ({
        write() {
          const until = performance.now() + 5
          while (performance.now() < until);
        },
        end: () => next.end(),
      }),
      { intake: bytesIntake },
    )
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    busy.end(Buffer.alloc(512 * 1024))
    await readAll(busy)
    clearInterval(timer)
    expect(turns).toBeGreaterThan(2)
  })
})

describe('order', () => {
  test('items come out in the order in which they were pushed', async () => {
    const numbers = counted()
    for (let i = 0; i < 50; i++) numbers.write(Buffer.from('\n'.repeat(i * 7)))
    numbers.end()
    const all = await readAll(numbers)
    expect(all).toEqual(Array.from({ length: all.length }, (_, i) => i + 1))
    expect(all.length).toBe((7 * 49 * 50) / 2)
  })

  test('calls of next() that overlap are answered in order', async () => {
    const numbers = flow(same)
    const reader = numbers[Symbol.asyncIterator]()
    const answers = Array.from({ length: 6 }, () => reader.next())
    numbers.write(1)
    numbers.write(2)
    await nextTurn()
    const late = reader.next()
    numbers.write(3)
    numbers.write(4)
    numbers.end(5)
    const values = (await Promise.all([...answers, late])).map((answer) => answer.value)
    expect(values).toEqual([1, 2, 3, 4, 5, undefined, undefined])
  })

  test('what a stage says at the end is still read', async () => {
    const total = flow<number, number>((next) => {
      let sum = 0
      return {
        write(value) {
          sum += value
        },
        end() {
          next.write(sum)
          next.end()
        },
      }
    })
    total.write(1)
    total.end(2)
    expect(await readAll(total)).toEqual([3])
  })

  test('what the intake kept back is fed before the end', async () => {
    const numbers = flow(lineNumbers, {
      intake: () => ({ ...bytesIntake(), rest: () => Buffer.from('\n\n') }),
    })
    numbers.end(Buffer.from('\n'))
    expect(await readAll(numbers)).toEqual([1, 2, 3])
  })

  test('empty chunks and no chunks give nothing and an end', async () => {
    const numbers = counted()
    numbers.write(Buffer.alloc(0))
    numbers.end()
    expect(await readAll(numbers)).toEqual([])
    expect(await readAll(counted().end())).toEqual([])
  })
})

describe('errors', () => {
  const bomb: Stage<number, number> = (next) => ({
    write(value) {
      if (value === 3) throw new RangeError('three')
      next.write(value)
    },
    end: () => next.end(),
  })

  test('a stage that throws fails the write, then the reader, with the same error', async () => {
    const numbers = flow(bomb)
    const seen: number[] = []
    const reading = (async () => {
      for await (const value of numbers) seen.push(value)
    })()
    numbers.write(1)
    await nextTurn()
    const failed = new Promise<Error | null | undefined>((resolve) => numbers.write(3, resolve))
    await expect(reading).rejects.toThrow(new RangeError('three'))
    expect(await failed).toBeInstanceOf(RangeError)
    expect(seen).toEqual([1])
    expect(numbers.destroyed).toBe(true)
  })

  test('a stage that throws at the end fails the reader', async () => {
    const numbers = flow<number, number>(() => ({
      write() {},
      end() {
        throw new RangeError('the end')
      },
    }))
    numbers.end(1)
    await expect(readAll(numbers)).rejects.toThrow(new RangeError('the end'))
  })

  test('a chunk of a wrong type is a Fault', async () => {
    const numbers = counted()
    numbers.end({ not: 'bytes' })
    const error = await readAll(numbers).catch((reason: unknown) => reason)
    expect(Fault.is(error) && error.code).toBe('BAD_CHUNK')
  })

  test('an error of the source reaches the reader through pipeline', async () => {
    const source = new PassThrough()
    const numbers = counted()
    const done = pipeline(source, numbers, async (items: AsyncIterable<number>) => {
      for await (const _ of items) source.destroy(new Error('gone'))
    })
    source.write('\n')
    await expect(done).rejects.toThrow('gone')
    expect(numbers.destroyed).toBe(true)
  })

  test('an error of the reader reaches the source through pipeline', async () => {
    const source = Readable.from([Buffer.from('\n'.repeat(10_000))])
    const done = pipeline(source, counted(), async (items: AsyncIterable<number>) => {
      for await (const _ of items) throw new Error('enough')
    })
    await expect(done).rejects.toThrow('enough')
    expect(source.destroyed).toBe(true)
  })
})

describe('leaving early', () => {
  test('break destroys the flow and what is piped into it, and leaves no listener', async () => {
    const source = new PassThrough()
    const before = listeners(source)
    const numbers = source.pipe(counted())
    source.write('\n'.repeat(500))
    for await (const value of numbers) if (value === 2) break
    if (!source.closed) await once(source, 'close')
    expect(numbers.destroyed).toBe(true)
    expect(source.destroyed).toBe(true)
    expect(listeners(source)).toEqual(before)
    expect(numbers.listenerCount('readable')).toBe(0)
    expect(numbers.listenerCount('end')).toBe(0)
  })

  test('a throw in the loop destroys the source as well', async () => {
    const source = new PassThrough()
    const numbers = source.pipe(counted())
    source.write('\n')
    const loop = (async () => {
      for await (const _ of numbers) throw new Error('mine')
    })()
    await expect(loop).rejects.toThrow('mine')
    expect(source.destroyed).toBe(true)
  })

  test('a loop that runs to its end leaves no listener', async () => {
    const source = new PassThrough()
    const before = listeners(source)
    const numbers = source.pipe(counted())
    source.end('\n\n')
    await readAll(numbers)
    if (!numbers.closed) await once(numbers, 'close')
    expect(numbers.listenerCount('readable')).toBe(0)
    expect(listeners(source)).toEqual(before)
  })

  test('destroying the flow in mid-chunk stops the stage', async () => {
    const numbers = counted()
    numbers.write(Buffer.from('\n'.repeat(10_000)))
    await once(numbers, 'readable')
    const queued = numbers.readableLength
    numbers.destroy()
    await once(numbers, 'close')
    await nextTurn()
    expect(numbers.readableLength).toBeLessThanOrEqual(queued)
    const late = numbers[Symbol.asyncIterator]().next()
    await expect(late).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' })
  })

  test('a next() that still waits is answered when the reader leaves', async () => {
    const numbers = counted()
    const reader = numbers[Symbol.asyncIterator]()
    const waiting = [reader.next(), reader.next()]
    await nextTurn()
    await reader.return?.()
    expect(await Promise.all(waiting)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ])
  })

  test('an abort ends the loop with one AbortError and destroys the source', async () => {
    const abort = new AbortController()
    const source = new PassThrough()
    const numbers = source.pipe(flow(lineNumbers, { intake: bytesIntake, signal: abort.signal }))
    source.write('\n')
    const seen: number[] = []
    const loop = (async () => {
      for await (const value of numbers) {
        seen.push(value)
        abort.abort()
      }
    })()
    await expect(loop).rejects.toMatchObject({ name: 'AbortError' })
    expect(seen).toEqual([1])
    expect(source.destroyed).toBe(true)
  })

  test('a signal that is aborted already ends the loop at once', async () => {
    const numbers = flow(lineNumbers, { intake: bytesIntake, signal: AbortSignal.abort() })
    await expect(readAll(numbers)).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('an abort after break is no news', async () => {
    const abort = new AbortController()
    const numbers = flow(lineNumbers, { intake: bytesIntake, signal: abort.signal })
    numbers.write(Buffer.from('\n\n'))
    for await (const _ of numbers) break
    abort.abort()
    await nextTurn()
    expect(numbers.destroyed).toBe(true)
  })
})

function listeners(source: PassThrough): Record<string, number> {
  return Object.fromEntries(
    source.eventNames().map((name) => [String(name), source.listenerCount(name)] as const),
  )
}

test('one signal for many flows, taps and questions is no leak', async () => {
  const warnings: Error[] = []
  const keep = (warning: Error) => warnings.push(warning)
  process.on('warning', keep)
  const { signal } = new AbortController()
  const many = Array.from({ length: 12 }, () => [
    tap('text', { signal })
      .pipe(flow((next) => next, { signal }))
      .toArray(),
    ask(async () => '{}', { prompt: 'x', signal }),
  ])
  await Promise.all(many.flat())
  process.off('warning', keep)
  expect(warnings).toEqual([])
})
