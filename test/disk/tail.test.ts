import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Tail } from '../../src/disk/tail.ts'

let dir = ''
let log = ''
let tail: Tail
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-tail-'))
  log = join(dir, 'log')
  tail = new Tail(log)
})
afterEach(() => {
  tail.close()
  rmSync(dir, { recursive: true })
})

const read = () => {
  const piece = tail.read()
  return piece && [piece.bytes.toString(), piece.from, piece.restarted]
}

test('gives what was added, from where it stopped', () => {
  expect(read()).toBe(undefined)
  writeFileSync(log, 'one')
  expect(read()).toEqual(['one', 0, false])
  expect(read()).toBe(undefined)
  appendFileSync(log, 'two')
  expect(read()).toEqual(['two', 3, false])
})

test('reads a file that was moved away to its end before the new one', () => {
  writeFileSync(log, 'one')
  read()
  appendFileSync(log, 'two')
  renameSync(log, join(dir, 'old'))
  expect(read()).toEqual(['two', 3, false])
  expect(read()).toBe(undefined)
  writeFileSync(log, 'new')
  expect(read()).toEqual(['new', 0, true])
  expect(read()).toBe(undefined)
})

test('does not follow a link that was put in its place', () => {
  writeFileSync(log, 'one')
  read()
  writeFileSync(join(dir, 'secret'), 'secret')
  rmSync(log)
  symlinkSync(join(dir, 'secret'), log)
  expect(read()).toBe(undefined)
  expect(read()).toBe(undefined)
})

test('reads on where something that is no file was put in its place', () => {
  const writer = openSync(log, 'a')
  appendFileSync(writer, 'one')
  expect(read()).toEqual(['one', 0, false])
  rmSync(log)
  execFileSync('mkfifo', [log])
  expect(read()).toBe(undefined)
  appendFileSync(writer, 'two')
  expect(read()).toEqual(['two', 3, false])
  closeSync(writer)
})

test('notices a file that became shorter or other', () => {
  writeFileSync(log, 'x'.repeat(100))
  read()
  writeFileSync(log, 'short')
  expect(read()).toEqual(['short', 0, true])
  writeFileSync(log, 'other and longer')
  expect(read()).toEqual(['other and longer', 0, true])
})
