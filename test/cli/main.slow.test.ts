import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { built } from '../built.ts'

/** The program itself, as a shell starts it; everything else is tested in this process, through `inside`. */
async function sluice(args: readonly string[], input: string) {
  const child = spawn(process.execPath, [built('src/cli/main.ts'), ...args])
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, err, out }
}

test.each([
  ['0 for a value', ['values', '--tag', 'json'], 0, /"value":\{"a":1\}/, /^$/],
  ['3 for none', ['values', '--tag', 'jsn'], 3, /NO_MATCH/, /^sluice: NO_MATCH/],
  ['2 for bad usage', ['values', '--tga'], 2, /^$/, /did you mean --tag/],
  ['2 for a Fault', ['values', '--lines', '--tag', 'json'], 2, /^$/, /^sluice: .*exclude each other/],
])('leaves with %s', async (_what, args, code, out, err) => {
  const ended = await sluice(args, 'Sure: <json>{"a": 1}</json>')
  expect(ended).toEqual({ code, out: expect.stringMatching(out), err: expect.stringMatching(err) })
})

test('says its version', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(await sluice(['--version'], '')).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

test('lets the heap grow to twice what is alive', async () => {
  const record = { type: 'item.completed', item: { id: 'm', type: 'agent_message', text: 'A step is done.' } }
  const child = spawn(process.execPath, [
    ...['--trace-gc-verbose', built('src/cli/main.ts')],
    ...['events', '--engine', 'codex'],
  ])
  child.stdin.end(`${JSON.stringify(record)}\n`.repeat(60_000))
  // The limits that V8 sets itself, each with its factor.
  const factors = [...(await text(child.stdout)).matchAll(/\] Limit: old size: .*\((\d\.\d)\)/g)]
  expect(factors.at(-1)?.[1]).toBe('2.0')
})
