import fs, { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { diskFault } from '../../src/base/system-error-code.ts'
import { LineFile } from '../../src/disk/line-file.ts'

let dir = ''
let path = ''
let opened: LineFile[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-lines-'))
  path = join(dir, 'lines')
})
afterEach(() => {
  vi.restoreAllMocks()
  for (const file of opened) file.close()
  opened = []
  rmSync(dir, { recursive: true })
})

function open(content?: string): LineFile {
  if (content !== undefined) writeFileSync(path, content)
  const file = new LineFile(path)
  opened.push(file)
  return file
}
const linesOf = (file: LineFile) => [...file.lines()].map(({ bytes }) => bytes.toString().slice(0, -1))
const fails = (code: string) => () => {
  throw Object.assign(new Error(code), { code })
}

test.each([
  ['half a line', '{"a":1}\n{"b', '{"a":1}\n'],
  ['only half a line', '{"a', ''],
  ['zeros', '{"a":1}\n\0\0\0', '{"a":1}\n'],
  ['zeros with a line end', '{"a":1}\n\0\0\n', '{"a":1}\n'],
  ['several torn lines', '{"a":1}\n{"b\nx\n{', '{"a":1}\n'],
  ['nothing', '', ''],
  ['a line longer than a block', `{"a":1}\n"${'x'.repeat(200_000)}`, '{"a":1}\n'],
])('cuts off %s behind the last whole line', (_what, content, kept) => {
  open(content)
  expect(readFileSync(path, 'utf8')).toBe(kept)
})

test.each([
  ['only line ends', '\n'.repeat(20_000)],
  ['short lines that are none, over many blocks', 'x\n'.repeat(100_000)],
  ['a long line that is none, and short ones', `${'y'.repeat(200_000)}\n${'\n'.repeat(100_000)}{"torn`],
])('reads a tail of %s once, and cuts it off at once', (_what, tail) => {
  const read = vi.spyOn(fs, 'readSync')
  const cut = vi.spyOn(fs, 'ftruncateSync')
  open(`{"a":1}\n${tail}`)
  const bytes = read.mock.results.reduce((sum, { value }) => sum + Number(value), 0)
  expect(bytes).toBeLessThan(2.5 * tail.length)
  expect(cut).toHaveBeenCalledTimes(1)
  expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n')
})

test('a file of nothing but torn lines is empty', () => {
  open('\n'.repeat(70_000))
  expect(readFileSync(path, 'utf8')).toBe('')
})

test('a last line that is longer than a block is kept, also between blocks', () => {
  for (const length of [65_534, 65_535, 65_536, 65_537, 200_000]) {
    const kept = `{}\n${JSON.stringify('x'.repeat(length))}\n`
    open(`${kept}\n\n{`)
    expect(readFileSync(path, 'utf8')).toBe(kept)
  }
})

test('gives all lines, also those that are longer than a block', () => {
  const lines = [
    '{"a":1}',
    JSON.stringify('ü'.repeat(70_000)),
    '[]',
    JSON.stringify('y'.repeat(65_535)),
    '{}',
  ]
  const file = open(`${lines.join('\n')}\n`)
  expect(linesOf(file)).toEqual(lines)
  expect(file.last()).toBe('{}')
  file.dropLast()
  expect(file.last()).toBe(lines[3])
})

test('an empty file has no last line, and none to take away', () => {
  const file = open()
  expect(file.last()).toBe(undefined)
  file.dropLast()
  file.append('{}\n')
  expect(linesOf(file)).toEqual(['{}'])
})

test('ends where the file ends, if it was made shorter', () => {
  const file = open('{"a":1}\n{"b":2}\n')
  truncateSync(path, 8)
  expect(linesOf(file)).toEqual(['{"a":1}'])
  truncateSync(path, 0)
  expect(linesOf(file)).toEqual([])
})

test('after a write that failed nothing follows, not even a sync', () => {
  const file = open('{"a":1}\n')
  vi.spyOn(fs, 'writeSync').mockImplementationOnce(fails('ENOSPC'))
  const fault = expect.objectContaining({
    code: 'JOURNAL_FAILED',
    message: expect.stringContaining('ENOSPC'),
  })
  expect(() => file.append('{"b":2}\n')).toThrow(fault)
  expect(() => file.append('{"c":3}\n')).toThrow(fault)
  expect(() => file.sync()).toThrow(fault)
  file.syncSoon()
  expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n')
})

