import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import { openPlain } from '../../src/disk/plain-file.ts'
import { type JournalLine, JournalReader, linesIn, wholeLines } from '../../src/disk/read-journal.ts'
import { makeEvent } from './make-event.ts'

let dir = ''
let path = ''
let journal: JournalReader | undefined
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-lines-'))
  path = join(dir, 'events.jsonl')
})
afterEach(() => {
  journal?.close()
  journal = undefined
  rmSync(dir, { recursive: true })
})

function open(content: string): JournalReader {
  journal?.close()
  writeFileSync(path, content)
  journal = new JournalReader(openPlain(path), path)
  return journal
}
const line = (seq: number) => `${JSON.stringify(makeEvent(seq, { run: 'r' }))}\n`
const shown = (lines: JournalLine | 'too long' | undefined) =>
  typeof lines === 'object' ? [lines.bytes.toString(), lines.next] : lines

test.each([
  ['nothing', '', 0, undefined],
  ['a line without an end', 'abc', 0, undefined],
  ['whole lines, and no half one', 'a\nbc\nd', 0, ['a\nbc\n', 5]],
  ['those from a position on', 'a\nbc\nd', 2, ['bc\n', 5]],
  ['those that end within the limit', 'a\nb\nc\nde\nf\n', 0, ['a\nb\nc\nde\n', 9]],
  [
    'a first line that is longer than the limit, and some that follow it',
    'abcdefghijk\nl\n',
    0,
    ['abcdefghijk\nl\n', 14],
  ],
  ['nothing behind the end', 'a\n', 9, undefined],
  ['a line that is longer than any may be', 'x'.repeat(40), 0, 'too long'],
  ['one that just fits', `${'x'.repeat(31)}\n`, 0, [`${'x'.repeat(31)}\n`, 32]],
])('the whole lines of a file: %s', (_what, content, at, found) => {
  const { fd } = open(content)
  expect(shown(wholeLines(fd, at, 10, 32))).toEqual(found)
})

test('knows where each line begins and ends', () => {
  const { fd } = open('a\n\nbc\nd')
  const lines = wholeLines(fd, 2, 10) as JournalLine
  expect([...linesIn(lines)].map(({ bytes, at, next }) => [bytes.toString(), at, next])).toEqual([
    ['\n', 2, 3],
    ['bc\n', 3, 6],
  ])
})

/** The events from the start on, and how reading them ends. */
function eventsOf(reader: JournalReader): string {
  const found: number[] = []
  try {
    for (const { place } of reader.events(reader.lines(0)!, undefined)) found.push(place.seq)
    return found.join()
  } catch (error) {
    return `${found.join()} ${Fault.is(error) ? `${error.code} ${error.at}` : error}`
  }
}

test('gives events up to the first line that cannot follow', () => {
  expect(eventsOf(open(`${line(1)}${line(2)}nonsense\n${line(3)}`))).toBe('1,2')
  expect(eventsOf(open(`${line(1)}${line(3)}`))).toBe('1')
})

test('throws if the first one cannot follow, and waits if it is what a crash left', () => {
  expect(eventsOf(open(`nonsense\n${line(1)}`))).toBe(' JOURNAL_MISMATCH 0')
  expect(eventsOf(open(line(2)))).toBe(' JOURNAL_MISMATCH 0')
  const torn = open('nonsense\n{"a":1}\n')
  expect(eventsOf(torn)).toBe('')
  appendFileSync(path, line(1))
  expect(eventsOf(torn)).toBe(' JOURNAL_MISMATCH 0')
})

test('where the event before is unknown, any may follow', () => {
  const reader = open(line(7) + line(8))
  const found = [...reader.events(reader.lines(0)!, 'unknown')]
  expect(found.map(({ place, next }) => [place.seq, next])).toEqual([
    [7, line(7).length],
    [8, line(7).length + line(8).length],
  ])
})

test('notices that what it read was rewritten', () => {
  const reader = open(line(1))
  reader.lines(0)
  expect(reader.isSame()).toBe(true)
  appendFileSync(path, line(2))
  expect(reader.isSame()).toBe(true)
  writeFileSync(path, line(2) + line(3))
  expect(reader.isSame()).toBe(false)
})
