import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { type JournalOptions, journal, openJournal } from '../../src/disk/journal.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { built } from '../built.ts'
import { slow } from '../pace.ts'
import { makeEvent } from './make-event.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'sluice-journal-'))
const lines = (dir: string, name = 'events.jsonl') =>
  readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1)
const seqs = (dir: string, name?: string) => lines(dir, name).map((line) => JSON.parse(line).seq)

async function pass(dir: string, events: AgentEvent[], options?: JournalOptions): Promise<AgentEvent[]> {
  const passed: AgentEvent[] = []
  for await (const event of Readable.from(events).pipe(journal(dir, options))) passed.push(event)
  return passed
}

afterEach(() => void vi.restoreAllMocks())

test.each(['each', 'interval', 'end'] as const)(
  'keeps every event before it passes it on (fsync %s)',
  async (fsync) => {
    const dir = fresh()
    const events = [makeEvent(1), makeEvent(2, { diagnostic: true }), makeEvent(3, { text: 'ü\n\u2028' })]
    const book = journal(dir, { fsync, interval: 5 })
    Readable.from(events).pipe(book)
    let passed = 0
    for await (const event of book) {
      passed++
      expect(lines(dir).length).toBeGreaterThanOrEqual(passed)
      expect(event).toBe(events[passed - 1])
    }
    expect(lines(dir)).toEqual(events.map((event) => JSON.stringify(event)))
    expect(lines(dir, 'parser_diagnostics.jsonl')).toEqual([JSON.stringify(events[1])])
    expect(existsSync(join(dir, 'journal.lock'))).toBe(false)
  },
)

test('stores several events with one write each file, and none of them if one does not belong there', () => {
  const dir = fresh()
  const book = openJournal(dir)
  const write = vi.spyOn(fs, 'writeSync')
  const events = [makeEvent(1), makeEvent(2, { diagnostic: true }), makeEvent(3)]
  expect(book.appendAll(events)).toBe(3)
  expect(write).toHaveBeenCalledTimes(2)
  expect(() => book.appendAll([makeEvent(4), makeEvent(6)])).toThrow('event 6 of attempt 1 arrives')
  expect(book.appendAll([makeEvent(4)])).toBe(1)
  book.close()
  expect(seqs(dir)).toEqual([1, 2, 3, 4])
  expect(seqs(dir, 'parser_diagnostics.jsonl')).toEqual([2])
})

test('asks the disk after each event with fsync each, and once at the end with fsync end', async () => {
  const sync = vi.spyOn(fs, 'fdatasyncSync')
  await pass(fresh(), [makeEvent(1), makeEvent(2)], { fsync: 'each' })
  expect(sync).toHaveBeenCalledTimes(2)
  sync.mockClear()
  await pass(fresh(), [makeEvent(1), makeEvent(2)], { fsync: 'end' })
  expect(sync).toHaveBeenCalledTimes(1)
})

test('a second writer is refused while the first lives, and welcome afterwards', async () => {
  const dir = fresh()
  const first = journal(dir)
  expect(() => journal(dir)).toThrow(expect.objectContaining({ code: 'JOURNAL_LOCKED' }))
  first.destroy()
  await once(first, 'close')
  await pass(dir, [makeEvent(1)])
  expect(seqs(dir)).toEqual([1])
})

test('a reader that leaves early frees the directory', async () => {
  const dir = fresh()
  const book = Readable.from([makeEvent(1), makeEvent(2)]).pipe(journal(dir))
  const closed = once(book, 'close')
  for await (const _event of book) break
  await closed
  await pass(dir, [makeEvent(1), makeEvent(2), makeEvent(3)])
  expect(seqs(dir)).toEqual([1, 2, 3])
})

test.each([
  ['half a line', '{"protocol_version":"ra'],
  ['a line without its LF', JSON.stringify(makeEvent(3))],
  ['zeros', '\0'.repeat(5000)],
  ['zeros with a line end', `${'\0'.repeat(70_000)}\n`],
  ['a long torn line', `{"text":"${'x'.repeat(200_000)}`],
])('repairs a tail of %s', async (_name, tail) => {
  const dir = fresh()
  await pass(dir, [makeEvent(1), makeEvent(2)])
  appendFileSync(join(dir, 'events.jsonl'), tail)
  const passed = await pass(dir, [makeEvent(1), makeEvent(2), makeEvent(3)])
  expect(passed.map((event) => event.seq)).toEqual([1, 2, 3])
  expect(lines(dir)).toEqual([1, 2, 3].map((seq) => JSON.stringify(makeEvent(seq))))
})