test('a line that cannot even be taken back is repaired at the next start', () => {
  const file = open('{"a":1}\n')
  const real = fs.writeSync
  vi.spyOn(fs, 'writeSync')
    .mockImplementationOnce(((fd: number, bytes: Buffer, from: number, _length: number, at: number) =>
      real(fd, bytes, from, 3, at)) as typeof fs.writeSync)
    .mockImplementationOnce(fails('EIO'))
  vi.spyOn(fs, 'ftruncateSync').mockImplementationOnce(fails('EIO'))
  expect(() => file.append('{"b":2}\n')).toThrow('EIO')
  expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"b')
  open()
  expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n')
})

test('a file that rests is opened by the next line, and a failure then is told as at the start', () => {
  const file = open('{"a":1}\n')
  file.append('{"b":2}\n')
  file.rest()
  // It waits for its sync.
  file.append('{"c":3}\n')
  file.sync()
  file.rest()
  file.sync()
  vi.spyOn(fs, 'openSync').mockImplementationOnce(fails('EMFILE'))
  expect(() => file.append('{"d":4}\n')).toThrow(/^cannot open "[^"]+" \(EMFILE\)/)
  file.append('{"e":5}\n')
  expect(linesOf(file)).toEqual(['{"a":1}', '{"b":2}', '{"c":3}', '{"e":5}'])
  file.sync()
  file.rest()
  file.close()
})

test('a sync in the background that failed is told at the next line', async () => {
  const file = open()
  file.append('{}\n')
  const synced = vi.spyOn(fs, 'fdatasync').mockImplementation((_fd, done) => done(new Error('no code')))
  file.syncSoon()
  file.syncSoon()
  expect(synced).toHaveBeenCalledTimes(1)
  expect(() => file.append('{}\n')).toThrow('cannot sync')
})

test('a file that was closed meanwhile needs no sync', () => {
  const file = open()
  file.append('{}\n')
  let answer: (error: Error) => void = () => {}
  vi.spyOn(fs, 'fdatasync').mockImplementation((_fd, done) => {
    answer = done as typeof answer
  })
  file.syncSoon()
  file.append('{}\n')
  file.close()
  answer(Object.assign(new Error('EBADF'), { code: 'EBADF' }))
  file.syncSoon()
  file.sync()
  file.close()
})

test('a file that cannot be looked at, or repaired, is closed again', () => {
  const closed = vi.spyOn(fs, 'closeSync')
  vi.spyOn(fs, 'fstatSync').mockImplementationOnce(fails('EIO'))
  expect(() => open('{}\n')).toThrow('cannot open')
  vi.spyOn(fs, 'ftruncateSync').mockImplementationOnce(fails('EROFS'))
  expect(() => open('{"torn')).toThrow('cannot repair')
  expect(closed).toHaveBeenCalledTimes(2)
})

test('a fault says what can be done, where something can', () => {
  expect(diskFault('write', 'f', { code: 'ENOSPC' }).message).toMatch(/disk is full/)
  expect(diskFault('make', 'd', { code: 'EACCES' }).message).toBe(
    'cannot make "d" (EACCES): permission denied; choose another directory',
  )
  expect(diskFault('write', 'f', { code: 'EWEIRD' }).message).toBe(
    'cannot write "f" (EWEIRD): what was written so far is whole',
  )
  expect(diskFault('write', 'f', { code: 'constructor' }).message).toContain('so far is whole')
  expect(diskFault('write', 'f', 'words').message).toContain('(unknown)')
})

test('an end waits for the sync in the background, and hears that it failed', async () => {
  const file = open()
  file.append('{}\n')
  let answer: (error: Error | null) => void = () => {}
  vi.spyOn(fs, 'fdatasync').mockImplementation((_fd, done) => {
    answer = done as typeof answer
  })
  file.syncSoon()
  let settled = false
  const waited = file.settled().then(() => {
    settled = true
  })
  await setImmediate()
  expect(settled).toBe(false)
  answer(Object.assign(new Error('EIO'), { code: 'EIO' }))
  await waited
  expect(() => file.sync()).toThrow('EIO')
})

test('a sync does not rely on one that is still in the background', () => {
  const file = open()
  file.append('{}\n')
  vi.spyOn(fs, 'fdatasync').mockImplementation(() => {})
  const synced = vi.spyOn(fs, 'fdatasyncSync')
  file.syncSoon()
  file.sync()
  expect(synced).toHaveBeenCalledTimes(1)
})

test('a file stays open until the disk has answered', async () => {
  const file = open()
  file.append('{}\n')
  let answer: (error: Error | null) => void = () => {}
  vi.spyOn(fs, 'fdatasync').mockImplementation((_fd, done) => {
    answer = done as typeof answer
  })
  const closed = vi.spyOn(fs, 'closeSync')
  file.syncSoon()
  file.close()
  expect(closed).not.toHaveBeenCalled()
  answer(null)
  expect(closed).toHaveBeenCalledTimes(1)
})
