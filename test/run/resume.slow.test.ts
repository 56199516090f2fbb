import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJournal } from '../../src/disk/journal.ts'
import { replay } from '../../src/run/replay.ts'
import { resume, resumeInto } from '../../src/run/resume.ts'
import { run } from '../../src/run/run.ts'
import { codexLines } from './agent.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-resume-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const meta = () => JSON.parse(readFileSync(join(dir, 'meta.1.json'), 'utf8'))
const events = () => readFileSync(join(dir, 'events.jsonl'), 'utf8')

/** What a recorder leaves that was killed: the raw log, and a meta that says so. */
function lost(more: object, age = 60): void {
  writeFileSync(join(dir, 'stdout.1.log'), `${codexLines.join('\n')}\n`)
  const then = Date.now() / 1000 - age
  utimesSync(join(dir, 'stdout.1.log'), then, then)
  const started_at = '2026-01-02T03:04:05.000Z'
  writeFileSync(
    join(dir, 'meta.1.json'),
    JSON.stringify({ run_id: 'r', engine: 'codex', started_at, ended_at: null, complete: false, ...more }),
  )
}

test('waits for the process that still runs, then completes what it wrote', async () => {
  const agent = spawn('sleep', ['60'])
  await once(agent, 'spawn')
  lost({ pid: agent.pid })
  const ended = once(agent, 'exit')
  const order: string[] = []
  const resumed = resume(dir).finally(() => order.push('resumed'))
  ended.then(() => order.push('ended'))
  // Many turns of the event loop are more than a resume takes that does not wait.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
  agent.kill('SIGKILL')
  expect(await resumed).toMatchObject({ attempts: [1] })
  expect(order).toEqual(['ended', 'resumed'])
  expect(meta()).toMatchObject({
    complete: true,
    reason: 'recorder_lost',
    bytes: { stdout: expect.any(Number) },
  })
  expect(events()).toContain('Grüße — done.')
})

test('a run in the same place does not wait, but says what is in the way', async () => {
  const agent = spawn('sleep', ['60'])
  await once(agent, 'spawn')
  lost({ pid: agent.pid, argv: ['agent', 'exec'] })
  const next = run({ command: 'true', audit: dir, cwd: dir, fsDiff: false })
  next.resume()
  await expect(next.end).rejects.toMatchObject({
    code: 'JOURNAL_LOCKED',
    message: `attempt 1 of the run "r" ("agent exec") lost its recorder, but its process ${agent.pid} is still running; end it, or wait for it: resume("${dir}"), npx agent-sluice replay DIR --resume`,
  })
  agent.kill('SIGKILL')
  await once(agent, 'exit')
})

test('a process whose number was never noted counts as gone when its log rests', async () => {
  lost({}, 0)
  const book = openJournal(dir)
  await expect(resumeInto(dir, book, { wait: false })).rejects.toThrow('its process is still running')
  book.close()
  const began = performance.now()
  expect(await resume(dir)).toMatchObject({ attempts: [1] })
  expect(performance.now() - began).toBeGreaterThan(500)
})

test('waits for the recorders of a process that is gone, but can be told to stop', async () => {
  const recorder = spawn('sleep', ['60'])
  await once(recorder, 'spawn')
  lost({ pid: 999_999_999, recorders: [recorder.pid] })
  const stop = new AbortController()
  const aborted = resume(dir, { signal: stop.signal })
  setImmediate(() => stop.abort())
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' })
  setImmediate(() => recorder.kill('SIGKILL'))
  expect(await resume(dir)).toMatchObject({ attempts: [1] })
})

test('an end that was noted is kept, and needs no waiting', async () => {
  lost({ pid: process.pid, ended_at: '2026-01-02T03:05:00.000Z', exit_code: 3 })
  expect(await resume(dir)).toMatchObject({ attempts: [1] })
  expect(meta()).toMatchObject({ complete: true, ended_at: '2026-01-02T03:05:00.000Z', exit_code: 3 })
  expect(meta().reason).toBe(undefined)
  expect(await resume(dir)).toEqual({ attempts: [], added: 0 })
})

