import { expect, test, vi } from 'vitest'
import { Decoder } from '../../src/text/decode.ts'
import { Tape } from '../../src/text/tape.ts'
import { seeded } from '../frames/hostile.ts'

test('a frame that grows in small chunks moves to a new buffer a few times, not with each chunk', () => {
  const allocations = vi.spyOn(Buffer, 'allocUnsafeSlow')
  const tape = new Tape(1 << 24)
  const chunk = Buffer.alloc(64, 'x')
  for (let count = 0; count < 8000; count++) {
    tape.append(chunk)
    tape.settle(0)
  }
  expect(tape.view.length).toBe(8000 * 64)
  expect(allocations.mock.calls.length).toBeLessThan(20)
  allocations.mockRestore()
})

test('a tape knows each byte it holds and where that was, whatever is removed and dropped', () => {
  const random = seeded(1)
  const below = (limit: number) => Math.floor(random() * limit)
  const noise = (size: number) => Buffer.from(Array.from({ length: size }, () => below(256)))
  for (let round = 0; round < 26; round++) {
    const tape = new Tape(1 << 20, true)
    const original: number[] = []
    /** The offset of each clean byte in the original. */
    const origins: number[] = []
    for (let step = 0; step < 40; step++) {
      const bytes = noise(1 + below(round % 25 === 0 ? 2000 : 12))
      const kind = random()
      if (kind < 0.4) {
        for (const [index] of bytes.entries()) origins.push(original.length + index)
        tape.append(bytes)
      }
      if (kind < 0.8) original.push(...bytes)
      if (kind >= 0.4 && kind < 0.8) tape.remove(Buffer.concat([noise(3), bytes]), 3, 3 + bytes.length)
      if (kind >= 0.8) tape.settle(tape.base + below(tape.end - tape.base + 1))
      expectTape(tape, Buffer.from(original), origins, below)
    }
  }
})

function expectTape(
  tape: Tape,
  original: Buffer,
  origins: readonly number[],
  below: (limit: number) => number,
) {
  const { base, end } = tape
  const clean = (from: number, to: number) => Buffer.from(origins.slice(from, to).map((at) => original[at]!))
  expect([end, tape.originEnd]).toEqual([origins.length, original.length])
  if (!Buffer.from(tape.view).equals(clean(base, end))) expect(tape.view).toEqual(clean(base, end))
  if (base === end) return
  const places = Array.from({ length: 4 }, () => base + below(end - base)).sort((a, b) => a - b)
  for (const at of places) {
    const wanted = original[origins[at]!]
    expect([at, tape.origin(at), tape.positionOf(origins[at]!), wanted]).toEqual([
      at,
      origins[at],
      at,
      wanted,
    ])
  }
  // An offset that was removed is at the next byte that was not.
  const offset = origins[base]! + below(original.length - origins[base]!)
  const next = origins.findIndex((at) => at >= offset)
  expect(tape.positionOf(offset)).toBe(next < 0 ? end : next)
  expect(tape.positionOf(original.length + 5)).toBe(end + 5)
  const [from, to] = [places[0]!, places[3]! + 1]
  const holes = origins
    .slice(from + 1, to)
    .flatMap((at, index) => (at - origins[from + index]! > 1 ? [from + index + 1] : []))
  expect(tape.interruptions(from, to)).toEqual(holes)
  expect(tape.isInterrupted(from, to)).toBe(holes.length > 0)
  const wanted = original.subarray(origins[from], origins[to - 1]! + 1)
  expect(Buffer.from(tape.original(from, to)).equals(wanted)).toBe(true)
}

test('records are decoded exactly, alone or many at a time, in any alphabet', () => {
  const random = seeded(2)
  for (const rarity of [0.3, 0.01, 0.001, 0.0003, 0]) {
    const tape = new Tape(1 << 20)
    tape.append(Buffer.from('-'.repeat(300)))
    tape.settle(300)
    const records: string[] = []
    for (let size = 0; size < 30_000; size += records.at(-1)!.length) {
      const length = random() < 0.05 ? 2000 + Math.floor(100 * random()) : Math.floor(300 * random())
      records.push(Array.from({ length }, () => (random() < rarity ? '€' : 'x')).join(''))
    }
    const bytes = Buffer.from(records.join('\n'))
    tape.append(bytes)
    const decoder = new Decoder(tape)
    let from = 300
    for (const record of records) {
      const to = from + Buffer.byteLength(record)
      // A record in between is skipped now and then.
      if (random() < 0.9) expect(decoder.decode(from, to)).toBe(record)
      if (decoder.isPlain(from, to)) expect(record).not.toContain('€')
      from = to + 1
    }
  }
})
