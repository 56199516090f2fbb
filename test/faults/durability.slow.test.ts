import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { type JournalOptions, journal } from '../../src/disk/journal.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { run } from '../../src/run/run.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { makeEvent } from '../disk/make-event.ts'
import { agent, ran } from '../run/agent.ts'
import { resumedFault, tornFault, writers } from './killed-writer.ts'
import { type SmallDisk, smallDisk } from './small-disk.ts'

const { plain, write, remove } = writers()
afterAll(remove)
const fresh = () => mkdtempSync(join(tmpdir(), 'sluice-faults-'))
const linesOf = (dir: string, name = 'events.jsonl') =>
  readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1)
const seqsOf = (dir: string, name?: string) => linesOf(dir, name).map((line) => JSON.parse(line).seq)
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

async function pass(dir: string, events: Iterable<AgentEvent>, options?: JournalOptions): Promise<number> {
  let passed = 0
  for await (const _event of Readable.from(events).pipe(journal(dir, options))) passed++
  return passed
}

afterEach(() => void vi.restoreAllMocks())

const someEvents = (count: number) =>
  upTo(count).map((seq) => makeEvent(seq, { diagnostic: (seq - 1) % 3 === 1 }))

test('kill -9 at every call of the file system, then a resume: the prefix is intact, nothing acknowledged is lost, no event is written twice, no line is torn', async () => {
  const events = someEvents(4)
  const { calls = 0 } = await write(fresh(), events)
  expect(calls).toBeGreaterThan(20)
  const check = async (call: number, part: number) => {
    const dir = fresh()
    const { signal, acknowledged } = await write(dir, events, { call, part })
    expect(signal, `call ${call}`).toBe('SIGKILL')
    expect(tornFault(dir, events, acknowledged), `call ${call}`).toBe(undefined)
    await pass(dir, events)
    expect(resumedFault(dir, events), `call ${call}`).toBe(undefined)
    rmSync(dir, { recursive: true })
    return acknowledged.length
  }
  const acknowledged: number[] = []
  const work = upTo(calls).flatMap((call) => [0, 0.5].map((part) => [call, part] as const))
  const next = async (): Promise<void> => {
    for (let one = work.shift(); one; one = work.shift()) acknowledged.push(await check(...one))
  }
  await Promise.all([next(), next(), next()])
  // The kills really fall before, between and after the events.
  expect(new Set(acknowledged).size).toBe(5)
}, 120_000)

// The whole product under the same fault: `test/run/kill.slow.test.ts`, and `bench/kill.ts`.
const kills = Number(process.env['SLUICE_KILLS'] ?? 9)

test(`kill -9 at random times (${kills}; SLUICE_KILLS=1000 for more), then a resume`, async () => {
  const events = someEvents(300)
  let left = kills
  let inside = 0
  const next = async () => {
    while (left-- > 0) {
      const dir = fresh()
      const { acknowledged } = await write(dir, events, { ms: Math.random() * 60 })
      if (acknowledged.length > 0 && acknowledged.length < events.length) inside++
      expect(tornFault(dir, events, acknowledged)).toBe(undefined)
      await pass(dir, events)
      expect(resumedFault(dir, events)).toBe(undefined)
      rmSync(dir, { recursive: true })
    }
  }
  await Promise.all([next(), next(), next()])
  expect(inside).toBeGreaterThan(kills / 4)
}, 600_000)

const disk = smallDisk('64k')
const mounted = typeof disk !== 'string'
if (mounted) disk.remove()
const withDisk = async (size: string, body: (disk: SmallDisk) => Promise<void>) => {
  const made = smallDisk(size) as SmallDisk
  try {
    await body(made)
  } finally {
    made.remove()
  }
}
const reason = mounted ? '' : ` (skipped: ${disk})`

test.runIf(mounted)(
  `ENOSPC on a real full file system (tmpfs): a typed error, whole lines, and a retry without duplicates${reason}`,
  () =>
    withDisk('64k', async (small) => {
      const dir = join(small.dir, 'audit')
      const events = upTo(400).map((seq) => makeEvent(seq))
      let passed = 0
      const failed = (async () => {
        for await (const _event of Readable.from(events).pipe(journal(dir))) passed++
      })()
      await expect(failed).rejects.toMatchObject({
        code: 'JOURNAL_FAILED',
        message: expect.stringContaining('ENOSPC'),
      })
      const kept = seqsOf(dir)
      expect(kept.length).toBeGreaterThan(20)
      expect(kept).toEqual(upTo(kept.length))
      expect(passed).toBeLessThanOrEqual(kept.length)
      expect(readFileSync(join(dir, 'events.jsonl')).at(-1)).toBe(10)
      small.remount('size=4m')
      await pass(dir, events)
      expect(seqsOf(dir)).toEqual(upTo(400))
    }),
)