test('a journal that is damaged is refused, and made again when it was moved away', async () => {
  lost({ pid: process.pid, ended_at: '2026-01-02T03:05:00.000Z', exit_code: 0 })
  await resume(dir)
  const whole = events()
  const lines = whole.split('\n')
  writeFileSync(join(dir, 'events.jsonl'), whole.replace(lines[1]!, lines[1]!.slice(0, 30)))
  await expect(resume(dir)).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH', at: lines[0]!.length + 1 })
  writeFileSync(join(dir, 'events.jsonl'), whole + whole)
  await expect(resume(dir)).rejects.toMatchObject({ code: 'JOURNAL_MISMATCH', at: Buffer.byteLength(whole) })
  renameSync(join(dir, 'events.jsonl'), join(dir, 'events.jsonl.damaged'))
  expect(await resume(dir)).toEqual({ attempts: [1], added: lines.length - 1 })
  expect(events()).toBe(whole)
  expect(await resume(dir)).toEqual({ attempts: [], added: 0 })
})

test('an attempt that was recorded with a schema is completed with it; without it, the fault says so', async () => {
  const schema = { type: 'object' }
  lost({ pid: process.pid, ended_at: '2026-01-02T03:05:00.000Z', exit_code: 0 })
  await resume(dir, { schema })
  const whole = events()
  // As a recorder leaves it that was killed when all events were written.
  writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ ...meta(), complete: false }))
  const refused = {
    code: 'JOURNAL_MISMATCH',
    message: expect.stringContaining('give the options it was recorded with: the same schema (--schema)'),
  }
  await expect(resume(dir)).rejects.toMatchObject(refused)
  const next = run({ command: 'true', audit: dir, cwd: dir, fsDiff: false })
  next.resume()
  await expect(next.end).rejects.toMatchObject(refused)
  expect(events()).toBe(whole)
  expect(await resume(dir, { schema })).toEqual({ attempts: [1], added: 0 })
})

test('an attempt whose meta is damaged is not taken for a complete one', async () => {
  lost({ pid: process.pid, exit_code: 1 })
  const text = readFileSync(join(dir, 'meta.1.json'), 'utf8')
  writeFileSync(join(dir, 'meta.1.json'), text.slice(0, -5))
  await expect(resume(dir)).rejects.toMatchObject({
    code: 'NOT_AN_AUDIT',
    message: expect.stringContaining('meta.1.json" is damaged'),
  })
})

test('writes the events of logs of another recorder once, as replay reads them', async () => {
  writeFileSync(join(dir, 'stdout.1.log'), `${codexLines.join('\n')}\n`)
  writeFileSync(join(dir, 'meta.1.json'), '{"engine":"codex","exit_code":0}')
  writeFileSync(join(dir, 'stdout.2.log'), `${codexLines.join('\n')}\n`)
  let told = ''
  for await (const event of replay(dir)) told += `${JSON.stringify(event)}\n`
  expect(await resume(dir)).toEqual({ attempts: [1, 2], added: told.split('\n').length - 1 })
  expect(readFileSync(join(dir, 'events.jsonl'), 'utf8')).toBe(told)
  expect(readFileSync(join(dir, 'meta.1.json'), 'utf8')).toBe('{"engine":"codex","exit_code":0}')
  const before = readdirSync(dir)
  expect(await resume(dir)).toEqual({ attempts: [], added: 0 })
  expect(readdirSync(dir)).toEqual(before)
  // A third attempt comes later.
  writeFileSync(join(dir, 'stdout.3.log'), `${codexLines.join('\n')}\n`)
  expect(await resume(dir)).toMatchObject({ attempts: [3] })
  told = ''
  for await (const event of replay(dir)) told += `${JSON.stringify(event)}\n`
  expect(readFileSync(join(dir, 'events.jsonl'), 'utf8')).toBe(told)
})
