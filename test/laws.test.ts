import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { corpus } from './frames/corpus.ts'
import { chunkSizes, cutOptions, hostileBytes } from './frames/hostile.ts'
import { type CutFrame, type CutOptions, referenceFrames } from './frames/reference.ts'
import {
  byteByByte,
  everySplit,
  inSizes,
  manyWays,
  scan,
  shape,
  tilingFault,
  toBytes,
} from './frames/splits.ts'

/** More of them on demand: `SLUICE_RUNS=100000 npx vitest run test/laws.test.ts`. */
const RUNS = Number(process.env['SLUICE_RUNS'] ?? 2000)

const rows = corpus.map((row) => [row.id, row] as const)

/** Thousands of comparisons: the matcher, which is slow, is asked only when there is something to show. */
function expectSame(frames: CutFrame[], whole: readonly unknown[], pieces: readonly Buffer[]): void {
  const shapes = frames.map(shape)
  if (JSON.stringify(shapes) === JSON.stringify(whole)) return
  const sizes = pieces.map((piece) => piece.length)
  expect({ sizes, frames: shapes }).toEqual({ sizes, frames: whole })
}

describe('the scanner and the reference', () => {
  test.for(rows)('agree on %s', ([, { input, options }]) => {
    const bytes = toBytes(input)
    expect(scan([bytes], options).map(shape)).toEqual(referenceFrames(bytes, options).map(shape))
  })

  test('agree on random hostile input', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, (bytes, options) => {
        expect(scan([bytes], options).map(shape)).toEqual(referenceFrames(bytes, options).map(shape))
      }),
      { numRuns: RUNS },
    )
  })
})

describe('Split: the frames do not depend on where chunks are cut', () => {
  test.for(rows)('%s', ([, { input, options }]) => {
    const bytes = toBytes(input)
    const whole = scan([bytes], options).map(shape)
    const ways = bytes.length > 1000 ? [byteByByte(bytes), inSizes(bytes, [7, 1, 0, 5])] : manyWays(bytes)
    for (const pieces of ways) expectSame(scan(pieces, options), whole, pieces)
  })

  test('random input in random chunks', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, chunkSizes, (bytes, options, sizes) => {
        const whole = scan([bytes], options).map(shape)
        expect(scan(inSizes(bytes, sizes), options).map(shape)).toEqual(whole)
        expect(scan(byteByByte(bytes), options).map(shape)).toEqual(whole)
      }),
      { numRuns: RUNS },
    )
  })

  test('random input at every split', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, (bytes, options) => {
        const whole = scan([bytes], options).map(shape)
        for (const pieces of everySplit(bytes)) expectSame(scan(pieces, options), whole, pieces)
      }),
      { numRuns: Math.ceil(RUNS / 20) },
    )
  })

  test('a chunk may be overwritten once it was written', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, chunkSizes, (bytes, options, sizes) => {
        const pieces = inSizes(bytes, sizes)
        const reused = function* () {
          for (const piece of pieces) {
            const lent = Buffer.from(piece)
            yield lent
            lent.fill('"')
          }
        }
        expect(scan(reused(), options).map(shape)).toEqual(scan([bytes], options).map(shape))
      }),
      { numRuns: Math.ceil(RUNS / 4) },
    )
  })
})

describe('Keep: the frames tile the channel', () => {
  test.for(rows)('%s', ([, { input, options }]) => {
    const bytes = toBytes(input)
    expect(tilingFault(scan([bytes], { ...options, text: true }), bytes.length)).toBe(undefined)
  })

  test('random input', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, chunkSizes, (bytes, options, sizes) => {
        const frames = scan(inSizes(bytes, sizes), { ...options, text: true })
        expect(tilingFault(frames, bytes.length)).toBe(undefined)
      }),
      { numRuns: RUNS },
    )
  })

  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), cutOptions, (bytes, options) => {
        const frames = scan([bytes], { ...options, text: true })
        expect(tilingFault(frames, bytes.length)).toBe(undefined)
      }),
      { numRuns: RUNS },
    )
  })

  test('without text the payload frames are the same', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, (bytes, options) => {
        const payloads = scan([bytes], { ...options, text: true }).filter((frame) => frame.kind !== 'text')
        const alone = scan([bytes], { ...options, text: false }).filter((frame) => frame.kind !== 'text')
        expect(alone.map(shape)).toEqual(payloads.map(shape))
      }),
      { numRuns: RUNS },
    )
  })
})

