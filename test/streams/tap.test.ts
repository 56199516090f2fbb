import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { text } from '../../src/engines/text.ts'
import { events } from '../../src/streams/events.ts'
import { tap } from '../../src/streams/tap.ts'
import type { BytesChunk, Chunk, ExitChunk } from '../../src/text/chunk.ts'
import { slow } from '../pace.ts'

const node = (script: string) =>
  spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })

async function drain(readable: AsyncIterable<Chunk>) {
  const chunks: Chunk[] = []
  for await (const chunk of readable) chunks.push(chunk)
  const said = (channel: string) =>
    Buffer.concat(
      chunks.filter((chunk): chunk is BytesChunk => chunk.channel === channel).map(({ bytes }) => bytes),
    ).toString()
  return { chunks, said, exit: chunks.find((chunk): chunk is ExitChunk => chunk.channel === 'exit') }
}

describe('a child process', () => {
  test('gives both channels, announces them first and ends with the exit', async () => {
    const { chunks, said, exit } = await drain(
      tap(node('console.log("out"); console.error("err"); process.exitCode = 3')),
    )
    expect(chunks[0]).toMatchObject({ channels: ['stdout', 'stderr'] })
    expect([said('stdout'), said('stderr')]).toEqual(['out\n', 'err\n'])
    expect(exit).toEqual({ channel: 'exit', code: 3, signal: null })
    expect(chunks.at(-1)).toBe(exit)
  })

  test('that is killed says its signal', async () => {
    const child = node('console.log("up"); setInterval(() => {}, 1000)')
    child.stdout.once('data', () => child.kill('SIGTERM'))
    const { exit } = await drain(tap(child))
    expect(exit).toEqual({ channel: 'exit', code: null, signal: 'SIGTERM' })
  })

  test.runIf(slow)('loses nothing to a reader that is slower than the grace', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdout.write("x".repeat(300_000))'])
    let bytes = 0
    let held: unknown
    for await (const chunk of tap(child, { pipeGrace: 20 })) {
      if (chunk.channel === 'exit') held = chunk.held
      else bytes += chunk.bytes.length
      await setTimeout(60) // the slow reader
    }
    expect({ bytes, held }).toEqual({ bytes: 300_000, held: undefined })
  })

  test.runIf(slow)('whose grandchild holds the pipe is let go after the grace, and says so', async () => {
    const script = `require('child_process').spawn('sleep', ['30'], { stdio: ['ignore', 'inherit', 'ignore'], detached: true }).unref(); console.log('hi')`
    const child = node(script)
    const flow = tap(child, { pipeGrace: '100ms' }).pipe(events(text))
    const codes: string[] = []
    for await (const event of flow) if ('code' in event.data) codes.push(event.data.code)
    expect(codes).toContain('PIPE_HELD_OPEN')
  })

  test('is read at the speed of its reader', async () => {
    const child = node('const s = "x".repeat(65536); for (let i = 0; i < 200; i++) process.stdout.write(s)')
    const tapped = tap(child)
    let bytes = 0
    for await (const chunk of tapped as AsyncIterable<Chunk>) {
      if (chunk.channel === 'stdout') bytes += chunk.bytes.length
      expect(tapped.readableLength).toBeLessThan(16)
      await new Promise(setImmediate)
    }
    expect(bytes).toBe(200 * 65_536)
  })
})

