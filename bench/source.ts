import { Readable } from 'node:stream'

/** The input as a stream, in chunks of one size; every candidate reads the same one. */
export function source(chunks: readonly Buffer[]): Readable {
  let at = 0
  return new Readable({
    read() {
      this.push(chunks[at++] ?? null)
    },
  })
}

/**
 * The same bytes again and again, `times` times, between a head and a tail: large inputs that are never made.
 */
export function repeated(head: string, chunks: readonly Buffer[], times: number, tail: string): Readable {
  let at = 0
  let round = 0
  return new Readable({
    read() {
      if (round === 0 && at === 0 && head) this.push(Buffer.from(head))
      if (round < times) this.push(chunks[at++])
      else {
        if (tail) this.push(Buffer.from(tail))
        this.push(null)
      }
      if (at === chunks.length) {
        at = 0
        round++
      }
    },
  })
}

export function chunksOf(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
  return chunks
}

/**
 * The last streams stay alive. In a process that reads one stream after the other there is always one, and
 * when there is none the engine drops the code that it had compiled for them.
 */
const kept: unknown[] = []

function keep(stream: unknown): void {
  if (kept.push(stream) > 32) kept.shift()
}

/** Reads a stream by a `data` listener: what a Writable or `on('data')` gets. */
export function batched<T>(stream: NodeJS.ReadableStream, each: (item: T) => void): Promise<void> {
  keep(stream)
  return new Promise((resolve, reject) => {
    stream.on('data', each)
    stream.on('end', resolve)
    stream.on('error', reject)
  })
}

/** Reads a stream item by item, by `for await`. */
export async function oneByOne<T>(stream: NodeJS.ReadableStream, each: (item: T) => void): Promise<void> {
  keep(stream)
  // The cast is the door: Node's streams do not say what they hold.
  for await (const item of stream as AsyncIterable<T>) each(item)
}

export type Reading = typeof batched
