import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { built } from '../built.ts'
import { inside } from './inside.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

const file = (name: string, content: string) => {
  const path = join(dir, name)
  writeFileSync(path, content)
  return path
}

const program = built('src/cli/main.ts')
const start = (args: readonly string[]) =>
  spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })

async function sluice(args: readonly string[], input = '') {
  const { code, err, out } = await inside(args, { stdin: input })
  const records = out.split('\n').filter(Boolean)
  return { code, err, out, records: args.includes('--help') ? [] : records.map((line) => JSON.parse(line)) }
}

describe('sluice values', () => {
  test('prints a repaired value and leaves with 0', async () => {
    const { code, err, records } = await sluice(
      ['values', '--tag', 'json'],
      'Sure, here is the json: <json> { "a": 1, } </json> Hope this helps!',
    )
    expect(records).toEqual([
      {
        ok: true,
        value: { a: 1 },
        repair_level: 'deterministic_generic',
        notes: [expect.objectContaining({ code: 'OUTPUT_REPAIRED_GENERIC' })],
        kind: 'tag',
        from: 24,
        to: 50,
      },
    ])
    expect([code, err]).toEqual([0, ''])
  })

  test('reads a file, checks a schema, and leaves with 3 if nothing passes', async () => {
    const log = file('run.log', '{"a":"x"}\n{"a":1}\n')
    const schema = file('ok.schema.json', '{"properties":{"a":{"type":"number"}}}')
    const good = await sluice(['values', log, '--lines', '--schema', schema])
    expect(good.records.map(({ ok }) => ok)).toEqual([false, true])
    expect(good.code).toBe(0)
    const bad = await sluice(['values', log, '--lines', '--schema', schema, '--pick', 'first'], '')
    expect(bad.records).toMatchObject([{ ok: true, value: { a: 1 } }])
    const none = await sluice(['values', '--schema', schema], '{"a":"x"}')
    expect(none.records).toMatchObject([
      { ok: false, fault: { code: 'SCHEMA_FAILED', errors: [{ path: '/a', rule: 'type' }] } },
    ])
    expect(none.code).toBe(3)
    expect(none.err).toContain('SCHEMA_FAILED')
  })

  test('leaves with 4 if the input was cut, and with 0 if that is allowed', async () => {
    const cut = await sluice(['values', '--tag', 'json'], '<json>{"a":[1,2')
    expect([cut.code, cut.records[0].fault.code]).toEqual([4, 'TRUNCATED'])
    const partial = await sluice(['values', '--tag', 'json', '--partial'], '<json>{"a":[1,2')
    expect(partial.code).toBe(0)
    expect(partial.records).toMatchObject([{ value: { a: [1, 2] }, incomplete: ['', '/a', '/a/1'] }])
  })

  test('gives the input as a comment if nothing is found', async () => {
    const { code, records } = await sluice(['values'], 'only words')
    expect(code).toBe(3)
    expect(records).toMatchObject([{ fault: { code: 'NO_MATCH' }, comment: { text: 'only words' } }])
  })

  test('prints the items of a document, and their place', async () => {
    const log = file('items.log', 'words <json>{"issues":[{"a":1},{"a":}],"files":[{"f":1}]}</json>')
    const { code, records } = await sluice([
      'values',
      log,
      '--tag',
      'json',
      '--items',
      'issues.*',
      '--items',
      'files.*',
    ])
    expect(records).toMatchObject([
      { ok: true, value: { a: 1 }, path: '/issues/0', from: 23, to: 30 },
      { ok: false, fault: { code: 'INVALID_JSON' }, path: '/issues/1', from: 31 },
      { ok: true, value: { f: 1 }, path: '/files/0' },
    ])
    expect(code).toBe(0)
    const none = await sluice(['values', '--items', 'issues.*'], '{"issues":[]}')
    expect([none.code, none.out]).toEqual([0, ''])
    const cut = await sluice(['values', '--items', 'issues.*'], '{"issues":[{"a":1},')
    expect([cut.code, cut.records.length]).toEqual([4, 2])
  })

  test('repairs a longer payload if --max-repair says so', async () => {
    const log = file('long.log', `{"x":"${'y'.repeat(70_000)}",}`)
    const { code, records } = await sluice(['values', log])
    expect([code, records[0].notes[0].code]).toEqual([3, 'REPAIR_SKIPPED'])
    expect((await sluice(['values', log, '--max-repair', '100000'])).code).toBe(0)
    expect(await sluice(['values', log, '--max-repair', 'many'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('it must be a whole number'),
    })
  })

  test('counts what went wrong, and says the first', async () => {
    const { code, err } = await sluice(
      ['values', '--tag', 'json', '--schema', file('a.schema.json', '{"required":["a"]}')],
      '<json>{"b":1}</json> <json>{"c":1}</json> <json>{"a":</json>',
    )
    expect(code).toBe(3)
    expect(err).toMatch(/^sluice: SCHEMA_FAILED × 2, TRUNCATED: .*\n$/)
  })

  test('prints only records that match --where, and counts the others', async () => {
    const lines = [
      '{"type":"turn.completed","n":1}',
      '{"type":"turn.started","n":1}',
      '{"type":"turn.failed","n":1}',
      '{"type":"turn.failed","n":"1"}',
      '{"type":"turn.failed","n":2}',
    ]
    const where = ['--where', 'type=turn.completed', '--where', 'type=turn.failed', '--where', 'n=1']
    const { code, err, records } = await sluice(['values', '--lines', ...where], `${lines.join('\n')}\n`)
    expect(records.map(({ value }) => value)).toEqual([
      { type: 'turn.completed', n: 1 },
      { type: 'turn.failed', n: 1 },
      { type: 'turn.failed', n: '1' },
    ])
    expect([code, err]).toEqual([0, 'sluice: --where dropped 1 line unread and 1 after parsing\n'])
  })

  test('takes the value of --where as text if it is quoted, and as what it is otherwise', async () => {
    const input = '{"a":"1","b":true}\n{"a":1,"b":"true"}\n{"a":null,"b":"x=y"}\n'
    const count = async (...where: string[]) => {
      const { code, records } = await sluice(
        ['values', '--lines', ...where.flatMap((one) => ['--where', one])],
        input,
      )
      return code === 0 ? records.length : `exit ${code}`
    }
    expect(await count('a=1')).toBe(2)
    expect(await count('a="1"')).toBe(1)
    expect(await count('b=true')).toBe(2)
    expect(await count('b=x=y', 'a=null')).toBe(1)
    expect(await count('a=nothing')).toBe('exit 3')
    expect(await sluice(['values', '--lines', '--where', 'type'], input)).toMatchObject({
      code: 2,
      err: expect.stringContaining('such as type=turn.completed'),
    })
    expect(await sluice(['values', '--where', 'a=1'], input)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--where is for --lines'),
    })
    const explained = await inside(['values', '--lines', '--where', 'a=1', '--explain'], { stdin: input })
    expect(explained.out).toContain('skipped: it does not match where')
  })

  test('lets no control character through', async () => {
    const { out, records } = await sluice(['values'], '{"a":"\\u001b[2J\\u007f\\u009b2J\\u202e\\u2028"}')
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/)
    expect(records[0].value.a).toBe('\u001b[2J\u007f\u009b2J\u202e\u2028')
  })

  test.each([
    ['a missing file', ['values', 'nowhere.log'], /nowhere\.log.*no such file/],
    ['a directory', ['values', 'src'], /src.*directory/],
    ['a missing schema', ['values', '--schema', 'nowhere.json'], /nowhere\.json.*no such file/],
    ['a schema that is not JSON', ['values', '--schema', 'LICENSE'], /schema.*LICENSE.*not JSON/],
    ['an unknown option', ['values', '--tga', 'json'], /did you mean --tag/],
    ['an unknown command', ['vlues'], /did you mean values/],
    ['help for an unknown command', ['help', 'nope'], /^sluice: there is no command "nope"/],
    ['a bad choice', ['values', '--pick', 'all'], /each, first, last/],
    ['options that exclude each other', ['values', '--lines', '--tag', 'json'], /exclude each other/],
    ['a path that is none', ['values', '--items', 'a..b'], /"a\.\.b" is not a path/],
    ['two files', ['values', 'a', 'b'], /too many arguments/],
  ])('leaves with 2 on %s', async (_name, args, message) => {
    const { code, err, out } = await sluice(args)
    expect(err).toMatch(message)
    expect([code, out]).toEqual([2, ''])
    expect(err).not.toContain('    at ')
  })

  test('leaves with 2 on a schema that cannot be compiled', async () => {
    const { code, err } = await sluice(['values', '--schema', file('bad.schema.json', '{"type":"nonsense"}')])
    const words = expect.stringMatching(/bad.schema.json": .* cannot be compiled: \/type must be one of/)
    expect([code, err]).toEqual([2, words])
  })

  test('shows examples in its help', async () => {
    const { code, out } = await sluice(['values', '--help'])
    expect(code).toBe(0)
    expect(out).toMatch(/Examples:\n.*npx agent-sluice values/)
  })

  test('refuses a directory as stdin, which is not an empty input', async () => {
    const fd = openSync(dir, 'r')
    const { status, stderr } = spawnSync(process.execPath, [program, 'values'], {
      stdio: [fd, 'pipe', 'pipe'],
    })
    closeSync(fd)
    expect([status, String(stderr)]).toEqual([2, 'sluice: cannot read stdin: it is a directory\n'])
  })

  test('stops quietly when its reader has left', async () => {
    const child = start(['values', '--lines'])
    child.stdin.on('error', () => {})
    const exit = once(child, 'close')
    const errors = text(child.stderr)
    child.stdin.write('{"a":1}\n'.repeat(1000))
    await once(child.stdout, 'data')
    child.stdout.destroy()
    // An endless source: only the command itself can end this.
    const feed = setInterval(() => child.stdin.write('{"a":1}\n'.repeat(10_000)), 5)
    const [code] = await exit
    clearInterval(feed)
    expect([code, await errors]).toEqual([0, ''])
  })

  test('ends on Ctrl-C', async () => {
    const child = start(['values', '--lines'])
    child.stdin.write('{"a":1}\n')
    await once(child.stdout, 'data')
    child.kill('SIGINT')
    const [code, signal] = await once(child, 'close')
    expect(signal ?? code).toMatch(/SIGINT|130/)
  })
})
