import fs, {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Feed } from '../../src/serve/journal-feed.ts'
import { makeEvent } from '../disk/make-event.ts'
import { slow } from '../pace.ts'
import { parseSse, root } from './serving.ts'

let dir = ''
let path = ''
let feed: Feed
beforeEach(() => {
  dir = root()
  path = join(dir, 'events.jsonl')
  feed = new Feed(path)
})
afterEach(() => {
  feed.close()
  rmSync(dir, { recursive: true })
})

const line = (seq: number, attempt = 1) => `${JSON.stringify(makeEvent(seq, { run: 'r', attempt }))}\n`
/** The file is looked at again only after a few milliseconds. */
const later = () => setTimeout(10)
/** The ids of all blocks from this place on. */
function allIds(at: number): string[] {
  const found: string[] = []
  for (let block = feed.read(at); block; block = feed.read(block.next))
    found.push(...parseSse(block.bytes.toString()).map(({ id }) => id!))
  return found
}
const ids = (at: number) => parseSse(feed.read(at)?.bytes.toString() ?? '').map(({ id }) => id)

test('a journal that is not there yet has nothing, and is found when it comes', async () => {
  expect([feed.read(0), feed.run_id, feed.after(1, 1)]).toEqual([undefined, undefined, undefined])
  writeFileSync(path, line(1))
  await later()
  expect(feed.run_id).toBe('r')
  expect(ids(0)).toEqual(['r:1'])
})

test('one that is only a link is none', async () => {
  writeFileSync(join(dir, 'secret'), line(1))
  symlinkSync(join(dir, 'secret'), path)
  expect(feed.read(0)).toBe(undefined)
  expect(feed.run_id).toBe(undefined)
})

test('readers at the same place get the same block', () => {
  writeFileSync(path, line(1) + line(2))
  const block = feed.read(0)
  expect(block).toBeDefined()
  expect(feed.read(0)).toBe(block)
  expect(feed.read(block!.next)).toBe(undefined)
})

test('finds the place after an event, past lines that are none', () => {
  writeFileSync(
    path,
    `${line(1)}nonsense\n{"run_id":"r","seq":"1","attempt_number":1}\n${line(2)}${line(1, 2)}`,
  )
  expect(feed.read(feed.after(1, 1)!)?.fault).toMatchObject({ code: 'JOURNAL_MISMATCH', at: line(1).length })
  expect(ids(feed.after(1, 2)!)).toEqual(['r:2.1'])
  expect(feed.after(1, 3)).toBe(undefined)
  expect(feed.after(3, 1)).toBe(undefined)
})

test('finds a place far behind without reading everything before it', () => {
  const lines = Array.from({ length: 3000 }, (_, n) => line(n + 1))
  lines.splice(1500, 0, 'nonsense\n')
  writeFileSync(path, lines.join(''))
  expect(ids(feed.after(1, 2998)!)).toEqual(['r:2999', 'r:3000'])
  expect(ids(feed.after(1, 10)!)[0]).toBe('r:11')
})

test('finds a place behind a long event without reading everything before it', () => {
  const long = `${JSON.stringify(makeEvent(2, { run: 'r', text: 'x'.repeat(100_000) }))}\n`
  const lines = Array.from({ length: 5000 }, (_, n) => line(n + 3))
  writeFileSync(path, line(1) + long + lines.join(''))
  const read = vi.spyOn(fs, 'readSync')
  try {
    expect(ids(feed.after(1, 5001)!)).toEqual(['r:5002'])
    const bytes = read.mock.results.reduce((sum, { value }) => sum + Number(value), 0)
    expect(bytes).toBeLessThan(5 * 64 * 1024)
  } finally {
    read.mockRestore()
  }
})

test('notices a journal that shrank and grew again, though it begins in the same way', async () => {
  writeFileSync(path, line(1) + line(2) + line(3))
  const { next } = feed.read(0)!
  const other = (seq: number) => `${JSON.stringify(makeEvent(seq, { run: 'r', text: 'other' }))}\n`
  truncateSync(path, line(1).length)
  appendFileSync(path, other(2) + other(3) + other(4))
  await later()
  feed.read(next)
  expect(feed.generation).toBe(1)
  expect(ids(0)).toEqual(['r:1', 'r:2', 'r:3', 'r:4'])
  truncateSync(path, line(1).length)
  await later()
  expect(ids(0)).toEqual(['r:1'])
  expect(feed.generation).toBe(2)
  appendFileSync(path, line(2))
  await later()
  expect(ids(feed.after(1, 1)!)).toEqual(['r:2'])
  expect(feed.generation).toBe(2)
})

test('notices it too if the other journal was read before that', async () => {
  writeFileSync(path, line(1) + line(2))
  const { next } = feed.read(0)!
  const other = (seq: number) => `${JSON.stringify(makeEvent(seq, { run: 'r', text: 'x'.repeat(9000) }))}\n`
  // As long as before, up to where it was read; all in less time than passes between two checks.
  writeFileSync(path, `${'x'.repeat(next - 1)}\n${other(3)}`)
  feed.read(next)
  await later()
  feed.read(next)
  expect(feed.generation).toBe(1)
})

