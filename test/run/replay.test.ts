import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { listAttempts } from '../../src/run/attempt-logs.ts'
import { follow } from '../../src/run/follow.ts'
import { type ReplayOptions, replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { run } from '../../src/run/run.ts'
import { slow } from '../pace.ts'
import { agent, codesOf, codexLines, ran, types, workspace } from './agent.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'sluice-replay-'))

async function all(path: string, options?: ReplayOptions): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of replay(path, options)) events.push(event)
  return events
}

test('reads any directory with the names of raw logs, with or without numbers', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'stdout.log'), codexLines.join('\n'))
  writeFileSync(
    join(dir, 'meta.json'),
    JSON.stringify({ engine: 'codex', exit_code: 0, started_at: '2026-01-02T03:04:05Z', duration_s: 1.5 }),
  )
  const events = await all(dir)
  expect(types(events)).toContain('agent.message.final')
  expect(events.at(-1)).toMatchObject({
    ts: '2026-01-02T03:04:06.500Z',
    data: { state: 'awaiting_user_input' },
    attempt_number: 1,
  })
  writeFileSync(join(dir, 'stdout.2.log'), codexLines.slice(0, 2).join('\n'))
  writeFileSync(join(dir, 'meta.2.json'), JSON.stringify({ engine: 'codex', exit_code: -9 }))
  const both = await all(dir)
  expect(both.at(-1)).toMatchObject({
    attempt_number: 2,
    data: { state: 'interrupted', evidence: { signal: 'SIGKILL' } },
  })
  expect(await all(dir, { attempt: 2 })).toEqual(both.slice(events.length))
})

test('reads a single log', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'run.log'), codexLines.join('\n'))
  expect(types(await all(join(dir, 'run.log'), { engine: codex }))).toContain('agent.message.final')
})

test('a single log may be named by a link, to read it and to follow it', async () => {
  const dir = fresh()
  const log = join(fresh(), 'elsewhere.log')
  const link = join(dir, 'run.log')
  writeFileSync(log, message('one'))
  symlinkSync(log, link)
  // What lies beside it is not its own.
  writeFileSync(join(dir, 'fs-diff.1.json'), '{"created":["x"]}')
  expect(texts(await all(link, { engine: codex }))).toEqual(['one'])
  const { flow, until } = following(link)
  await until((events) => texts(events).length === 1)
  appendFileSync(log, message('two'))
  const events = await until((events) => texts(events).length === 2)
  expect(texts(events)).toEqual(['one', 'two'])
  // The run is called by the directory that was named.
  expect(events[0]!.run_id).toBe(basename(dir))
  flow.destroy()
})

test('says what is wrong with a path that holds no run', async () => {
  await expect(all(fresh())).rejects.toMatchObject({ code: 'NOT_AN_AUDIT' })
  expect(() => replay(join(fresh(), 'nowhere'))).toThrow(expect.objectContaining({ code: 'NOT_AN_AUDIT' }))
  expect(() => replay(join(fresh(), 'nowhere'), { follow: true })).toThrow('cannot read')
  for (const dir of [fresh(), join(fresh(), 'nowhere')])
    await expect(resume(dir)).rejects.toMatchObject({ code: 'NOT_AN_AUDIT' })
})

test('a directory that has only a journal is told what the journal has', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'events.jsonl'), '')
  await expect(all(dir)).rejects.toThrow('its events.jsonl has the events already')
})

test('a chunk log that lies is left where it stops being true', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'stdout.1.log'), `${codexLines.join('\n')}\n`)
  const honest = await all(dir, { engine: codex })
  for (const lie of [
    '["stdout",5,10,1]',
    '["stdout",0,99999999,1]',
    '["nowhere",0,1,1]',
    '{"a":1}',
    'rubbish',
    '["stdout",0,10,-1]',
  ]) {
    writeFileSync(join(dir, 'chunks.1.jsonl'), `${lie}\n`)
    // A checkpoint ahead of its file, too: what is there is read, once.
    expect(types(await all(dir, { engine: codex }))).toEqual(types(honest))
  }
})

test.runIf(slow)('keeps the recorded pauses at real speed', async () => {
  const dir = fresh()
  const text = `${codexLines.join('\n')}\n`
  writeFileSync(join(dir, 'stdout.1.log'), text)
  writeFileSync(
    join(dir, 'chunks.1.jsonl'),
    `["stdout",0,50,0]\n["stdout",50,${Buffer.byteLength(text) - 50},300]\n`,
  )
  const began = performance.now()
  const slow = await all(dir, { engine: codex, speed: 'real' })
  expect(performance.now() - began).toBeGreaterThanOrEqual(290)
  expect(slow).toEqual(await all(dir, { engine: codex }))
})

