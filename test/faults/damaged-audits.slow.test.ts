import { cpSync, existsSync, lstatSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fault } from '../../src/base/fault.ts'
import { journal } from '../../src/disk/journal.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { run } from '../../src/run/run.ts'
import { serve } from '../../src/serve/serve.ts'
import type { RunServer } from '../../src/serve/serve-options.ts'
import { inside } from '../cli/inside.ts'
import { agent, ran, workspace } from '../run/agent.ts'
import { ask, parseSse } from '../serve/serving.ts'
import { randomFrom } from '../values/random-document.ts'
import { damage } from './damage.ts'

const count = Number(process.env['SLUICE_DAMAGED'] ?? 24)
const firstSeed = Number(process.env['SLUICE_SEED'] ?? 1)
/** Far more than anything here takes: what is not over by then hangs. */
const HANG_MS = 60_000

let whole = ''
let original: AgentEvent[]
let served: RunServer
let metaChanged = false
const root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-damaged-')))

beforeAll(async () => {
  const { cwd, audit } = workspace()
  const body = `
    process.stderr.write('a warning\\n')
    for (let i = 0; i < 8; i++) {
      say(JSON.stringify({ type: 'item.completed', item: { id: 'item_' + i, type: 'agent_message', text: 'Grüße ' + i } }))
      if (i % 3 === 0) say('not a record')
      await sleep(1)
    }
    say(lines[3])`
  await ran({ ...agent(cwd, `say(lines[0]); say(lines[1]); ${body}`), cwd, audit, fsDiff: {} })
  await ran({ ...agent(cwd, `say(lines[0]); ${body}; process.exit(3)`), cwd, audit, fsDiff: {} })
  whole = audit
  original = linesOf(audit)
  served = await serve({ dir: root, port: 0 })
})
afterAll(async () => {
  await served.close()
  rmSync(root, { recursive: true })
})

