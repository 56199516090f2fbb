import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendLine, makeDir, writeWhole } from '../../src/disk/durable.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-durable-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

test('writes a file whole, into a folder that is made for it, and replaces the one before', async () => {
  const path = join(dir, 'a/b/file')
  expect(await writeWhole(path, 'one')).toBe(true)
  expect(await writeWhole(path, 'two')).toBe(true)
  expect(readFileSync(path, 'utf8')).toBe('two')
  expect(readdirSync(join(dir, 'a/b'))).toEqual(['file'])
})

test('of many exclusive writers one wins, and no draft is left', async () => {
  const path = join(dir, 'file')
  const won = await Promise.all(Array.from({ length: 8 }, (_, n) => writeWhole(path, String(n), true)))
  expect(won.filter(Boolean)).toHaveLength(1)
  expect(readFileSync(path, 'utf8')).toBe(String(won.indexOf(true)))
  expect(readdirSync(dir)).toEqual(['file'])
})

test('leaves nothing behind where it cannot write', async () => {
  const path = join(dir, 'taken')
  mkdirSync(join(path, 'by a folder'), { recursive: true })
  await expect(writeWhole(path, 'text')).rejects.toThrow()
  expect(readdirSync(dir)).toEqual(['taken'])
})

test('a line is not swallowed by a torn one before it', async () => {
  const path = join(dir, 'log')
  await appendLine(path, 'one')
  writeFileSync(path, 'tw', { flag: 'a' })
  await appendLine(path, 'three')
  expect(readFileSync(path, 'utf8')).toBe('one\ntw\nthree\n')
})

test('a folder that cannot be made is an error, and no endless attempt', async () => {
  writeFileSync(join(dir, 'file'), '')
  expect(() => makeDir(join(dir, 'file'))).toThrow('ENOTDIR')
  expect(() => makeDir(join(dir, 'file/below'))).toThrow('ENOTDIR')
  makeDir(join(dir, 'one/two'))
  makeDir(join(dir, 'one/two'))
  expect(readdirSync(join(dir, 'one'))).toEqual(['two'])
  if (!existsSync('/proc/self')) return
  await expect(writeWhole('/proc/none/file', 'text')).rejects.toThrow('ENOENT')
  await expect(appendLine('/proc/none/file', 'line')).rejects.toThrow('ENOENT')
})
