import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Cutter } from '../../src/events/cut.ts'
import type { EngineCut, EngineFrame } from '../../src/events/engine.ts'
import type { Channel } from '../../src/text/chunk.ts'
import { lines } from '../../src/text/lines.ts'
import { expectLinear } from '../growth.ts'
import { slow } from '../pace.ts'

type Given = readonly [channel: Channel, shape: EngineCut, maxFrame?: number | undefined]

function framesOf(
  bytes: Buffer,
  size: number,
  ...[channel, shape, maxFrame = 1 << 20]: Given
): EngineFrame[] {
  const out: EngineFrame[] = []
  const cutting = new Cutter({ channel, cut: () => shape, maxFrame }, (frame) => void out.push(frame))
  const splitter = lines(channel, maxFrame, (line) => cutting.line(line))
  for (let at = 0; at < bytes.length; at += size) splitter.write(bytes.subarray(at, at + size))
  splitter.end()
  cutting.end()
  let at = 0
  for (const { from, to } of out) {
    // Log lines that were taken out of a record lie inside its range.
    expect(from).toBeLessThanOrEqual(at)
    at = Math.max(at, to)
  }
  expect(at).toBe(bytes.length)
  return out
}

/** The frames, the same however the input is cut. */
function cut(
  text: string | Buffer,
  channel: Channel = 'stdout',
  shape: EngineCut = { stdout: 'records', stderr: 'documents', pty: 'records' },
  maxFrame?: number,
) {
  const bytes = Buffer.from(text as string)
  const whole = framesOf(bytes, Number.POSITIVE_INFINITY, channel, shape, maxFrame)
  for (const size of [1, 5]) expect(framesOf(bytes, size, channel, shape, maxFrame)).toEqual(whole)
  return whole
}

const brief = (frames: readonly EngineFrame[]) => frames.map((frame) => frame.value ?? frame.text)
const log = '2026-11-15T00:48:15.496197Z ERROR codex_core::tools::router: error=unsupported call'

const shapes: Record<string, readonly [Channel, EngineCut]> = {
  records: ['stdout', { stdout: 'records' }],
  documents: ['stdout', { stdout: 'documents' }],
  glued: ['stdout', { stdout: 'documents', glued: ['id'] }],
  blocks: ['stdout', { stdout: 'text', blocks: ['I', 'Ex'] }],
  all: ['stdout', { stdout: 'documents', glued: ['id'], blocks: ['I'] }],
  pty: ['pty', { pty: 'records' }],
}

function shown({ from, to, kind, text, value, label, channel, notes, ...more }: EngineFrame): string {
  const words = [`${from}-${to} ${label === undefined ? kind : `${kind} ${label}`} ${JSON.stringify(text)}`]
  if (value !== undefined) words.push(`= ${JSON.stringify(value)}`)
  for (const { code } of notes ?? []) words.push(code)
  for (const [key, fact] of Object.entries(more))
    words.push(fact === true ? key : `${key} ${JSON.stringify(fact)}`)
  return words.join(' ')
}

test('lines are cut into the frames of the document', () => {
  const [, ...cases] = readFileSync('test/events/cut.txt', 'utf8').split(/^# /m)
  expect(cases.length).toBeGreaterThan(50)
  for (const one of cases) {
    const [name, given = '', ...frames] = one.trimEnd().split('\n')
    const [, shape = '', maxFrame, input = ''] = /^(\w+) (\d*) ?(".*")$/.exec(given)!
    const found = cut(JSON.parse(input), ...shapes[shape]!, maxFrame ? Number(maxFrame) : undefined)
    expect([name, given, ...found.map(shown)]).toEqual([name, given, ...frames])
  }
})

test('a record may be 512 levels deep, and longer than what is checked for its depth', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const kindOf = (text: string, shape: string) =>
    framesOf(Buffer.from(`${text}\n`), 50_000, ...shapes[shape]!).map(({ kind, notes }) => [
      kind,
      ...(notes ?? []).map(({ code }) => code),
    ])
  for (const shape of ['records', 'documents']) {
    expect(kindOf(nested(512), shape)).toEqual([['line']])
    expect(kindOf(nested(513), shape)).toEqual([['text', 'MAX_DEPTH']])
    expect(kindOf(nested(40_000), shape)).toEqual([['text', 'MAX_DEPTH']])
    expect(kindOf('x'.repeat(1025), shape)).toEqual([['text']])
    expect(kindOf(`["${'x'.repeat(70_000)}"]`, shape)).toEqual([['line']])
  }
})

