import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { flushed, output, printer } from '../../src/cli/print.ts'
import { workspace } from '../run/agent.ts'
import { inside, standIn } from './inside.ts'

afterEach(() => void vi.restoreAllMocks())

const log = join('fixtures', 'codex/02-reasoning.pipe', 'stdout.log')
const broken = (code: string) => Object.assign(new Error(code), { code })

/** A stdout whose reader leaves after the first bytes, as `head` does. */
function impatient() {
  const stdout = standIn()
  return stdout.once('data', () => stdout.emit('error', broken('EPIPE')))
}

/** A stdout on a full disk. */
function full() {
  const stdout = standIn()
  stdout._write = (_chunk, _encoding, done) => done(broken('ENOSPC'))
  return stdout
}

test.each([
  ['values', ['values', '--lines', log]],
  ['events', ['events', log]],
  ['chat', ['chat', log]],
  ['replay', ['replay', log]],
])('%s stops with 0 when its reader has left', async (_name, args) => {
  const all = await inside(args)
  const some = await inside(args, { stdout: impatient() })
  expect([some.code, some.err]).toEqual([0, ''])
  expect(some.out.length).toBeLessThan(all.out.length)
  expect(all.out.startsWith(some.out.slice(0, some.out.indexOf('"ts"')))).toBe(true)
})

test('events and chat leave with 7 when their reader has left and an agent writes to their stdin', async () => {
  for (const args of [
    ['events'],
    ['chat'],
    ['events', '--stdout', '-', '--stderr', log],
    ['events', '-', '--pty', log],
    ['chat', '--stdout', log, '--stderr', '-'],
  ]) {
    const stdin = readFileSync(log)
    const { code, err } = await inside([...args, '--engine', 'codex'], { stdin, stdout: impatient() })
    expect([code, err], args.join(' ')).toEqual([7, ''])
  }
})

test('prints short and long lines in order, and escapes what could steer a terminal in each', async () => {
  const stdout = standIn()
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout)
  let out = ''
  stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  const texts = [
    'a',
    'ü',
    '\u007f',
    'ü\u009b\u202e',
    'x'.repeat(70_000),
    '\u2028'.repeat(30_000),
    '€'.repeat(20_000),
    // Each alone, because a line is searched for how they begin first.
    ...'\u0080\u009f\u061c\u200e\u200f\u2028\u202e\u2066\u2069',
  ]
  const records = Array.from({ length: 400 }, (_, n) => ({ n, text: texts[n % texts.length]! }))
  const print = printer()
  for (const record of records) expect(await print(record)).toBe(true)
  expect(await flushed()).toBe(true)
  expect(out).not.toMatch(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/)
  expect(out).toContain('"ü\\u009b\\u202e"')
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(records)
})

test('a line that is printed alone is written when the event loop turns', async () => {
  const stdout = standIn()
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout)
  const print = printer()
  await print({ a: 1 })
  expect(String(stdout.read())).toBe('{"a":1}\n')
  expect(print({ a: 2 })).toBe(true)
  const [bytes] = await once(stdout, 'data')
  expect(String(bytes)).toBe('{"a":2}\n')
})

test('waits for a slow reader, and for one that leaves meanwhile', async () => {
  const stdout = standIn()
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout)
  const write = output()
  const full = 'x'.repeat(stdout.writableHighWaterMark)
  let written = false
  const waiting = write(full).then((open) => {
    written = true
    return open
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(written).toBe(false)
  stdout.resume()
  expect(await waiting).toBe(true)
  stdout.pause()
  const left = write(full)
  stdout.emit('error', broken('EPIPE'))
  expect(await left).toBe(false)
  expect(await write('more')).toBe(false)
})

test.each([
  ['values', ['values', '--lines', log]],
  ['values --explain', ['values', '--explain', '--lines', log]],
  ['events', ['events', log]],
  ['chat', ['chat', log]],
  ['replay', ['replay', log]],
  ['engines', ['engines']],
  ['help', ['help', 'chat']],
  ['--version', ['--version']],
  ['work', ['work', '--order', 'ORDER', '--dry-run', '--', 'true']],
])('%s ends with one line and 7 when stdout cannot be written', async (_name, args) => {
  const { cwd } = workspace()
  const order = join(cwd, 'order.json')
  writeFileSync(order, JSON.stringify({ issue_ref: 'shop#12', run_id: 'run-7', repo_dir: cwd }))
  const words = args.map((word) => (word === 'ORDER' ? order : word))
  const { code, err } = await inside(words, { stdout: full() })
  expect([code, err]).toEqual([
    7,
    'sluice: cannot write to stdout (ENOSPC): the disk is full; the output before it is complete\n',
  ])
})

test('help and engines stop with 0 when their reader has left', async () => {
  for (const args of [['help', 'chat'], ['engines'], ['values', '--explain', '--lines', log]]) {
    const { code, err } = await inside(args, { stdout: impatient() })
    expect([code, err], args.join(' ')).toEqual([0, ''])
  }
})

test('a stderr that is gone breaks nothing', async () => {
  const stderr = standIn()
  stderr.once('data', () => stderr.emit('error', broken('EPIPE')))
  const { code } = await inside(['values', '--nonsense'], { stderr })
  expect(code).toBe(2)
})

test('listens to stdout once, however many big records a slow reader is given', async () => {
  const stdout = standIn()
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout)
  stdout.on('data', () => {})
  const counts = () => ['error', 'drain', 'close'].map((event) => stdout.listenerCount(event))
  await output()('first')
  const before = counts()
  for (let i = 0; i < 20; i++) await output()('x'.repeat(1 << 20))
  expect(counts()).toEqual(before)
})

test('what is no Fault is not taken for bad usage', async () => {
  const stdout = standIn()
  stdout.write = () => {
    throw new Error('a mistake of ours')
  }
  await expect(inside(['engines'], { stdout })).rejects.toThrow('a mistake of ours')
})