/**
 * Runs an agent that never ends by itself; it is over when the reader hears of the end, and so is the lock.
 */
async function goesOn(cwd: string, audit: string, leave: (live: ReturnType<typeof run>) => Promise<unknown>) {
  const flood =
    "fs.writeFileSync('pid', String(process.pid)); say(lines[0]); for (;;) { say('x'.repeat(4000)); await sleep(0) }"
  const error = await leave(run({ ...agent(cwd, flood), engine: codex, cwd, audit, fsDiff: false }))
  expect(existsSync(join(audit, 'journal.lock'))).toBe(false)
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'))
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  return error
}
const readAll = async (live: AsyncIterable<AgentEvent>): Promise<unknown> => {
  try {
    for await (const _ of live);
    return undefined
  } catch (error) {
    return error
  }
}

test.runIf(mounted)(
  `ENOSPC on a real full file system (tmpfs) under a whole run: one fault, the agent is gone and the lock free when the reader hears of it, and the next attempt goes on${reason}`,
  () =>
    withDisk('256k', async (small) => {
      const cwd = fresh()
      const audit = join(small.dir, 'audit')
      const error = await goesOn(cwd, audit, readAll)
      expect(error).toMatchObject({ code: expect.stringMatching(/^(RECORD_FAILED|JOURNAL_FAILED)$/) })
      for (const line of linesOf(audit)) JSON.parse(line)
      small.remount('size=8m')
      const { events, end } = await ran({ ...agent(cwd, 'for (const line of lines) say(line)'), cwd, audit })
      expect([end.attempt, end.completion.state]).toEqual([2, 'awaiting_user_input'])
      const all = linesOf(audit).map((line) => JSON.parse(line) as AgentEvent)
      expect(all.slice(-events.length)).toEqual(events)
      expect(new Set(all.map((event) => event.correlation.event_id)).size).toBe(all.length)
    }),
)

test('after ENOSPC in the journal alone (injected at the fs layer) the lock is free when the reader hears of it', async () => {
  const cwd = fresh()
  const real = fs.writeSync
  const error = await goesOn(cwd, join(cwd, '.audit'), async (live) => {
    let calls = 0
    vi.spyOn(fs, 'writeSync').mockImplementation(((fd: number, bytes: Buffer, ...rest: number[]) => {
      if (bytes.includes('"rasp/1.0"') && ++calls > 3)
        throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      return real(fd, bytes, ...(rest as [number, number, number]))
    }) as typeof fs.writeSync)
    const failed = await readAll(live)
    vi.restoreAllMocks()
    return failed
  })
  expect(error).toMatchObject({ code: 'JOURNAL_FAILED', message: expect.stringContaining('ENOSPC') })
})

test.each(['stdout', 'stderr'])(
  'EMFILE when %s is read (injected at the fs layer): a typed error',
  async (channel) => {
    const cwd = fresh()
    const real = fs.openSync
    vi.spyOn(fs, 'openSync').mockImplementation((path, flags, mode) => {
      if (String(path).endsWith(`${channel}.1.log`) && !(Number(flags) & fs.constants.O_WRONLY))
        throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
      return real(path, flags, mode)
    })
    const body = "say(lines[0]); fs.writeSync(2, 'a word\\n'); for (;;) await sleep(1000)"
    const live = run({ ...agent(cwd, body), engine: codex, cwd, audit: join(cwd, '.audit'), fsDiff: false })
    expect(await readAll(live)).toMatchObject({
      code: 'RECORD_FAILED',
      message: expect.stringMatching(/cannot read .* \(EMFILE\)/),
    })
  },
)