test('cut anywhere, it ends up whole when the run is fed again', async () => {
  const events = Array.from({ length: 6 }, (_, i) =>
    makeEvent(i + 1, { diagnostic: i % 2 === 1, text: 'é'.repeat(9) }),
  )
  const whole = fresh()
  await pass(whole, events)
  const bytes = readFileSync(join(whole, 'events.jsonl'))
  for (let cut = 0; cut <= bytes.length; cut += slow ? 23 : 203) {
    const dir = fresh()
    await pass(dir, events)
    truncateSync(join(dir, 'events.jsonl'), cut)
    await pass(dir, events)
    expect(readFileSync(join(dir, 'events.jsonl')).equals(bytes)).toBe(true)
    expect(seqs(dir, 'parser_diagnostics.jsonl')).toEqual([2, 4, 6])
  }
})

test('a diagnostic that only reached the first file reaches the second at the next start', async () => {
  const dir = fresh()
  await pass(dir, [makeEvent(1), makeEvent(2, { diagnostic: true })])
  truncateSync(join(dir, 'parser_diagnostics.jsonl'), 0)
  await pass(dir, [])
  expect(seqs(dir, 'parser_diagnostics.jsonl')).toEqual([2])
})

test('a new attempt counts from 1 again, and a gap is refused', async () => {
  const dir = fresh()
  await pass(dir, [makeEvent(1), makeEvent(2)])
  await pass(dir, [makeEvent(1, { attempt: 2 })])
  expect(seqs(dir)).toEqual([1, 2, 1])
  await expect(pass(dir, [makeEvent(3, { attempt: 2 })])).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  await expect(pass(dir, [makeEvent(2, { attempt: 3 })])).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  expect(seqs(dir)).toEqual([1, 2, 1])
})

test('other events under the same numbers are refused, not silently dropped', async () => {
  const dir = fresh()
  await pass(dir, [makeEvent(1), makeEvent(2)])
  await expect(pass(dir, [makeEvent(1, { text: 'something else' })])).rejects.toMatchObject({
    code: 'JOURNAL_MISMATCH',
  })
  await expect(pass(dir, [makeEvent(1, { run: 'r2' })])).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  expect(seqs(dir)).toEqual([1, 2])
})

const one = (seq: number, more = {}) => `${JSON.stringify(makeEvent(seq, more))}\n`

test.each([
  ['a broken line inside', [one(1), `${one(2).slice(0, 50)}\n`, one(3)], 1],
  ['a line inside that is no event', [one(1), '{"a":1}\n', one(2)], 1],
  ['an event that lost the line end before it', [one(1), one(2).trim() + one(3), one(4)], 1],
  ['a line of zeros inside', [one(1), `${'\0'.repeat(40)}\n`, one(2)], 1],
  ['all of its lines twice', [one(1), one(2), one(1), one(2)], 2],
  ['a line twice', [one(1), one(2), one(2), one(3)], 2],
  ['a line that is missing', [one(1), one(3)], 1],
  ['no first line', [one(2), one(3)], 0],
  ['two lines in the wrong order', [one(1), one(3), one(2)], 1],
  ['an attempt before the one it follows', [one(1, { attempt: 2 }), one(1)], 1],
  ['the event of another run', [one(1), one(2, { run: 'r2' }), one(3)], 1],
])('a journal with %s is refused with the place, and stays as it is', (_what, found, bad) => {
  const dir = fresh()
  writeFileSync(join(dir, 'events.jsonl'), found.join(''))
  expect(() => journal(dir)).toThrow(
    expect.objectContaining({
      name: 'Fault',
      code: 'JOURNAL_MISMATCH',
      at: Buffer.byteLength(found.slice(0, bad).join('')),
      message: expect.stringContaining('move this file away'),
    }),
  )
  expect(readFileSync(join(dir, 'events.jsonl'), 'utf8')).toBe(found.join(''))
  expect(existsSync(join(dir, 'journal.lock'))).toBe(false)
})

test('a broken line in the diagnostics is a fault with a code', () => {
  const dir = fresh()
  writeFileSync(join(dir, 'events.jsonl'), one(1))
  const newer = one(9, { diagnostic: true })
  writeFileSync(join(dir, 'parser_diagnostics.jsonl'), `broken\n${newer}`)
  expect(() => journal(dir)).toThrow(expect.objectContaining({ code: 'JOURNAL_MISMATCH' }))
})