describe('Bound: no frame outgrows maxFrame', () => {
  test('no payload is longer than maxFrame, whatever the input does', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, fc.integer({ min: 16, max: 40 }), (bytes, options, maxFrame) => {
        for (const frame of scan([bytes, bytes, bytes], { ...options, maxFrame })) {
          if (frame.kind !== 'text') expect(Buffer.byteLength(frame.text)).toBeLessThanOrEqual(3 * maxFrame)
          if (frame.kind !== 'text' && !bytes.includes(0x1b) && !bytes.includes(0xc2)) {
            expect(frame.to - frame.from).toBeLessThanOrEqual(maxFrame)
          }
        }
      }),
      { numRuns: RUNS },
    )
  })

  const unending: Record<string, string> = {
    'a line': '{"a":"',
    'a tag block': 'x <json>{"a":"',
    'a fence': '```json\n',
    'an object': 'x {"a":"',
    'a think block': '<think>',
  }
  test.each(Object.entries(unending))('%s that never ends is let go with one note', (_, start) => {
    const frames = scan([Buffer.from(start), ...repeat('y'.repeat(1000), 100)], { maxFrame: 10_000 })
    const noted = frames.filter((frame) => frame.notes?.some((note) => note.code === 'FRAME_TOO_LONG'))
    expect(noted.length).toBe(1)
    expect(frames.every((frame) => frame.kind === 'text')).toBe(true)
    expect(tilingFault(frames, start.length + 100_000)).toBe(undefined)
  })

  test.each(Object.entries(unending))('after %s that was too long the next line is cut', (_, start) => {
    const end = start === '<think>' ? '</think>' : start === '```json\n' ? '\n```' : '"}</json>'
    const text = `${start}${'y'.repeat(50_000)}${end}\n{"next":1}\n`
    const last = scan([Buffer.from(text)], { maxFrame: 10_000 }).at(-1)
    expect(last).toMatchObject({ kind: 'line', text: '{"next":1}' })
  })
})

describe('Line: hostile input ends in under 2 seconds', () => {
  const families: Record<string, string> = {
    'opening braces': '{',
    'opening brackets': '[',
    quotes: '"',
    'tag openers': '<json>',
    'tag closers': '</json>',
    backticks: '`',
    tildes: '~',
    backslashes: '\\',
    'depth of objects': '{"a":',
    'depth of arrays': '[{"a":',
    'odd quotes in tags': '<json>"</json>',
    'escaped quotes in tags': '<json>\\"</json>',
    'openers in strings on lines of their own': '<json>x\n"',
    'fence lines': '```\n',
    'fences that are none': '```a`\n',
    'quoted fences': '> ```\n',
    'think openers': '\n<think>',
    'torn lines': '{"a":"b\n',
    'lines that are none': '{"a":1} x\n',
    'NULs before nothing': '\0',
    'blanks after a brace': '{ ',
    'identifiers after a brace': '{a',
    'ESC alone': '\x1b',
    'CSI that never ends': '\x1b[1;',
    'OSC that never ends': '\x1b]0;',
  }
  const options: CutOptions[] = [{}, { lines: false, needsPayload: true, loose: true, document: 'any' }]
  const cases = Object.entries(families).flatMap(([name, piece]) =>
    options.map((o) => [name, piece, o] as const),
  )

  test.for(cases)('200,000 × %s', { timeout: 20_000 }, ([, piece, options]) => {
    const bytes = Buffer.from(piece.repeat(200_000))
    const chunks = inSizes(bytes, [65_536])
    const started = process.cpuUsage()
    const frames = scan(chunks, options)
    expect(cpuMilliseconds(started)).toBeLessThan(2000)
    expect(tilingFault(frames, bytes.length)).toBe(undefined)
  })

  test('nesting of depth 1,000,000, closed again', () => {
    const bytes = Buffer.from(`${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}`)
    const started = process.cpuUsage()
    const frames = scan([bytes], { lines: false })
    expect(cpuMilliseconds(started)).toBeLessThan(2000)
    expect(frames.map((frame) => [frame.kind, frame.from, frame.to])).toEqual([['object', 0, bytes.length]])
  })
})

/** Time of this process, not of the clock: other work on the machine must not fail a test. */
function cpuMilliseconds(started: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}

function repeat(text: string, times: number): Buffer[] {
  return Array.from({ length: times }, () => Buffer.from(text))
}