test('blank lines before a record are counted up to 4,096, and its range has all of them', () => {
  const [frame] = framesOf(Buffer.from(`${'\n'.repeat(4097)}[]\n`), 1000, ...shapes['records']!)
  expect([frame!.blanks!.length, frame!.from, frame!.to]).toEqual([4096, 0, 4100])
})

describe('documents', () => {
  test('start at column 0 and run to their closing bracket', () => {
    const text = 'noise {\n  status: 400\n}\n{\n  "a": {\n    "b": "}"\n  }\n}\nmore\n'
    const frames = cut(text, 'stderr')
    expect(brief(frames)).toEqual(['noise {', '  status: 400', '}', { a: { b: '}' } }, 'more'])
    expect(frames[3]).toMatchObject({ kind: 'object', from: 24, text: '{\n  "a": {\n    "b": "}"\n  }\n}' })
  })

  test('that break off give their lines back, and the next one is found', () => {
    expect(brief(cut('{\n  "a": 1,\n{"b":2}\n', 'stderr'))).toEqual(['{', '  "a": 1,', { b: 2 }])
    expect(brief(cut('{\n  what is this\n{"b":2}\n', 'stderr'))).toEqual(['{', '  what is this', { b: 2 }])
    expect(brief(cut('[STARTUP] noise\n{"b":2}\n', 'stderr'))).toEqual(['[STARTUP] noise', { b: 2 }])
  })
})

describe('the PTY', () => {
  test('glues log text behind a record', () => {
    const frames = cut(`{"a":"b"}\u001b[2m${log}\u001b[0m\r\n\r\n{"c":1}\r\n`, 'pty')
    expect(brief(frames)).toEqual([{ a: 'b' }, log, { c: 1 }])
    expect(frames[0]).toMatchObject({ mended: true, to: 9 })
  })

  test('injects a log line into the middle of a record', () => {
    expect(brief(cut(`{"a":"xxx${log}\r\nyyy"}\r\n{"c":1}\r\n`, 'pty'))).toEqual([
      { a: 'xxxyyy' },
      log,
      { c: 1 },
    ])
    // At every place of it: between two tokens, too, and inside a number.
    const record = '{"a":[1200,"b"],"c":{"d":true}}'
    for (let at = 2; at < record.length; at++) {
      const torn = `${record.slice(0, at)}${log}\r\n${record.slice(at)}\r\n`
      expect(brief(cut(torn, 'pty'))).toEqual([JSON.parse(record), log])
    }
    const twice = `{"a":"x${log}\r\n${log}\r\ny${log}\r\nz"}\r\n`
    expect(brief(cut(twice, 'pty'))).toEqual([{ a: 'xyz' }, log, log, log])
  })

  test('wraps a record at its column, also through a wide character and a number', () => {
    expect(brief(cut('{"a":"你\r\n好","b":12\r\n34}\r\n', 'pty'))).toEqual([{ a: '你好', b: 1234 }])
  })

  test('wraps blanks inside a string too', () => {
    expect(brief(cut(`{"a":"x\r\n     \r\n   \r\ny"}\r\n`, 'pty'))).toEqual([{ a: `x${' '.repeat(8)}y` }])
  })

  test('gives log lines back too, where the record they stood in does not come', () => {
    expect(brief(cut(`{"a":1,\r\n${log}\r\n]bad\r\nhello\r\n`, 'pty'))).toEqual([
      '{"a":1,',
      log,
      ']bad',
      'hello',
    ])
    expect(brief(cut(`{"a":"xx\r\n${log}\r\n`, 'pty'))).toEqual(['{"a":"xx', log])
  })

  test('gives lines back that do not make a record', () => {
    expect(brief(cut('{"a":"xxx\r\n{"c":1}\r\n', 'pty'))).toEqual(['{"a":"xxx', { c: 1 }])
  })
})