test('a file of diagnostics that cannot be opened when the first one comes is a clear fault', async () => {
  const dir = fresh()
  const book = journal(dir)
  expect(readFileSync(join(dir, 'parser_diagnostics.jsonl'), 'utf8')).toBe('')
  const real = fs.openSync
  vi.spyOn(fs, 'openSync').mockImplementation((path, ...rest) => {
    if (String(path).includes('diagnostics')) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
    return real(path, ...rest)
  })
  const events = [makeEvent(1), makeEvent(2, { diagnostic: true })]
  const passed: number[] = []
  const failed = (async () => {
    for await (const event of Readable.from(events).pipe(book)) passed.push(event.seq)
  })()
  await expect(failed).rejects.toMatchObject({
    code: 'JOURNAL_FAILED',
    message: expect.stringContaining('parser_diagnostics.jsonl" (EMFILE)'),
  })
  expect(passed).toEqual([1])
  vi.restoreAllMocks()
  await pass(dir, events)
  expect(readFileSync(join(dir, 'parser_diagnostics.jsonl'), 'utf8')).toBe(`${JSON.stringify(events[1])}\n`)
})

test.each(['ENOSPC', 'EIO', 'EROFS'])(
  '%s in mid-line is a clear fault with nothing torn behind it',
  async (code) => {
    const dir = fresh()
    const real = fs.writeSync
    let calls = 0
    const events = [makeEvent(1), makeEvent(2), makeEvent(3)]
    const book = journal(dir)
    vi.spyOn(fs, 'writeSync').mockImplementation(((
      fd: number,
      bytes: Buffer,
      from: number,
      length: number,
      at: number,
    ) => {
      // The second line is written in part, as a full disk does it; then comes the error.
      calls++
      if (calls === 2) return real(fd, bytes, from, 20, at)
      if (calls === 3) throw Object.assign(new Error(code), { code })
      return real(fd, bytes, from, length, at)
    }) as typeof fs.writeSync)
    const passed: number[] = []
    const failed = (async () => {
      for await (const event of Readable.from(events).pipe(book)) passed.push(event.seq)
    })()
    await expect(failed).rejects.toMatchObject({
      code: 'JOURNAL_FAILED',
      message: expect.stringContaining(code),
    })
    expect(calls).toBe(3)
    expect(readFileSync(join(dir, 'events.jsonl'), 'utf8')).toBe(`${JSON.stringify(events[0])}\n`)
    vi.restoreAllMocks()
    await pass(dir, events)
    expect(seqs(dir)).toEqual([1, 2, 3])
  },
)

test.each(['each', 'end'] as const)(
  'a sync that fails (fsync %s) ends the flow, and nothing is written behind it',
  async (fsync) => {
    const dir = fresh()
    vi.spyOn(fs, 'fdatasyncSync').mockImplementation(() => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    })
    const events = [makeEvent(1), makeEvent(2), makeEvent(3)]
    await expect(pass(dir, events, { fsync })).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    vi.restoreAllMocks()
    expect(seqs(dir)).toEqual(fsync === 'each' ? [1] : [1, 2, 3])
    await pass(dir, events)
    expect(seqs(dir)).toEqual([1, 2, 3])
  },
)

test('does not write through a link', () => {
  const dir = fresh()
  writeFileSync(join(dir, 'elsewhere'), 'precious')
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'events.jsonl'))
  expect(() => journal(dir)).toThrow('symbolic link')
  expect(readFileSync(join(dir, 'elsewhere'), 'utf8')).toBe('precious')
})

test('a directory that cannot be made is said at once', () => {
  const dir = fresh()
  writeFileSync(join(dir, 'file'), '')
  expect(() => journal(join(dir, 'file', 'audit'))).toThrow(
    expect.objectContaining({ code: 'JOURNAL_FAILED' }),
  )
})

test.runIf(slow && process.platform !== 'win32')('a real limit on the file size tears no line', async () => {
  const dir = fresh()
  const script = `
    import { Readable } from 'node:stream'
    import { journal } from ${JSON.stringify(built('src/serve.ts'))}
    import { makeEvent } from ${JSON.stringify(built('test/disk/make-event.ts'))}
    function* many() { for (let seq = 1; seq < 10000; seq++) yield makeEvent(seq) }
    try { for await (const event of Readable.from(many()).pipe(journal(${JSON.stringify(dir)}))) globalThis.last = event.seq }
    catch (error) { console.log(JSON.stringify({ code: error.code, cause: error.cause?.code, last: globalThis.last })) }`
  // 64 blocks of 512 bytes; the signal that would kill is ignored, so that the write itself fails.
  const child = spawn('sh', [
    '-c',
    'trap "" XFSZ; ulimit -f 64; exec "$@"',
    'sh',
    process.execPath,
    '--input-type=module',
    '-e',
    script,
  ])
  let said = ''
  child.stdout.on('data', (bytes) => (said += bytes))
  await once(child, 'close')
  const { code, cause, last } = JSON.parse(said)
  expect([code, cause]).toEqual(['JOURNAL_FAILED', 'EFBIG'])
  const kept = seqs(dir)
  expect(kept.length).toBeGreaterThan(10)
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => i + 1))
  expect(last).toBeLessThanOrEqual(kept.length)
  expect(readFileSync(join(dir, 'events.jsonl')).at(-1)).toBe(10)
})

