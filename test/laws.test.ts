import { describe, expect, test } from 'vitest'
import { frameOffset, risingOffsets } from '../src/frames/frame-offsets.ts'
import { corpus, type Row } from './frames/corpus.ts'
import { type Hostile, hostile, seeded } from './frames/hostile.ts'
import { type CutFrame, type CutOptions, referenceFrames, referencePlaces } from './frames/reference.ts'
import {
  brief,
  briefs,
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
import { runs, seed, slow } from './pace.ts'

/** The rows of a group are one test. */
const groups = new Map<string, Row[]>()
for (const row of corpus) {
  const name = row.id.replace(/-\d+(?= as|$)/, '')
  groups.set(name, [...(groups.get(name) ?? []), row])
}

describe('the corpus is cut as its rows say, however it is split, and the frames tile it', () => {
  test.for([...groups])('%s', ([, rows]) => {
    for (const row of rows) expectRow(row)
  })
})

function expectRow({ id, input, options, frames }: Row): void {
  const bytes = toBytes(input)
  const wanted = referenceFrames(bytes, options)
  if (frames !== undefined) expect(briefs(wanted), `the reference on ${id}`).toBe(frames)
  const few = [[bytes], inSizes(bytes, [7, 1, 0, 5]), ...(bytes.length < 1000 ? [byteByByte(bytes)] : [])]
  for (const pieces of slow && bytes.length <= 1000 ? manyWays(bytes) : few) {
    const fault = cutFault(scan(pieces, options), wanted, bytes, options)
    if (fault) expect.fail(`${id} in chunks of ${sizesOf(pieces)}: ${fault}`)
  }
}

function sizesOf(pieces: readonly Buffer[]): string {
  return pieces.map((piece) => piece.length).join(' ')
}

describe('every law holds on random hostile input', () => {
  test(`in random chunks, which may be overwritten once they were written (seed ${seed})`, () => {
    const random = seeded(seed)
    for (let left = slow ? runs(100_000) : 6_000; left > 0; left--) {
      const input = hostile(random)
      if (hostileFault(input)) expect.fail(`seed ${seed}: ${described(smallest(input))}`)
    }
  })

  test(`at every split (seed ${seed})`, () => {
    const random = seeded(seed + 1)
    for (let left = runs(2000); left > 0; left--) {
      const { bytes, options } = hostile(random)
      for (const [before] of everySplit(bytes)) {
        const input = { bytes, options, sizes: [before!.length, bytes.length] }
        if (hostileFault(input)) expect.fail(`seed ${seed}: ${described(smallest(input))}`)
      }
    }
  })

  test(`random bytes tile, too (seed ${seed})`, () => {
    const random = seeded(seed + 2)
    for (let left = runs(8000); left > 0; left--) {
      const { options } = hostile(random)
      const bytes = Buffer.from(Array.from({ length: 200 }, () => Math.floor(256 * random())))
      expect(tilingFault(scan([bytes], { ...options, text: true }), bytes.length)).toBe(undefined)
    }
  })
})

function hostileFault({ bytes, options, sizes }: Hostile): string | undefined {
  const overwritten = function* () {
    for (const piece of inSizes(bytes, sizes)) {
      yield piece
      piece.fill('"')
    }
  }
  return cutFault(scan(overwritten(), options), referenceFrames(bytes, options), bytes, options)
}

/** Bytes are left out as long as what is left still breaks a law. */
function smallest(input: Hostile): Hostile {
  for (let at = 0; at < input.bytes.length; at++) {
    const bytes = Buffer.concat([input.bytes.subarray(0, at), input.bytes.subarray(at + 1)])
    if (hostileFault({ ...input, bytes })) return smallest({ ...input, bytes })
  }
  return input
}

function described(input: Hostile): string {
  const { bytes, options, sizes } = input
  const written = `${JSON.stringify(bytes.toString('latin1'))} ${JSON.stringify(options)}`
  return `${written} in chunks of ${sizes.join(' ')}: ${hostileFault(input)}`
}

/** Which law the frames of an input break, or undefined. */
function cutFault(
  frames: readonly CutFrame[],
  wanted: readonly CutFrame[],
  bytes: Buffer,
  { text = true, maxFrame = Number.POSITIVE_INFINITY }: CutOptions = {},
): string | undefined {
  // Thousands of comparisons: the matchers are too slow for them.
  if (
    JSON.stringify(frames.map(shape)) !== JSON.stringify(wanted.map(shape)) &&
    !isCutInFences(frames, wanted)
  )
    return `the frames are ${briefs(frames)}, but should be ${briefs(wanted)}`
  const tiling = text ? tilingFault(frames, bytes.length) : undefined
  if (tiling) return `Keep: ${tiling}`
  const plain = !bytes.includes(0x1b) && !bytes.includes(0xc2)
  for (const [index, frame] of frames.entries()) {
    if (frame.kind !== 'text' && plain && frame.to - frame.from > maxFrame) return `Bound: ${brief(frame)}`
    const places = referencePlaces.get(wanted[index]!)
    const place = places && placeFault(frame, places)
    if (place) return `Place: ${place}`
  }
  return undefined
}

/**
 * The one known difference: in a fence in a fence that are read as prose, the scanner tells an object that
 * the end of the input cuts, where the reference sees the last marks of the input close the fence before it.
 */
function isCutInFences(frames: readonly CutFrame[], wanted: readonly CutFrame[]): boolean {
  const [last, text] = [frames.at(-1), wanted.at(-1)]
  if (!last?.open || last.kind !== 'object' || !last.in_fence || !/\n(?:`{3,}|~{3,})$/.test(last.text))
    return false
  return text?.kind === 'text' && frames.length <= wanted.length + 1 && text.to === last.to
}

/** The first character whose place is not where the rest of the text was decoded from. */
function placeFault(
  frame: CutFrame,
  { bytes, offsets }: { bytes: Buffer; offsets: readonly number[] },
): string | undefined {
  if (frame.text.length > 1000) return undefined
  const rising = risingOffsets(frame)
  for (let units = 0; units < frame.text.length; units++) {
    const place = frameOffset(frame, units)
    if (rising(units) !== place) return `${units} in ${brief(frame)} is at ${place}, and rising elsewhere`
    if (/^[\udc00-\udfff]$/.test(frame.text[units]!) && /^[\ud800-\udbff]$/.test(frame.text[units - 1] ?? ''))
      continue
    const index = offsets.indexOf(place)
    if (index < 0 || bytes.subarray(index).toString() !== frame.text.slice(units))
      return `${units} in ${brief(frame)} is at ${place}`
  }
  return undefined
}

describe('Bound: no frame outgrows maxFrame', () => {
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
    'think openers of all kinds': 'x <think> <thinking> <reasoning> <scratchpad> </notes>',
    'fences of another language': '```js\n{ x\n```\n',
    'fences of another language without an end': '```js\n{ x\n',
    'fences in fences': '```js\nx\n```py\n{"a":1}\n',
    'closers with words': '```json\n{"a":1}\n``` x\n',
    'words behind many closers': '}\n``` x\n',
    'fences behind prose': 'ok ```json\n',
    'fences behind prose on one line': 'ok ``` ',
    citations: 'see [1] and list[0] or [2](x) ',
    'arrays behind unusual blanks': '[\u00a0',
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
    'objects in open members': '"a":{"b":1}},',
    'openers in open members': '"a":{"b":[{"c":',
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
    { lines: false, needsPayload: true, loose: true, document: 'any', readFences: 'any' },
    { objects: false, scalars: true, channel: 'pty' },
  ]
  // Some limits are longer than a quick input, so only a long one shows how time grows.
  test.runIf(slow).for(options)('with %j', { timeout: 300_000 }, async (options) => {
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