test('ENOSPC when the end of a run is noted (injected at the fs layer): a typed error', async () => {
  const cwd = fresh()
  const real = fs.writeFileSync
  vi.spyOn(fs, 'writeFileSync').mockImplementation(((path: string, text: string, options: object) => {
    if (/meta\.1\.json/.test(path) && /"exit_code": 0/.test(text))
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    real(path, text, options)
  }) as typeof fs.writeFileSync)
  const body = 'for (const line of lines) say(line)'
  const live = run({ ...agent(cwd, body), engine: codex, cwd, audit: join(cwd, '.audit'), fsDiff: false })
  expect(await readAll(live)).toMatchObject({
    code: 'RECORD_FAILED',
    message: expect.stringContaining('ENOSPC'),
  })
  vi.restoreAllMocks()
  expect(existsSync(join(cwd, '.audit', 'journal.lock'))).toBe(false)
})

test.runIf(mounted)(`EROFS on a real read-only file system (tmpfs): said at once${reason}`, () =>
  withDisk('64k', async (small) => {
    small.remount('ro')
    expect(() => journal(join(small.dir, 'audit'))).toThrow(
      expect.objectContaining({ code: 'JOURNAL_FAILED', message: expect.stringContaining('EROFS') }),
    )
  }),
)

// A short write and a failing fsync (injected at the fs layer): test/disk/journal.test.ts.

test('two writers on one run directory: the second process is refused by the lock, and a stale lock is taken over', async () => {
  const dir = fresh()
  const hold = `
    import { openJournal } from ${JSON.stringify(join(plain, 'src/disk/journal.js'))}
    import { makeEvent } from ${JSON.stringify(join(plain, 'test/disk/make-event.js'))}
    const book = openJournal(${JSON.stringify(dir)})
    book.append(makeEvent(1))
    process.stdout.write('open')
    setInterval(() => {}, 1000)`
  const first = spawn(process.execPath, ['--input-type=module', '-e', hold])
  await once(first.stdout, 'data')
  expect(() => journal(dir)).toThrow(expect.objectContaining({ code: 'JOURNAL_LOCKED' }))
  const second = spawn(process.execPath, ['--input-type=module', '-e', hold])
  let said = ''
  second.stderr.on('data', (bytes) => {
    said += bytes
  })
  const [code] = await once(second, 'close')
  expect([code, said.includes('JOURNAL_LOCKED')]).toEqual([1, true])
  expect(seqsOf(dir)).toEqual([1])
  first.kill('SIGKILL')
  await once(first, 'exit')
  expect(existsSync(join(dir, 'journal.lock'))).toBe(true)
  await pass(dir, [makeEvent(1), makeEvent(2)])
  expect(seqsOf(dir)).toEqual([1, 2])
  expect(readdirSync(dir).filter((name) => name.includes('lock'))).toEqual([])
})

const message = (text: string) =>
  `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"${text}"}}\n`
const textsOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'agent.message.final' ? [(event.data as { text: string }).text] : [],
  )

// A log that is truncated, rotated or swapped, and a checkpoint ahead of it: test/run/replay.test.ts.

test('a clock that goes back, skew between streams, a DST jump: order by seq, and a time is never what decides', async () => {
  const hour = 3_600_000
  // Forwards, an hour back, two hours on, then frozen.
  const times = [5 * hour, 4 * hour, 6 * hour, 3 * hour, 3 * hour]
  const chunks: Chunk[] = []
  for (const text of ['same', 'same', 'b']) {
    chunks.push({ channel: 'stdout', bytes: Buffer.from(message(text)), channels: ['stdout', 'pty'] })
    chunks.push({ channel: 'pty', bytes: Buffer.from(message(text).replace('\n', '\r\n')) })
  }
  const read = (clock: () => number) => drive(eventStage(codex, { clock }), chunks)
  let asked = 0
  const odd = read(() => times[asked++ % times.length]!)
  const even = read(() => 0)
  const timeless = (events: readonly AgentEvent[]) => events.map((event) => ({ ...event, ts: '' }))
  // Whatever the clock says, the same events in the same order: twins paired, equal ones of one stream kept.
  expect(timeless(odd)).toEqual(timeless(even))
  expect(textsOf(odd)).toEqual(['same', 'same', 'b'])
  expect(odd.map((event) => event.seq)).toEqual(upTo(odd.length))
  expect(odd.map((event) => event.ts)).not.toEqual(odd.map((event) => event.ts).sort())
  // And the journal takes them as they come, and knows them again at another time.
  const dir = fresh()
  await pass(dir, odd)
  await pass(dir, even)
  expect(seqsOf(dir)).toEqual(upTo(odd.length))
  rmSync(dir, { recursive: true })
})
