import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { tryParse } from '../../src/values/parse.ts'
import { valueStage } from '../../src/values/values.ts'

/** The ways in which models mark a value as the answer. `@` is the value, `F` three backticks. */
const WRAPPINGS = [
  'Fjson\n@\nF',
  'F\n@\nF',
  'FJSON\n@\nF',
  'F json\n@\nF',
  'Fjson5\n@\nF',
  'Fjson title="x"\n@\nF',
  'Fjson\n\n@\n\nF',
  'Fjson\r\n@\r\nF',
  'Fjson\n@\nF ',
  'Fjson\n@\nFF',
  'F`json\n@\nF`',
  '~~~json\n@\n~~~',
  '~~~\n@\n~~~',
  'Fjson\n@F',
  'Fjson\n@ F',
  'F\n@F',
  '~~~json\n@~~~',
  'Fjson\n@\n    F',
  'Fjson\n@\n      F',
  'Fjson\n@\n\tF',
  'Fjson\n@\nF as asked.',
  'Fjson\n@F as asked.',
  'Fjson\n@\nF. Done',
  '  Fjson\n  @\n  F',
  '    Fjson\n    @\n    F',
  '      F\n      @\n      F',
  '\tFjson\n\t@\n\tF',
  '\tF\n\t@\n\tF',
  '- Fjson\n  @\n  F',
  '- Fjson\n  @F',
  '1. one\n\n   Fjson\n   @\n   F',
  '1) Fjson\n   @\n   F',
  '> Fjson\n> @\n> F',
  '> Fjson\n> @F',
  '> > Fjson\n> > @\n> > F',
  'So: Fjson\n@\nF',
  'Fjson@F',
  'Fjson @ F',
  'F@F',
  '<json>@</json>',
]

const wrap = (wrapping: string, value: string) => wrapping.replaceAll('F', '```').replace('@', () => value)

test('two values in any two of forty wrappings are both told, and the last is the second', () => {
  expect(WRAPPINGS).toHaveLength(40)
  const others: string[] = []
  for (const one of WRAPPINGS)
    for (const other of WRAPPINGS) {
      const text = `Draft:\n\n${wrap(one, '{"a": 0}')}\n\nFinal:\n\n${wrap(other, '{"a": 1}')}\n`
      const told = drive(valueStage(), [{ channel: 'stdout', bytes: Buffer.from(text) }])
      const values = told.map((outcome) => (outcome.ok ? outcome.value : outcome.fault.code))
      const last = tryParse(text, { pick: 'last' })
      const got = JSON.stringify([...values, last.ok && last.value])
      if (got !== '[{"a":0},{"a":1},{"a":1}]') others.push(`${JSON.stringify(text)} ${got}`)
    }
  expect(others).toEqual([])
})

test('so are the items of documents in any two of them, and a draft is a thought if only its end is marked', () => {
  const others: string[] = []
  const items = (text: string, size = text.length) => {
    const bytes = Buffer.from(text)
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => ({
      channel: 'stdout' as const,
      bytes: bytes.subarray(n * size, (n + 1) * size),
    }))
    return drive(valueStage({ items: 'a.*', root: 'any' }), chunks)
  }
  for (const one of WRAPPINGS)
    for (const other of WRAPPINGS) {
      const text = `Draft:\n\n${wrap(one, '{"a": [0]}')}\n\nFinal:\n\n${wrap(other, '{"a": [1]}')}\n`
      const got = items(text).map((outcome) => (outcome.ok ? outcome.value : outcome.fault.code))
      if (JSON.stringify(got) !== '[0,1]') others.push(`${JSON.stringify(text)} ${got}`)
    }
  expect(others).toEqual([])
  for (const wrapping of WRAPPINGS)
    for (const size of [1, 1000]) {
      const text = `${wrap(wrapping, '{"a": [0]}')}\n\nNo.\n</think>\n\n${wrap(wrapping, '{"a": [1]}')}`
      const [draft, answer] = items(text, size)
      expect(draft, text).toMatchObject({ value: 0 })
      expect(answer, text).toMatchObject({ value: 1 })
      expect(
        answer!.notes.some(({ code }) => code === 'THINK_LATE'),
        text,
      ).toBe(true)
    }
})

test('a document that is an argument of a call has no items, but JSONP has', () => {
  const first = (text: string) =>
    drive(valueStage({ items: 'a.*', root: 'any' }), [{ channel: 'stdout', bytes: Buffer.from(text) }])[0]
  const nothing = { ok: false, fault: { code: 'NO_MATCH' } }
  expect(first('Report(n=1, extra={"a": [0]})')).toMatchObject(nothing)
  expect(first('I call Report({"a": [0]}) now.')).toMatchObject(nothing)
  expect(first('callback({"a": [0]});')).toMatchObject({ ok: true, value: 0 })
})

test('a value over several lines that is broken is read to the closer that a person sees', () => {
  for (const wrapping of WRAPPINGS.filter((wrapping) => !/F@|Fjson ?@/.test(wrapping))) {
    const text = wrap(wrapping, '{"a": [1, 2,], "b": "F in a string"}'.replace('F', '```'))
    expect(tryParse(text), text).toMatchObject({ ok: true, value: { a: [1, 2], b: '``` in a string' } })
  }
})
