import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { valueStage } from '../../src/values/values.ts'
import { codesOf, endOf, only, run, texts } from '../engines/run.ts'
import { corpus } from '../frames/corpus.ts'
import { referenceFrames } from '../frames/reference.ts'
import { brief as briefFrame, manyWays, scan, shape, tilingFault, toBytes } from '../frames/splits.ts'
import { slow } from '../pace.ts'
import { brief, outcomes } from '../values/chunked.ts'

const T = '```'
const codes = (outcome: Outcome<unknown> | undefined) => outcome?.notes.map((note) => note.code)
const message = (text: string) =>
  `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"${text}"}}`

/** The frames of an input, the same however it is cut, and tiling it. */
function cut(input: string, options = {}): string[] {
  const bytes = toBytes(input)
  const whole = scan([bytes], options)
  for (const pieces of manyWays(bytes)) expect(scan(pieces, options)).toEqual(whole)
  expect(tilingFault(whole, bytes.length)).toBe(undefined)
  return whole.map(briefFrame)
}

test('<json>{"a":1 and the end: with partial a value that says so, else TRUNCATED', () => {
  for (const options of [{}, { tag: 'json' }]) {
    expect(brief('<json>{"a":1', options)).toEqual(['TRUNCATED'])
    const [value] = outcomes('<json>{"a":1', { ...options, partial: true })
    expect(value).toMatchObject({ ok: true, value: { a: 1 }, incomplete: ['', '/a'], frame: { open: true } })
    expect(codes(value)).toContain('TRUNCATED')
    expect(value?.repair_level).toBe('deterministic_generic')
  }
  expect(cut('<json>{"a":1')).toEqual(['tag(json) 0..12 open {"a":1'])
})

test('several <json> blocks: each in order, or the last one at the end', () => {
  const text = 'a <json>{"n":1}</json> b <json>{"n":2}</json>\n<json>{"n":3}</json> c'
  expect(brief(text, { tag: 'json' })).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  expect(brief(text, { tag: 'json', pick: 'last' })).toEqual([{ n: 3 }])
  expect(brief(`${text} <json>{"n":`, { tag: 'json', pick: 'last' })).toEqual(['TRUNCATED'])
})

describe('<json> inside a JSON string, a fence or <think>, and </json> inside a JSON string', () => {
  test('neither is a boundary in a string, and the lazy cut {"a":" never appears', () => {
    for (const options of [{}, { tag: 'json' }]) {
      for (const a of ['<json>', '</json>', '</json><json>', 'x</json>\\"</json>']) {
        const text = `<json>{"a":"${a}"}</json>`
        expect(brief(text, options)).toEqual([JSON.parse(`{"a":"${a}"}`)])
        expect(cut(text).some((frame) => frame.endsWith('{"a":"'))).toBe(false)
      }
    }
  })
  test('a <think> block hides it; a fence does not', () => {
    const think = '<think><json>{"a":1}</json></think>\n<json>{"b":2}</json>'
    const fence = `${T}\n<json>{"a":1}</json>\n${T}\n<json>{"b":2}</json>`
    expect([brief(think), brief(think, { tag: 'json' })]).toEqual([[{ b: 2 }], [{ b: 2 }]])
    const both = [{ a: 1 }, { b: 2 }]
    expect([brief(fence), brief(fence, { tag: 'json' })]).toEqual([both, both])
  })
})

test('nested <json>, <JSON >, <json/> and a lone </json>: innermost payload, stray closers are text', () => {
  expect(brief('<json><json>{"a":1}</json></json>', { tag: 'json' })).toEqual([{ a: 1 }])
  expect(cut('<json><json>{}</json></json>')).toEqual(['text 0..6', 'tag(json) 6..21 {}', 'text 21..28'])
  // A tag is its exact lower-case spelling, so these are text.
  for (const text of ['<JSON >{"a":1}</JSON >', '<json/>{"a":1}', '</json>'])
    expect(brief(text, { tag: 'json' })).toEqual(['NO_MATCH'])
})

describe('fences by the rules of CommonMark', () => {
  const rows = corpus.filter((row) => row.id.startsWith('fence'))
  test(`the ${rows.length} rows of the corpus are cut as the reference cuts them`, () => {
    expect(rows.length).toBeGreaterThanOrEqual(41)
    for (const { id, input, options } of rows) {
      const bytes = toBytes(input)
      expect(scan([bytes], options).map(shape), id).toEqual(referenceFrames(bytes, options).map(shape))
    }
  })
  const body = '{"a":1}'
  const good: Record<string, string> = {
    'three backticks': `${T}json\n${body}\n${T}`,
    'four backticks around three': `${T}\`json\n${body}\n${T}\``,
    'seven backticks': `${T}${T}\`json\n${body}\n${T}${T}\``,
    tildes: `~~~json\n${body}\n~~~`,
    'a blank before the info': `${T} json\n${body}\n${T}`,
    'more words in the info': `${T}json title=x\n${body}\n${T}`,
    'JSON5 in capitals': `${T}JSON5\n${body}\n${T}`,
    'no info': `${T}\n${body}\n${T}`,
    'three spaces of indent': `   ${T}json\n   ${body}\n   ${T}`,
    'a list item': `- ${T}json\n  ${body}\n  ${T}`,
    'a quote': `> ${T}json\n> ${body}\n> ${T}`,
    'no closer': `${T}json\n${body}\n`,
  }
  test.for(Object.entries(good))('a payload in a fence: %s', ([, text]) => {
    expect(brief(`Here:\n${text}`)).toEqual([{ a: 1 }])
    expect(cut(`Here:\n${text}`, { lines: false }).filter((frame) => frame.startsWith('fence'))).toHaveLength(
      1,
    )
  })
  test('four spaces make no fence, and a shorter closer ends none', () => {
    expect(cut(`    ${T}\n    x\n    ${T}\n`).every((frame) => frame.startsWith('text'))).toBe(true)
    expect(cut(`${T}\`\nx\n${T}\n`, { lines: false })).toEqual([`fence 0..11 open x\n${T}`])
  })
})