describe('text after a record on its line', () => {
  test('has its own place, also after blank lines or escapes before the record', () => {
    for (const before of ['\r\n\r\n', '\u001b[32m', '\u0000', '\r\n\u001b[32m']) {
      const record = `${before}{"a":"é"}`
      const [first, rest] = cut(`${record} LOG text\r\n`, 'pty')
      expect([first!.to, rest!.from]).toEqual([Buffer.byteLength(record), Buffer.byteLength(record)])
      expect([first!.value, rest!.text, rest!.glue]).toEqual([{ a: 'é' }, 'LOG text', ' '])
    }
  })

  test('has its own place behind bytes that are no UTF-8', () => {
    for (const bytes of [
      [0xff, 0xff],
      [0xe2, 0x82],
      [0xf0, 0x9f, 0x98],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90],
      [0xc0, 0xaf],
    ]) {
      const record = Buffer.concat([Buffer.from('{"a":"é😀'), Buffer.from(bytes), Buffer.from('"}')])
      const frames = cut(Buffer.concat([record, Buffer.from('x\r\n')]), 'pty')
      expect(frames.map(({ from, to }) => [from, to])).toEqual([
        [0, record.length],
        [record.length, record.length + 3],
      ])
    }
  })

  test.runIf(slow)('may be ten thousand records', () => {
    const frames = cut(`${'{"a":1} '.repeat(2000)}\u001b[0m${'{}'.repeat(8000)} end\n`, 'pty')
    expect(frames).toHaveLength(10_001)
    expect(frames[3000]!.from).toBe(8 * 2000 + 4 + 2 * 1000)
    expect(frames.at(-1)).toMatchObject({ text: 'end', glue: ' ' })
  })
})

describe('blocks', () => {
  const shape: EngineCut = { stderr: 'text', blocks: ['Execution Info'] }

  test('are one frame with their value', () => {
    const frames = cut('a\n<Execution Info>\n{\n  "x": 1\n}\n</Execution Info>\nb\n', 'stderr', shape)
    expect(frames).toMatchObject([
      { text: 'a' },
      { kind: 'tag', label: 'Execution Info', value: { x: 1 } },
      { text: 'b' },
    ])
  })

  const blocks = (text: string) =>
    cut(text, 'stderr', shape).map(({ label, value, text, glue, open }) =>
      label === undefined ? (glue ?? '') + text : { value: value ?? text, ...(open && { open }) },
    )

  test.each([
    ['on one line', '<Execution Info>{"x": 1}</Execution Info>\n', [{ value: { x: 1 } }]],
    ['at the end, without a line end', '<Execution Info>{"x": 1}</Execution Info>', [{ value: { x: 1 } }]],
    [
      'glued to the text before and behind',
      'a <Execution Info>{"x": 1}</Execution Info> b\nc\n',
      ['a ', { value: { x: 1 } }, ' b', 'c'],
    ],
    [
      'whose opener is glued',
      'a<Execution Info>\n{\n"x": 1\n}\n</Execution Info>\n',
      ['a', { value: { x: 1 } }],
    ],
    [
      'whose brace is glued',
      'ä<Execution Info>{\n"x": 1\n}</Execution Info>b\n',
      ['ä', { value: { x: 1 } }, 'b'],
    ],
    [
      'behind an opener that is only mentioned',
      'Print <Execution Info> then.\n<Execution Info>\n{}\n</Execution Info>\n',
      ['Print ', '<Execution Info> then.', { value: {} }],
    ],
    [
      'behind an opener that was left open',
      '<Execution Info>\nx\n<Execution Info>\n{}\n</Execution Info>\n',
      ['<Execution Info>', 'x', { value: {} }],
    ],
    ['that never ends', '<Execution Info>\n{"x": 1}\n', [{ value: { x: 1 }, open: true }]],
    [
      'that never ends, before other text',
      'a<Execution Info>\n{"x": 1} b\nc\n',
      ['a', '<Execution Info>', '{"x": 1} b', 'c'],
    ],
    [
      'that never ends on its own line, before other text',
      '<Execution Info>\n{"x": 1} b\nc\n',
      [{ value: { x: 1 }, open: true }, ' b', 'c'],
    ],
    ['that is cut off', '<Execution Info>\n{"x": 1,\n', [{ value: '\n{"x": 1,', open: true }]],
    ['that has no object', '<Execution Info>\nx\n', ['<Execution Info>', 'x']],
    ['that is only opened', 'a\n<Execution Info>', ['a', '<Execution Info>']],
  ])('are found %s', (_, text, expected) => expect(blocks(text)).toEqual(expected))

  test('on many lines that are none are lines again, with their offsets', () => {
    const frames = cut('a<Execution Info>\n{\n"x": y\n}\n', 'stderr', shape)
    expect(frames.map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [1, 18],
      [18, 20],
      [20, 27],
      [27, 29],
    ])
  })
})

