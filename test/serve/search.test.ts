import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { handler } from '../../src/serve/handler.ts'
import { makeRun } from '../views/make-run.ts'
import { ask, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

type Steps = Parameters<typeof makeRun>[0]

function put(dir: string, name: string, steps: Steps, day = 1): void {
  mkdirSync(join(dir, name))
  const lines = makeRun(steps).map((event) => `${JSON.stringify(event)}\n`)
  writeFileSync(join(dir, name, 'events.jsonl'), lines.join(''))
  writeFileSync(join(dir, name, 'stdout.1.log'), '')
  const started_at = new Date(Date.UTC(2026, 0, day)).toISOString()
  writeFileSync(join(dir, name, 'meta.1.json'), JSON.stringify({ engine: 'codex', started_at }))
}

const says = (text: string): Steps[number] => ['agent.message.final', { message_id: 'm', text }]

async function found(url: string, text: string) {
  const { status, text: body } = await ask(`${url}search?q=${encodeURIComponent(text)}`)
  expect(status).toBe(200)
  const records = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(records.at(-1)).toMatchObject({ done: true })
  return { hits: records.flatMap(({ hit }) => hit ?? []), end: records.at(-1) }
}

test('finds what was said and done, the newest run first, with its first place and what is around it', async () => {
  const dir = root()
  put(dir, 'old', [says('We saw HTTP 429 there.')], 1)
  const call = { call_id: 'c', name: 'Bash', kind: 'execute', input: { command: 'curl x' } } as const
  put(
    dir,
    'new',
    [says('Hm.'), ['tool.call.failed', { ...call, output: 'http 429\nslow down' }], says('http 429')],
    2,
  )
  put(dir, 'none', [says('All is well.')], 3)
  const { url } = await serving(dir)
  const { hits, end } = await found(url, 'HTTP 429')
  expect(hits).toEqual([
    {
      id: 'new',
      event: '1.2',
      type: 'tool.call.failed',
      ts: expect.any(String),
      before: '',
      match: 'http 429',
      after: ' slow down',
      count: 2,
    },
    {
      id: 'old',
      event: '1.1',
      type: 'agent.message.final',
      ts: expect.any(String),
      before: 'We saw ',
      match: 'HTTP 429',
      after: ' there.',
      count: 1,
    },
  ])
  expect(end).toEqual({ searched: 3, of: 3, done: true })
  // Names of fields and ids were not said.
  for (const none of ['message_id', 'codex_ndjson', 'r1-1-0'])
    expect((await found(url, none)).hits).toEqual([])
})

test('finds a text in logs without a journal', async () => {
  const dir = root()
  mkdirSync(join(dir, 'logs'))
  const item = { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'A needle here.' } }
  writeFileSync(join(dir, 'logs', 'stdout.1.log'), `${JSON.stringify(item)}\n`)
  writeFileSync(join(dir, 'logs', 'meta.1.json'), JSON.stringify({ engine: 'codex' }))
  const { url } = await serving(dir)
  expect((await found(url, 'needle')).hits).toMatchObject([{ id: 'logs', match: 'needle' }])
})

test('with redact it finds only what is shown: no secret, and no part of one', async () => {
  const dir = root()
  const secret = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
  put(dir, 'run', [says(`The token is ${secret}, keep it.`)])
  const { url } = await serving(dir, { redact: true })
  for (const part of [secret, secret.slice(4, 12), secret.slice(-6)])
    expect((await found(url, part)).hits).toEqual([])
  const { hits } = await found(url, 'token is')
  expect(hits).toMatchObject([{ match: 'token is' }])
  expect(JSON.stringify(hits)).not.toContain(secret.slice(4, 12))
  expect((await found(url, '[redacted:')).hits).toHaveLength(1)
  expect((await found((await serving(dir)).url, secret)).hits).toHaveLength(1)
})

test('refuses a text that is too short or too long, and who may not read', async () => {
  const dir = root()
  put(dir, 'run', [says('Hello.')])
  const { url } = await serving(dir, { token: 'a'.repeat(32) })
  expect((await ask(`${url}search?q=hello`)).status).toBe(401)
  const headers = { authorization: `Bearer ${'a'.repeat(32)}` }
  expect((await ask(`${url}search?q=hello`, headers)).status).toBe(200)
  for (const q of ['', 'x', 'x'.repeat(501)])
    expect((await ask(`${url}search?q=${q}`, headers)).status).toBe(400)
  const asked: (string | undefined)[] = []
  const ours = handler({ dir, base: '/agents', allow: (_, id) => asked.push(id) === 1 })
  const answer = await ours.fetch(new Request('http://here/agents/search?q=hello'))
  expect(await answer.text()).toContain('"done":true')
  expect((await ours.fetch(new Request('http://here/agents/search?q=hello'))).status).toBe(403)
  expect(asked).toEqual([undefined, undefined])
  await ours.close()
})

test('ends when the client leaves', async () => {
  const dir = root()
  for (let n = 0; n < 300; n++) put(dir, `run-${n}`, [says('needle '.repeat(500))])
  const server = await serving(dir)
  const leave = new AbortController()
  const response = await fetch(`${server.url}search?q=needle`, { signal: leave.signal })
  const body = response.body!.getReader()
  await body.read()
  expect(server.clients()).toBe(1)
  leave.abort()
  await expect.poll(() => server.clients()).toBe(0)
})

test('tells all runs that have the text, however many', async () => {
  const dir = root()
  for (let n = 0; n < 1001; n++) put(dir, `run-${n}`, [says('needle')])
  const { url } = await serving(dir)
  const { hits, end } = await found(url, 'needle')
  expect(hits).toHaveLength(1001)
  expect(end).toEqual({ searched: 1001, of: 1001, done: true })
})