test('fence in a string, backticks in prose, empty fence, bash fence before: only the JSON is found', () => {
  expect(brief(`{"a":"${T}json\\n{}\\n${T}"}`)).toEqual([{ a: `${T}json\n{}\n${T}` }])
  expect(brief('use `x` or ``y``: {"a":1} ok')).toEqual([{ a: 1 }])
  expect(brief(`${T}\n${T}\nthen {"a":1} ok`)).toEqual([{ a: 1 }])
  const bash = `${T}bash\necho '{"x":1}'\n${T}\n${T}json\n{"a":1}\n${T}`
  expect(brief(bash)).toEqual([{ x: 1 }, { a: 1 }])
  expect(brief(bash, { pick: 'first' })).toEqual([{ a: 1 }])
  // An empty fence that promises JSON is a broken promise, and the payload behind it still comes.
  expect(brief(`${T}json\n${T}\nthen {"a":1} ok`)).toEqual(['INVALID_JSON', { a: 1 }])
})

test('bare braces in prose are text, and give no value', () => {
  const prose = 'run {cmd}, then fn() { } and {{mustache}} or [x] {\n}\n'
  expect(brief(prose)).toEqual(['NO_MATCH'])
  expect(cut(prose)).toEqual([`text 0..${prose.length}`])
  expect(brief(prose.repeat(20), { schema: { type: 'object' } })).toEqual(['NO_MATCH'])
})

test('two objects on a line, one across lines, an array of objects: each top-level value once', () => {
  const text = 'x {"a":1} {"b":2} y\n{"c":\n3}\nz [{"d":4},{"e":5}] end'
  expect(brief(text, { root: 'any' })).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }, [{ d: 4 }, { e: 5 }]])
  // An array in prose is prose when the root must be an object; its elements are not handed out.
  expect(brief(text)).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }])
})

test('CR bars, CRLF, blank lines, a last line without LF, U+2028 in strings: LF is the only line end', () => {
  const text = '10%\r50%\r100%\n{"a":"\u2028\u2029"}\r\n\n \n{"b":2}\n{"c":3}'
  expect(brief(text, { lines: true })).toEqual([{ a: '\u2028\u2029' }, { b: 2 }, { c: 3 }])
  const events = run(codex, { stdout: `10%\r50%\r100%\r\n${message('a')}\r\n\n\r\n${message('b')}` })
  expect(texts(events)).toEqual(['a', 'b'])
  expect(only(events, 'raw.stdout').map((event) => event.data.line)).toEqual(['10%\r50%\r100%'])
})

describe('BOM at the start and later, NUL bytes', () => {
  test('a BOM is dropped with the offsets kept', () => {
    const [first, second] = outcomes('\ufeff{"a":1}\n\ufeff{"b":2}\n', { lines: true })
    expect(first).toMatchObject({ value: { a: 1 }, repair_level: 'none' })
    expect(second).toMatchObject({ value: { b: 2 }, repair_level: 'none' })
    expect([first?.frame.to, second?.frame.to]).toEqual([11, 22])
    expect(brief('\ufeff{"a":1}')).toEqual([{ a: 1 }])
  })
  test('NULs before a record are passed over, with a note; a NUL inside is a fault, and the next parses', () => {
    expect(brief('\0\0{"a":1}\n', { lines: true })).toEqual([{ a: 1 }])
    const noted = outcomes('x\n\0\0{"a":1}\n{"b":2}\n\ufeff{"c":3}\n', { lines: true })
    expect(noted.map(({ notes }) => notes.map(({ code }) => code))).toEqual([['NUL_BYTES'], [], []])
    expect(brief('{"a":\0 1}\n{"b":2}\n', { lines: true })).toEqual(['INVALID_JSON', { b: 2 }])
  })
  test('a line with NULs among words is raw, with a diagnostic, and no byte is lost', () => {
    const events = run(codex, { stdout: `\ufeff${message('a')}\na\0b\n\0${message('b')}\n\0\0\n` })
    expect(texts(events)).toEqual(['a', 'b'])
    expect(only(events, 'raw.stdout')[0]?.data.line).toBe('a\0b')
    expect(codesOf(events)).toContain('RAW_LINE')
    expect(codesOf(events)).toContain('NUL_BYTES')
    const ranges = events.flatMap(({ raw_ref }) => (raw_ref ? [raw_ref.byte_to] : []))
    expect(Math.max(...ranges)).toBe(3 + 2 * message('a').length + 1 + 4 + 2 + 3)
  })
})

