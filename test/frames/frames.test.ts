import { expect, test } from 'vitest'
import type { Frame } from '../../src/frames/frame.ts'
import { frameStage, lineScan, openingScan, scanStage } from '../../src/frames/frames.ts'
import { chunkIntake } from '../../src/text/chunk.ts'
import { brief, inSizes, scan } from './splits.ts'

/** The frames so far, and whether the stage has ended. */
function collector() {
  const out: string[] = []
  return { out, write: (frame: Frame) => void out.push(brief(frame)), end: () => void out.push('end') }
}

const records = Buffer.from('{"a":1}\n{"b":2}\n{"c":3}\nx')

test('a stage that takes turns stops after each, and continues when it is asked', () => {
  const next = collector()
  const sink = scanStage({ turn: 1 })(next)
  sink.write({ channel: 'stdout', bytes: records })
  expect(next.out).toEqual(['line 0..8 {"a":1}'])
  expect([sink.more!(), next.out.length]).toEqual([true, 2])
  expect([sink.more!(), next.out.length]).toEqual([true, 3])
  expect([sink.more!(), next.out.length]).toEqual([false, 3])
  expect([sink.more!(), next.out.length]).toEqual([false, 3])
  sink.end()
  expect(next.out.slice(3)).toEqual(['text 24..25'])
  expect([sink.more!(), next.out.slice(4)]).toEqual([false, ['end']])
  expect([sink.more!(), next.out.slice(5)]).toEqual([false, []])
})

test('turns of several channels go on one after the other, also when all have ended', () => {
  const next = collector()
  const sink = scanStage({ turn: 2 })(next)
  sink.write({ channel: 'stdout', bytes: Buffer.from('{"a":1}\n{"b":2}\nx {"c"') })
  sink.write({ channel: 'pty', bytes: Buffer.from('{"a":1}\n{"b":2}\nx {"c"') })
  sink.write({ channel: 'exit', code: 0, signal: null })
  sink.end()
  while (sink.more!());
  const one = ['line 0..8 {"a":1}', 'line 8..16 {"b":2}', 'text 16..18', 'object 18..22 open {"c"']
  expect(next.out).toHaveLength(9)
  expect(next.out.slice(0, 8).sort()).toEqual([...one, ...one].sort())
  expect(next.out[8]).toBe('end')
})

test('what is read again at the end takes turns, too', () => {
  const next = collector()
  const sink = scanStage({ turn: 1, text: false })(next)
  sink.write({ channel: 'stdout', bytes: Buffer.from('<think>{"a":1} {"b":2} {"c":3}') })
  sink.end()
  expect(next.out).toHaveLength(1)
  expect([sink.more!(), next.out.length]).toEqual([true, 2])
  while (sink.more!());
  expect(next.out.slice(2)).toEqual(['object 23..30 !THINK_UNCLOSED {"c":3}', 'end'])
})

test('without turns everything comes at once, and the end once', () => {
  const next = collector()
  const sink = frameStage()(next)
  sink.write({ channel: 'stdout', bytes: records })
  expect(next.out).toHaveLength(3)
  sink.end()
  expect(next.out.slice(3)).toEqual(['text 24..25', 'end'])
  expect(sink.more!()).toBe(false)
  expect(next.out).toHaveLength(5)
})

test.each([
  ['lines that say something', 'log\n', ['line 0..8 {"a":1}', 'text 8..12', 'line 12..20 {"b":2}']],
  ['blank lines', ' \r\n\0\n', ['line 0..8 {"a":1}', 'blank 8..13', 'line 13..21 {"b":2}']],
  ['a word before blanks', 'x  \n', ['line 0..8 {"a":1}', 'text 8..12', 'line 12..20 {"b":2}']],
])('%s that are skipped are text, and the next line begins behind them', (_, skipped, wanted) => {
  const next = collector()
  const scan = lineScan({})('stdout', next)
  scan.write(Buffer.from('{"a":1}\n'))
  scan.skip(Buffer.from(skipped))
  scan.write(Buffer.from('{"b":2}\n'))
  scan.end()
  expect(next.out).toEqual(wanted)
})