const linesOf = (dir: string): AgentEvent[] =>
  readFileSync(join(dir, 'events.jsonl'), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Fails where events do not follow each other without a gap. */
function checkOrder(events: readonly AgentEvent[], from: 'start' | 'anywhere' = 'start'): void {
  events.forEach((event, i) => {
    const before = events[i - 1]
    const goesOn = before?.attempt_number === event.attempt_number
    if (!before && from === 'anywhere') return
    if (
      event.seq !== (goesOn ? before.seq + 1 : 1) ||
      (before && event.attempt_number < before.attempt_number)
    )
      throw new Error(
        `event ${event.attempt_number}.${event.seq} after ${before?.attempt_number}.${before?.seq}`,
      )
    // An id that was changed in a meta is another id, and nothing tells.
    if (before && before.run_id !== event.run_id && !metaChanged) throw new Error('events of two runs')
  })
}

/** Only a Fault may come out, and it must say what to do in a bounded message. */
async function door<T>(name: string, act: () => Promise<T>): Promise<T | Fault> {
  let timer: NodeJS.Timeout | undefined
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} hangs`)), HANG_MS)
  })
  try {
    return await Promise.race([act(), hang])
  } catch (error) {
    if (Fault.is(error)) return error
    throw new Error(`${name}: ${error}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

async function all(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const found: AgentEvent[] = []
  for await (const event of events) found.push(event)
  return found
}

interface Case {
  /** A fresh copy of the damaged directory. */
  readonly copy: () => string
  /** Whether one of these files was touched. */
  readonly touched: (pattern: RegExp) => boolean
  readonly flipped: boolean
}

/** A journal that was taken is the run as it was, or less of it where nothing tells that there was more. */
function checkKept(dir: string, { touched, flipped }: Case): void {
  const kept = linesOf(dir)
  checkOrder(kept)
  if (flipped || touched(/log|meta|chunks|fs-diff/)) return
  const told = (event: AgentEvent) => JSON.stringify({ ...event, ts: '' })
  expect(kept.slice(0, original.length).map(told)).toEqual(original.map(told))
}

const doors: Readonly<Record<string, (it: Case) => Promise<unknown>>> = {
  async replay(it) {
    const events = await all(replay(it.copy()))
    checkOrder(events)
    if (!it.touched(/log|meta|chunks|fs-diff/)) expect(events).toEqual(original)
  },
  async 'replay --follow'(it) {
    checkOrder(await all(replay(it.copy(), { follow: () => false })))
  },
  async resume(it) {
    const dir = it.copy()
    await resume(dir)
    checkKept(dir, it)
  },
  async 'replay --resume'(it) {
    const { code, out, err } = await inside(['replay', it.copy(), '--resume', '--json'])
    if (/Error\b|\n\s+at /.test(err)) throw new Error(err)
    if (code !== 2)
      checkOrder(
        out
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      )
  },
  async 'journal(dir)'(it) {
    const dir = it.copy()
    await all(Readable.from(original).pipe(journal(dir)))
    checkOrder(linesOf(dir))
  },
  async 'one more attempt'(it) {
    const dir = it.copy()
    const live = run({ command: 'true', audit: dir, cwd: root, engine: codex, fsDiff: false })
    live.resume()
    await live.end
    checkKept(dir, it)
  },
}

async function checkServed(id: string, dir: string): Promise<void> {
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await ask(`${served.url}runs/${id}${path}`, headers)
    if (![200, 204, 404, 416].includes(answer.status)) throw new Error(`${path}: ${answer.status}`)
    return answer
  }
  const list = await (await fetch(`${served.url}runs`)).json()
  const listed = (list as { id: string; state: string }[]).find((found) => found.id === id)
  if (listed?.state === 'running') throw new Error('it is not running')
  await get('')
  const journalPath = join(dir, 'events.jsonl')
  const plain =
    existsSync(journalPath) && lstatSync(journalPath).isFile() ? readFileSync(journalPath, 'utf8') : ''
  const check = (text: string) => {
    const messages = parseSse(text)
    const events = messages.filter((message) => !message.event?.startsWith('sluice.'))
    checkOrder(
      events.map((message) => JSON.parse(message.data)),
      'anywhere',
    )
    if (plain !== '')
      // Spelled anew, so a stray blank is not in it.
      for (const { data } of events)
        if (!plain.includes(data) && !plain.split('\n').some((line) => same(line, data)))
          throw new Error(`the journal has no ${data.slice(0, 200)}`)
    for (const { event, data } of messages)
      if (event === 'sluice.fault') expect(Object.hasOwn(JSON.parse(data), 'code')).toBe(true)
    return messages
  }
  const messages = check((await get('/events')).text)
  const last = messages.findLast((message) => message.id)?.id
  // Who has all of it is told to stop.
  if (last !== undefined) expect((await get('/events', { 'last-event-id': last })).status).toBe(204)
  for (const after of ['other:3', `${original[0]!.run_id}:5`, `${original[0]!.run_id}:2.99`, '0'])
    check((await get('/events', { 'last-event-id': after })).text)
  for (const path of [
    '/raw/stdout',
    '/raw/stderr?attempt=1',
    '/raw/pty',
    '/raw/stdout?attempt=2&from=10&to=20',
  ])
    await get(path)
}

function same(line: string, data: string): boolean {
  try {
    return JSON.stringify(JSON.parse(line)) === data
  } catch {
    return false
  }
}

test(`${count} damaged audits give only faults with a code, or the right answer (SLUICE_DAMAGED=400 for more)`, {
  timeout: count * 30_000,
}, async () => {
  const outcomes = new Map<string, number>()
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const dir = join(root, `run-${seed}`)
    cpSync(whole, dir, { recursive: true, preserveTimestamps: true })
    const done = damage(dir, randomFrom(seed))
    metaChanged = done.some((what) => what.startsWith('meta'))
    let copies = 0
    const it: Case = {
      copy() {
        const path = join(`${root}-copies`, `${seed}-${copies++}`)
        cpSync(dir, path, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
        return path
      },
      touched: (pattern) => done.some((what) => pattern.test(what.split(':')[0]!)),
      flipped: done.some((what) => /flipped|overwritten|cut out/.test(what)),
    }
    try {
      for (const [name, act] of Object.entries(doors)) {
        const answer = await door(name, () => act(it))
        const word = `${name} ${Fault.is(answer) ? answer.code : 'answered'}`
        outcomes.set(word, (outcomes.get(word) ?? 0) + 1)
      }
      await door('serve', () => checkServed(`run-${seed}`, dir))
    } catch (error) {
      throw new Error(`SLUICE_SEED=${seed} SLUICE_DAMAGED=1 (${done.join('; ')}): ${error}`, { cause: error })
    } finally {
      rmSync(`${root}-copies`, { recursive: true, force: true })
      rmSync(dir, { recursive: true, force: true })
    }
  }
  expect((await fetch(`${served.url}healthz`)).status).toBe(200)
  if (process.env['SLUICE_DAMAGED']) console.log(Object.fromEntries([...outcomes].sort()))
})
