import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { before, readResult } from '../../src/work/result-file.ts'

const NAME = 'work_result.json'
const MAX = 1 << 20
let root = ''
let path = ''

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'work-file-')))
  path = join(root, NAME)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const read = async (name = NAME, max = MAX) => readResult(root, name, { print: undefined }, max)

test('reads a plain file', async () => {
  writeFileSync(path, '{"a":"ä"}')
  expect(await read()).toEqual({ state: 'read', text: '{"a":"ä"}', bytes: 10 })
})

test('finds nothing where nothing is', async () => {
  expect(await read()).toEqual({ state: 'absent' })
})

test.each<[string, () => void]>([
  ['is a symbolic link', () => symlinkSync('/etc/passwd', path)],
  ['is a symbolic link', () => symlinkSync('/nowhere', path)],
  ['is a directory', () => mkdirSync(path)],
  ['is a FIFO', () => execFileSync('mkfifo', [path])],
  [
    'bytes, more than',
    () => {
      writeFileSync(path, '')
      truncateSync(path, 2 ** 31)
    },
  ],
  [
    'has a second hard link',
    () => {
      writeFileSync(join(root, 'secret'), 'x')
      linkSync(join(root, 'secret'), path)
    },
  ],
  ['is not UTF-8', () => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d]))],
])('refuses what %s', async (message, make) => {
  make()
  expect(await read()).toEqual({ state: 'refused', message: expect.stringContaining(message) })
})

test('refuses a folder that leads out of the repository', async () => {
  const other = realpathSync(mkdtempSync(join(tmpdir(), 'work-other-')))
  writeFileSync(join(other, NAME), '{}')
  symlinkSync(other, join(root, 'out'))
  expect(await read(`out/${NAME}`)).toMatchObject({ state: 'refused' })
  mkdirSync(join(root, 'in'))
  writeFileSync(join(root, 'in', NAME), '{}')
  expect(await read(`in/${NAME}`)).toMatchObject({ state: 'read' })
  rmSync(other, { recursive: true })
})

test('does not count what is left over from before the run', async () => {
  writeFileSync(path, '{}')
  const old = await before(path)
  expect(await readResult(root, NAME, old, MAX)).toEqual({ state: 'stale' })
})

test('counts a file that was written again, in place or by rename, even with the same content', async () => {
  writeFileSync(path, '{}')
  utimesSync(path, 1, 1)
  const old = await before(path)
  writeFileSync(path, '{}')
  expect(await readResult(root, NAME, old, MAX)).toMatchObject({ state: 'read' })
  const older = await before(path)
  writeFileSync(join(root, 'new'), '{}')
  renameSync(join(root, 'new'), path)
  expect(await readResult(root, NAME, older, MAX)).toMatchObject({ state: 'read' })
})

test('never reads a secret through a file that is swapped for a link all the time', async () => {
  const secret = join(root, 'secret')
  writeFileSync(secret, 'SECRET')
  const swap = `
    const fs = require('fs')
    process.stdout.write('go')
    for (;;) {
      fs.writeFileSync('a', 'mine'); fs.renameSync('a', '${NAME}')
      fs.symlinkSync('secret', 'b'); fs.renameSync('b', '${NAME}')
    }`
  const child = spawn(process.execPath, ['-e', swap], { cwd: root })
  await once(child.stdout, 'data')
  const states = new Set<string>()
  for (let i = 0; i < 500; i++) {
    const found = await read()
    states.add(found.state)
    if (found.state === 'read') expect(found.text).toBe('mine')
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(states).toContain('refused')
})

test('does not hang on a file that is swapped for a FIFO all the time', async () => {
  execFileSync('mkfifo', [join(root, 'fifo')])
  const swap = `
    const fs = require('fs')
    process.stdout.write('go')
    for (;;) {
      fs.writeFileSync('a', 'mine'); fs.renameSync('a', '${NAME}')
      fs.renameSync('fifo', '${NAME}'); fs.renameSync('${NAME}', 'fifo')
    }`
  const child = spawn(process.execPath, ['-e', swap], { cwd: root })
  await once(child.stdout, 'data')
  for (let i = 0; i < 300; i++) {
    const found = await read()
    if (found.state === 'read') expect(['mine', '']).toContain(found.text)
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
})

test('a place that cannot be looked at is refused, and was nothing before', async () => {
  writeFileSync(join(root, 'file'), '')
  expect(await before(join(root, 'file', 'x'))).toEqual({ print: undefined })
  expect(await read('file/x')).toEqual({ state: 'refused', message: 'cannot be checked (ENOTDIR)' })
})

test('a device is not a regular file', async () => {
  const found = await readResult('/dev', 'null', { print: undefined }, MAX)
  expect(found).toEqual({ state: 'refused', message: 'is not a regular file' })
})
