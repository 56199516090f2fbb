import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { openMirror } from '../../src/nats/mirror.ts'
import { shipTo } from '../../src/nats/ship.ts'
import { replay } from '../../src/run/replay.ts'
import { exportRun } from '../../src/serve/export.ts'
import { redactor } from '../../src/views/redact/redact.ts'
import { inside } from '../cli/inside.ts'
import { memoryBroker } from '../nats/memory-broker.ts'
import { ask, root, serving, shutAll } from '../serve/serving.ts'
import { agent, ran } from './agent.ts'

afterEach(shutAll)

const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
const prompt = `push with ${secret}`
// What a client has sent over ACP: a prompt, and a line that is no record.
const sent = [
  { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } },
  { jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd: '/', mcpServers: [] } },
  {
    jsonrpc: '2.0',
    id: 3,
    method: 'session/prompt',
    params: { sessionId: 's', prompt: [{ type: 'text', text: prompt }] },
  },
]
const answered = [
  { jsonrpc: '2.0', id: 1, result: { protocolVersion: 1, agentCapabilities: {} } },
  { jsonrpc: '2.0', id: 2, result: { sessionId: 's' } },
  { jsonrpc: '2.0', id: 3, result: { stopReason: 'end_turn' } },
]
const jsonLines = (records: readonly object[]) => records.map((one) => `${JSON.stringify(one)}\n`).join('')

const dir = root()
const wireLog = `${jsonLines(sent)}token ${secret}\n`
beforeAll(async () => {
  mkdirSync(join(dir, 'text'))
  const { command, args } = agent(join(dir, 'text'), 'for (const line of lines) say(line)')
  const { end } = await ran({ command, args, prompt, audit: join(dir, 'prompt') })
  expect(end).toMatchObject({ ok: true, task: prompt })
  mkdirSync(join(dir, 'wire'))
  writeFileSync(join(dir, 'wire/stdin.1.log'), wireLog)
  writeFileSync(join(dir, 'wire/stdout.1.log'), jsonLines(answered))
  // Long ago: nobody writes there any more.
  for (const name of ['stdin.1.log', 'stdout.1.log']) utimesSync(join(dir, 'wire', name), 1000, 1000)
})

const runs = [
  ['prompt', prompt],
  ['wire', wireLog],
] as const

test('what was sent can be read by its owner only, like the other logs', () => {
  const modes = readdirSync(join(dir, 'prompt')).map((name) => [
    name,
    statSync(join(dir, 'prompt', name)).mode & 0o777,
  ])
  expect(modes).toContainEqual(['stdin.1.log', 0o600])
  expect(new Set(modes.map(([, mode]) => mode))).toEqual(new Set([0o600]))
})

test.each(runs)(
  'the server has the stdin of a %s among its streams, and hides it with the others',
  async (name, bytes) => {
    const { url } = await serving(dir)
    const { streams } = JSON.parse((await ask(`${url}runs/${name}`)).text)
    expect(streams).toContainEqual({ attempt: 1, stream: 'stdin', bytes: bytes.length })
    expect(await ask(`${url}runs/${name}/raw/stdin`)).toMatchObject({ status: 200, text: bytes })
    expect((await ask(`${url}runs/${name}/chat`)).text).toContain(secret)
    const hiding = await serving(dir, { redact: true })
    for (const view of ['events', 'chat', 'ag-ui', 'ai-sdk', 'export.md', 'export.html']) {
      const { status, text } = await ask(`${hiding.url}runs/${name}/${view}`)
      expect([view, status, text.includes(secret)]).toEqual([view, 200, false])
    }
    expect((await ask(`${hiding.url}runs/${name}/raw/stdin`)).status).toBe(403)
  },
)

test.each(runs)('an export of a %s has its stdin only if nothing is hidden', async (name, bytes) => {
  const exported = async (redact: boolean) => {
    let text = ''
    for await (const piece of exportRun(join(dir, name), { to: 'html', redact })) text += piece
    return text
  }
  const start = Buffer.from(bytes).toString('base64').slice(0, 40)
  expect(await exported(false)).toContain(start)
  const hidden = await exported(true)
  expect([hidden.includes(start), hidden.includes(secret)]).toEqual([false, false])
})

test('replay, why and a single log read what was sent', async () => {
  const events: AgentEvent[] = []
  for await (const event of replay(join(dir, 'wire'))) events.push(event)
  expect(events.flatMap(({ type, data }) => (type === 'raw.stdin' ? [data] : []))).toContainEqual({
    line: `token ${secret}`,
  })
  const asked = events.find(({ type }) => type === 'user.message')
  const from = jsonLines(sent.slice(0, 2)).length
  expect(asked).toMatchObject({ data: { text: prompt }, raw_ref: { stream: 'stdin', byte_from: from } })
  expect((await inside(['why', join(dir, 'wire')])).out).not.toBe('')
  const alone = await inside(['replay', join(dir, 'prompt/stdin.1.log')])
  expect(alone.out).toContain(`"user.message"},"data":{"text":"${prompt}"`)
})

test('the journal carries what was sent to another machine, hidden if that is asked for', async () => {
  for (const hides of [false, true]) {
    const broker = memoryBroker()
    const hide = redactor()
    await shipTo(broker, dir, hides ? { redact: (event) => hide.event(event) } : {})
    const copy = join(root(), 'copy')
    const open = openMirror(copy, { untilIdle: 50 })
    try {
      await open.follow(broker)
    } finally {
      open.close()
    }
    const journal = readdirSync(copy, { recursive: true, encoding: 'utf8' }).find((path) =>
      path.endsWith('events.jsonl'),
    )!
    const text = readFileSync(join(copy, journal), 'utf8')
    expect(text).toContain('"type":"user.message"')
    expect(text.includes(secret)).toBe(!hides)
    expect(statSync(join(copy, journal)).mode & 0o777).toBe(0o600)
  }
})