test.runIf(slow)('follows a run that is going on, to its end, and gives what it wrote', async () => {
  const { cwd, audit } = workspace()
  mkdirSync(audit)
  const followed = all(audit, { follow: true })
  const program = agent(
    cwd,
    'for (let i = 0; i < 30; i++) { say(lines[i % 4]); await sleep(3) } process.exitCode = 2',
  )
  const live = run({ ...program, engine: codex, cwd, audit, fsDiff: false })
  const events: AgentEvent[] = []
  for await (const event of live) events.push(event)
  expect(await followed).toEqual(events)
})

test.runIf(slow)('follows from one attempt into the next', async () => {
  const { cwd, audit } = workspace()
  await ran({ ...agent(cwd, 'say(lines[0])'), cwd, audit })
  const second = ran({ ...agent(cwd, 'await sleep(100); say(lines[1])'), cwd, audit })
  const followed = await all(audit, { follow: true })
  await second
  expect(followed).toEqual(await all(audit))
})

/** Follows a directory or a log, and hands out events as they come. */
function following(path: string) {
  const flow = replay(path, { engine: codex, follow: true })
  const events: AgentEvent[] = []
  const until = async (done: (events: AgentEvent[]) => boolean) => {
    while (!done(events)) {
      const item: AgentEvent | null = flow.read()
      if (item) events.push(item)
      else await new Promise((resolve) => flow.once('readable', resolve))
    }
    return events
  }
  return { flow, until }
}
const message = (text: string) =>
  `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"${text}"}}\n`
const texts = (events: AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'agent.message.final' ? [(event.data as { text: string }).text] : [],
  )

test.each(['truncated', 'rotated', 'rewritten longer', 'swapped for a longer copy'])(
  'a log that is %s while it is followed gives every event once',
  async (how) => {
    const dir = fresh()
    const log = join(dir, 'stdout.1.log')
    writeFileSync(log, message('one') + message('two'))
    const { flow, until } = following(dir)
    await until((events) => texts(events).length === 2)
    if (how === 'truncated') {
      truncateSync(log, 0)
      appendFileSync(log, message('three'))
    } else if (how === 'rotated') {
      renameSync(log, join(dir, 'old'))
      writeFileSync(log, message('three'))
    } else if (how.startsWith('swapped')) {
      cpSync(log, join(dir, 'new'))
      appendFileSync(join(dir, 'new'), message('three'))
      renameSync(join(dir, 'new'), log)
    } else writeFileSync(log, message('two') + message('x'.repeat(200)) + message('three'))
    const events = await until((seen) => texts(seen).includes('three'))
    expect(texts(events)).toEqual(
      how === 'rewritten longer' ? ['one', 'two', 'x'.repeat(200), 'three'] : ['one', 'two', 'three'],
    )
    expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1))
    expect(new Set(events.map((event) => event.correlation.event_id)).size).toBe(events.length)
    expect(codesOf(events)).toContain('LOG_RESTARTED')
    flow.destroy()
  },
)

test('a copy of an audit directory elsewhere gives the same events', async () => {
  const { cwd, audit } = workspace()
  const { events } = await ran({ ...agent(cwd, 'for (const line of lines) say(line)'), cwd, audit })
  const copy = join(fresh(), 'copy')
  cpSync(audit, copy, { recursive: true })
  expect(await all(copy)).toEqual(events)
})

test.runIf(slow)('follows one attempt only, if that is wanted, and waits until it is there', async () => {
  const { cwd, audit } = workspace()
  await ran({ ...agent(cwd, 'say(lines[0])'), cwd, audit })
  const second = all(audit, { follow: true, attempt: 2 })
  await ran({ ...agent(cwd, 'say(lines[1])'), cwd, audit })
  await ran({ ...agent(cwd, 'say(lines[2])'), cwd, audit })
  const events = await second
  expect(new Set(events.map((event) => event.attempt_number))).toEqual(new Set([2]))
  expect(events).toEqual(await all(audit, { attempt: 2 }))
})

test('ends when recorder and process are gone, though no record says how it ended', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'stdout.1.log'), message('one'))
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ engine: 'codex', pid: 999_999_999 }))
  const events = await all(dir, { follow: true })
  expect(texts(events)).toEqual(['one'])
  expect(events.at(-1)).toMatchObject({ data: { state: 'unknown' } })
})

test('a log that comes after its attempt was opened is followed too', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'stdout.1.log'), message('one'))
  const { flow, until } = following(dir)
  await until((events) => texts(events).length === 1)
  writeFileSync(join(dir, 'stderr.1.log'), 'a warning\n')
  const events = await until((seen) => seen.some(({ raw_ref }) => raw_ref?.stream === 'stderr'))
  expect(types(events).at(-1)).toBe('raw.stderr')
  flow.destroy()
})

