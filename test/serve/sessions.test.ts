import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { slow } from '../pace.ts'
import { sessionLines, withSqlite } from '../run/sqlite.ts'
import { ask, parseSse, putRun, root, serving, shutAll } from './serving.ts'

let home: string
let dir: string
beforeEach(() => {
  home = root()
  dir = root()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shutAll()
})

const rollout = '.codex/sessions/2026/11/15/rollout-x.jsonl'
const id = 'session://codex/2026/11/15/rollout-x.jsonl'
const url = (served: { url: string }, of = id) => `${served.url}runs/${encodeURIComponent(of)}`
const start = () => serving(dir, { sessions: { home } })

/** A session file of a real run; `at` is when it was written, in seconds since 1970. */
function put(path: string, from: string, at?: number): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  cpSync(join('fixtures', from, 'session.jsonl'), file)
  if (at !== undefined) utimesSync(file, at, at)
  return file
}

/** Every file of the home directory: its name, its bytes and when it was written. */
function tree(): unknown[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [
      path,
      statSync(path).mtimeMs,
      createHash('sha256').update(readFileSync(path)).digest('hex'),
    ])
}

// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is looked at field by field.
const list = async (served: { url: string }): Promise<any> => (await fetch(`${served.url}runs`)).json()
const eventsIn = (text: string): AgentEvent[] => parseSse(text).map(({ data }) => JSON.parse(data))

/** A client that reads a live stream message by message. */
async function client(path: string, headers: Record<string, string> = {}) {
  const leave = new AbortController()
  const response = await fetch(path, { headers, signal: leave.signal })
  const seen: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (message) => void seen.push(message) })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  return {
    seen,
    /** Reads on until such a message has come. */
    async until(wanted: (message: EventSourceMessage) => boolean): Promise<void> {
      while (!seen.some(wanted)) {
        const { done, value } = await reader.read()
        if (done) throw new Error('the stream ended')
        parser.feed(decoder.decode(value, { stream: true }))
      }
    },
    leave: () => leave.abort(),
  }
}

test('lists session files next to the runs, and opens their events and bytes', async () => {
  putRun(dir, 'recorded', 3)
  const file = put(rollout, 'codex-session/0.166.0-tool_fail', 2000)
  put('.claude/projects/-a/s.jsonl', 'claude-session/plain', 1000)
  const before = tree()
  const served = await start()
  await expect
    .poll(async () => (await list(served)).map((run: { id: string; reason_code: string }) => run.reason_code))
    .toContain('END_SIGNAL')
  const runs = await list(served)
  expect(runs.map((run: { id: string }) => run.id)).toEqual(['recorded', id, 'session://claude/-a/s.jsonl'])
  expect(runs[1]).toMatchObject({
    engine: 'codex',
    state: 'awaiting_user_input',
    outcome: 'finished',
    streams: [{ attempt: 1, stream: 'stdout', bytes: statSync(file).size }],
    session: { directory: '/srv/ws1/repo', updated_at: '1970-01-01T00:33:20.000Z' },
  })
  // Its file tells no end.
  expect(runs[2]).toMatchObject({ engine: 'claude', outcome: 'unknown' })

  const events = eventsIn((await ask(`${url(served)}/events`)).text)
  expect(events.map(({ type }) => type)).toContain('tool.call.failed')
  expect(new Set(events.map(({ source }) => source.parser))).toEqual(new Set(['codex_session']))
  const { raw_ref } = events.find(({ type }) => type === 'agent.message.final')!
  const { byte_from, byte_to } = raw_ref!
  const { text } = await ask(`${url(served)}/raw/stdout?from=${byte_from}&to=${byte_to}`)
  expect(text).toBe(readFileSync(file).subarray(byte_from, byte_to).toString())
  // Nothing was written there.
  expect(tree()).toEqual(before)
})

test('without the option no session file is listed', async () => {
  put(rollout, 'codex-session/0.166.0-tool_fail', 2000)
  vi.stubEnv('HOME', home)
  expect(await list(await serving(dir))).toEqual([])
  expect((await list(await serving(dir, { sessions: true }))).map((run: { id: string }) => run.id)).toContain(
    id,
  )
  vi.unstubAllEnvs()
})

test.runIf(slow)(
  'a file that grows is followed, and a client that comes back gets what follows',
  async () => {
    const whole = readFileSync('fixtures/codex-session/0.166.0-tool_fail/session.jsonl', 'utf8').split('\n')
    const file = put(rollout, 'codex-session/0.166.0-tool_fail')
    writeFileSync(file, `${whole.slice(0, 12).join('\n')}\n${whole[12]!.slice(0, 40)}`)
    const served = await start()
    expect(await list(served)).toMatchObject([{ id, state: 'running', outcome: null }])
    const first = await client(`${url(served)}/events`)
    await first.until(({ event }) => event === 'lifecycle.run.status')
    // The rest of a line, and all but the last ones.
    appendFileSync(file, `${whole[12]!.slice(40)}\n${whole.slice(13, -4).join('\n')}\n`)
    await first.until(({ event }) => event === 'tool.call.failed')
    const last = first.seen.at(-1)!.id!
    first.leave()
    appendFileSync(file, `${whole.slice(-4).join('\n')}`)
    const second = await client(`${url(served)}/events`, { 'last-event-id': last })
    await second.until(({ data }) => data.includes('"awaiting_user_input"'))
    second.leave()
    const seqs = [...first.seen, ...second.seen].map(({ data }) => JSON.parse(data).seq)
    expect(seqs).toEqual(seqs.map((_, at) => at + 1))
    // When it has rested, it is over: the same events, and the end.
    utimesSync(file, 1000, 1000)
    await expect.poll(async () => (await list(served))[0]?.outcome, { timeout: 20_000 }).toBe('finished')
    const { text } = await ask(`${url(served)}/events`, { 'last-event-id': second.seen.at(-1)!.id! })
    expect(eventsIn(text).at(-1)?.type).toBe('lifecycle.completion.state')
  },
)