describe('a PTY that wraps, ends lines in CRLF and echoes', () => {
  const long = message('x'.repeat(300))
  const wrapped = (columns: number) => long.match(new RegExp(`.{1,${columns}}`, 'g'))!.join('\r\n')
  test.for([80, 120])('wrapped at %i columns: joined again, once', (columns) => {
    const alone = run(codex, { pty: `${wrapped(columns)}\r\n` })
    expect(texts(alone)).toEqual(['x'.repeat(300)])
    expect(only(alone, 'raw.pty')).toEqual([])
    const both = run(codex, { stdout: `${long}\n`, pty: `${wrapped(columns)}\r\n` })
    expect(texts(both)).toEqual(['x'.repeat(300)])
  })
  test('wrapped at any column, also outside of strings: the run is the one of stdout', () => {
    const records = [
      {
        type: 'system',
        subtype: 'init',
        session_id: 's',
        uuid: 'u',
        model: 'm',
        tools: ['Bash', 'Edit', 'Read'],
      },
      {
        type: 'assistant',
        session_id: 's',
        uuid: 'u',
        message: { id: 'm', content: `a${' '.repeat(150)}b` },
      },
      { type: 'result', subtype: 'success', session_id: 's', is_error: false },
    ].map((record) => JSON.stringify(record))
    const stdout = `${records.join('\n')}\n`
    const expected = run(claude, { stdout, exit: 0 })
    for (let columns = 20; columns < 140; columns += slow ? 3 : 11) {
      const rows = records.flatMap((record) => record.match(new RegExp(`.{1,${columns}}`, 'g'))!)
      const pty = rows.map((row) => `${row}\r\n`).join('')
      expect(run(claude, { stdout, pty, exit: 0 }), `${columns} columns`).toEqual(expected)
      expect(texts(run(claude, { pty, exit: 0 })), `${columns} columns`).toEqual(texts(expected))
    }
    // A terminal inside a terminal ends its lines with CR CR LF.
    expect(run(claude, { stdout, pty: stdout.replaceAll('\n', '\r\r\n'), exit: 0 })).toEqual(expected)
  })
  test('what never becomes a record stays raw', () => {
    const events = run(codex, { pty: `${wrapped(80).slice(0, 200)}\r\nno JSON\r\n${message('a')}\r\n` })
    expect(texts(events)).toEqual(['a'])
    expect(only(events, 'raw.pty').length).toBeGreaterThan(0)
  })
  test('an echo of stdin is raw, never an event', () => {
    const events = run(codex, { pty: `fix the test\r\n${message('a')}\r\n` })
    expect(texts(events)).toEqual(['a'])
    expect(only(events, 'raw.pty').map((event) => event.data.line)).toEqual(['fix the test'])
  })
})

describe('control sequences are stripped for scanning, kept in the range, bounded', () => {
  const sequences: Record<string, string> = {
    CSI: '\u001b[1;31m',
    'private mode': '\u001b[?25l',
    'colon SGR': '\u001b[38:2::1:2:3m',
    'OSC 0 with BEL': '\u001b]0;title\u0007',
    'OSC 8 with ST': '\u001b]8;;http://x\u001b\\',
    'OSC 52': '\u001b]52;c;aGk=\u0007',
    DCS: '\u001bPq#0\u001b\\',
    'C1 CSI': '\u009b1m',
    'two-byte escape': '\u001b(B',
  }
  test.for(Object.entries(sequences))('%s', ([, sequence]) => {
    const text = `${sequence}{"a":${sequence}1}${sequence}\n{"b":2}\n`
    // C1 controls are sequences on a terminal only; on a pipe they are text.
    const channel = sequence.startsWith('\u009b') ? 'pty' : 'stdout'
    const [first, second] = drive(valueStage({ lines: true }), [{ channel, bytes: Buffer.from(text) }])
    expect([first, second]).toMatchObject([{ value: { a: 1 } }, { value: { b: 2 } }])
    // The range is in original bytes, so the log still has what was stripped.
    expect(Buffer.from(text).subarray(second!.frame.from, second!.frame.to).toString()).toBe('{"b":2}\n')
    const events = run(codex, { pty: `${sequence}${message('a')}${sequence}\r\n` })
    expect(texts(events)).toEqual(['a'])
  })
  test('an OSC that never ends holds back no more than 4 KiB', () => {
    const lost = `\u001b]0;${'t'.repeat(20_000)}`
    expect(brief(`${lost}{"a":1} x`)).toEqual([{ a: 1 }])
    expect(brief(`${lost}\n{"a":1}\n`, { lines: true })).toEqual([{ a: 1 }])
    expect(
      endOf(run(codex, { stdout: `${lost}\n${message('a')}\n{"type":"turn.completed"}\n`, exit: 0 })).state,
    ).toBe('awaiting_user_input')
  })
})