test('a line scan cuts nothing but lines', () => {
  const next = collector()
  const scan = lineScan({})('stdout', next)
  scan.write(Buffer.from('<json>{}</json>\nx {"a":1}\n<think>\n{"b":2}\n</think>\n```\n{"c":3}\n```\n'))
  scan.end()
  expect(next.out).toEqual([
    'text 0..34',
    'line 34..42 {"b":2}',
    'text 42..55',
    'line 55..63 {"c":3}',
    'text 63..67',
  ])
})

test.each([
  ['small chunks', [64]],
  ['chunks as long as pieces may be, and longer ones', [255, 256, 257, 1]],
  ['small chunks between large ones', [5000, 3, 64, 0, 900]],
])('long lines in %s are cut as in one', (_, sizes) => {
  const long = (name: string, size: number) => `{"${name}":"${'\u001b[31mé'.repeat(size / 7)}"}`
  const text = `${long('a', 9000)}\r\n\n[1]\n${long('b', 40)}\nno record\n${long('c', 3839)}\n{"d": 1}`
  const bytes = Buffer.from(text)
  for (const options of [{ lines: true }, { lines: true, maxFrame: 4000 }, { lines: true, objects: false }])
    expect(scan(inSizes(bytes, sizes), options)).toEqual(scan([bytes], options))
})

test('an opening is told as soon as it is certain, with where its body begins', () => {
  const seen: string[] = []
  const { write } = openingScan({}, (kind, from, body, label) =>
    seen.push(`${kind} ${from} ${body} ${label}`),
  )
  for (const character of 'x <json>{}</json>\n~~~json t\n{}\n~~~\n{"a":1}\n[1]\n{ "b"') {
    seen.push(character)
    write(Buffer.from(character))
  }
  expect(seen.join('').replaceAll('undefined', '')).toBe(
    'x <json>tag 2 8 {}</json>\n~~~json t\nfence 18 28 json t{}\n~~~\n{line 35 36 "a":1}\n[1line 43 44 ]\n{line 47 48  "b"',
  )
  const objects: string[] = []
  openingScan({ lines: false }, (...told) => objects.push(told.join(' '))).write(
    Buffer.from('x { "a": [{"b"'),
  )
  expect(objects).toEqual(['object 2 4'])
})

test.each([
  ['a chunk of bytes has as many units as bytes', { channel: 'pty', bytes: Buffer.from('abc') }, 3, 'bc'],
  [
    'an empty one is one unit, so that its channels get through',
    { channel: 'stdout', bytes: Buffer.from('') },
    1,
    '',
  ],
])('%s', (_, chunk, size, rest) => {
  const intake = chunkIntake()
  const taken = intake.take(chunk)
  expect(intake.size(taken)).toBe(size)
  expect(intake.portion(taken, 1, 3)).toEqual({ ...chunk, bytes: Buffer.from(rest) })
})

test('an exit is one unit and is never divided', () => {
  const intake = chunkIntake()
  const exit = intake.take({ channel: 'exit', code: 0, signal: null })
  expect(intake.size(exit)).toBe(1)
  expect(intake.portion(exit, 0, 1)).toBe(exit)
  expect(intake.rest!()).toBe(undefined)
})

test.each([
  [null, 'but got null'],
  [undefined, 'but got undefined'],
  [42, 'a number'],
  [{ bytes: 'a', b: 1, c: 1, d: 1, e: 1, f: 1 }, 'an object with bytes, b, c, d'],
  [{ channel: 'stdio', bytes: Buffer.from('a') }, 'an object with channel, bytes'],
  [{ channel: 'pty' }, 'an object with channel'],
])('what is no chunk is named in the fault: %j', (written, words) => {
  expect(() => chunkIntake().take(written)).toThrow(words)
})

test.each([
  [{ tags: 'json' }, 'tags'],
  [{ tags: [1] }, '"1" is not a tag name'],
  [{ tags: [['json']] }, 'is not a tag name'],
  [{ tags: ['1a'] }, '"1a" is not a tag name'],
  [{ tags: [`a${'b'.repeat(64)}`] }, 'is not a tag name'],
  [{ maxFrame: 0 }, 'not 0'],
  [{ maxFrame: 1.5 }, 'not 1.5'],
  [{ maxFrame: -1 }, 'not -1'],
])('%j is refused', (options, words) => {
  expect(() => frameStage(options as object)).toThrow(words)
})

test('a tag name of 64 characters and a limit of one byte are accepted', () => {
  expect(() => frameStage({ tags: [`a${'b'.repeat(63)}`], maxFrame: 1 })).not.toThrow()
})