test.runIf(slow)('a file that is replaced is read anew, and one that is deleted is gone', async () => {
  const file = put(rollout, 'codex-session/0.166.0-reasoning')
  const served = await start()
  const live = await client(`${url(served)}/events`)
  await live.until(({ event }) => event === 'agent.message.final')
  const other = put('other.jsonl', 'codex-session/0.166.0-tool_fail')
  renameSync(other, file)
  await live.until(({ event }) => event === 'tool.call.failed')
  const codes = live.seen.map(({ data }) => JSON.parse(data).data.code)
  expect(codes.filter((code) => code === 'LOG_RESTARTED')).toHaveLength(1)
  live.leave()
  rmSync(file)
  await expect.poll(async () => await list(served)).toEqual([])
  for (const what of ['', '/events', '/raw/stdout'])
    expect((await ask(`${url(served)}${what}`)).status).toBe(404)
  expect((await ask(`${served.url}healthz`)).status).toBe(200)
})

test('hostile names, links and paths open nothing else', async () => {
  const secret = join(home, '.codex', 'auth.json')
  put(rollout, 'codex-session/0.166.0-reasoning', 3000)
  writeFileSync(secret, '{"secret":true}\n')
  const day = dirname(join(home, rollout))
  symlinkSync(secret, join(day, 'rollout-link.jsonl'))
  symlinkSync(join(home, '.codex'), join(home, '.codex/sessions/2026/12'))
  const names = [
    'rollout-\nid: forged\n.jsonl',
    'rollout-<img src=x>.jsonl',
    'rollout-..%2f..%2fauth.json.jsonl',
  ]
  for (const name of names) put(join(dirname(rollout), name), 'codex-session/0.166.0-reasoning', 1000)
  const served = await start()
  const ids = (await list(served)).map((run: { id: string; reason_code: string }) => run.id)
  expect(ids.sort()).toEqual([id, ...names.map((name) => `session://codex/2026/11/15/${name}`)].sort())
  for (const of of ids) {
    const messages = parseSse((await ask(`${url(served, of)}/events`)).text)
    expect(messages.every(({ id }) => /^codex-[\w.-]+:\d+$/.test(id ?? ''))).toBe(true)
    expect(messages.at(-1)?.event).toBe('lifecycle.completion.state')
  }
  const paths = [
    'session://codex/auth.json',
    'session://codex/../auth.json',
    'session://codex/2026/11/15/rollout-link.jsonl',
    'session://codex/2026/11/15/../../../../auth.json',
    '.codex/auth.json',
    secret,
  ]
  for (const path of paths)
    for (const what of ['', '/events', '/raw/stdout']) {
      const { status, text } = await ask(url(served, path) + what)
      expect([path, status, text.includes('secret')]).toEqual([path, 404, false])
    }
  // Swapped for a link after it was listed.
  rmSync(join(home, rollout))
  symlinkSync(secret, join(home, rollout))
  for (const what of ['/events', '/raw/stdout']) {
    const { text } = await ask(`${url(served)}${what}`)
    expect(text).not.toContain('secret')
  }
  expect((await ask(`${url(served)}/events`, { host: 'evil.example' })).status).toBe(403)
})

test('sessions of OpenCode are read from its database, and copied nowhere near it', async () => {
  const database = join(home, '.local/share/opencode/opencode.db')
  mkdirSync(dirname(database), { recursive: true })
  writeFileSync(database, 'SQLite format 3\0…')
  withSqlite(false)
  expect(await list(await start())).toEqual([])
  withSqlite(true)
  const served = await start()
  const [run] = await list(served)
  expect(run).toMatchObject({ engine: 'opencode', session: { directory: sessionLines[0].row.directory } })
  // Its end is in the list before anybody has opened it.
  await expect.poll(async () => (await list(served))[0].outcome).toBe('finished')
  expect(await list(served)).toMatchObject([
    { task: '"Please do the task. [[S:plain#49008882a]]"', streams: [{ bytes: 0 }] },
  ])
  const events = eventsIn((await ask(`${url(served, run.id)}/events`)).text)
  const { raw_ref } = events.find(({ type }) => type === 'agent.message.final')!
  const { text } = await ask(
    `${url(served, run.id)}/raw/stdout?from=${raw_ref!.byte_from}&to=${raw_ref!.byte_to}`,
  )
  expect(sessionLines).toContainEqual(JSON.parse(text))
  expect(readdirSync(dirname(database))).toEqual(['opencode.db'])
})
