import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import type { Stage } from '../../src/base/stage.ts'
import { flow } from '../../src/streams/flow.ts'
import { type Chunk, chunkIntake } from '../../src/text/chunk.ts'

const same: Stage<Chunk, Chunk> = (next) => next

/** What comes through the door of what is written to it. */
async function through(written: readonly unknown[]): Promise<Chunk[]> {
  const door = flow(same, { intake: chunkIntake })
  for (const chunk of written) door.write(chunk)
  door.end()
  const chunks: Chunk[] = []
  for await (const chunk of door) chunks.push(chunk)
  return chunks
}

async function bytesOf(written: readonly unknown[]): Promise<string> {
  const chunks = await through(written)
  return Buffer.concat(chunks.map((chunk) => ('bytes' in chunk ? chunk.bytes : Buffer.alloc(0)))).toString()
}

describe('the door for bytes', () => {
  test.each([
    ['a Buffer', Buffer.from('é{}')],
    ['a Uint8Array', new Uint8Array(Buffer.from('é{}'))],
    ['a string', 'é{}'],
    ['a Chunk', { channel: 'stdout', bytes: Buffer.from('é{}') }],
  ])('takes %s as stdout', async (_, written) => {
    const [chunk] = await through([written])
    expect(chunk?.channel).toBe('stdout')
    expect(await bytesOf([written])).toBe('é{}')
  })

  test('takes a view into a larger buffer as that view', async () => {
    expect(await bytesOf([new Uint8Array(Buffer.from('0123456789')).subarray(3, 5)])).toBe('34')
  })

  test('keeps the channel of a Chunk, also when it is fed in portions', async () => {
    const chunks = await through([{ channel: 'pty', bytes: Buffer.alloc(100_000) }])
    expect(new Set(chunks.map((chunk) => chunk.channel))).toEqual(new Set(['pty']))
    expect(chunks.length).toBeGreaterThan(1)
  })

  test('lets the exit pass in its place', async () => {
    const exit = { channel: 'exit', code: 1, signal: null }
    expect(await through(['a', exit])).toEqual([{ channel: 'stdout', bytes: Buffer.from('a') }, exit])
  })

  test('joins a surrogate pair that is split over two strings', async () => {
    expect(await bytesOf(['a\ud83d', '\ude00b'])).toBe('a😀b')
    expect(await bytesOf(['\ud83d', '', '\ude00'])).toBe('😀')
  })

  test('a half that stays alone is U+FFFD, at its place', async () => {
    expect(await bytesOf(['a\ud83d', 'b'])).toBe('a\ufffdb')
    expect(await bytesOf(['a\ud83d'])).toBe('a\ufffd')
    expect(await bytesOf(['\ud83d\ud83d', '\ude00'])).toBe('\ufffd😀')
  })

  test('a half before bytes stays before them', async () => {
    expect(await bytesOf(['a\ud83d', Buffer.from('b'), 'c'])).toBe('a\ufffdbc')
    expect(await bytesOf(['a\ud83d', { channel: 'stdout', bytes: Buffer.from('b') }])).toBe('a\ufffdb')
  })

  test('bytes of another channel do not part a pair', async () => {
    const pty = { channel: 'pty', bytes: Buffer.from('b') }
    expect(await bytesOf(['a\ud83d', pty, '\ude00'])).toBe('ab😀')
  })

  test.each([
    ['a number', 42],
    ['an array', [1, 2]],
    ['an object without a channel', { bytes: Buffer.from('a') }],
    ['an unknown channel', { channel: 'stdio', bytes: Buffer.from('a') }],
    ['text where bytes belong', { channel: 'stdout', bytes: 'a' }],
    ['a hostile key', { 'a\u001b[2J': 1 }],
  ])('refuses %s with BAD_CHUNK', async (_, written) => {
    const error = await through([written]).catch((reason: unknown) => reason)
    expect(Fault.is(error) && error.code).toBe('BAD_CHUNK')
    expect((error as Fault).message).not.toContain('\u001b')
  })
})