test('a chunk log may name a log that came after its attempt was opened', async () => {
  const dir = fresh()
  const [one, two] = [message('one'), message('two')]
  const noted = (...line: (string | number)[]) =>
    appendFileSync(join(dir, 'chunks.1.jsonl'), `${JSON.stringify(line)}\n`)
  const meta = (more: object) =>
    writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ started_at: '2026-01-02T03:04:05Z', ...more }))
  meta({})
  writeFileSync(join(dir, 'stdout.1.log'), one)
  noted('stdout', 0, one.length, 1)
  const { until } = following(dir)
  await until((events) => texts(events).length === 1)
  writeFileSync(join(dir, 'stderr.1.log'), 'a warning\n')
  noted('stderr', 0, 10, 2)
  appendFileSync(join(dir, 'stdout.1.log'), two)
  noted('stdout', one.length, two.length, 3)
  meta({ ended_at: '2026-01-02T03:04:06Z', exit_code: 0 })
  const events = await until((seen) => types(seen).includes('lifecycle.completion.state'))
  expect(types(events)).toContain('raw.stderr')
  expect(events).toEqual(await all(dir, { engine: codex }))
})

test('an attempt is opened when all its files are there, not between the first and the last', async () => {
  const dir = fresh()
  const lock = takeLock(join(dir, 'journal.lock'))
  const meta = (pid: number | null) =>
    writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ recorders: [], pid, ended_at: null }))
  meta(null)
  writeFileSync(join(dir, 'stdout.1.log'), '')
  let looks = 0
  const list = () => {
    const found = listAttempts(dir)
    // The recorder goes on after we have looked.
    if (++looks === 1) writeFileSync(join(dir, 'stderr.1.log'), '')
    if (looks === 2) meta(process.pid)
    return found
  }
  const items = follow(dir, { list, until: { destroyed: false, once() {} } })
  expect((await items.next()).value).toMatchObject({ opens: { attempt: 1 } })
  expect((await items.next()).value).toMatchObject({ chunk: { channels: ['stdout', 'stderr'] } })
  await items.return(undefined)
  lock.release()
})

test('what a lost recorder never noted is followed after what it did note', async () => {
  const dir = fresh()
  const noted = message('one')
  writeFileSync(join(dir, 'stdout.1.log'), `${noted}${codexLines[3]}\n`)
  writeFileSync(join(dir, 'stderr.1.log'), `${'x'.repeat(999)}\n`.repeat(150))
  writeFileSync(join(dir, 'chunks.1.jsonl'), `["stdout",0,${noted.length},1]\n`)
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ engine: 'codex', pid: 999_999_999 }))
  const followed = await all(dir, { follow: true })
  expect(followed.at(-1)).toMatchObject({ data: { state: 'awaiting_user_input' } })
  expect(followed).toEqual(await all(dir))
})

test.each([
  ['a gap', '["stdout",5,10,1]'],
  ['too many bytes', '["stdout",0,99999999,1]'],
  ['no bytes', '["stdout",0,0,1]'],
  ['a log that is not there', '["stderr",0,1,1]'],
  ['rubbish', 'rubbish'],
  ['a line without an end', 'x'.repeat(5000)],
])('a followed chunk log that notes %s loses no bytes', async (_, lie) => {
  const dir = fresh()
  writeFileSync(join(dir, 'stdout.1.log'), message('one'))
  writeFileSync(join(dir, 'chunks.1.jsonl'), `${lie}\n`)
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ ended_at: 'x', exit_code: 0 }))
  expect(texts(await all(dir, { follow: true, engine: codex }))).toEqual(['one'])
})

test('ends when the recorder was lost before it could note the number of the process', async () => {
  const dir = fresh()
  const log = join(dir, 'stdout.1.log')
  writeFileSync(log, message('one'))
  utimesSync(log, 1, 1)
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ engine: 'codex', recorders: [], pid: null }))
  expect(texts(await all(dir, { follow: true }))).toEqual(['one'])
})

test('a chunk log that is replaced while it is followed gives every event once', async () => {
  const dir = fresh()
  const log = join(dir, 'stdout.1.log')
  const noted = (text: string) => `["stdout",0,${Buffer.byteLength(text)},1]\n`
  writeFileSync(log, message('one'))
  writeFileSync(join(dir, 'chunks.1.jsonl'), noted(message('one')))
  const { flow, until } = following(dir)
  await until((events) => texts(events).length === 1)
  const more = message('one') + message('two')
  writeFileSync(log, more)
  writeFileSync(join(dir, 'new'), noted(more))
  renameSync(join(dir, 'new'), join(dir, 'chunks.1.jsonl'))
  const events = await until((seen) => texts(seen).includes('two'))
  expect(texts(events)).toEqual(['one', 'two'])
  expect(codesOf(events)).toContain('LOG_RESTARTED')
  flow.destroy()
})

test('who leaves a replay at real speed is not waited for', async () => {
  const dir = fresh()
  writeFileSync(join(dir, 'stdout.1.log'), message('one') + message('two'))
  const half = message('one').length
  writeFileSync(join(dir, 'chunks.1.jsonl'), `["stdout",0,${half},0]\n["stdout",${half},${half},600000]\n`)
  for await (const event of replay(dir, { engine: codex, speed: 'real' })) {
    if (event.type === 'agent.message.final') break
  }
})