describe('streams', () => {
  const logs = () => ({
    stdout: Readable.from([Buffer.from('a'), Buffer.from('b')], { objectMode: true }),
    stderr: Readable.from([Buffer.from('e')], { objectMode: true }),
    pty: Readable.from([Buffer.from('p')], { objectMode: true }),
  })
  const orderOf = (chunks: readonly Chunk[]) =>
    chunks.slice(1).map((chunk) => (chunk.channel === 'exit' ? 'exit' : Buffer.from(chunk.bytes).toString()))

  test('come one after the other in sequence', async () => {
    const { chunks } = await drain(tap({ ...logs(), exit: 0 }, { order: 'sequence' }))
    expect(orderOf(chunks)).toEqual(['a', 'b', 'e', 'p', 'exit'])
    expect(chunks[0]).toMatchObject({ channels: ['stdout', 'stderr', 'pty'] })
  })

  test('come side by side in step, the same however they are cut', async () => {
    const read = async (size: number) => {
      const log = (byte: string, length: number) => {
        const bytes = Buffer.alloc(length, byte)
        const pieces: Buffer[] = []
        for (let at = 0; at < length; at += size) pieces.push(bytes.subarray(at, at + size))
        return Readable.from(pieces, { objectMode: true })
      }
      const { chunks } = await drain(
        tap({ stdout: log('o', 150_000), pty: log('p', 150_300) }, { order: 'step' }),
      )
      const all = chunks.map((chunk) => (chunk.channel === 'exit' ? '' : Buffer.from(chunk.bytes).toString()))
      return all.join('')
    }
    const whole = await read(1_000_000)
    expect(await read(7_001)).toBe(whole)
    // The terminal is ahead: what only it has comes before what stdout has after it.
    expect(whole.slice(0, 65_537)).toBe(`${'p'.repeat(65_536)}o`)
  })

  test.each(['live', 'sequence', 'step'] as const)(
    '%s keeps characters that text was cut in',
    async (order) => {
      const { said } = await drain(
        tap(
          {
            stdout: Readable.from(['{"a":"\ud83d', '\ude00"}'], { objectMode: true }),
            stderr: Readable.from(['\ud83d', Buffer.from('x'), 'y\ud83d'], { objectMode: true }),
            pty: Readable.from(['\ude00\ud83d', '', '\ude00'], { objectMode: true }),
          },
          { order },
        ),
      )
      expect([said('stdout'), said('stderr'), said('pty')]).toEqual([
        '{"a":"😀"}',
        '\ufffdxy\ufffd',
        '\ufffd😀',
      ])
    },
  )

  test('live ones merge as they come', async () => {
    const [stdout, pty] = [new PassThrough(), new PassThrough()]
    const chunks = (tap({ stdout, pty, exit: Promise.resolve(0) }) as AsyncIterable<Chunk>)[
      Symbol.asyncIterator
    ]()
    await chunks.next()
    for (const [channel, stream] of [
      ['pty', pty],
      ['stdout', stdout],
      ['pty', pty],
    ] as const) {
      stream.write(channel)
      expect((await chunks.next()).value).toEqual({ channel, bytes: Buffer.from(channel) })
    }
    pty.end()
    stdout.end()
    expect((await chunks.next()).value).toEqual({ channel: 'exit', code: 0, signal: null })
    expect((await chunks.next()).done).toBe(true)
  })

  test('an error of any of them reaches the reader and ends the others', async () => {
    for (const order of ['live', 'sequence', 'step'] as const) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const tapped = tap({ stdout, stderr }, { order })
      stdout.write('x')
      setImmediate(() => stderr.destroy(new Error('disk gone')))
      await expect(drain(tapped), order).rejects.toThrow('disk gone')
      expect(stdout.destroyed, order).toBe(true)
    }
  })

  test('aborting destroys every source', async () => {
    for (const order of ['live', 'sequence', 'step'] as const) {
      const [stdout, pty] = [new PassThrough(), new PassThrough()]
      const controller = new AbortController()
      const reading = drain(tap({ stdout, pty }, { order, signal: controller.signal }))
      stdout.write('x')
      setImmediate(() => controller.abort())
      await expect(reading, order).rejects.toMatchObject({ name: 'AbortError' })
      expect([stdout.destroyed, pty.destroyed], order).toEqual([true, true])
    }
  })

  test('breaking out of the events destroys every source', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    stdout.write('{"type":"turn.started"}\n')
    for await (const _ of tap({ stdout, stderr }).pipe(events(codex))) break
    await Promise.all([stdout, stderr].map((stream) => stream.closed || once(stream, 'close')))
    expect([stdout.destroyed, stderr.destroyed]).toEqual([true, true])
  })

  test('a PTY that ends with EIO has ended', async () => {
    const pty = new PassThrough()
    const exit = Promise.resolve({ code: 0, signal: null })
    const chunks = (tap({ pty, exit }) as AsyncIterable<Chunk>)[Symbol.asyncIterator]()
    await chunks.next()
    pty.write('x')
    expect((await chunks.next()).value).toMatchObject({ channel: 'pty' })
    pty.destroy(Object.assign(new Error('read EIO'), { code: 'EIO' }))
    expect((await chunks.next()).value).toMatchObject({ channel: 'exit', code: 0 })
  })

  test('misuse is told at once', () => {
    expect(() => tap({})).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(() => tap({ stdout: new PassThrough() }, { pipeGrace: -1 })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    )
  })
})
