import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines.ts'
import { events, frames, type PlainSource, tap, values } from '../../src/index.ts'

const log = new URL('../../fixtures/codex/07a-file-write.tee80/stdout.log', import.meta.url)
const bytes = readFileSync(log)
const text = bytes.toString()
/** In pieces that cut lines and characters. */
const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, n) => bytes.subarray(n * 7, n * 7 + 7))

const web = (parts: readonly Uint8Array[]) =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  }) as ReadableStream<Uint8Array>

async function* later<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) {
    await undefined
    yield item
  }
}

const sources: Record<string, () => PlainSource> = {
  'a text': () => text,
  bytes: () => bytes,
  'a Node stream': () => Readable.from(pieces),
  'a Node stream with an encoding': () => Readable.from(pieces, { objectMode: false }).setEncoding('utf8'),
  'a Web stream': () => web(pieces),
  'a Response': () => new Response(bytes) as never,
  'an async iterable of bytes': () => later(pieces),
  'an async iterable of texts': () => later(text),
  'an array': () => pieces,
}

const clock = () => 0
const read = (source: PlainSource) => tap(source).pipe(events(codex, { clock })).toArray()

describe.each(Object.entries(sources))('%s', (_name, source) => {
  test('gives events(), values() and frames() the same bytes', async () => {
    expect(await read(source())).toEqual(await read(text))
    const lines = (from: PlainSource) =>
      tap(from)
        .pipe(values({ lines: true }))
        .toArray()
    expect(await lines(source())).toEqual(await lines(text))
    const cut = (from: PlainSource) => tap(from).pipe(frames()).toArray()
    expect(await cut(source())).toEqual(await cut(text))
  })
})

test('a child gives the same stdout, and its exit', async () => {
  const child = spawn('cat', [log.pathname])
  const got = await tap(child).pipe(events(codex, { clock })).toArray()
  const said = got.filter((event) => event.type === 'agent.message.final').map((event) => event.data.text)
  const wanted = (await read(text)).filter((event) => event.type === 'agent.message.final')
  expect(said).toEqual(wanted.map((event) => event.data.text))
  expect(got.at(-1)?.data).toMatchObject({ evidence: { exit_code: 0 } })
})

test('a body that comes from a real server is read as it comes', async () => {
  const server = http.createServer((_request, response) => response.end(bytes)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(await read(response as never)).toEqual(await read(text))
  server.close()
})

describe('an error reaches the reader', () => {
  test.each<[string, () => PlainSource]>([
    [
      'a Web stream',
      () =>
        new ReadableStream({
          pull(controller) {
            controller.error(new Error('wire cut'))
          },
        }) as ReadableStream<Uint8Array>,
    ],
    [
      'an async iterable',
      async function* () {
        yield text
        throw new Error('wire cut')
      },
    ],
    [
      'a Node stream',
      () => {
        const stream = new PassThrough()
        setImmediate(() => stream.destroy(new Error('wire cut')))
        return stream
      },
    ],
  ])('of %s', async (_name, source) => {
    await expect(read(source())).rejects.toThrow('wire cut')
  })

  test('of a server that hangs up', async () => {
    const server = http.createServer((_request, response) => {
      response.writeHead(200, { 'content-length': '1000000' })
      response.write(bytes)
      setImmediate(() => response.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await expect(read(response as never)).rejects.toThrow()
    server.close()
  })

  test('of items that are neither bytes nor text', async () => {
    await expect(read(later([{ delta: 'x' }]) as never)).rejects.toMatchObject({ code: 'BAD_CHUNK' })
    await expect(
      tap(later([{ delta: 'x' }]) as never, { order: 'sequence' })
        .pipe(frames())
        .toArray(),
    ).rejects.toMatchObject({ code: 'BAD_CHUNK' })
  })
})

test('leaving cancels a Web stream', async () => {
  let cancelled = () => {}
  const over = new Promise<void>((resolve) => {
    cancelled = resolve
  })
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(Buffer.from('{"a":1}\n')),
    cancel: () => cancelled(),
  }) as ReadableStream<Uint8Array>
  for await (const _ of tap(endless).pipe(values({ lines: true }))) break
  await over
})

test('a body that was read, and a stream that another reader has, are BAD_OPTION', async () => {
  const response = new Response('x')
  await response.text()
  expect(() => tap(response as never)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  const locked = web(pieces)
  locked.getReader()
  expect(() => tap(locked)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('a Response without a body is empty', async () => {
  expect(
    await tap(new Response(null) as never)
      .pipe(values())
      .toArray(),
  ).toMatchObject([{ ok: false, fault: { code: 'EMPTY' } }])
})