test('a torn tail that is repaired is no other journal', async () => {
  writeFileSync(path, `${line(1)}{"torn`)
  const { next } = feed.read(0)!
  await later()
  truncateSync(path, line(1).length)
  appendFileSync(path, line(2))
  await later()
  expect(ids(next)).toEqual(['r:2'])
  expect(feed.generation).toBe(0)
})

test('notices another journal in its place, also one that begins in the same way', async () => {
  writeFileSync(path, line(1))
  expect(ids(0)).toEqual(['r:1'])
  appendFileSync(path, line(2))
  await later()
  expect(feed.generation).toBe(0)
  expect(ids(line(1).length)).toEqual(['r:2'])
  writeFileSync(join(dir, 'new'), `${line(1)}${line(1, 2)}`)
  renameSync(join(dir, 'new'), path)
  await later()
  expect(ids(0)).toEqual(['r:1', 'r:2.1'])
  expect(feed.generation).toBe(1)
  rmSync(path)
  await later()
  expect(feed.read(0)).toBe(undefined)
  expect(feed.generation).toBe(2)
})

test('wakes who waits when something is added, when it is left, and when it is closed', async () => {
  writeFileSync(path, line(1))
  const leave = new AbortController()
  const added = feed.more(new AbortController().signal)
  appendFileSync(path, line(2))
  await added
  const left = feed.more(leave.signal)
  leave.abort()
  await left
  await feed.more(leave.signal)
  const closed = feed.more(new AbortController().signal)
  feed.close()
  await closed
})

test('gives a line that is longer than a block', () => {
  const long = `${JSON.stringify(makeEvent(1, { run: 'r', text: 'x'.repeat(300_000) }))}\n`
  writeFileSync(path, long + line(2))
  expect(ids(0)).toEqual(['r:1', 'r:2'])
})

test.runIf(existsSync('/proc/self/fd'))('one that is a directory is none, and is not held open', async () => {
  mkdirSync(path)
  const open = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path
      } catch {
        return false
      }
    })
  for (let look = 0; look < 3; look++) {
    expect(feed.read(0)).toBe(undefined)
    await later()
  }
  expect(open()).toEqual([])
})

test.runIf(slow)('an event that is too long is left out, and what follows it comes', async () => {
  writeFileSync(path, line(1))
  // A hole of zeros, which costs no disk: one line of 150 MiB.
  truncateSync(path, 150 << 20)
  appendFileSync(path, `\n${line(3)}`)
  expect(allIds(0)).toEqual(['r:1', 'r:3'])
  expect(allIds(feed.after(1, 1)!)).toEqual(['r:3'])
  expect(feed.read(feed.after(1, 3)!)).toBe(undefined)
})

test.runIf(slow)('an event that is too long and not whole yet is waited for', async () => {
  writeFileSync(path, '')
  truncateSync(path, 70 << 20)
  expect(allIds(0)).toEqual([])
  appendFileSync(path, `\n${line(2)}`)
  await later()
  expect(allIds(0)).toEqual(['r:2'])
  expect(feed.run_id).toBe('r')
})

test('a line that is no event is a torn tail until an event follows it', async () => {
  writeFileSync(path, `${line(1)}nonsense\n{"a":1}\n`)
  const first = feed.read(0)!
  expect([parseSse(first.bytes.toString()).length, first.next]).toEqual([1, line(1).length])
  expect(feed.read(first.next, first.last)).toBe(undefined)
  appendFileSync(path, line(2))
  await later()
  const { bytes, fault } = feed.read(first.next, first.last)!
  expect([bytes.length, fault?.code, fault?.at]).toEqual([0, 'JOURNAL_MISMATCH', first.next])
})

test.each([
  ['is there twice', [line(1), line(2), line(2), line(3)]],
  ['was dropped', [line(1), line(2), line(4)]],
  ['is in another place', [line(1), line(2), line(4), line(3)]],
  ['begins a new attempt, but not with 1', [line(1), line(2), line(2, 2)]],
  ['begins an earlier attempt', [line(1, 2), line(2, 2), line(1, 1)]],
  ['is of another run', [line(1), line(2), `${JSON.stringify(makeEvent(3, { run: 'other' }))}\n`]],
])('an event that %s ends what is sent, also at the start of a block', (_what, lines) => {
  writeFileSync(path, lines.join(''))
  const at = lines[0]!.length + lines[1]!.length
  const { bytes, next, last } = feed.read(0)!
  expect([parseSse(bytes.toString()).length, next, last?.seq]).toEqual([2, at, 2])
  expect(feed.read(next, last)?.fault).toMatchObject({ code: 'JOURNAL_MISMATCH', at })
})
