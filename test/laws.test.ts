import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { placeOf } from '../src/frames/place.ts'
import { corpus } from './frames/corpus.ts'
import { chunkSizes, cutOptions, hostileBytes } from './frames/hostile.ts'
import { type CutFrame, type CutOptions, referenceFrames, referencePlaces } from './frames/reference.ts'
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
import { expectLinear } from './growth.ts'
import { runs, slow } from './pace.ts'

const RUNS = runs(2000)

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
    const few = [inSizes(bytes, [7, 1, 0, 5]), ...(slow ? [byteByByte(bytes)] : [])]
    const ways = slow && bytes.length <= 1000 ? manyWays(bytes) : few
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

describe('64 KiB: what a mention of a tag or a quote in a fence may hold back', () => {
  const near = 'y'.repeat(60_000)
  const far = 'y'.repeat(70_000)
  const tail = ' {"a":2}'

  test.each([
    ['hides up to its closer', `x <think>{"a":1}${near}</think>${tail}`, ['{"a":2}']],
    [
      'is prose if its closer is further off',
      `x <think>{"a":1}${far}</think>${tail}`,
      ['{"a":1}', '{"a":2}'],
    ],
    ['hides whatever its length if it begins its line', `<think>{"a":1}${far}</think>${tail}`, ['{"a":2}']],
    ['lets later ones count', `x <think> ${far} <think>{"a":1}</think>${tail}`, ['{"a":2}']],
  ])('a think block in mid-line %s', (_, text, wanted) => {
    for (const size of [text.length, 1000, 4096]) {
      const frames = scan(inSizes(Buffer.from(text), [size]), { lines: false })
      expect(frames.filter(({ kind }) => kind !== 'text').map((frame) => frame.text)).toEqual(wanted)
    }
  })

  test.each([
    ['ends a fence that parses with it', near, 1],
    ['is too far off', far, 2],
  ])('a later closer %s', (_, filler, fences) => {
    const text = `\`\`\`json\n{"a":"\n\`\`\`\n${filler}"}\n\`\`\`\n`
    for (const size of [text.length, 1000, 4096]) {
      const frames = scan(inSizes(Buffer.from(text), [size]), { lines: false })
      expect(frames.filter(({ kind }) => kind === 'fence').length).toBe(fences)
    }
  })

  test.runIf(slow)('escape sequences without end are not kept where no frame can hold them', () => {
    const frames = scan(repeat('\u001b[1m'.repeat(2000), 500), { maxFrame: 10_000 })
    expect(frames).toMatchObject([{ kind: 'text', from: 0, to: 4_000_000 }])
  })
})

describe('Place: a character of a frame is found in the channel', () => {
  test('random input', () => {
    fc.assert(
      fc.property(hostileBytes, cutOptions, chunkSizes, (bytes, options, sizes) => {
        const wanted = referenceFrames(bytes, options)
        for (const [index, frame] of scan(inSizes(bytes, sizes), options).entries()) {
          const places = referencePlaces.get(wanted[index]!)
          if (places) expect(placeFault(frame, places)).toBe(undefined)
        }
      }),
      { numRuns: RUNS },
    )
  })
})

/** The first character whose place is not where the rest of the text was decoded from. */
function placeFault(
  frame: CutFrame,
  { bytes, offsets }: { bytes: Buffer; offsets: readonly number[] },
): string | undefined {
  for (let units = 0; units < frame.text.length; units++) {
    if (/^[\udc00-\udfff]$/.test(frame.text[units]!) && /^[\ud800-\udbff]$/.test(frame.text[units - 1] ?? ''))
      continue
    const index = offsets.indexOf(placeOf(frame, units))
    if (index < 0 || bytes.subarray(index).toString() !== frame.text.slice(units))
      return `${units} in ${JSON.stringify(frame)} is at ${placeOf(frame, units)}`
  }
  return undefined
}

describe('Line: hostile input takes linear time', () => {
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
    'think openers in mid-line': 'x <think>',
    'think openers of two kinds': 'x <think> <thinking>',
    'closed think blocks in unclosed ones': 'x <thinking> <think></think>',
    'fences in strings': '```\n{"\n',
    'fences in strings that end outside': '```\n{"\n```\n"\n```\n',
    'fences in strings that balance': '```\n{"\n```\n":}\n```\n',
    'comment openers': '{"a":/*',
    slashes: '{"a":/',
    'line comments': '{"a"://\n //',
    'objects before commas': '{"a":1},',
    'objects before words': '{"a":1}, word',
    'objects before blanks': '{"a":1}   \n  ',
    'brackets too many': '{"a":1}}',
    'debris strings': '{"a":1}}"',
    'debris words': '{"a":1}},word',
    'indented lines': '   {',
    'indented blanks': ' \t',
    'bare keys': '{a:',
    'braces in prose': 'run {cmd}, then fn() { } and {{mustache}} or [x] {\n}\n',
    'arrays that may be': '[1\n',
    'strings on lines': '"a\n',
    'torn lines': '{"a":"b\n',
    'lines that are none': '{"a":1} x\n',
    'NULs before nothing': '\0',
    'blanks after a brace': '{ ',
    'identifiers after a brace': '{a',
    'ESC alone': '\x1b',
    'CSI that never ends': '\x1b[1;',
    'OSC that never ends': '\x1b]0;',
  }
  const options: CutOptions[] = [
    {},
    { lines: false, needsPayload: true, loose: true, document: 'any' },
    { objects: false, scalars: true, channel: 'pty' },
  ]
  test.for(options)('with %j', { timeout: 300_000 }, async (options) => {
    for (const [name, piece] of Object.entries(families)) {
      await expectLinear(name, (size) => {
        const chunks = pieces(piece.repeat(size / piece.length))
        return () => scan(chunks, options)
      })
      const text = piece.repeat(500)
      expect(tilingFault(scan(pieces(text), options), Buffer.byteLength(text)), name).toBe(undefined)
    }
  })

  test('deep nesting, closed again', async () => {
    const nested = (depth: number) => Buffer.from(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
    await expectLinear('deep nesting', (size) => {
      const bytes = nested(size / 6)
      return () => scan([bytes], { lines: false })
    })
    const bytes = nested(slow ? 1_000_000 : 10_000)
    const frames = scan([bytes], { lines: false })
    expect(frames.map((frame) => [frame.kind, frame.from, frame.to])).toEqual([['object', 0, bytes.length]])
  })
})

/** Many small chunks: work that is done again for each chunk must show, too. */
const pieces = (text: string) => inSizes(Buffer.from(text), [512])

function repeat(text: string, times: number): Buffer[] {
  return Array.from({ length: times }, () => Buffer.from(text))
}
