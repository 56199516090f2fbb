import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { FrameOptions } from '../../src/frames/frames.ts'
import { events } from '../../src/streams/events.ts'
import { frames, values } from '../../src/streams/values.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { corpus, type Row } from '../frames/corpus.ts'
import { byteByByte, everySplit, inSizes, toBytes } from '../frames/splits.ts'
import { slow, some } from '../pace.ts'
import { plain } from '../values/chunked.ts'

const chunks = (pieces: readonly Uint8Array[]): Chunk[] =>
  pieces.map((bytes) => ({ channel: 'stdout', bytes }))
const looks: readonly ValuesOptions[] = [{}, { tag: 'json', partial: true }, { lines: true, root: 'any' }]

/** What comes out of a row: its outcomes in three ways, and Codex's view of it. */
const answers: readonly ((pieces: readonly Uint8Array[]) => unknown)[] = [
  (pieces) => drive(eventStage(codex, { clock: () => 0 }), chunks(pieces)),
  ...looks.map(
    (options) => (pieces: readonly Uint8Array[]) => drive(valueStage(options), chunks(pieces)).map(plain),
  ),
]

function expectSame(row: Row, ways: (bytes: Buffer) => Iterable<Buffer[]>): void {
  const bytes = toBytes(row.input)
  const whole = answers.map((answer) => JSON.stringify(answer([bytes])))
  let turn = 0
  for (const pieces of ways(bytes)) {
    // The events each time, and the outcomes in one of the three ways in turn.
    for (const way of [0, 1 + (turn++ % looks.length)]) {
      const found = JSON.stringify(answers[way]!(pieces))
      // The matcher is slow; it is asked only when there is something to show.
      if (found !== whole[way])
        expect({ row: row.id, way, sizes: pieces.map((piece) => piece.length), found }).toEqual(whole[way])
    }
  }
}

/** Each input once. The frames of every row, with the options of the row, are tried in laws.test.ts. */
const rows = [...new Map(corpus.map((row) => [toBytes(row.input).toString('latin1'), row])).values()]

describe('every 2-way split of every corpus row gives the same outcomes, events, offsets and notes', () => {
  const short = rows.filter((row) => row.input.length <= 400)
  test(`${short.length} inputs of up to 400 bytes, at every split`, () => {
    for (const row of some(some(short))) expectSame(row, everySplit)
  })
  test.runIf(slow)('the longer rows, at a hundred splits each', () => {
    const long = rows.filter((row) => row.input.length > 400)
    expect(long.length).toBeGreaterThan(0)
    for (const row of long)
      expectSame(row, function* (bytes) {
        for (let i = 0; i <= 100; i++) {
          const at = Math.floor((bytes.length * i) / 100)
          yield [bytes.subarray(0, at), bytes.subarray(at)]
        }
      })
  })
})

test('1-byte chunks, random 1..7-byte chunks and empty chunks between give the same', () => {
  let state = 7
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return 1 + (state % 7)
  }
  for (const row of some(some(rows.filter(({ input }) => input.length <= 5000)))) {
    expectSame(row, (bytes) => [
      byteByByte(bytes),
      inSizes(bytes, Array.from({ length: 50 }, random)),
      inSizes(bytes, [0, 1, 0, 0, 3]),
    ])
  }
})

const message = (text: string) =>
  `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"${text}"}}\n`
const T = '```'
const cuts: Record<string, readonly [string, string]> = {
  'a 2-byte character': ['{"a":"é"}', 'é'],
  'a 3-byte character': ['{"a":"€"}', '€'],
  'a 4-byte character': ['{"a":"😀"}', '😀'],
  'an escaped surrogate pair': ['{"a":"\\ud83d\\ude00"}', '\\ud83d\\ude00'],
  'an escape': ['{"a":"\\"\\\\"}', '\\"\\\\'],
  'a tag': ['<json>{"a":1}</json>', '<json>'],
  'a fence mark': [`${T}json\n{"a":1}\n${T}`, T],
  'a CRLF': ['x\r\n{"a":1}\r\n', '\r\n'],
  'a control sequence': ['{"a":\u001b[1;31m1\u001b[0m}', '\u001b[1;31m'],
}
test.for(Object.entries(cuts))('split inside %s changes nothing', async ([, [text, place]]) => {
  const bytes = Buffer.from(text)
  const from = bytes.indexOf(place)
  const read = async (pieces: Buffer[]) => {
    const all: unknown[] = []
    for await (const outcome of Readable.from(pieces).pipe(values())) all.push(plain(outcome))
    return all
  }
  const whole = await read([bytes])
  expect(whole).toMatchObject([{ ok: true }])
  for (let at = from + 1; at < from + Buffer.byteLength(place); at++)
    expect(await read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole)
})

describe('strings, Buffers and Uint8Arrays are the same; misuse is a typed error', () => {
  const text = `é <json>{"a":"😀 é"}</json>\n${message('ü 😀')}`
  const kinds: Record<string, readonly unknown[]> = {
    'a string': [text],
    'strings, cut inside a surrogate pair': [...Array(text.length).keys()].map((i) => text[i]),
    'a Buffer': [Buffer.from(text)],
    'a Uint8Array': [new Uint8Array(Buffer.from(text))],
    'a view into a larger array': [new Uint8Array(Buffer.from(`xx${text}yy`)).subarray(2, -2)],
    'a chunk': [{ channel: 'stdout', bytes: Buffer.from(text) }],
  }
  async function read(written: readonly unknown[]) {
    const out: unknown[] = []
    const options: FrameOptions = { lines: true }
    for await (const frame of Readable.from(written, { objectMode: true }).pipe(frames(options)))
      out.push(frame)
    for await (const outcome of Readable.from(written).pipe(values())) out.push(plain(outcome))
    for await (const event of Readable.from(written).pipe(events(codex, { clock: () => 0 }))) out.push(event)
    return out
  }
  test.for(Object.entries(kinds))('%s', async ([, written]) => {
    expect(await read(written)).toEqual(await read([Buffer.from(text)]))
  })

  test.for([
    ['a number', 7],
    ['an array', [1, 2]],
    ['a Uint16Array', new Uint16Array(2)],
    ['a chunk without bytes', { channel: 'stdout' }],
    ['a chunk of text', { channel: 'stdout', bytes: 'x' }],
    ['an unknown channel', { channel: 'stdio', bytes: Buffer.of() }],
  ] as const)('%s is BAD_CHUNK, once, on the stream', async ([, written]) => {
    for (const flow of [frames(), values(), events(codex)]) {
      const failed = once(flow, 'error')
      flow.resume().write(written)
      expect(await failed).toMatchObject([{ name: 'Fault', code: 'BAD_CHUNK' }])
      expect(flow.destroyed).toBe(true)
    }
  })
})
