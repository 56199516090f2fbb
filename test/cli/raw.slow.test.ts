import { describe, expect, test } from 'vitest'
import { inside, standIn } from './inside.ts'

const sluice = (args: readonly string[], stdin: string) => inside(['values', '--raw', ...args], { stdin })
const any = ['--root', 'any']

describe('sluice values --raw', () => {
  test('prints strings bare and everything else as compact JSON, one a line', async () => {
    const items = '{"a": ["two words", "", "\\"quoted\\" é", 1.50, true, null, {"b": [1, 2]}, "1"]}'
    expect(await sluice([...any, '--items', 'a.*'], items)).toEqual({
      code: 0,
      out: 'two words\n\n"quoted" é\n1.5\ntrue\nnull\n{"b":[1,2]}\n1\n',
      err: '',
    })
  })

  test('keeps line ends and control characters of a string in a pipe', async () => {
    const { out } = await sluice(any, '"one\\ntwo\\r\\n\\u001b[1m\\u2028\\n"')
    expect(out).toBe('one\ntwo\r\n\u001b[1m\u2028\n\n')
  })

  test('tells faults on stderr, each where it is, and goes on', async () => {
    const { code, out, err } = await sluice(['--lines'], '{"a":1}\n{"a":}\n[1]\n{"a":2}\n')
    expect([code, out]).toEqual([0, '{"a":1}\n{"a":2}\n'])
    expect(err).toMatch(/^sluice: INVALID_JSON at byte \d+: .*\nsluice: ROOT_NOT_OBJECT at byte \d+: .*\n$/)
  })

  test.each([
    [
      '3 if nothing is valid, with the text',
      [],
      'only\nwords \u001b[2J',
      3,
      /^sluice: NO_MATCH.*\nonly\nwords ␛\[2J\n$/,
    ],
    [
      '3 if a payload is too long to repair',
      [],
      `{"a":"${'x'.repeat(70_000)}",}`,
      3,
      /--max-repair allows more characters\n$/,
    ],
    ['4 if the input was cut', ['--tag', 'json'], '<json>{"a":[1,2', 4, /^sluice: TRUNCATED.*\n$/],
    ['2 with --explain', ['--explain'], '{}', 2, /--raw and --explain exclude each other/],
  ])('leaves with %s', async (_what, args, input, code, err) => {
    expect(await sluice(args, input)).toEqual({ code, out: '', err: expect.stringMatching(err) })
  })

  test('says on stderr what a completed value lacks', async () => {
    const { code, out, err } = await sluice(['--partial'], '{"a":[1,2')
    expect([code, out]).toEqual([0, '{"a":[1,2]}\n'])
    expect(err).toBe('sluice: TRUNCATED: the value was cut off; incomplete: the root, "/a", "/a/1"\n')
  })

  test('lets no string steer a terminal', async () => {
    const stdout = standIn({ tty: true })
    const { out } = await inside(['values', '--raw', ...any], { stdin: '"a\\u001b[2J\\u009b\\nb"', stdout })
    expect(out).toBe('a\u241b[2J\ufffd\nb\n')
  })
})