describe('documents behind other text', () => {
  const shape: EngineCut = { stderr: 'documents', glued: ['id'] }
  const glued = (text: string) => brief(cut(text, 'stderr', shape))

  test.each([
    ['on one line', 'log{"id":1}\n', ['log', { id: 1 }]],
    ['before other text', 'log: { "id": 1 } end\n', ['log: ', { id: 1 }, 'end']],
    ['on several lines', 'log{\n  "id": 1\n}\n', ['log', { id: 1 }]],
    ['on several lines, the key on the first', 'log{"id":\n1\n}\nx\n', ['log', { id: 1 }, 'x']],
    ['behind other braces', 'f() { } {"id":1}\n', ['f() { } ', { id: 1 }]],
    ['one after the other', 'a{"id":1}b{"id":2}\n', ['a', { id: 1 }, 'b', { id: 2 }]],
  ])('are found %s', (_, text, expected) => expect(glued(text)).toEqual(expected))

  test.each([
    ['another key', 'log{"other":1}\n', ['log{"other":1}']],
    ['another key on the next line', 'log{\n  "other": 1\n}\n', ['log{', '  "other": 1', '}']],
    ['an indented line', '  log{"id":1}\n', ['  log{"id":1}']],
    ['a blank line between', 'log{\n\n"id": 1}\n', ['log{', '"id": 1}']],
    ['the end of input', 'log{', ['log{']],
  ])('are none with %s', (_, text, expected) => expect(glued(text)).toEqual(expected))

  test('are text where they break, and say where they were cut off', () => {
    expect(glued('log{\n"id": x\n')).toEqual(['log', '{', '"id": x'])
    expect(cut('log{\n"id": 1', 'stderr', shape)).toMatchObject([
      { text: 'log', from: 0, to: 3 },
      { text: '{\n"id": 1', open: true, from: 3 },
    ])
  })

  test('are looked for only where the engine has documents', () => {
    expect(brief(cut('log{"id":1}\n', 'stdout', { stdout: 'records', glued: ['id'] }))).toEqual([
      'log{"id":1}',
    ])
  })
})

test('a line that was cut before its line end is joined as a line without one', () => {
  const out: EngineFrame[] = []
  const options = {
    channel: 'stdout',
    cut: (): EngineCut => ({ stdout: 'documents' }),
    maxFrame: 1000,
  } as const
  const cutting = new Cutter(options, (frame) => void out.push(frame))
  cutting.line({ text: '{"a":"b', from: 0, to: 7, open: false })
  cutting.line({ text: 'c"}', from: 8, to: 11, open: false })
  cutting.end()
  expect(out.map(({ value }) => value)).toEqual([{ a: 'b\nc' }])
})

test('a channel that is not named is text, whatever it holds', () => {
  expect(cut('{"a":1}\n', 'stdout', { pty: 'records' })).toMatchObject([{ kind: 'text', text: '{"a":1}' }])
})

test('lookalikes take linear time', async () => {
  await expectLinear('lookalikes', (size) => {
    const bytes = Buffer.from('{"a":\n'.repeat(size / 6))
    const shape: EngineCut = { pty: 'documents' }
    return () => {
      const options = { channel: 'pty', cut: () => shape, maxFrame: 1 << 24 } as const
      const cutting = new Cutter(options, () => {})
      const splitter = lines('pty', 1 << 24, (line) => cutting.line(line))
      splitter.write(bytes)
      splitter.end()
      cutting.end()
    }
  })
})
