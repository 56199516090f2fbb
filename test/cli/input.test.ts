import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inside } from './inside.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-input-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

const file = (name: string, content: string) => {
  writeFileSync(join(dir, name), content)
  return join(dir, name)
}

/** A file that is there and can be opened, but not be read: EIO. */
const unreadable = '/proc/self/mem'

test.runIf(process.platform === 'linux').each([
  ['the input of values', ['values', unreadable]],
  ['a schema', ['values', '--schema', unreadable]],
  ['the log of events', ['events', unreadable]],
  ['the log of chat', ['chat', '--stderr', unreadable]],
  ['a diff', ['events', '--fs-diff', unreadable]],
])('%s that breaks while it is read is bad usage, not a crash', async (_what, args) => {
  const { code, err } = await inside(args, { stdin: '' })
  expect(err).toMatch(
    /^sluice: cannot read ("\/proc\/self\/mem"|the logs): the disk or the terminal reports an error$/m,
  )
  expect(code).toBe(2)
})

test('says it when stdin breaks', async () => {
  const stdin = new Readable({ read: () => stdin.destroy(new Error('gone\u001b[2J')) })
  const { code, err } = await inside(['values'], { stdin })
  expect([code, err]).toEqual([2, 'sluice: cannot read "stdin": "gone\\u001b[2J"\n'])
})

test('a device has no size, and can be read all the same', async () => {
  expect((await inside(['values', '/dev/null'])).code).toBe(3)
})

test.each([
  [
    'a path through a file',
    ['values', 'LICENSE/x'],
    'cannot read "LICENSE/x": there is a file where a directory should be',
  ],
  [
    'a schema that is a list',
    ['values', '--schema', 'list.json'],
    'the schema "list.json" must be a JSON object',
  ],
  [
    'a diff with something else than paths',
    ['events', 'LICENSE', '--fs-diff', 'diff.json'],
    '"modified" of the fs-diff must be an array of paths',
  ],
  ['an order that is not JSON', ['work', '--order', 'broken.json'], 'broken.json" is not JSON'],
  [
    '--activate without an outbox',
    ['work', '--order', 'list.json', '--activate'],
    '--activate is for --outbox',
  ],
  [
    'a template that is not there',
    ['work', '--order', 'order.json', '--template', 'none.md'],
    'cannot read "none.md": there is no such file or directory',
  ],
])('leaves with 2 for %s', async (_what, args, words) => {
  file('list.json', '[1]')
  file('diff.json', '{"created": ["a"], "modified": [1]}')
  file('broken.json', '{')
  file('order.json', JSON.stringify({ issue_ref: 'a', run_id: 'b', repo_dir: dir }))
  const { code, err } = await inside(args.map((arg) => (/\.(json|md)$/.test(arg) ? join(dir, arg) : arg)))
  expect(err.replaceAll(`${dir}/`, '')).toContain(words)
  expect(code).toBe(2)
})