test('takes a run that is fed again from its middle, but no event twice', async () => {
  const dir = fresh()
  await pass(dir, [makeEvent(1), makeEvent(2), makeEvent(3)])
  await pass(dir, [makeEvent(2), makeEvent(3), makeEvent(4)])
  expect(seqs(dir)).toEqual([1, 2, 3, 4])
  await expect(pass(dir, [makeEvent(4), makeEvent(4)])).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH' })
  expect(seqs(dir)).toEqual([1, 2, 3, 4])
})

test.each(['null', '7', '"text"', '{}', '{"run_id":"r","seq":1,"attempt_number":1}', '{"seq":1,"event":{}}'])(
  'a journal that ends with %s is not ours: it is refused and left as it is',
  (line) => {
    for (const name of ['events.jsonl', 'parser_diagnostics.jsonl']) {
      const dir = fresh()
      writeFileSync(join(dir, name), `${line}\n`)
      expect(() => journal(dir)).toThrow(expect.objectContaining({ code: 'JOURNAL_MISMATCH' }))
      expect(readFileSync(join(dir, name), 'utf8')).toBe(`${line}\n`)
      expect(existsSync(join(dir, 'journal.lock'))).toBe(false)
    }
  },
)

/** A journal with an event, whose disk is asked and has not answered yet. */
async function syncing() {
  const dir = fresh()
  let answer: ((error: Error | null) => void) | undefined
  vi.spyOn(fs, 'fdatasync').mockImplementation((_fd, done) => {
    answer = done as typeof answer
  })
  const book = journal(dir, { interval: 1 })
  book.write(makeEvent(1))
  book.resume()
  while (!answer) await setTimeout(1)
  return { dir, book, answer }
}

test.each([
  ['fails', Object.assign(new Error('EIO'), { code: 'EIO' }), { code: 'JOURNAL_FAILED' }],
  ['is well', null, undefined],
])('a sync in the background that %s after the last event is part of the end', async (_how, error, fault) => {
  const { dir, book, answer } = await syncing()
  let ended: unknown
  const end = finished(book).then(
    () => {
      ended = 'well'
    },
    (failure: unknown) => {
      ended = failure
    },
  )
  book.end()
  await setTimeout(20)
  expect(ended).toBe(undefined)
  answer(error)
  await end
  if (fault) expect(ended).toMatchObject(fault)
  else expect(ended).toBe('well')
  expect(existsSync(join(dir, 'journal.lock'))).toBe(false)
})

test('a journal that is destroyed while it waits for the disk writes nothing more', async () => {
  const { dir, book, answer } = await syncing()
  book.end()
  await setTimeout(5)
  book.destroy()
  await once(book, 'close')
  answer(null)
  await setTimeout(5)
  expect(seqs(dir)).toEqual([1])
  await pass(dir, [makeEvent(1), makeEvent(2)])
  expect(seqs(dir)).toEqual([1, 2])
})

test('a directory that holds another run says which, and what to do', async () => {
  const dir = fresh()
  await pass(dir, [makeEvent(1), makeEvent(2)])
  const holds = `"${dir}" already holds run "r1" up to event 2 of attempt 1, but `
  const next =
    '; use a fresh directory for another run, or events(engine, { runId: "r1", attempt: 2 }) for one more attempt of this one'
  for (const [events, why] of [
    [[makeEvent(1, { run: 'r2' })], 'an event of run "r2" arrives'],
    [[makeEvent(1, { diagnostic: true })], 'event 1 of attempt 1 differs'],
    [[makeEvent(4)], 'event 4 of attempt 1 arrives where event 3 is next'],
  ] as const) {
    await expect(pass(dir, [...events])).rejects.toMatchObject({
      code: 'JOURNAL_MISMATCH',
      message: holds + why + next,
    })
  }
  await expect(pass(fresh(), [makeEvent(2)])).rejects.toMatchObject({
    message: expect.stringContaining('is empty, but event 2 of attempt 1 arrives where event 1 is next'),
  })
})
